//! `matchConditions` of webhooks and admission policies.

use k8s_value::{FieldError, FieldErrors, names};
use serde_json::Value;

use crate::strategy::builtin::members::{items, said};

const MOST: usize = 64;

/// Checks all but the expressions themselves.
#[doc(alias = "validateMatchConditions")]
pub(super) fn validate(conditions: Option<&Value>, path: &str, causes: &mut FieldErrors) {
    let count = conditions.and_then(Value::as_array).map_or(0, Vec::len);
    if count > MOST {
        causes.push(FieldError::too_many(path, count, MOST));
    }
    let mut seen = Vec::new();
    for (path, condition) in items(conditions, path) {
        if said(condition, "expression").trim().is_empty() {
            causes.push(FieldError::required(format!("{path}.expression"), ""));
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
