//! Schemas that a definition may have, and others.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::values;
use crate::schema::MAX_DEPTH;
use crate::{
    Path, Step, Validator, check_schema, check_schema_with_status, find_field, subschemas,
    unsupported_in_rules,
};
use k8s_value::FieldErrors;

fn texts(errors: &FieldErrors) -> Vec<String> {
    errors.as_slice().iter().map(ToString::to_string).collect()
}

fn errors(schema: &Value) -> Vec<String> {
    let mut found = FieldErrors::default();
    check_schema(schema, &Path::Root, &mut found);
    texts(&found)
}

/// An object with a member of this schema.
fn with(member: Value) -> Value {
    json!({ "type": "object", "properties": { "a": member } })
}

#[test]
fn a_schema_is_structural_or_the_errors_say_why_not() {
    assert_eq!(errors(&with(json!({ "type": "string" }))), [""; 0]);
    for (schema, wrong) in [
        (json!({}), "type: Required value: must not be empty at the root"),
        (
            with(json!({ "type": "array" })),
            "properties[a].items: Required value: must be specified",
        ),
        (
            with(json!({ "type": "string", "anyOf": [{ "type": "string" }] })),
            "properties[a].anyOf[0].type: Forbidden: must be empty to be structural",
        ),
        (
            json!({ "type": "object", "not": { "properties": { "b": {} } } }),
            "properties[b]: Required value: because it is defined in not.properties[b]",
        ),
        (
            with(json!({ "type": "integer", "default": "x" })),
            "properties[a].default: Invalid value: \"string\":  in body must be of type integer: \
             \"string\"",
        ),
        (
            with(json!({ "type": "object", "default": { "b": 1 } })),
            "properties[a].default: Invalid value: {\"b\":1}: must not have unknown fields",
        ),
        (
            with(json!({ "type": "string", "$ref": "#/b" })),
            "properties[a].$ref: Forbidden: $ref is not supported",
        ),
        (
            with(json!({
                "type": "array", "items": { "type": "object" },
                "x-kubernetes-list-type": "map",
            })),
            "properties[a].x-kubernetes-list-map-keys: Required value: must not be empty if \
             x-kubernetes-list-type is map",
        ),
        (
            json!({ "type": "object", "nullable": true }),
            "nullable: Forbidden: nullable cannot be true at the root",
        ),
    ] {
        assert_eq!(errors(&schema), [wrong], "{schema}");
    }
}

#[test]
fn a_schema_that_nests_too_deep_is_refused() {
    let nested = |levels| (0..levels).fold(json!({ "type": "string" }), |inner, _| with(inner));
    assert_eq!(errors(&nested(MAX_DEPTH)), [""; 0]);
    let wrong = "<nil>: Invalid value: \"\": nests deeper than 128 levels";
    assert_eq!(errors(&nested(MAX_DEPTH + 1)), [wrong]);
}

#[test]
fn beside_a_status_subresource_the_root_says_less() {
    let schema = json!({ "type": "object", "anyOf": [{ "required": ["a"] }] });
    let found = |check: fn(&Value, &Path<'_>, &mut FieldErrors)| {
        let mut found = FieldErrors::default();
        check(&schema, &Path::Root.field("schema"), &mut found);
        texts(&found).join(" ")
    };
    assert_eq!(found(check_schema), "");
    let found = found(check_schema_with_status);
    assert!(found.contains("only [Description Type Format"), "{found}");
}

fn rule(rule: Value) -> Value {
    with(json!({ "type": "string", "maxLength": 9, "x-kubernetes-validations": [rule] }))
}

#[test]
fn rules_have_types_a_cost_and_the_values_that_they_may_read() {
    assert_eq!(errors(&rule(json!({ "rule": "self.size() > 2" }))), [""; 0]);
    assert_eq!(errors(&rule(json!({ "rule": "oldSelf != self" }))), [""; 0]);
    let place = "properties[a].x-kubernetes-validations[0]";
    for (said, field, why) in [
        (json!({ "rule": "self.size()" }), "rule", "cel expression must evaluate to a bool"),
        (json!({ "rule": "self > 2" }), "rule", "found no matching overload for '_>_'"),
        (json!({ "rule": " " }), "rule", "rule is not specified"),
        (
            json!({ "rule": "true", "messageExpression": "self.size()" }),
            "messageExpression",
            "messageExpression must evaluate to a string",
        ),
        (json!({ "rule": "true", "fieldPath": ".b" }), "fieldPath", "must be a valid path"),
        (json!({ "rule": "true", "reason": "Bad" }), "reason", "Unsupported value: \"Bad\""),
        (
            json!({ "rule": "true", "optionalOldSelf": true }),
            "optionalOldSelf",
            "may not be set if oldSelf is not used in rule",
        ),
    ] {
        let found = errors(&rule(said));
        let field = format!("{place}.{field}: ");
        let is_it = |error: &String| error.starts_with(&field) && error.contains(why);
        assert!(found.iter().any(is_it), "{field}{why}: {found:?}");
    }
    let all = json!([{ "rule": "self.all(x, self.all(y, x == y))" }]);
    let list = |max: Option<u32>| {
        let items = json!({ "type": "string", "maxLength": 9 });
        let mut list = json!({ "type": "array", "items": items, "x-kubernetes-validations": all });
        if let Some(max) = max {
            list["maxItems"] = max.into();
        }
        errors(&with(list)).join(" ")
    };
    assert_eq!(list(Some(10)), "");
    assert!(list(None).contains("estimated rule cost exceeds budget by factor of more than 100x"));
    let items = json!({
        "type": "string", "maxLength": 9,
        "x-kubernetes-validations": [{ "rule": "self == oldSelf" }],
    });
    let found = errors(&with(json!({ "type": "array", "maxItems": 9, "items": items })));
    assert!(found[0].contains("uncorrelatable portion of the schema within properties[a]"));
}

#[test]
fn rules_of_a_place_that_is_wrong_are_not_checked() {
    let rules = json!([{ "rule": "self.nothing" }]);
    let mut schema = with(json!({ "type": "string", "x-kubernetes-validations": rules }));
    schema["x-kubernetes-validations"] = json!([{ "rule": "nothing" }]);
    assert_eq!(errors(&schema).len(), 2);
    schema["properties"]["a"]["uniqueItems"] = true.into();
    let found = errors(&schema);
    assert!(found.len() == 1 && found[0].contains("uniqueItems"), "{found:?}");
}

#[test]
fn functions_that_are_missing_are_named_wherever_they_are() {
    assert_eq!(unsupported_in_rules(&rule(json!({ "rule": "self == 'x'" }))), None);
    let schema = json!({ "items": rule(json!({ "rule": "isURL(self)" })) });
    let found = unsupported_in_rules(&schema).expect("a function");
    assert!(found.contains("isURL"), "{found}");
    assert_eq!(subschemas(&schema).count(), 1);
}

#[test]
fn a_path_leads_to_a_place_of_a_schema() {
    let schema = json!({
        "properties": { "a": { "additionalProperties": { "type": "string" } }, "b.c": {} },
    });
    let (steps, found) = find_field(".a.x", &schema, false).expect("a place");
    assert_eq!(steps, [Step::Member("a".to_owned()), Step::Key("x".to_owned())]);
    assert_eq!(found, &json!({ "type": "string" }));
    let (steps, _) = find_field("['b.c']", &schema, true).expect("a place");
    assert_eq!(steps, [Step::Member("b.c".to_owned())]);
    for (path, brackets, why) in [
        (".x", true, "does not refer to a valid field"),
        (".", true, "unexpected end of JSON path"),
        ("a", true, "expected [ or . but got: a"),
        ("['b.c']", false, "array notation is not allowed"),
        ("[b]", true, "expected single quoted string but got b"),
        ("['b.c'", true, "unexpected end of JSON path"),
    ] {
        assert_eq!(find_field(path, &schema, brackets).unwrap_err(), why, "{path}");
    }
}

/// Schemas of a member, with rules that fit it and others.
fn schemas() -> impl Strategy<Value = Value> {
    const RULES: [&str; 6] = ["true", "self == self", "self", "self.a", "self[0]", "self.size()>1"];
    let rule = || proptest::sample::select(&RULES[..]).prop_map(|rule| json!([{ "rule": rule }]));
    let types = proptest::sample::select(&["string", "integer", "boolean", "odd"][..]);
    let leaf = (types, prop_oneof![5 => Just(Value::Null), 1 => values()], rule()).prop_map(
        |(types, default, rules)| {
            json!({
                "type": types, "maxLength": 9, "default": default,
                "x-kubernetes-validations": rules,
            })
        },
    );
    leaf.prop_recursive(3, 12, 3, move |inner| {
        let named = proptest::collection::btree_map("[a-c]", inner.clone(), 0..3);
        let of_rules = |(schema, rules): (Value, Value)| {
            let mut schema = schema;
            schema["x-kubernetes-validations"] = rules;
            schema
        };
        let shape = prop_oneof![
            named.prop_map(|named| json!({ "type": "object", "properties": named })),
            inner.clone().prop_map(|of| json!({ "type": "array", "maxItems": 3, "items": of })),
            inner.prop_map(|of| {
                json!({ "type": "object", "maxProperties": 3, "additionalProperties": of })
            }),
        ];
        (shape, rule()).prop_map(of_rules)
    })
}

proptest! {
    #[test]
    fn a_schema_without_errors_has_rules_that_compile(
        member in schemas(),
        value in values(),
    ) {
        let schema = with(member);
        if errors(&schema).is_empty() {
            let validator = Validator::read(&schema).expect("a schema");
            let mut broken = FieldErrors::default();
            validator.validate(&json!({ "a": value }), crate::Old(None), &mut broken);
            let broken = texts(&broken).join(" ");
            prop_assert!(!broken.contains("compile error"), "{broken}");
        }
    }
}
