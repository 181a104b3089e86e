//! Validation of admission policies. The expressions of mutations are not compiled.

use k8s_value::{FieldError, FieldErrors, names};
use serde_json::Value;

use crate::strategy::builtin::admission_policy::compiler::Compiler;
use crate::strategy::builtin::members::{items, part, said};
use crate::strategy::builtin::values::one_of_texts;
use crate::strategy::builtin::webhook::{FAILURE_POLICIES, REINVOCATION_POLICIES};
use crate::strategy::builtin::{match_conditions, match_resources};
use crate::strategy::expressions::{Wanted, environment};

const REASONS: &[&str] = &["Forbidden", "Invalid", "RequestEntityTooLarge"];
const PATCH_TYPES: &[&str] = &["ApplyConfiguration", "JSONPatch"];
const MOST_ANNOTATIONS: usize = 20;
const LONGEST_VALUE: usize = 5 * 1024;

/// The part that both kinds of policies have.
pub(super) fn validate_common(spec: &Value, causes: &mut FieldErrors) {
    let failure = spec.get("failurePolicy").unwrap_or(&Value::Null);
    one_of_texts(failure, "spec.failurePolicy", FAILURE_POLICIES, causes);
    if let Some(kind) = part(spec, "paramKind") {
        validate_param_kind(kind, causes);
    }
    let path = "spec.matchConstraints";
    if let Some(constraints) = part(spec, "matchConstraints") {
        match_resources::validate(constraints, path, causes);
        if items(constraints.get("resourceRules"), "").next().is_none() {
            causes.push(FieldError::required(format!("{path}.resourceRules"), ""));
        }
    } else {
        causes.push(FieldError::required(path, ""));
    }
}

/// The conditions and the variables. `old` is the stored spec.
pub(super) fn validate_conditions(
    spec: &Value,
    old: Option<&Value>,
    compiler: &mut Compiler,
    causes: &mut FieldErrors,
) {
    let is_kept = |member: &str| old.is_some_and(|old| old.get(member) == spec.get(member));
    if !(is_kept("paramKind") && is_kept("matchConditions")) {
        let environment = environment(part(spec, "paramKind").is_some(), true);
        let conditions = spec.get("matchConditions");
        match_conditions::validate(conditions, "spec.matchConditions", &environment, causes);
    }
    for (path, variable) in items(spec.get("variables"), "spec.variables") {
        let name = said(variable, "name");
        let field = format!("{path}.name");
        if name.trim().is_empty() {
            causes.push(FieldError::required(field, "name is not specified"));
        } else if !is_identifier(name) {
            causes.push(FieldError::invalid(field, name, "must be a valid CEL identifier"));
        }
        if let Some(source) = require_expression(variable, &path, UNSPECIFIED, causes) {
            compiler.variable(name, source, format!("{path}.expression"), causes);
        }
    }
}

const UNSPECIFIED: &str = "expression is not specified";

/// Returns the expression, unless it is blank.
fn require_expression<'a>(
    of: &'a Value,
    path: &str,
    why: &str,
    causes: &mut FieldErrors,
) -> Option<&'a str> {
    let source = said(of, "expression");
    if source.trim().is_empty() {
        causes.push(FieldError::required(format!("{path}.expression"), why));
        return None;
    }
    Some(source)
}

#[doc(alias = "isCELIdentifier")]
fn is_identifier(name: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.chars().all(part)
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && !k8s_cel::is_reserved(name)
}

#[doc(alias = "validateParamKind")]
fn validate_param_kind(param: &Value, causes: &mut FieldErrors) {
    let path = "spec.paramKind.apiVersion";
    let version = said(param, "apiVersion");
    let mut refuse = |value, why: &str| causes.push(FieldError::invalid(path, value, why));
    match version.split('/').collect::<Vec<_>>().as_slice() {
        [""] => causes.push(FieldError::required(path, "")),
        ["", ""] => refuse(version, "version must be specified"),
        [version] => {
            if let Some(why) = names::wrong_dns_1035_label(version) {
                refuse(version, why);
            }
        }
        [group, of_group] => {
            if let Some(why) = names::wrong_subdomain(group).filter(|_| !group.is_empty()) {
                refuse(group, why);
            }
            if of_group.is_empty() {
                refuse(version, "version must be specified");
            } else if let Some(why) = names::wrong_dns_1035_label(of_group) {
                refuse(of_group, why);
            }
        }
        _ => refuse(version, &format!("unexpected GroupVersion string: {version}")),
    }
    let path = "spec.paramKind.kind";
    let kind = said(param, "kind");
    if kind.is_empty() {
        causes.push(FieldError::required(path, ""));
    } else if let Some(why) = names::wrong_dns_1035_label(&kind.to_lowercase()) {
        let why = format!("may have mixed case, but should otherwise match: {why}");
        causes.push(FieldError::invalid(path, kind, &why));
    }
}

/// The validations and the audit annotations of a policy that validates.
pub(super) fn validate_validations(
    name: &str,
    spec: &Value,
    compiler: &Compiler,
    causes: &mut FieldErrors,
) {
    let (validations, annotations) = (spec.get("validations"), spec.get("auditAnnotations"));
    let count = |list: Option<&Value>| list.and_then(Value::as_array).map_or(0, Vec::len);
    if count(validations) + count(annotations) == 0 {
        let why = "validations or auditAnnotations must contain at least one item";
        causes.push(FieldError::required("spec.validations", why));
        causes.push(FieldError::required("spec.auditAnnotations", why));
    }
    for (path, validation) in items(validations, "spec.validations") {
        validate_validation(validation, &path, compiler, causes);
    }
    if count(annotations) > MOST_ANNOTATIONS {
        let value = annotations.unwrap_or(&Value::Null);
        let why = format!("must not have more than {MOST_ANNOTATIONS} auditAnnotations");
        causes.push(FieldError::invalid_json("spec.auditAnnotations", value, &why));
    }
    let mut seen = Vec::new();
    for (path, annotation) in items(annotations, "spec.auditAnnotations") {
        let (field, key) = (format!("{path}.key"), said(annotation, "key"));
        let qualified = format!("{name}/{key}");
        for why in names::wrongs_of_qualified_name(&qualified) {
            causes.push(FieldError::invalid(field.clone(), &qualified, why));
        }
        let source = said(annotation, "valueExpression");
        let value = source.trim();
        let of_value = format!("{path}.valueExpression");
        if value.is_empty() {
            causes.push(FieldError::required(of_value, "valueExpression is not specified"));
        } else if value.len() > LONGEST_VALUE {
            let why = format!("must not exceed {LONGEST_VALUE} bytes in length");
            causes.push(FieldError::required(of_value, &why));
        } else {
            compiler.check(source, Wanted::TextOrNull, of_value, causes);
        }
        if seen.contains(&key) {
            causes.push(FieldError::duplicate(field, &key.into()));
        }
        seen.push(key);
    }
}

#[doc(alias = "validateValidation")]
fn validate_validation(
    validation: &Value,
    path: &str,
    compiler: &Compiler,
    causes: &mut FieldErrors,
) {
    if let Some(source) = require_expression(validation, path, UNSPECIFIED, causes) {
        compiler.check(source, Wanted::Bool, format!("{path}.expression"), causes);
    }
    let (message, field) = (said(validation, "messageExpression"), "messageExpression");
    if !message.trim().is_empty() {
        compiler.check(message, Wanted::Text, format!("{path}.{field}"), causes);
    }
    let mut refuse = |member: &str, why: &str| {
        let value = said(validation, member);
        causes.push(FieldError::invalid(format!("{path}.{member}"), value, why));
    };
    let is_blank = |member: &str| {
        let text = said(validation, member);
        !text.is_empty() && text.trim().is_empty()
    };
    if is_blank("messageExpression") {
        refuse("messageExpression", "must be non-empty if specified");
    }
    if is_blank("message") {
        refuse("message", "must be non-empty if specified");
    } else if said(validation, "message").trim().contains(['\n', '\r']) {
        refuse("message", "must not contain line breaks");
    }
    if let Some(reason) = part(validation, "reason") {
        one_of_texts(reason, &format!("{path}.reason"), REASONS, causes);
    }
}

/// The mutations of a policy that mutates.
pub(super) fn validate_mutations(spec: &Value, causes: &mut FieldErrors) {
    let mutations = spec.get("mutations");
    if items(mutations, "").next().is_none() {
        let why = "mutations must contain at least one item";
        causes.push(FieldError::required("spec.mutations", why));
    }
    for (path, mutation) in items(mutations, "spec.mutations") {
        match said(mutation, "patchType") {
            "" => causes.push(FieldError::required(format!("{path}.patchType"), "")),
            "JSONPatch" => {
                validate_patch(mutation, &path, ["jsonPatch", "applyConfiguration"], causes);
            }
            "ApplyConfiguration" => {
                validate_patch(mutation, &path, ["applyConfiguration", "jsonPatch"], causes);
            }
            other => {
                let path = format!("{path}.patchType");
                causes.push(FieldError::unsupported(path, other, PATCH_TYPES));
            }
        }
    }
    let path = "spec.reinvocationPolicy";
    match said(spec, "reinvocationPolicy") {
        "" => causes.push(FieldError::required(path, "")),
        other if REINVOCATION_POLICIES.contains(&other) => {}
        other => causes.push(FieldError::unsupported(path, other, REINVOCATION_POLICIES)),
    }
}

/// A mutation has the member of its type, and not the other.
fn validate_patch(
    mutation: &Value,
    path: &str,
    [member, other]: [&str; 2],
    causes: &mut FieldErrors,
) {
    let of = said(mutation, "patchType");
    if let Some(patch) = part(mutation, member) {
        require_expression(patch, &format!("{path}.{member}"), "", causes);
    } else {
        let why = format!("must be specified when patchType is {of}");
        causes.push(FieldError::required(format!("{path}.{member}"), &why));
    }
    if part(mutation, other).is_some() {
        let why = format!("must not be specified when patchType is {of}");
        causes.push(FieldError::invalid(format!("{path}.{other}"), &format!("{{{other}}}"), &why));
    }
}

/// The results of type checking, in the status of a policy that validates.
#[doc(alias = "validateTypeChecking")]
pub(super) fn validate_type_checking(warnings: Option<&Value>, causes: &mut FieldErrors) {
    let path = "status.typeChecking.expressionWarnings";
    for (path, warning) in items(warnings, path) {
        for member in ["warning", "fieldRef"] {
            if said(warning, member).trim().is_empty() {
                causes.push(FieldError::required(format!("{path}.{member}"), ""));
            }
        }
    }
}
