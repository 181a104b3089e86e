//! Rules that the workloads share: they have a pod template.

use k8s_value::{FieldError, FieldErrors, names};
use serde_json::Value;

use crate::api::metadata::{self, Object};
use crate::strategy::builtin::cells::{joined, list};
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
            refuse_empty_selector(selector, "deployment", causes);
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
    validate_labels(object, selector, causes);
    pod_spec::validate_template(at(object, "spec.template"), "spec.template", causes);
    validate_running(object, "ReplicaSet", causes);
}

/// A selector must not be empty. `kind` is the workload in the message.
pub(super) fn refuse_empty_selector(selector: &Value, kind: &str, causes: &mut FieldErrors) {
    if label_selector::is_empty(selector) {
        let why = format!("empty selector is invalid for {kind}");
        let shown = label_selector::shown(selector);
        causes.push(FieldError::invalid_shown("spec.selector", &shown, &why));
    }
}

/// Checks that a selector selects the labels of the template. A missing one selects none.
pub(super) fn validate_labels(object: &Object, selector: Option<&Value>, causes: &mut FieldErrors) {
    let labels = at(object, "spec.template.metadata.labels");
    let matches = selector.is_some_and(|selector| {
        // An empty selector is already an error.
        label_selector::is_empty(selector) || label_selector::matches(selector, &members(labels))
    });
    if !matches {
        refuse_labels(labels, causes);
    }
}

/// The labels of the template are not selected.
pub(super) fn refuse_labels(labels: Option<&Value>, causes: &mut FieldErrors) {
    let why = "`selector` does not match template `labels`";
    let labels = labels.unwrap_or(&Value::Null);
    causes.push(FieldError::invalid_json("spec.template.metadata.labels", labels, why));
}

/// Checks that the pods of the template never end. `kind` is the workload in the message.
pub(super) fn validate_running(object: &Object, kind: &str, causes: &mut FieldErrors) {
    let path = "spec.template.spec.restartPolicy";
    let policy = text(object, path);
    if policy != "Always" {
        causes.push(FieldError::unsupported(path, policy, &["Always"]));
    }
    let path = "spec.template.spec.activeDeadlineSeconds";
    if at(object, path).is_some() {
        let why = format!("activeDeadlineSeconds in {kind} is not Supported");
        causes.push(FieldError::forbidden(path, &why));
    }
}

/// The count of collisions does not fall (`IsDecremented`).
pub(super) fn validate_collisions(object: &Object, old: &Object, causes: &mut FieldErrors) {
    let path = "status.collisionCount";
    let count = |object| at(object, path).and_then(Value::as_i64);
    let is_less = match (count(object), count(old)) {
        (None, old) => old.is_some(),
        (Some(new), Some(old)) => new < old,
        (Some(_), None) => false,
    };
    if is_less {
        let count = count(object).unwrap_or(0).into();
        causes.push(FieldError::invalid_json(path, &count, "cannot be decremented"));
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
    not_negative(status, "status", counts, causes);
    for part in parts {
        at_most(status, (part, "replicas"), "cannot be greater than status.replicas", causes);
    }
    let pair = ("availableReplicas", "readyReplicas");
    at_most(status, pair, "cannot be greater than readyReplicas", causes);
}

/// The first count of a status does not exceed the second.
pub(super) fn at_most(
    status: &Value,
    (count, most): (&str, &str),
    why: &str,
    causes: &mut FieldErrors,
) {
    let number = |member: &str| status.get(member).and_then(Value::as_i64).unwrap_or(0);
    if number(count) > number(most) {
        let path = format!("status.{count}");
        causes.push(FieldError::invalid_json(path, &number(count).into(), why));
    }
}

/// Warns of a name that pods cannot have, and of mistakes in a new template.
pub(super) fn warnings(object: &Object, old: Option<&Object>) -> Vec<String> {
    let mut warnings = Vec::new();
    warn_of_name(object, old, &mut warnings);
    warn_of_template(object, old, "spec.template", &mut warnings);
    warnings
}

/// Warns of a new name that pods cannot have.
pub(super) fn warn_of_name(object: &Object, old: Option<&Object>, warnings: &mut Vec<String>) {
    let name = metadata::text(object, "name");
    if let Some(why) = names::wrong_label(name).filter(|_| old.is_none()) {
        warnings.push(format!(
            "metadata.name: this is used in Pod names and hostnames, which can result in \
             surprising behavior; a DNS label is recommended: [{why}]"
        ));
    }
}

/// Warns of mistakes in the template at `path` of a new generation.
pub(super) fn warn_of_template(
    object: &Object,
    old: Option<&Object>,
    path: &str,
    warnings: &mut Vec<String>,
) {
    let changed = old.is_none_or(|old| metadata::generation(object) != metadata::generation(old));
    if let Some(template) = at(object, path).filter(|_| changed) {
        pod_spec::add_warnings(template, &format!("{path}."), warnings);
    }
}

/// The cell of the names of the containers.
pub(super) fn containers(object: &Value) -> Value {
    containers_of(&object["spec"]["template"])
}

/// The cell of the images of the containers.
pub(super) fn images(object: &Value) -> Value {
    images_of(&object["spec"]["template"])
}

/// The cell of the names of the containers of a template.
pub(super) fn containers_of(template: &Value) -> Value {
    of_containers(template, "name")
}

/// The cell of the images of the containers of a template.
pub(super) fn images_of(template: &Value) -> Value {
    of_containers(template, "image")
}

fn of_containers(template: &Value, member: &str) -> Value {
    let containers = list(template, "/spec/containers").iter();
    let all: Vec<&str> = containers.filter_map(|item| item[member].as_str()).collect();
    all.join(",").into()
}

/// The cell of the selector.
pub(super) fn selector(object: &Value) -> Value {
    selector_cell(&object["spec"]["selector"])
}

/// The cell of labels.
#[doc(alias = "FormatLabels")]
pub(super) fn labels_cell(labels: &Value) -> Value {
    let labels = labels.as_object().into_iter().flatten();
    joined(labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())))
}

/// The cell of a selector.
#[doc(alias = "FormatLabelSelector")]
pub(super) fn selector_cell(selector: &Value) -> Value {
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
    joined(parts.into_iter().map(|(_, part)| part))
}
