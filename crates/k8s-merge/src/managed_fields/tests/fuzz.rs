//! Fuzz target: whatever a client sends as fieldsV1 is refused, or read and written again as the
//! same.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

use super::{ManagedFields, RequestedFields, Set, decode, encoded};

/// Names of members: nearly right, or anything.
fn key() -> impl Strategy<Value = String> {
    let known = [
        ".",
        "",
        "f:",
        "f:a",
        "f:.",
        "f:f:a",
        "k:",
        "k:{}",
        "k:{\"a\":1}",
        "k:{\"b\":\"x\",\"a\":true}",
        "k:[1]",
        "k:{\"a\":",
        "v:",
        "v:1",
        "v:1.50",
        "v:\"x\"",
        "v:null",
        "v:{\"a\":[1,null]}",
        "i:",
        "i:0",
        "i:-1",
        "i:007",
        "i:99999999999999999999",
        "x:a",
        "f",
    ];
    prop_oneof![
        4 => select(known.to_vec()).prop_map(str::to_owned),
        1 => "[fkvi]:[a-z0-9\"{}:,\\[\\]. -]{0,12}",
        1 => "\\PC{0,8}",
    ]
}

fn fields() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![8 => Just(json!({})), 1 => select(vec![json!(null), json!(1), json!("x"), json!([]), json!([{}])])];
    leaf.prop_recursive(5, 40, 5, |inner| {
        prop::collection::vec((key(), inner), 0..5)
            .prop_map(|members| Value::Object(Map::from_iter(members)))
    })
}

fn entry() -> impl Strategy<Value = Value> {
    let text = |words: &'static [&'static str]| select(words).prop_map(Value::from);
    let whole = (
        text(&["Apply", "Update", "", "Guess"]),
        text(&["FieldsV1", "FieldsV1", "FieldsV1", "", "FieldsV2"]),
        text(&["v1", "apps/v1", ""]),
        text(&["m", "", "\u{0}", "n"]),
        text(&["2026-01-02T03:04:05Z", "never", ""]),
        fields(),
    );
    let whole = whole.prop_map(|(operation, types, version, manager, time, fields)| {
        json!({
            "operation": operation, "fieldsType": types, "apiVersion": version, "manager": manager, "time": time,
            "fieldsV1": fields,
        })
    });
    prop_oneof![6 => whole, 1 => select(vec![json!(null), json!({}), json!("x"), json!([])])]
}

proptest! {
    #[test]
    fn fields_are_refused_or_read_and_written_as_the_same(fields in fields()) {
        if let Ok(set) = Set::decode(&fields) {
            let text = encoded(&set);
            let again = decode(&text);
            prop_assert_eq!(again.as_ref(), Ok(&set), "{}", text);
            prop_assert_eq!(encoded(&again.unwrap_or_default()), text);
        }
    }

    #[test]
    fn entries_are_refused_or_read_and_written_as_the_same(entries in prop::collection::vec(entry(), 0..4)) {
        let requested = RequestedFields::of(Some(&Value::Array(entries.clone())));
        if let Ok(managed) = ManagedFields::decode(&entries) {
            let text = managed.encode();
            prop_assert_eq!(ManagedFields::parse(&text).encode(), text);
            prop_assert_eq!(matches!(requested, RequestedFields::Entries(_)), !managed.is_empty());
        }
    }
}
