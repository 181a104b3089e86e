//! Strategic merge patches.

use serde_json::{Value, json};

use crate::patch::{PatchError, strategic_merge};
use crate::{Object, Schema};

/// An object with a list of each sort, by reference where the API server has references.
fn definitions() -> Object {
    let text = json!({ "type": "string" });
    let items = json!({ "$ref": "#/components/schemas/Item" });
    let kind = json!({ "properties": {
        "text": text,
        "map": { "additionalProperties": text },
        "whole": { "properties": { "a": {}, "b": {} }, "x-kubernetes-patch-strategy": "replace" },
        "list": { "items": text },
        "names": { "items": text, "x-kubernetes-patch-strategy": "merge" },
        "keyless": { "items": items, "x-kubernetes-patch-strategy": "merge" },
        "items": {
            "items": items,
            "x-kubernetes-patch-strategy": "merge,retainKeys",
            "x-kubernetes-patch-merge-key": "name",
        },
    } });
    let item = json!({ "properties": { "name": text, "a": text, "b": text, "inner": {
        "allOf": [{ "$ref": "#/components/schemas/Kind" }],
    } } });
    Object::from_iter([("Kind".to_owned(), kind), ("Item".to_owned(), item)])
}

pub(super) fn patched(object: &Value, patch: &Value) -> Result<Value, PatchError> {
    let definitions = definitions();
    let members = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let mut object = members(object);
    strategic_merge(&mut object, members(patch), Schema::new(&definitions["Kind"], &definitions))?;
    Ok(object.into())
}

#[test]
fn the_schema_decides_how_a_member_is_merged() {
    let object = json!({
        "text": "x", "map": { "a": "1", "b": "2" }, "whole": { "a": 1 }, "list": ["a"], "names": ["a"],
        "items": [{ "name": "x", "a": "1", "b": "1" }, { "name": "y" }],
    });
    for (patch, member, expected) in [
        (json!({ "text": null }), "text", Value::Null),
        (json!({ "map": { "a": null, "c": "3" } }), "map", json!({ "b": "2", "c": "3" })),
        (json!({ "whole": { "b": 2 } }), "whole", json!({ "b": 2 })),
        (json!({ "list": ["b"] }), "list", json!(["b"])),
        (json!({ "names": ["b", "a"] }), "names", json!(["b", "a"])),
        (
            json!({ "items": [{ "name": "x", "a": null, "b": "2" }] }),
            "items",
            json!([{ "name": "x", "b": "2" }, { "name": "y" }]),
        ),
    ] {
        let patched = patched(&object, &patch).expect("a patch");
        assert_eq!(patched[member], expected, "{patch}");
    }
}

#[test]
fn directives_are_carried_out() {
    let object = json!({
        "map": { "a": "1", "b": "2" }, "names": ["a", "b"],
        "items": [{ "name": "x", "inner": { "list": ["a"] } }, { "name": "y" }],
    });
    for (patch, member, expected) in [
        (json!({ "map": { "$patch": "delete" } }), "map", json!({})),
        (json!({ "map": { "$patch": "replace", "c": "3" } }), "map", json!({ "c": "3" })),
        (
            json!({ "map": { "$retainKeys": ["b", "c"], "c": "3" } }),
            "map",
            json!({ "b": "2", "c": "3" }),
        ),
        (json!({ "$deleteFromPrimitiveList/names": ["a"] }), "names", json!(["b"])),
        (json!({ "$setElementOrder/names": ["b", "a"] }), "names", json!(["b", "a"])),
        (
            json!({ "items": [{ "name": "x", "$patch": "delete" }] }),
            "items",
            json!([{ "name": "y" }]),
        ),
        (
            json!({ "items": [{ "$patch": "replace" }, { "name": "z" }] }),
            "items",
            json!([{ "name": "z" }]),
        ),
        (
            json!({ "$setElementOrder/items": [{ "name": "y" }, { "name": "x" }],
                    "items": [{ "name": "x", "inner": { "list": ["b"] } }] }),
            "items",
            json!([{ "name": "y" }, { "name": "x", "inner": { "list": ["b"] } }]),
        ),
    ] {
        let patched = patched(&object, &patch).expect("a patch");
        assert_eq!(patched[member], expected, "{patch}");
    }
}

#[test]
fn malformed_patches_and_lists_that_cannot_be_merged_are_refused() {
    use PatchError::{Malformed, OutOfBounds, Unmergeable};
    let object = json!({
        "map": {}, "unknown": {}, "names": ["a"], "keyless": [{ "name": "x" }], "items": [{ "name": "x" }],
    });
    let (malformed, unmergeable, out_of_bounds) =
        (Malformed(String::new()), Unmergeable(String::new()), OutOfBounds(String::new()));
    for (patch, sort, why) in [
        (json!({ "map": { "$retainKeys": "a" } }), &malformed, "retainKeys"),
        (json!({ "map": { "$retainKeys": [], "a": "1" } }), &malformed, "retainKeys"),
        (json!({ "$setElementOrder": [] }), &malformed, "setElementOrder"),
        (json!({ "$patch": "x" }), &unmergeable, "unknown $patch: \"x\""),
        (json!({ "unknown": { "a": 1 } }), &unmergeable, "\"unknown\""),
        (json!({ "names": [1] }), &unmergeable, "not identical"),
        (json!({ "keyless": [{ "name": "y" }] }), &unmergeable, "merge key"),
        (json!({ "items": [{ "a": "1" }] }), &unmergeable, "merge key: name"),
        (json!({ "items": [{ "name": "x", "$patch": "merge" }] }), &unmergeable, "cannot yet"),
        (json!({ "$setElementOrder/items": [], "items": "x" }), &unmergeable, "got string"),
        (json!({ "$setElementOrder/names": ["b"], "names": ["c"] }), &unmergeable, "doesn't match"),
    ] {
        let error = patched(&object, &patch).expect_err("refused");
        assert_eq!(
            std::mem::discriminant(&error),
            std::mem::discriminant(sort),
            "{patch}: {error}"
        );
        assert!(error.to_string().contains(why), "{patch}: {error}");
    }
    let error = patched(&json!({ "names": [["a"]] }), &json!({ "names": [["b"]] }));
    let error = error.expect_err("refused");
    assert_eq!(std::mem::discriminant(&error), std::mem::discriminant(&out_of_bounds));
}
