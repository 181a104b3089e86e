//! Parsing of selectors; what they match is tested through lists.

use proptest::prelude::*;

use crate::kind::Kind;
use crate::selector::{Selector, parse_fields, parse_labels};

#[test]
fn fields_are_escaped_by_backslash() {
    let parsed = parse_fields(r"a=b\,c\=d\\e,f!=g").expect("fine");
    assert_eq!(parsed[0].value, r"b,c=d\e");
    assert_eq!((parsed[1].path.as_str(), parsed[1].equal), ("f", false));
    assert!(parse_fields(r"a=b\n").is_err());
}

#[test]
fn an_empty_selector_selects_everything() {
    let kind = Kind::namespaced("example.com", "v1", "Widget", "widgets");
    assert!(Selector::parse(&kind, "", "").expect("fine").is_empty());
    assert!(Selector::parse(&kind, " ", ",").expect("fine").is_empty());
}

proptest! {
    #[test]
    fn no_text_makes_the_parsers_panic(text in r"[a-z!=<>(),\\ .in]{0,24}|.{0,16}") {
        drop((parse_labels(&text), parse_fields(&text)));
    }
}
