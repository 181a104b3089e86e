//! How fast an autoscaler scales up and down.

use k8s_value::{FieldError, FieldErrors};
use serde_json::{Map, Value, json};

use crate::strategy::builtin::members::{items, said};
use crate::strategy::builtin::resource_names::quantity;

/// Sets the defaults of both directions.
#[doc(alias = "SetDefaults_HorizontalPodAutoscalerBehavior")]
pub(super) fn default(behavior: &mut Map<String, Value>) {
    let policy = |of: &str, value: i32| json!({ "type": of, "value": value, "periodSeconds": 15 });
    let (pods, percent) = (policy("Pods", 4), policy("Percent", 100));
    let up = [("stabilizationWindowSeconds", json!(0)), ("policies", json!([pods, percent]))];
    let down = [("policies", json!([percent]))];
    for (member, defaults) in [("scaleUp", up.as_slice()), ("scaleDown", &down)] {
        let rules = behavior.entry(member).or_insert_with(|| json!({}));
        if let Value::Object(rules) = rules {
            rules.entry("selectPolicy").or_insert_with(|| "Max".into());
            for (name, value) in defaults {
                rules.entry(*name).or_insert_with(|| value.clone());
            }
        }
    }
}

#[doc(alias = "validateScalingRules")]
pub(super) fn validate(rules: &Value, path: &str, causes: &mut FieldErrors) {
    const LONGEST_WINDOW: i64 = 3600;
    let window = rules.get("stabilizationWindowSeconds").and_then(Value::as_i64).unwrap_or(0);
    let field = format!("{path}.stabilizationWindowSeconds");
    if window < 0 {
        let why = "must be greater than or equal to zero";
        causes.push(FieldError::invalid_json(field.as_str(), &window.into(), why));
    }
    if window > LONGEST_WINDOW {
        let why = format!("must be less than or equal to {LONGEST_WINDOW}");
        causes.push(FieldError::invalid_json(field, &window.into(), &why));
    }
    let (policy, known) = (said(rules, "selectPolicy"), ["Disabled", "Max", "Min"]);
    // Objects of autoscaling/v1 are validated before the policy has its default.
    if rules.get("selectPolicy").is_some() && !known.contains(&policy) {
        causes.push(FieldError::unsupported(format!("{path}.selectPolicy"), policy, &known));
    }
    let path_of_policies = format!("{path}.policies");
    let mut policies = items(rules.get("policies"), &path_of_policies).peekable();
    if policies.peek().is_none() {
        let why = "must specify at least one Policy";
        causes.push(FieldError::required(path_of_policies.as_str(), why));
    }
    policies.for_each(|(path, policy)| validate_policy(policy, &path, causes));
    if let Some(tolerance) = rules.get("tolerance")
        && quantity(tolerance).is_some_and(|tolerance| tolerance.is_negative())
    {
        let why = "must be greater than or equal to 0";
        causes.push(FieldError::invalid_json(format!("{path}.tolerance"), tolerance, why));
    }
}

#[doc(alias = "validateScalingPolicy")]
fn validate_policy(policy: &Value, path: &str, causes: &mut FieldErrors) {
    const LONGEST_PERIOD: i64 = 1800;
    let (of, known) = (said(policy, "type"), ["Percent", "Pods"]);
    if !known.contains(&of) {
        causes.push(FieldError::unsupported(format!("{path}.type"), of, &known));
    }
    let number = |member: &str| policy.get(member).and_then(Value::as_i64).unwrap_or(0);
    for member in ["value", "periodSeconds"] {
        if number(member) <= 0 {
            let why = "must be greater than zero";
            let field = format!("{path}.{member}");
            causes.push(FieldError::invalid_json(field, &number(member).into(), why));
        }
    }
    let period = number("periodSeconds");
    if period > LONGEST_PERIOD {
        let why = format!("must be less than or equal to {LONGEST_PERIOD}");
        let field = format!("{path}.periodSeconds");
        causes.push(FieldError::invalid_json(field, &period.into(), &why));
    }
}
