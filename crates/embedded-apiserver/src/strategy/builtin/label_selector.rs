//! `metav1.LabelSelector` in an object: whether it is valid, and whether it selects some labels.

use k8s_value::{FieldError, FieldErrors, names};
use serde_json::{Map, Value};

use crate::strategy::builtin::members::{items, said, texts};
use crate::strategy::builtin::values::{IMMUTABLE, labels};

const OPERATORS: [&str; 4] = ["In", "NotIn", "Exists", "DoesNotExist"];

#[doc(alias = "ValidateLabelSelector")]
pub(super) fn validate(selector: &Value, path: &str, causes: &mut FieldErrors) {
    labels(selector.get("matchLabels"), &format!("{path}.matchLabels"), causes);
    let expressions = format!("{path}.matchExpressions");
    for (path, expression) in items(selector.get("matchExpressions"), &expressions) {
        let values = expression.get("values").and_then(Value::as_array).map_or(0, Vec::len);
        match said(expression, "operator") {
            "In" | "NotIn" if values == 0 => {
                let why = "must be specified when `operator` is 'In' or 'NotIn'";
                causes.push(FieldError::required(format!("{path}.values"), why));
            }
            "Exists" | "DoesNotExist" if values > 0 => {
                let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                causes.push(FieldError::forbidden(format!("{path}.values"), why));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => causes.push(FieldError::invalid(
                format!("{path}.operator"),
                other,
                "not a valid selector operator",
            )),
        }
        let key = said(expression, "key");
        for why in names::wrongs_of_qualified_name(key) {
            causes.push(FieldError::invalid(format!("{path}.key"), key, why));
        }
        for (path, value) in items(expression.get("values"), &format!("{path}.values")) {
            let value = value.as_str().unwrap_or_default();
            if let Some(why) = names::wrong_label_value(value) {
                causes.push(FieldError::invalid(path, value, why));
            }
        }
    }
}

/// Formats a selector as Go does: labels first.
pub(super) fn shown(selector: &Value) -> String {
    let Value::Object(members) = selector else { return selector.to_string() };
    let mut parts: Vec<String> = members
        .get("matchLabels")
        .map(|labels| format!("\"matchLabels\":{labels}"))
        .into_iter()
        .collect();
    parts.extend(members.get("matchExpressions").map(|all| format!("\"matchExpressions\":{all}")));
    format!("{{{}}}", parts.join(","))
}

/// Formats a selector as `String` of its Go type does.
pub(super) fn go_string(selector: &Value) -> String {
    let mut labels: Vec<(&String, &Value)> =
        selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten().collect();
    labels.sort_by_key(|(key, _)| *key);
    let labels: String = labels
        .iter()
        .map(|(key, value)| format!("{key}: {},", value.as_str().unwrap_or_default()))
        .collect();
    let expression = |(_, expression): (String, &Value)| {
        let values = texts(expression.get("values")).join(" ");
        let (key, operator) = (said(expression, "key"), said(expression, "operator"));
        format!("LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{values}],}},")
    };
    let expressions: String = items(selector.get("matchExpressions"), "").map(expression).collect();
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{labels}}},\
         MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
}

/// A selector is immutable (`ValidateImmutableField`).
pub(super) fn immutable(
    new: Option<&Value>,
    old: Option<&Value>,
    path: &str,
    causes: &mut FieldErrors,
) {
    if new != old {
        causes.push(FieldError::invalid_shown(
            path,
            &shown(new.unwrap_or(&Value::Null)),
            IMMUTABLE,
        ));
    }
}

/// Whether the selector is empty.
pub(crate) fn is_empty(selector: &Value) -> bool {
    let length = |member: &str| match selector.get(member) {
        Some(Value::Object(members)) => members.len(),
        Some(Value::Array(items)) => items.len(),
        _ => 0,
    };
    length("matchLabels") + length("matchExpressions") == 0
}

/// Whether Go can convert it to a selector: known operators, with their values.
pub(super) fn is_usable(selector: &Value) -> bool {
    let expressions =
        selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten();
    expressions.into_iter().all(|expression| OPERATORS.contains(&said(expression, "operator")))
}

/// Whether it selects an object with these labels.
pub(crate) fn matches(selector: &Value, labels: &Map<String, Value>) -> bool {
    let equal = selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten();
    let fits = |expression: &Value| {
        let has = labels.get(said(expression, "key"));
        let among = || {
            let mut values =
                expression.get("values").and_then(Value::as_array).into_iter().flatten();
            has.is_some_and(|has| values.any(|value| value == has))
        };
        match said(expression, "operator") {
            "In" => among(),
            "NotIn" => !among(),
            "Exists" => has.is_some(),
            "DoesNotExist" => has.is_none(),
            _ => false,
        }
    };
    let mut expressions =
        selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten();
    equal.into_iter().all(|(key, value)| labels.get(key) == Some(value)) && expressions.all(fits)
}
