//! Schemas on their own.

mod check;
mod validator;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::schema::MAX_DEPTH;
use crate::{Old, Schema, Type, prune, set_defaults, validate};
use k8s_value::FieldErrors;

fn schema(of: &Value) -> Schema {
    Schema::read(of).expect("a schema")
}

fn object(of: Value) -> Map<String, Value> {
    let Value::Object(members) = of else { panic!("{of} is no object") };
    members
}

#[test]
fn a_schema_that_nests_without_end_is_none() {
    let nested = |levels: usize| {
        (0..levels).fold(
            json!({ "type": "string" }),
            |inner, _| json!({ "type": "array", "items": inner }),
        )
    };
    assert!(Schema::read(&nested(MAX_DEPTH)).is_ok());
    let why = Schema::read(&nested(MAX_DEPTH + 1)).unwrap_err();
    assert!(why.contains(&MAX_DEPTH.to_string()), "{why}");
    let why = Schema::read(&json!({ "type": "text" })).unwrap_err();
    assert!(why.contains("\"text\""), "{why}");
    assert_eq!(schema(&json!({ "x-kubernetes-int-or-string": true })).types, Type::IntOrString);
}

/// A kind of the sort that is usual.
fn usual() -> Value {
    let item = json!({
        "type": "object", "required": ["a"],
        "properties": { "a": { "type": "string", "default": "x" }, "b": { "type": "integer", "minimum": 1 } },
    });
    json!({
        "type": "object",
        "properties": {
            "a": { "type": "string", "enum": ["x", "y"] },
            "b": { "type": "integer", "default": 3 },
            "c": { "type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"] },
            "d": { "type": "object", "additionalProperties": { "type": "number", "nullable": true } },
            "e": { "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": { "a": { "type": "boolean" } } },
        },
    })
}

#[test]
fn defaults_are_filled_in_where_their_parent_is() {
    let schema = schema(&usual());
    let mut members = object(json!({ "c": [{}, { "a": "y" }] }));
    set_defaults(&mut members, &schema);
    assert_eq!(Value::Object(members), json!({ "b": 3, "c": [{ "a": "x" }, { "a": "y" }] }));
    let mut members = object(json!({ "b": null }));
    set_defaults(&mut members, &schema);
    assert_eq!(members.get("b"), Some(&json!(3)), "a null that may not be counts as absent");
}

#[test]
fn what_no_schema_names_is_pruned_and_told() {
    let schema = schema(&usual());
    let mut members =
        object(json!({ "z": 1, "c": [{ "z": 1 }], "d": { "z": 1 }, "e": { "z": { "y": 1 } } }));
    let pruned = prune(&mut members, &schema, 64);
    assert_eq!(
        Value::Object(members),
        json!({ "c": [{}], "d": { "z": 1 }, "e": { "z": { "y": 1 } } })
    );
    assert_eq!(pruned.len(), 2, "{pruned:?}");
}

/// The number of errors of a value, after an update or anew.
fn wrong(schema: &Schema, value: &Value, old: Old<'_>) -> usize {
    let mut causes = FieldErrors::default();
    validate(schema, value, old, &mut causes);
    usize::from(!causes.is_empty())
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3..4_i64).prop_map(Value::from),
        Just(json!(1.5)),
        "[xyz]".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-ez]", inner, 0..5).prop_map(|members| json!(members)),
        ]
    })
}

proptest! {
    #[test]
    fn filled_in_and_pruned_once_is_enough(value in prop::collection::btree_map("[a-ez]", values(), 0..6)) {
        let schema = schema(&usual());
        let mut members: Map<String, Value> = value.into_iter().collect();
        set_defaults(&mut members, &schema);
        prune(&mut members, &schema, 64);
        let once = members.clone();
        set_defaults(&mut members, &schema);
        prop_assert!(prune(&mut members, &schema, 64).is_empty());
        prop_assert_eq!(members, once);
    }

    #[test]
    fn what_was_wrong_before_may_stay_as_it_is(value in prop::collection::btree_map("[a-ez]", values(), 0..6)) {
        let (schema, value) = (schema(&usual()), json!(value));
        prop_assert_eq!(wrong(&schema, &value, Old(Some(&value))), 0, "{}", value);
    }
}
