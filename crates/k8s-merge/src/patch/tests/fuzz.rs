//! Fuzz targets: no patch panics, whatever it and the document are.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

use super::strategic::patched;
use crate::patch::{JsonPatch, merge_patch};

fn name() -> impl Strategy<Value = String> {
    let names = [
        "text",
        "map",
        "whole",
        "list",
        "names",
        "keyless",
        "items",
        "name",
        "inner",
        "a",
        "$patch",
        "$retainKeys",
        "$setElementOrder/items",
        "$setElementOrder/names",
        "$setElementOrder/",
        "$deleteFromPrimitiveList/names",
        "$deleteFromPrimitiveList",
        "",
    ];
    select(names.to_vec()).prop_map(str::to_owned)
}

fn value() -> impl Strategy<Value = Value> {
    let leaves = [
        json!(null),
        json!(1),
        json!("a"),
        json!("x"),
        json!("replace"),
        json!("delete"),
        json!({}),
    ];
    select(leaves.to_vec()).prop_recursive(4, 30, 4, |inner| {
        prop_oneof![
            2 => prop::collection::vec((name(), inner.clone()), 0..4)
                .prop_map(|members| Value::Object(Map::from_iter(members))),
            1 => prop::collection::vec(inner, 0..4).prop_map(Value::Array),
        ]
    })
}

fn operations() -> impl Strategy<Value = Value> {
    let op = select(vec!["add", "remove", "replace", "move", "copy", "test", "x"]);
    let path = select(vec![
        "",
        "/",
        "/map",
        "/map/a",
        "/items",
        "/items/0",
        "/items/-",
        "/items/-1",
        "/items/0/inner",
        "/a~1b/~0",
        "x",
    ]);
    let one = (op, path.clone(), path, value()).prop_map(
        |(op, path, from, value)| json!({ "op": op, "path": path, "from": from, "value": value }),
    );
    prop::collection::vec(prop_oneof![9 => one, 1 => value()], 0..6).prop_map(Value::Array)
}

proptest! {
    #[test]
    fn a_strategic_patch_is_refused_or_makes_an_object(object in value(), patch in value()) {
        if let Ok(patched) = patched(&object, &patch) {
            prop_assert!(patched.is_object());
        }
    }

    #[test]
    fn a_merge_patch_is_refused_or_makes_json(object in value(), patch in value()) {
        if let Ok(text) = merge_patch(object.to_string(), patch.to_string()) {
            prop_assert!(serde_json::from_str::<Value>(&text).is_ok(), "{}", text);
        }
    }

    #[test]
    fn a_json_patch_is_refused_or_makes_json(object in value(), operations in operations()) {
        let patch = JsonPatch::parse_unchecked(operations.to_string());
        if let Ok(text) = patch.and_then(|patch| patch.apply(object.to_string())) {
            prop_assert!(serde_json::from_str::<Value>(&text).is_ok(), "{}", text);
        }
    }

    #[test]
    fn no_text_panics(one in "\\PC{0,20}", other in "[\\[\\]{}\":,a0 -]{0,20}") {
        for (document, patch) in [(&one, &other), (&other, &one), (&other, &other)] {
            let _ = merge_patch(document.clone(), patch.clone());
            let _ = JsonPatch::parse(patch.clone()).and_then(|patch| patch.apply(document.clone()));
        }
    }
}
