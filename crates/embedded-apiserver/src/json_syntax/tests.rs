//! Texts that are no JSON, as Go speaks of them.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{READABLE_DEPTH, interpret, is_too_deep, problem, summary};

#[test]
fn each_fault_has_gos_words() {
    // Each was asked of kube-apiserver v1.36.3.
    for (text, why) in [
        ("", "unexpected end of JSON input"),
        ("{", "unexpected end of JSON input"),
        ("{\"a\":1,", "unexpected end of JSON input"),
        ("-", "invalid character ' ' in numeric literal"),
        ("\"x", "unexpected end of JSON input"),
        ("\"\\", "invalid character ' ' in string escape code"),
        ("\"\\u1", "invalid character ' ' in \\u hexadecimal character escape"),
        ("{\"a\":nul", "invalid character ' ' in literal null (expecting 'l')"),
        ("1.", "invalid character ' ' after decimal point in numeric literal"),
        ("{}x", "invalid character 'x' after top-level value"),
        ("{\"a\":tru}", "invalid character '}' in literal true (expecting 'e')"),
        ("{\"a\":01}", "invalid character '1' after object key:value pair"),
        ("{\"a\":1.}", "invalid character '}' after decimal point in numeric literal"),
        ("{\"a\":\"\\x\"}", "invalid character 'x' in string escape code"),
        ("{\"a\":\"\t\"}", "invalid character '\\t' in string literal"),
        ("{'a':1}", "invalid character '\\'' looking for beginning of object key string"),
        ("[1,]", "invalid character ']' looking for beginning of value"),
        ("{\"a\" 1}", "invalid character '1' after object key"),
        ("[1 2]", "invalid character '2' after array element"),
        ("\"\\u00g0\"", "invalid character 'g' in \\u hexadecimal character escape"),
        ("1e+", "invalid character ' ' in exponent of numeric literal"),
        ("1ex", "invalid character 'x' in exponent of numeric literal"),
        ("-x", "invalid character 'x' in numeric literal"),
        ("\u{feff}{}", "invalid character 'ï' looking for beginning of value"),
    ] {
        assert_eq!(problem(text.as_bytes()).as_deref(), Some(why), "{text:?}");
    }
    assert_eq!(
        problem("[".repeat(10_001).as_bytes()).as_deref(),
        Some("invalid character '[' exceeded max depth")
    );
    for fine in ["{}", " [1, -0.5e-3, \"\\u00e9\", null] ", "1e999", "\"\\ud800\"", "0"] {
        assert_eq!(problem(fine.as_bytes()), None, "{fine}");
    }
}

#[test]
fn too_deep_is_what_is_nested_beyond_what_can_be_read() {
    let nested = |levels: usize| format!(" {}\"[\\\"[\"{}", "[".repeat(levels), "]".repeat(levels));
    for (levels, too_deep) in
        [(1, false), (127, false), (128, true), (10_000, true), (10_001, false)]
    {
        let text = nested(levels);
        assert_eq!(is_too_deep(text.as_bytes()), too_deep, "{levels}");
        let read = serde_json::from_str::<Value>(&text);
        assert_eq!(read.is_ok(), levels <= READABLE_DEPTH, "{levels}");
    }
    // Beside each other, and in what is no JSON.
    assert!(!is_too_deep(format!("[{}1]", "[],".repeat(500)).as_bytes()));
    assert!(!is_too_deep(format!("a: {}", "[".repeat(500)).as_bytes()));
}

#[test]
fn what_an_object_is_must_be_said_in_texts() {
    assert_eq!(interpret(&json!({ "kind": "Pod", "apiVersion": null })), Ok(()));
    let wrong = interpret(&json!({ "kind": 1 })).unwrap_err();
    assert!(
        wrong.ends_with("cannot unmarshal number into Go struct field .kind of type string"),
        "{wrong}"
    );
    assert!(
        interpret(&json!([]))
            .unwrap_err()
            .contains("cannot unmarshal array into Go value of type struct")
    );
}

#[test]
fn a_body_is_shown_in_thirty_bytes() {
    assert_eq!(summary(b""), "<empty>");
    assert_eq!(summary(b"{'"), "{'");
    assert_eq!(summary(b"[1"), "5b31");
    assert_eq!(summary("{".repeat(31).as_bytes()), format!("{} ...", "{".repeat(30)));
}

proptest! {
    #[test]
    fn what_serde_reads_go_reads_too(text in r#"[\[\]{}",:0-9a-z.\\ -]{0,16}|\PC{0,8}"#) {
        let read = serde_json::from_str::<Value>(&text);
        if read.is_ok() {
            prop_assert_eq!(problem(text.as_bytes()), None);
        }
        // The other way round but for numbers beyond all measure and halves of characters.
        if problem(text.as_bytes()).is_none() && !text.contains(['e', '\\']) {
            prop_assert!(read.is_ok(), "{:?}", read);
        }
    }
}
