//! The depth of JSON, and its declared kind.

use serde_json::{Value, json};

use super::{READABLE_DEPTH, interpret, is_too_deep};

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
    // Lists side by side, and malformed JSON.
    assert!(!is_too_deep(format!("[{}1]", "[],".repeat(500)).as_bytes()));
    assert!(!is_too_deep(format!("a: {}", "[".repeat(500)).as_bytes()));
}

#[test]
fn what_an_object_is_must_be_said_in_texts() {
    assert_eq!(interpret(&json!({ "kind": "Pod", "apiVersion": null })), Ok(()));
    let wrong = |value: Value| interpret(&value).unwrap_err();
    assert_eq!(wrong(json!({ "kind": 1 })), "kind: expected string, got number");
    assert_eq!(wrong(json!([])), "expected an object, got array");
}
