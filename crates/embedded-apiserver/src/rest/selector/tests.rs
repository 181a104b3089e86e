//! Parsing of selectors. Tests of lists cover the matching.

use proptest::prelude::*;

use crate::api::kind::Kind;
use crate::rest::selector::{Selector, labels, parse_fields};
use crate::strategy::resource::ServedResource;

#[test]
fn fields_are_escaped_by_backslash() {
    let parsed = parse_fields(r"a=b\,c\=d\\e,f!=g").expect("fine");
    assert_eq!(parsed[0].value, r"b,c=d\e");
    assert_eq!((parsed[1].path.as_str(), parsed[1].equal), ("f", false));
    assert!(parse_fields(r"a=b\n").is_err());
}

#[test]
fn an_empty_selector_selects_everything() {
    let kind = ServedResource::new(Kind::namespaced("example.com", "v1", "Widget", "widgets"));
    assert!(Selector::parse(&kind, "", "").expect("fine").is_empty());
    assert!(Selector::parse(&kind, " ", ",").expect("fine").is_empty());
}

#[test]
fn what_is_wrong_with_labels_is_said_as_the_real_server_says_it() {
    // Recorded from kube-apiserver v1.36.3.
    for (text, why) in [
        ("=x", "found '=', expected: !, identifier, or 'end of string'"),
        ("l=x=y", "found '=', expected: ',' or 'end of string'"),
        ("l in x", "unable to parse requirement: found 'x' expected: '('"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("l,", "found '', expected: identifier after ','"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("l in (x", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("l,,n", "found ',', expected: identifier after ','"),
        ("(", "found '(', expected: !, identifier, or 'end of string'"),
        (
            "n>x",
            "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
        ),
    ] {
        assert_eq!(labels::parse(text).expect_err(text), why);
    }
    for text in ["l in ()", "l in (x,)", "l in (,,x)", "l>1", "in in (in)", "!in", "a==b , c!=d"] {
        labels::parse(text).expect(text);
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_parsers_panic(text in r"[a-z!=<>(),\\ .in]{0,24}|.{0,16}") {
        drop((labels::parse(&text), parse_fields(&text)));
    }
}
