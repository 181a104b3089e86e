//! `metav1.Condition` in a status: whether the conditions are valid.

use k8s_value::{FieldError, FieldErrors, names};
use serde_json::Value;

use crate::strategy::builtin::members::{items, said};

const LONGEST_REASON: usize = 1024;
const LONGEST_MESSAGE: usize = 32 * 1024;
const REASON: &str = "a condition reason must start with alphabetic character, optionally \
    followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric \
    character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or \
    'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";

#[doc(alias = "ValidateConditions")]
pub(super) fn validate(conditions: Option<&Value>, path: &str, causes: &mut FieldErrors) {
    let mut seen = Vec::new();
    for (path, condition) in items(conditions, path) {
        let kind = said(condition, "type");
        if seen.contains(&kind) {
            causes.push(FieldError::duplicate(format!("{path}.type"), &kind.into()));
        }
        seen.push(kind);
        validate_one(condition, &path, causes);
    }
}

fn validate_one(condition: &Value, path: &str, causes: &mut FieldErrors) {
    let field = |member: &str| format!("{path}.{member}");
    let kind = said(condition, "type");
    for why in names::wrongs_of_qualified_name(kind) {
        causes.push(FieldError::invalid(field("type"), kind, why));
    }
    let (status, known) = (said(condition, "status"), ["False", "True", "Unknown"]);
    if !known.contains(&status) {
        causes.push(FieldError::unsupported(field("status"), status, &known));
    }
    if let Some(generation) = condition.get("observedGeneration").and_then(Value::as_i64)
        && generation < 0
    {
        let why = "must be greater than or equal to zero";
        causes.push(FieldError::invalid_json(field("observedGeneration"), &generation.into(), why));
    }
    if said(condition, "lastTransitionTime").is_empty() {
        causes.push(FieldError::required(field("lastTransitionTime"), ""));
    }
    let reason = said(condition, "reason");
    if reason.is_empty() {
        causes.push(FieldError::required(field("reason"), ""));
    } else if !is_reason(reason) {
        causes.push(FieldError::invalid(field("reason"), reason, REASON));
    }
    if reason.len() > LONGEST_REASON {
        causes.push(FieldError::too_long(field("reason"), LONGEST_REASON));
    }
    if said(condition, "message").len() > LONGEST_MESSAGE {
        causes.push(FieldError::too_long(field("message"), LONGEST_MESSAGE));
    }
}

fn is_reason(reason: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ',' | ':');
    reason.starts_with(|c: char| c.is_ascii_alphabetic())
        && reason.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && reason.chars().all(part)
}
