//! `matchConditions` of webhooks and admission policies.

use k8s_cel::{Environment, Expression};
use k8s_value::{FieldError, FieldErrors, names};
use serde_json::Value;

use crate::strategy::builtin::members::{items, said};
use crate::strategy::expressions::{Wanted, compile};

const MOST: usize = 64;

/// The first function in the conditions of a webhook or a spec that this server does not have.
pub(super) fn unsupported(of: &Value) -> Option<String> {
    let mut conditions = items(of.get("matchConditions"), "");
    conditions.find_map(|(_, condition)| Expression::unsupported(said(condition, "expression")))
}

/// Checks the conditions. Their expressions may read the variables of `environment`.
#[doc(alias = "validateMatchConditions")]
pub(super) fn validate(
    conditions: Option<&Value>,
    path: &str,
    environment: &Environment,
    causes: &mut FieldErrors,
) {
    let count = conditions.and_then(Value::as_array).map_or(0, Vec::len);
    if count > MOST {
        causes.push(FieldError::too_many(path, count, MOST));
    }
    let mut seen = Vec::new();
    for (path, condition) in items(conditions, path) {
        let (place, source) = (format!("{path}.expression"), said(condition, "expression").trim());
        if source.is_empty() {
            causes.push(FieldError::required(place, ""));
        } else if let Err(why) = compile(source, environment, Wanted::Bool) {
            causes.push(why.cause(place, source));
        }
        let field = format!("{path}.name");
        let name = said(condition, "name");
        if name.is_empty() {
            causes.push(FieldError::required(field, ""));
            continue;
        }
        for why in names::wrongs_of_qualified_name(name) {
            causes.push(FieldError::invalid(field.clone(), name, why));
        }
        if seen.contains(&name) {
            causes.push(FieldError::duplicate(field, &name.into()));
        } else {
            seen.push(name);
        }
    }
}
