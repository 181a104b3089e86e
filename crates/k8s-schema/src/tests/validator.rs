//! Objects held against a schema and its rules.

use serde_json::{Value, json};

use crate::{Old, Validator};
use k8s_value::FieldErrors;

fn validator(member: &Value) -> Validator {
    let schema = json!({ "type": "object", "properties": { "a": member } });
    Validator::read(&schema).expect("a schema")
}

fn errors(validator: &Validator, object: &Value, old: Option<&Value>) -> Vec<String> {
    let mut found = FieldErrors::default();
    validator.validate(object, Old(old), &mut found);
    found.as_slice().iter().map(ToString::to_string).collect()
}

#[test]
fn a_broken_rule_is_said_as_it_asks_for() {
    for (rule, wrong) in [
        (json!({ "rule": "self.b > 3" }), "a: Invalid value: failed rule: self.b > 3"),
        (
            json!({
                "rule": "self.b > 3", "message": "no",
                "messageExpression": "'b is ' + string(self.b)",
            }),
            "a: Invalid value: b is 1",
        ),
        (
            json!({ "rule": "false", "message": "no", "reason": "FieldValueForbidden" }),
            "a: Forbidden: no",
        ),
        (json!({ "rule": "false", "message": "no", "fieldPath": ".b" }), "a.b: Invalid value: no"),
        (
            json!({ "rule": "1 / (self.b - 1) == 1" }),
            "a: Invalid value: \"object\": division by zero evaluating rule: 1 / (self.b - 1) == 1",
        ),
    ] {
        let validator = validator(&json!({
            "type": "object", "properties": { "b": { "type": "integer" } },
            "x-kubernetes-validations": [rule],
        }));
        assert_eq!(errors(&validator, &json!({ "a": { "b": 1 } }), None), [wrong]);
    }
}

#[test]
fn a_rule_of_the_value_before_waits_for_an_update() {
    let rules = |optional: bool| {
        validator(&json!({
            "type": "integer",
            "x-kubernetes-validations": [{
                "rule": if optional { "oldSelf.orValue(5) <= self" } else { "oldSelf <= self" },
                "message": "shrinks", "optionalOldSelf": optional,
            }],
        }))
    };
    let (one, two) = (json!({ "a": 1 }), json!({ "a": 2 }));
    assert_eq!(errors(&rules(false), &one, None), [""; 0]);
    assert_eq!(errors(&rules(false), &two, Some(&one)), [""; 0]);
    assert_eq!(errors(&rules(false), &one, Some(&two)), ["a: Invalid value: 1: shrinks"]);
    assert_eq!(errors(&rules(true), &one, None), ["a: Invalid value: 1: shrinks"]);
}

#[test]
fn a_value_that_broke_its_rule_before_is_a_warning() {
    let validator = validator(&json!({
        "type": "integer", "x-kubernetes-validations": [{ "rule": "self > 3", "message": "small" }],
    }));
    let (old, same) = (json!({ "a": 1, "b": 1 }), json!({ "a": 1, "b": 2 }));
    let small = ["a: Invalid value: 1: small"];
    assert_eq!(errors(&validator, &old, None), small);
    assert_eq!(errors(&validator, &same, Some(&old)), [""; 0]);
    assert_eq!(validator.warnings(&same, &old), small);
    assert_eq!(validator.warnings(&json!({ "a": 2 }), &old), [""; 0]);
}

#[test]
fn errors_of_types_block_rules_and_lists_come_before_them() {
    let list = validator(&json!({
        "type": "array", "items": { "type": "integer" }, "x-kubernetes-list-type": "set",
        "x-kubernetes-validations": [{ "rule": "self.size() < 2", "message": "long" }],
    }));
    let twice = json!({ "a": [1, 1] });
    assert_eq!(errors(&list, &twice, None), ["a[1]: Duplicate value: 1", "a: Invalid value: long"]);
    assert_eq!(errors(&list, &twice, Some(&twice)), [""; 0]);
    let found = errors(&list, &json!({ "a": ["x", "y"] }), None);
    let last = found.last().map(String::as_str).unwrap_or_default();
    assert!(last.starts_with("<nil>: Invalid value: null: some validation rules"), "{found:?}");
    assert!(!found.iter().any(|error| error.contains("long")), "{found:?}");
}

#[test]
fn rules_of_one_object_have_one_budget() {
    let rule = format!("!self.matches('{}')", "a".repeat(300));
    let item = json!({ "type": "string", "x-kubernetes-validations": [{ "rule": rule }] });
    let costly = validator(&json!({ "type": "array", "items": item }));
    let text = "b".repeat(100_000);
    let found = errors(&costly, &json!({ "a": vec![text; 20] }), None);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("running out of cost budget"), "{found:?}");
}
