//! JSON and merge patches on documents.

use serde_json::json;

use crate::builtin;
use crate::kind::Kind;
use crate::media::PatchType;
use crate::patch::Patch;
use crate::query::FieldValidation;

fn config_maps() -> Kind {
    builtin::kinds().into_iter().find(|kind| kind.plural() == "configmaps").expect("built in")
}

fn apply(
    kind: PatchType,
    patch: &serde_json::Value,
    mut document: serde_json::Value,
) -> Option<serde_json::Value> {
    let patch = Patch::parse(kind, patch.to_string().as_bytes(), &config_maps(), FieldValidation::Warn)
        .expect("a patch");
    patch.apply(&mut document).ok()?;
    Some(document)
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
        apply(PatchType::Json, &json!([{ "op": "test", "path": path, "value": value }]), document()).is_some()
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
    let patch =
        Patch::parse(PatchType::Json, patch.to_string().as_bytes(), &config_maps(), FieldValidation::Warn)
            .expect("a patch");
    let refused = patch.apply(&mut document.clone()).expect_err("too much");
    refused.to_json().to_string()
}

#[test]
fn copies_of_copies_end_at_the_size_of_a_body() {
    let document = json!({ "a": { "b": "x".repeat(1000) } });
    let copies: Vec<_> =
        (0..40).map(|at| json!({ "op": "copy", "from": "/a", "path": format!("/a/c{at}") })).collect();
    let why = refusal(&copies.into(), &document);
    assert!(why.contains("exceeding the limit"), "{why}");
    let some =
        json!([{ "op": "copy", "from": "/a", "path": "/c" }, { "op": "copy", "from": "/a", "path": "/d" }]);
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
        assert_eq!(serde_json::from_str::<serde_json::Value>(&patched.to_string()).ok(), Some(patched));
    }
    let one_more = json!([{ "op": "replace", "path": deep, "value": nested(62) }]);
    assert_eq!(apply(PatchType::Json, &one_more, nested(66)), None);
}
