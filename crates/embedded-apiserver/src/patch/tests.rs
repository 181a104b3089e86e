//! JSON and merge patches on documents.

use serde_json::json;

use crate::media::PatchType;
use crate::patch::Patch;
use crate::query::FieldValidation;
use crate::resource;
use crate::status::Status;

fn config_maps() -> resource::ServedResource {
    resource::built_in().find(|kind| kind.plural() == "configmaps").expect("built in")
}

fn apply(
    kind: PatchType,
    patch: &serde_json::Value,
    document: serde_json::Value,
) -> Option<serde_json::Value> {
    apply_text(kind, &patch.to_string(), &document.to_string()).ok()
}

fn apply_text(kind: PatchType, patch: &str, document: &str) -> Result<serde_json::Value, Status> {
    let patch =
        Patch::parse(kind, &patch.to_owned().into(), &config_maps(), FieldValidation::Warn)?;
    patch.apply(document.to_owned().into())
}

#[test]
fn a_merge_patch_removes_by_null_and_replaces_lists() {
    let document = json!({ "a": { "b": 1, "c": [1, 2] }, "d": 1 });
    let patch = json!({ "a": { "b": null, "c": [3] }, "e": { "f": null } });
    let expected = json!({ "a": { "c": [3] }, "d": 1, "e": {} });
    assert_eq!(apply(PatchType::Merge, &patch, document), Some(expected));
}

#[test]
fn only_a_test_for_null_of_a_missing_member_passes() {
    let document = || json!({ "a": { "b": null, "l": [] } });
    let test = |path: &str, value: serde_json::Value| {
        apply(PatchType::Json, &json!([{ "op": "test", "path": path, "value": value }]), document())
            .is_some()
    };
    assert!(test("/a/missing", json!(null)));
    assert!(test("/missing", json!(null)));
    assert!(test("/a/b", json!(null)));
    assert!(!test("/a/missing", json!(1)));
    assert!(!test("/missing/parent", json!(null)));
    assert!(!test("/a/l/0", json!(null)), "an element of a list is no member");
    assert!(!test("/a", json!(null)));
}

fn refusal(patch: &serde_json::Value, document: &serde_json::Value) -> String {
    let refused = apply_text(PatchType::Json, &patch.to_string(), &document.to_string());
    let refused = refused.expect_err("too much");
    refused.to_json().to_string()
}

#[test]
fn copies_of_copies_end_at_the_size_of_a_body() {
    let document = json!({ "a": { "b": "x".repeat(1000) } });
    let copies: Vec<_> = (0..40)
        .map(|at| json!({ "op": "copy", "from": "/a", "path": format!("/a/c{at}") }))
        .collect();
    let why = refusal(&copies.into(), &document);
    assert!(why.contains("exceeding the limit"), "{why}");
    let some = json!([{ "op": "copy", "from": "/a", "path": "/c" }, { "op": "copy", "from": "/a", "path": "/d" }]);
    let copied = apply(PatchType::Json, &some, document.clone()).expect("two copies are fine");
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
        let why = refusal(&json!([operation]), &document);
        assert!(why.contains("deeper than 127 levels"), "{why}");
    }
    for fits in [61, 62] {
        // The object itself, the members of the path, the value and its innermost object.
        let operation = json!([{ "op": "replace", "path": deep, "value": nested(fits - 1) }]);
        let patched = apply(PatchType::Json, &operation, nested(66)).expect("not too deep");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&patched.to_string()).ok(),
            Some(patched)
        );
    }
    let one_more = json!([{ "op": "replace", "path": deep, "value": nested(62) }]);
    assert_eq!(apply(PatchType::Json, &one_more, nested(66)), None);
}

/// The code that operations are refused with; 200 if they are carried out.
fn code(operations: &str, document: &str) -> u16 {
    apply_text(PatchType::Json, operations, document).map_or_else(|status| status.code(), |_| 200)
}

#[test]
fn indices_are_read_as_go_reads_numbers() {
    let list = |operation: &serde_json::Value| {
        let document = json!({ "l": ["a", "b", "c"], "m": [["x"]] });
        apply(PatchType::Json, &json!([operation]), document).map(|patched| patched["l"].clone())
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
    let document = r#"{"html":"a\u003cb","n":1.5,"o":{"x":1,"y":[1,{"z":"\u0026"}]},"e":"é"}"#;
    for (path, value, expected) in [
        ("/html", r#""a<b""#, 422),
        ("/html", r#""a\u003cb""#, 200),
        ("/e", r#""\u00e9""#, 422),
        ("/e", r#""é""#, 200),
        ("/n", "1.50", 422),
        ("/n", "1.5", 200),
        ("/o", r#"{ "y": [ 1, { "z": "\u0026" } ], "x": 1 }"#, 200),
        ("/o", r#"{"y":[1,{"z":"&"}],"x":1}"#, 422),
        ("/o/y/0", "1.0", 422),
    ] {
        let operations = format!(r#"[{{"op":"test","path":"{path}","value":{value}}}]"#);
        assert_eq!(code(&operations, document), expected, "{operations}");
    }
    // What an operation has put there stays as it was said, until it is copied.
    let added = |test: &str| {
        let before =
            r#"{"op":"add","path":"/a","value":"<"},{"op":"copy","from":"/a","path":"/b"}"#;
        code(&format!(r#"[{before},{{"op":"test",{test}}}]"#), "{}")
    };
    assert_eq!(added(r#""path":"/a","value":"<""#), 200);
    assert_eq!(added(r#""path":"/b","value":"<""#), 422);
    assert_eq!(added(r#""path":"/b","value":"\u003c""#), 200);
}

#[test]
fn what_gos_library_panics_over_is_500() {
    let document = r#"{"l":[null]}"#;
    for operations in [
        r#"[{"op":"test","path":"/l","value":[null]}]"#,
        r#"[{"op":"replace","path":""}]"#,
        r#"[{"op":"test","path":""}]"#,
    ] {
        assert_eq!(code(operations, document), 500, "{operations}");
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
        let patched =
            apply(PatchType::Merge, &json!({ member: item }), document()).expect("a patch");
        assert_eq!(patched[member], expected, "{member}");
    }
}
