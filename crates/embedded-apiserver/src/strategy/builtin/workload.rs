//! Rules that Deployments, ReplicaSets and Jobs share: they have a pod template.

use k8s_value::{FieldError, FieldErrors, names};
use serde_json::Value;

use crate::api::metadata::{self, Object};
use crate::strategy::builtin::cells::{NONE, list};
use crate::strategy::builtin::label_selector;
use crate::strategy::builtin::members::{at, members, text};
use crate::strategy::builtin::pod_spec;
use crate::strategy::builtin::values::not_negative;

/// Checks the selector of a Deployment or a ReplicaSet, and the template that it must match.
pub(super) fn validate_selector(object: &Object, causes: &mut FieldErrors) {
    match at(object, "spec.selector") {
        None => {
            causes.push(FieldError::required("spec.selector", ""));
            // A missing selector matches no template.
            validate_template(object, None, causes);
        }
        Some(selector) => {
            label_selector::validate(selector, "spec.selector", causes);
            if label_selector::is_empty(selector) {
                causes.push(FieldError::invalid_json(
                    "spec.selector",
                    selector,
                    "empty selector is invalid for deployment",
                ));
            }
            if label_selector::is_usable(selector) {
                validate_template(object, Some(selector), causes);
            } else {
                let shown = label_selector::shown(selector);
                causes.push(FieldError::invalid_shown(
                    "spec.selector",
                    &shown,
                    "invalid label selector",
                ));
            }
        }
    }
}

fn validate_template(object: &Object, selector: Option<&Value>, causes: &mut FieldErrors) {
    let path = "spec.template";
    let labels = at(object, "spec.template.metadata.labels");
    let matches = match selector {
        // An empty selector is already an error.
        None => false,
        Some(selector) => {
            label_selector::is_empty(selector)
                || label_selector::matches(selector, &members(labels))
        }
    };
    if !matches {
        let why = "`selector` does not match template `labels`";
        let labels = labels.unwrap_or(&Value::Null);
        causes.push(FieldError::invalid_json("spec.template.metadata.labels", labels, why));
    }
    pod_spec::validate_template(at(object, path), path, causes);
    let policy = text(object, "spec.template.spec.restartPolicy");
    if policy != "Always" {
        causes.push(FieldError::unsupported(
            "spec.template.spec.restartPolicy",
            policy,
            &["Always"],
        ));
    }
    if at(object, "spec.template.spec.activeDeadlineSeconds").is_some() {
        let why = "activeDeadlineSeconds in ReplicaSet is not Supported";
        causes.push(FieldError::forbidden("spec.template.spec.activeDeadlineSeconds", why));
    }
}

/// Checks the counts of a status: `counts` are not negative, `parts` do not exceed `replicas`.
pub(super) fn validate_counts(
    object: &Object,
    counts: &[&str],
    parts: &[&str],
    causes: &mut FieldErrors,
) {
    let status = object.get("status").unwrap_or(&Value::Null);
    let number = |member: &str| status.get(member).and_then(Value::as_i64).unwrap_or(0);
    not_negative(status, "status", counts, causes);
    let mut least = |member: &str, than: &str, why: &str| {
        if number(member) > number(than) {
            causes.push(FieldError::invalid_json(
                format!("status.{member}"),
                &number(member).into(),
                why,
            ));
        }
    };
    for part in parts {
        least(part, "replicas", "cannot be greater than status.replicas");
    }
    least("availableReplicas", "readyReplicas", "cannot be greater than readyReplicas");
}

/// Warns of a name that pods cannot have, and of mistakes in a new template.
pub(super) fn warnings(object: &Object, old: Option<&Object>) -> Vec<String> {
    let mut warnings = Vec::new();
    let name = metadata::text(object, "name");
    if let Some(why) = names::wrong_label(name).filter(|_| old.is_none()) {
        warnings.push(format!(
            "metadata.name: this is used in Pod names and hostnames, which can result in \
             surprising behavior; a DNS label is recommended: [{why}]"
        ));
    }
    let changed = old.is_none_or(|old| metadata::generation(object) != metadata::generation(old));
    if let Some(template) = at(object, "spec.template").filter(|_| changed) {
        pod_spec::add_warnings(template, "spec.template.", &mut warnings);
    }
    warnings
}

/// The cell of the names of the containers.
pub(super) fn containers(object: &Value) -> Value {
    of_containers(object, "name")
}

/// The cell of the images of the containers.
pub(super) fn images(object: &Value) -> Value {
    of_containers(object, "image")
}

fn of_containers(object: &Value, member: &str) -> Value {
    let all: Vec<&str> = list(object, "/spec/template/spec/containers")
        .iter()
        .filter_map(|item| item[member].as_str())
        .collect();
    all.join(",").into()
}

/// The cell of the selector.
#[doc(alias = "FormatLabelSelector")]
pub(super) fn selector(object: &Value) -> Value {
    formatted_selector(&object["spec"]["selector"])
}

/// The cell of a selector.
#[doc(alias = "FormatLabelSelector")]
pub(super) fn formatted_selector(selector: &Value) -> Value {
    let mut parts: Vec<(String, String)> = Vec::new();
    for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
        parts.push((key.clone(), format!("{key}={}", value.as_str().unwrap_or_default())));
    }
    for expression in list(selector, "/matchExpressions") {
        let key = expression["key"].as_str().unwrap_or_default();
        let mut values: Vec<&str> =
            list(expression, "/values").iter().filter_map(Value::as_str).collect();
        values.sort_unstable();
        let values = values.join(",");
        let part = match expression["operator"].as_str() {
            Some("In") => format!("{key} in ({values})"),
            Some("NotIn") => format!("{key} notin ({values})"),
            Some("DoesNotExist") => format!("!{key}"),
            _ => key.to_owned(),
        };
        parts.push((key.to_owned(), part));
    }
    parts.sort_by(|a, b| a.0.cmp(&b.0));
    match parts.is_empty() {
        true => NONE.into(),
        false => parts.into_iter().map(|(_, part)| part).collect::<Vec<_>>().join(",").into(),
    }
}
