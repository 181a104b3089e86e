//! The metrics that an autoscaler follows.

use k8s_value::{FieldError, FieldErrors};
use serde_json::Value;

use crate::api::metadata::Object;
use crate::strategy::builtin::horizontal_pod_autoscaler::{
    Version, validate_reference, wrong_version,
};
use crate::strategy::builtin::members::{at, items, said};
use crate::strategy::builtin::resource_names::{quantity, validate_of_container};
use crate::strategy::builtin::values::{label, wrongs_of_path_name};

const TYPES: [&str; 5] = ["ContainerResource", "External", "Object", "Pods", "Resource"];
/// The members with the sources, in the order in which upstream looks for them.
const SOURCES: [&str; 5] = ["object", "external", "pods", "resource", "containerResource"];

/// Validates the metrics. `takes_any_version`: an older server has let in wrong references.
#[doc(alias = "validateMetrics")]
pub(super) fn validate(metrics: Option<&Value>, takes_any_version: bool, causes: &mut FieldErrors) {
    let version = if takes_any_version { Version::Any } else { Version::Valid };
    for (path, metric) in items(metrics, "spec.metrics") {
        validate_metric(metric, &path, version, causes);
    }
}

/// Whether a metric is about something other than the pods.
pub(super) fn has_outer(metrics: Option<&Value>) -> bool {
    items(metrics, "").any(|(_, metric)| matches!(said(metric, "type"), "Object" | "External"))
}

/// Whether a stored metric is about an object whose version cannot be read.
pub(super) fn has_wrong_reference(old: &Object) -> bool {
    items(at(old, "spec.metrics"), "").any(|(_, metric)| {
        let version = metric.pointer("/object/describedObject/apiVersion").and_then(Value::as_str);
        version.is_some_and(|version| wrong_version(version, Version::Valid).is_some())
    })
}

#[doc(alias = "validateMetricSpec")]
fn validate_metric(metric: &Value, path: &str, version: Version, causes: &mut FieldErrors) {
    let of = said(metric, "type");
    let field = format!("{path}.type");
    if of.is_empty() {
        causes.push(FieldError::required(field.as_str(), "must specify a metric source type"));
    }
    if !TYPES.contains(&of) {
        causes.push(FieldError::unsupported(field, of, &TYPES));
    }
    let mut present: Vec<&str> =
        SOURCES.into_iter().filter(|source| metric.get(*source).is_some()).collect();
    if let Some(first) = present.first() {
        let source = metric.get(*first).unwrap_or(&Value::Null);
        validate_source(first, source, &format!("{path}.{first}"), version, causes);
    }
    let expected = SOURCES.into_iter().find(|source| source.eq_ignore_ascii_case(of));
    if let Some(expected) = expected.filter(|expected| !present.contains(expected)) {
        let why = "must populate information for the given metric source";
        causes.push(FieldError::required(format!("{path}.{expected}"), why));
    }
    if present.len() != 1 {
        present.retain(|source| Some(*source) != expected);
        for source in present {
            let why = "must populate the given metric source only";
            causes.push(FieldError::forbidden(format!("{path}.{source}"), why));
        }
    }
}

fn validate_source(
    of: &str,
    source: &Value,
    path: &str,
    version: Version,
    causes: &mut FieldErrors,
) {
    let target = source.get("target").unwrap_or(&Value::Null);
    let has = |member: &str| target.get(member).is_some();
    match of {
        "resource" | "containerResource" => {
            validate_resource(of, source, path, causes);
            let field = format!("{path}.target");
            match (has("averageUtilization"), has("averageValue")) {
                (false, false) => causes.push(FieldError::required(
                    format!("{field}.averageUtilization"),
                    "must set either a target raw value or a target utilization",
                )),
                (true, true) => causes.push(FieldError::forbidden(
                    format!("{field}.averageValue"),
                    "may not set both a target raw value and a target utilization",
                )),
                _ => {}
            }
        }
        _ => {
            if of == "object" {
                let described = source.get("describedObject").unwrap_or(&Value::Null);
                let path = format!("{path}.describedObject");
                validate_reference(described, &path, version, causes);
            }
            validate_identifier(source, path, causes);
            let why = match of {
                "object" => "must set either a target value or averageValue",
                "external" => "must set either a target value for metric or a per-pod target",
                _ => "must specify a positive target averageValue",
            };
            if !has("averageValue") && (of == "pods" || !has("value")) {
                causes.push(FieldError::required(format!("{path}.target.averageValue"), why));
            }
            if of == "external" && has("averageValue") && has("value") {
                let why = "may not set both a target value for metric and a per-pod target";
                causes.push(FieldError::forbidden(format!("{path}.target.value"), why));
            }
        }
    }
    validate_target(target, &format!("{path}.target"), causes);
}

fn validate_resource(of: &str, source: &Value, path: &str, causes: &mut FieldErrors) {
    let (field, name) = (format!("{path}.name"), said(source, "name"));
    if name.is_empty() {
        causes.push(FieldError::required(field.as_str(), "must specify a resource name"));
    }
    if of == "resource" {
        return;
    }
    if !name.is_empty() {
        validate_of_container(name, &field, causes);
    }
    let (field, container) = (format!("{path}.container"), said(source, "container"));
    if container.is_empty() {
        causes.push(FieldError::required(field, "must specify a container"));
    } else {
        label(container, &field, causes);
    }
}

#[doc(alias = "validateMetricIdentifier")]
fn validate_identifier(source: &Value, path: &str, causes: &mut FieldErrors) {
    let field = format!("{path}.metric.name");
    let name = source.get("metric").map_or("", |metric| said(metric, "name"));
    if name.is_empty() {
        causes.push(FieldError::required(field.as_str(), "must specify a metric name"));
    }
    for why in wrongs_of_path_name(name) {
        causes.push(FieldError::invalid(field.as_str(), name, why));
    }
}

#[doc(alias = "validateMetricTarget")]
fn validate_target(target: &Value, path: &str, causes: &mut FieldErrors) {
    let (field, of) = (format!("{path}.type"), said(target, "type"));
    if of.is_empty() {
        causes.push(FieldError::required(field.as_str(), "must specify a metric target type"));
    }
    if !matches!(of, "Utilization" | "Value" | "AverageValue") {
        let why = "must be either Utilization, Value, or AverageValue";
        causes.push(FieldError::invalid(field, of, why));
    }
    for member in ["value", "averageValue"] {
        let Some(amount) = target.get(member) else { continue };
        if quantity(amount).is_some_and(|amount| amount.is_negative() || amount.nanos() == 0) {
            let field = format!("{path}.{member}");
            causes.push(FieldError::invalid_json(field, amount, "must be positive"));
        }
    }
    let path = format!("{path}.averageUtilization");
    if let Some(percent) = target.get("averageUtilization").and_then(Value::as_i64)
        && percent < 1
    {
        causes.push(FieldError::invalid_json(path, &percent.into(), "must be greater than 0"));
    }
}
