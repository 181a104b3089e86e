//! What may differ between two answers, and that nothing beside it may.

use serde_json::{Value, json};

use super::*;

fn refusal(code: u16, field: &str, message: &str) -> Value {
    json!({
        "kind": "Status", "code": code, "message": format!("Job.batch \"a\" is invalid: {field}: {message}"),
        "details": { "name": "a", "causes": [{ "field": field, "message": message }] },
    })
}

fn agree(real: &Value, embedded: &Value) -> bool {
    Relation::default().bodies(real, embedded).is_ok()
}

#[test]
fn a_template_that_may_not_change_is_related_and_nothing_around_it() {
    let go = "Invalid value: {\"Spec\":{\"Volumes\":null,\"Containers\":[]}}: field is immutable";
    let ours = "Invalid value: {\"spec\":{\"containers\":null}}: field is immutable";
    let real = refusal(422, "spec.template", go);
    assert!(agree(&real, &refusal(422, "spec.template", ours)));
    assert!(!agree(&real, &refusal(409, "spec.template", ours)), "another code");
    assert!(!agree(&real, &refusal(422, "spec.selector", ours)), "another field");
    let other = "Invalid value: {\"spec\":{\"containers\":null}}: may not be changed";
    assert!(!agree(&real, &refusal(422, "spec.template", other)), "another reason");
    let selector = |value: &str| format!("Invalid value: {{\"matchLabels\":{value}}}: field is immutable");
    let real = refusal(422, "spec.selector", &selector("{\"a\":\"b\"}"));
    assert!(!agree(&real, &refusal(422, "spec.selector", &selector("{\"a\":\"c\"}"))), "another value");
}
