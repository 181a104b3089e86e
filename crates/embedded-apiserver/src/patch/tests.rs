//! JSON and merge patches on documents.

use serde_json::json;

use crate::media::PatchType;
use crate::patch::Patch;

fn apply(
    kind: PatchType,
    patch: &serde_json::Value,
    mut document: serde_json::Value,
) -> Option<serde_json::Value> {
    let patch = Patch::parse(kind, patch.to_string().as_bytes()).expect("a patch");
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
