//! Validation of the spec of Jobs and of templates of Jobs.

use k8s_value::{FieldError, FieldErrors};
use serde_json::Value;

use crate::strategy::builtin::members::said;
use crate::strategy::builtin::pod_spec;
use crate::strategy::builtin::values::not_negative;

const COUNTS: [&str; 7] = [
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
];

/// Validates all but the selector, which a template does not have.
#[doc(alias = "validateJobSpec")]
pub(in crate::strategy::builtin) fn validate(spec: &Value, path: &str, causes: &mut FieldErrors) {
    not_negative(spec, path, &COUNTS, causes);
    if has(spec, "maxFailedIndexes") && !has(spec, "backoffLimitPerIndex") {
        causes.push(FieldError::required(
            format!("{path}.backoffLimitPerIndex"),
            "when maxFailedIndexes is specified",
        ));
    }
    validate_mode(spec, path, causes);
    validate_replacement(spec, path, causes);
    pod_spec::validate_template(spec.get("template"), &format!("{path}.template"), causes);
    validate_restarts(spec, path, causes);
}

fn has(spec: &Value, member: &str) -> bool {
    spec.get(member).is_some_and(|value| !value.is_null())
}

fn validate_mode(spec: &Value, path: &str, causes: &mut FieldErrors) {
    let mode = spec.get("completionMode").and_then(Value::as_str).unwrap_or("NonIndexed");
    match mode {
        "NonIndexed" => {
            for member in ["backoffLimitPerIndex", "maxFailedIndexes"] {
                if let Some(value) = spec.get(member).filter(|value| value.is_i64()) {
                    let why = "requires indexed completion mode";
                    causes.push(FieldError::invalid_json(format!("{path}.{member}"), value, why));
                }
            }
        }
        "Indexed" if !has(spec, "completions") => {
            let why = "when completion mode is Indexed";
            causes.push(FieldError::required(format!("{path}.completions"), why));
        }
        "Indexed" => {}
        other => causes.push(FieldError::unsupported(
            format!("{path}.completionMode"),
            other,
            &["NonIndexed", "Indexed"],
        )),
    }
}

fn validate_replacement(spec: &Value, path: &str, causes: &mut FieldErrors) {
    let field = format!("{path}.podReplacementPolicy");
    match (has(spec, "podFailurePolicy"), said(spec, "podReplacementPolicy")) {
        (_, "") | (true, "Failed") | (false, "Failed" | "TerminatingOrFailed") => {}
        (true, other) => causes.push(FieldError::unsupported(field, other, &["Failed"])),
        (false, other) => {
            let supported = ["Failed", "TerminatingOrFailed"];
            causes.push(FieldError::unsupported(field, other, &supported));
        }
    }
}

fn validate_restarts(spec: &Value, path: &str, causes: &mut FieldErrors) {
    let field = format!("{path}.template.spec.restartPolicy");
    let policy = spec.pointer("/template/spec/restartPolicy").and_then(Value::as_str);
    match policy.unwrap_or_default() {
        "" | "Always" => {
            causes.push(FieldError::required(field, "valid values: \"OnFailure\", \"Never\""));
        }
        "OnFailure" if has(spec, "podFailurePolicy") => {
            let why = "only \"Never\" is supported when podFailurePolicy is specified";
            causes.push(FieldError::invalid(field, "OnFailure", why));
        }
        "OnFailure" | "Never" => {}
        other => causes.push(FieldError::unsupported(field, other, &["OnFailure", "Never"])),
    }
}
