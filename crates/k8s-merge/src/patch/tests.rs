//! JSON patches and merge patches of documents.

use serde_json::{Value, json};

use crate::patch::{JsonPatch, PatchError, merge_patch};

fn json_patch(operations: &str, document: &str) -> Result<Value, PatchError> {
    let text = JsonPatch::parse(operations.to_owned())?.apply(document.to_owned())?;
    Ok(serde_json::from_str(&text).expect("JSON"))
}

fn patched(operations: &Value, document: &Value) -> Option<Value> {
    json_patch(&operations.to_string(), &document.to_string()).ok()
}

fn merged(patch: &Value, document: &Value) -> Value {
    let text = merge_patch(document.to_string(), patch.to_string()).expect("a patch");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn a_merge_patch_removes_by_null_and_replaces_lists() {
    let document = json!({ "a": { "b": 1, "c": [1, 2] }, "d": 1 });
    let patch = json!({ "a": { "b": null, "c": [3] }, "e": { "f": null } });
    let expected = json!({ "a": { "c": [3] }, "d": 1, "e": {} });
    assert_eq!(merged(&patch, &document), expected);
}

#[test]
fn only_a_test_for_null_of_a_missing_member_passes() {
    let document = || json!({ "a": { "b": null, "l": [] } });
    let test = |path: &str, value: Value| {
        patched(&json!([{ "op": "test", "path": path, "value": value }]), &document()).is_some()
    };
    assert!(test("/a/missing", json!(null)));
    assert!(test("/missing", json!(null)));
    assert!(test("/a/b", json!(null)));
    assert!(!test("/a/missing", json!(1)));
    assert!(!test("/missing/parent", json!(null)));
    assert!(!test("/a/l/0", json!(null)), "an element of a list is no member");
    assert!(!test("/a", json!(null)));
}

fn refusal(operations: &Value, document: &Value) -> PatchError {
    json_patch(&operations.to_string(), &document.to_string()).expect_err("too much")
}

#[test]
fn copies_of_copies_end_at_the_size_of_a_body() {
    let document = json!({ "a": { "b": "x".repeat(1000) } });
    let copies: Vec<_> = (0..40)
        .map(|at| json!({ "op": "copy", "from": "/a", "path": format!("/a/c{at}") }))
        .collect();
    let why = refusal(&copies.into(), &document);
    assert!(why.to_string().contains("exceeding the limit"), "{why}");
    let some = json!([{ "op": "copy", "from": "/a", "path": "/c" }, { "op": "copy", "from": "/a", "path": "/d" }]);
    let copied = patched(&some, &document).expect("two copies are fine");
    assert_eq!(copied["d"], document["a"]);
}

#[test]
fn nothing_is_nested_deeper_than_it_can_be_read_again() {
    let nested = |levels: usize| (0..levels).fold(json!({}), |inner, _| json!({ "a": inner }));
    let deep = "/a".repeat(65);
    for operation in [
        json!({ "op": "copy", "from": "/a", "path": deep }),
        json!({ "op": "move", "from": "/b", "path": deep }),
        json!({ "op": "add", "path": deep, "value": nested(70) }),
        json!({ "op": "replace", "path": deep, "value": nested(70) }),
        json!({ "op": "add", "path": "/a".repeat(200), "value": 1 }),
    ] {
        let mut document = nested(66);
        document["b"] = nested(70);
        assert_eq!(refusal(&json!([operation]), &document), PatchError::TooDeep);
    }
    for fits in [61, 62] {
        // The object itself, the members of the path, the value and its innermost object.
        let operation = json!([{ "op": "replace", "path": deep, "value": nested(fits - 1) }]);
        assert!(patched(&operation, &nested(66)).is_some(), "{fits}");
    }
    let one_more = json!([{ "op": "replace", "path": deep, "value": nested(62) }]);
    assert_eq!(patched(&one_more, &nested(66)), None);
}

/// A document that is deeper than it can be read, and patches that are.
#[test]
fn deep_texts_are_refused_before_they_are_opened() {
    let deep = |levels: usize| format!("{}{}{}", "{\"a\":".repeat(levels), 1, "}".repeat(levels));
    assert_eq!(merge_patch(deep(127), deep(127)), Ok(deep(127)));
    for levels in [128, 100_000] {
        assert_eq!(merge_patch(deep(levels), "{}"), Err(PatchError::TooDeep));
        assert_eq!(merge_patch("{}", deep(levels)), Err(PatchError::TooDeep));
        assert_eq!(json_patch("[]", &deep(levels)), Err(PatchError::TooDeep));
        let replace = format!(r#"[{{"op":"replace","path":"","value":{}}}]"#, deep(levels));
        assert_eq!(json_patch(&replace, "{}"), Err(PatchError::TooDeep));
    }
}

#[test]
fn what_is_no_document_and_no_patch_is_refused() {
    for document in ["", "1", "\"", "{", "x"] {
        assert_eq!(json_patch("[]", document), Err(PatchError::NotAnObject), "{document}");
        assert_eq!(merge_patch(document, "{}"), Err(PatchError::NotAnObject), "{document}");
    }
    for patch in ["", "1", "\"", "{", "x", "{}}"] {
        let wrong = [JsonPatch::parse(patch).map(drop), merge_patch("{}", patch).map(drop)];
        for wrong in wrong {
            assert!(matches!(wrong, Err(PatchError::Malformed(_))), "{patch}: {wrong:?}");
        }
    }
    for operations in ["{}", "[1]", r#"[{"op":1}]"#, r#"[{"op":"remove","path":[]}]"#] {
        let wrong = json_patch(operations, "{}");
        assert!(matches!(wrong, Err(PatchError::Malformed(_))), "{operations}: {wrong:?}");
    }
    let unchecked = JsonPatch::parse_unchecked(r#"[{"op":1}]"#).expect("a list of objects");
    let why = "unknown operation failed to decode path: missing value".to_owned();
    assert_eq!(unchecked.apply("{}"), Err(PatchError::Unprocessable(why)));
}

#[test]
fn the_texts_are_those_of_the_api_servers_library() {
    for (operation, why) in [
        (
            json!({ "op": "add", "path": "/x/y", "value": 1 }),
            r#"add operation does not apply: doc is missing path: "/x/y": missing value"#,
        ),
        (
            json!({ "op": "replace", "path": "/x/y", "value": 1 }),
            "replace operation does not apply: doc is missing path: /x/y: missing value",
        ),
        (
            json!({ "op": "replace", "path": "/l/3", "value": 1 }),
            "replace operation does not apply: doc is missing key: /l/3: missing value",
        ),
        (
            json!({ "op": "remove", "path": "/x" }),
            "error in remove for path: '/x': Unable to remove nonexistent key: x: missing value",
        ),
        (
            json!({ "op": "add", "path": "/l/7", "value": 1 }),
            "error in add for path: '/l/7': Unable to access invalid index: 7: invalid index \
             referenced",
        ),
        (
            json!({ "op": "add", "path": "/l/x", "value": 1 }),
            "error in add for path: '/l/x': value was not a proper array index: 'x': strconv.Atoi: \
             parsing \"x\": invalid syntax",
        ),
        (
            json!({ "op": "move", "from": "/x", "path": "/y" }),
            "error in move for path: 'x': Unable to remove nonexistent key: x: missing value",
        ),
        (json!({ "op": "twist", "path": "/x" }), "Unexpected kind: twist"),
    ] {
        let failed = error(&json!([operation]).to_string(), r#"{"l":[1]}"#);
        assert_eq!(failed, Some(PatchError::Unprocessable(why.to_owned())), "{operation}");
    }
}

/// Why operations fail. `None` if they do not.
fn error(operations: &str, document: &str) -> Option<PatchError> {
    json_patch(operations, document).err()
}

#[test]
fn indices_are_read_as_go_reads_numbers() {
    let list = |operation: &Value| {
        let document = json!({ "l": ["a", "b", "c"], "m": [["x"]] });
        patched(&json!([operation]), &document).map(|patched| patched["l"].clone())
    };
    for (operation, expected) in [
        (json!({ "op": "remove", "path": "/l/-1" }), json!(["a", "b"])),
        (json!({ "op": "remove", "path": "/l/01" }), json!(["a", "c"])),
        (json!({ "op": "replace", "path": "/l/+1", "value": 1 }), json!(["a", 1, "c"])),
        (json!({ "op": "add", "path": "/l/-1", "value": 1 }), json!(["a", "b", "c", 1])),
        (json!({ "op": "add", "path": "/l/-4", "value": 1 }), json!([1, "a", "b", "c"])),
        (json!({ "op": "move", "from": "/l/-1", "path": "/l/00" }), json!(["c", "a", "b"])),
        (json!({ "op": "copy", "from": "/m/-1/+0", "path": "/l/-" }), json!(["a", "b", "c", "x"])),
        (json!({ "op": "test", "path": "x/m/-01/0", "value": "x" }), json!(["a", "b", "c"])),
    ] {
        assert_eq!(list(&operation), Some(expected), "{operation}");
    }
    for path in ["/l/-4", "/l/3", "/l/1x", "/l/ 1", "/l/", "/l/--1", "/l/-"] {
        assert_eq!(list(&json!({ "op": "remove", "path": path })), None, "{path}");
    }
}

#[test]
fn a_test_compares_texts_where_nobody_went() {
    let differs = |path: &str| {
        Some(PatchError::Unprocessable(format!("testing value {path} failed: test failed")))
    };
    let document = r#"{"html":"a\u003cb","n":1.5,"o":{"x":1,"y":[1,{"z":"\u0026"}]},"e":"é"}"#;
    for (path, value, expected) in [
        ("/html", r#""a<b""#, differs("/html")),
        ("/html", r#""a\u003cb""#, None),
        ("/e", r#""\u00e9""#, differs("/e")),
        ("/e", r#""é""#, None),
        ("/n", "1.50", differs("/n")),
        ("/n", "1.5", None),
        ("/o", r#"{ "y": [ 1, { "z": "\u0026" } ], "x": 1 }"#, None),
        ("/o", r#"{"y":[1,{"z":"&"}],"x":1}"#, differs("/o")),
        ("/o/y/0", "1.0", differs("/o/y/0")),
    ] {
        let operations = format!(r#"[{{"op":"test","path":"{path}","value":{value}}}]"#);
        assert_eq!(error(&operations, document), expected, "{operations}");
    }
    // What an operation has put there stays as it was said, until it is copied.
    let added = |test: &str| {
        let before =
            r#"{"op":"add","path":"/a","value":"<"},{"op":"copy","from":"/a","path":"/b"}"#;
        error(&format!(r#"[{before},{{"op":"test",{test}}}]"#), "{}")
    };
    assert_eq!(added(r#""path":"/a","value":"<""#), None);
    assert_eq!(added(r#""path":"/b","value":"<""#), differs("/b"));
    assert_eq!(added(r#""path":"/b","value":"\u003c""#), None);
}

#[test]
fn what_gos_library_panics_over_fails() {
    let document = r#"{"l":[null]}"#;
    for operations in [
        r#"[{"op":"test","path":"/l","value":[null]}]"#,
        r#"[{"op":"replace","path":""}]"#,
        r#"[{"op":"test","path":""}]"#,
    ] {
        assert_eq!(error(operations, document), Some(PatchError::Panic), "{operations}");
    }
}

#[test]
fn a_merge_patch_drops_nulls_of_what_it_adds_and_keeps_those_of_what_it_replaces() {
    let document = || json!({ "l": [1], "o": { "x": 1 } });
    let item = json!([{ "a": null, "b": { "c": null } }, null]);
    for (member, expected) in [
        ("new", json!([{ "b": {} }, null])),
        ("l", json!([{ "b": {} }, null])),
        ("o", item.clone()),
    ] {
        assert_eq!(merged(&json!({ member: item }), &document())[member], expected, "{member}");
    }
}

mod fuzz;
mod strategic;
