//! Validation of the spec of Pods and pod templates.

use k8s_value::{FieldError, FieldErrors, names};
use serde_json::Value;

use crate::strategy::builtin::members::{items, said};
use crate::strategy::builtin::pod_spec::container::validate_container;
use crate::strategy::builtin::pod_spec::probe::validate_probes;
use crate::strategy::builtin::pod_spec::volume::validate_volumes;
use crate::strategy::builtin::values::{label, labels, subdomain};

/// Validates the template of a workload.
#[doc(alias = "ValidatePodTemplateSpec")]
pub(in crate::strategy::builtin) fn validate_template(
    template: Option<&Value>,
    path: &str,
    causes: &mut FieldErrors,
) {
    let metadata = template.and_then(|template| template.get("metadata"));
    labels(metadata.and_then(|m| m.get("labels")), &format!("{path}.labels"), causes);
    let annotations = metadata.and_then(|m| m.get("annotations")).and_then(Value::as_object);
    for (key, _) in annotations.into_iter().flatten() {
        for why in names::wrongs_of_qualified_name(&key.to_lowercase()) {
            causes.push(FieldError::invalid(format!("{path}.annotations"), key, why));
        }
    }
    let spec = template.and_then(|template| template.get("spec")).unwrap_or(&Value::Null);
    validate_spec(spec, &format!("{path}.spec"), causes);
    if spec.get("ephemeralContainers").is_some() {
        let why = "ephemeral containers not allowed in pod template";
        causes.push(FieldError::forbidden(format!("{path}.spec.ephemeralContainers"), why));
    }
}

/// Validates a pod spec. Covers only the frequent mistakes.
#[doc(alias = "ValidatePodSpec")]
pub(in crate::strategy::builtin) fn validate_spec(
    spec: &Value,
    path: &str,
    causes: &mut FieldErrors,
) {
    let field = |member: &str| format!("{path}.{member}");
    let volumes = validate_volumes(spec, &field("volumes"), causes);
    let containers = spec.get("containers").and_then(Value::as_array).map_or(0, Vec::len);
    if containers == 0 {
        causes.push(FieldError::required(field("containers"), ""));
    }
    let mut taken = Vec::new();
    for list in ["containers", "initContainers"] {
        for (path, container) in items(spec.get(list), &field(list)) {
            validate_container(container, &volumes, &path, causes);
            let name = said(container, "name");
            if taken.contains(&name) {
                causes.push(FieldError::duplicate(format!("{path}.name"), &name.into()));
            } else {
                taken.push(name);
            }
            validate_probes(container, list == "initContainers", &path, causes);
        }
        if list == "containers" {
            validate_host_ports(spec, &field(list), causes);
        }
    }
    validate_host_network(spec, path, causes);
    let mut one_of = |member: &str, supported: &[&str]| match said(spec, member) {
        "" => causes.push(FieldError::required(field(member), "")),
        said if !supported.contains(&said) => {
            causes.push(FieldError::unsupported(field(member), said, supported))
        }
        _ => {}
    };
    one_of("restartPolicy", &["Always", "OnFailure", "Never"]);
    one_of("dnsPolicy", &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"]);
    labels(spec.get("nodeSelector"), &field("nodeSelector"), causes);
    for member in ["serviceAccountName", "nodeName"] {
        let name = said(spec, member);
        if !name.is_empty() {
            subdomain(name, &field(member), causes);
        }
    }
    if let Some(seconds) = spec.get("activeDeadlineSeconds")
        && !seconds.as_i64().is_some_and(|seconds| (1..=i64::from(i32::MAX)).contains(&seconds))
    {
        let why = "must be between 1 and 2147483647, inclusive";
        causes.push(FieldError::invalid_json(field("activeDeadlineSeconds"), seconds, why));
    }
    for member in ["hostname", "subdomain"] {
        if !said(spec, member).is_empty() {
            label(said(spec, member), &field(member), causes);
        }
    }
    for (path, toleration) in items(spec.get("tolerations"), &field("tolerations")) {
        validate_toleration(toleration, &path, causes);
    }
    validate_gates(spec, &field("schedulingGates"), causes);
    if !said(spec, "priorityClassName").is_empty() {
        subdomain(said(spec, "priorityClassName"), &field("priorityClassName"), causes);
    }
}

#[doc(alias = "validateSchedulingGates")]
fn validate_gates(spec: &Value, path: &str, causes: &mut FieldErrors) {
    let mut seen = Vec::new();
    for (path, gate) in items(spec.get("schedulingGates"), path) {
        let name = said(gate, "name");
        for why in names::wrongs_of_qualified_name(name) {
            causes.push(FieldError::invalid(path.as_str(), name, why));
        }
        if seen.contains(&name) {
            causes.push(FieldError::duplicate(path, &name.into()));
        }
        seen.push(name);
    }
}

/// Two containers must not use one host port.
fn validate_host_ports(spec: &Value, path: &str, causes: &mut FieldErrors) {
    let mut seen = Vec::new();
    for (path, container) in items(spec.get("containers"), path) {
        for (path, port) in items(container.get("ports"), &format!("{path}.ports")) {
            let number = port.get("hostPort").and_then(Value::as_i64).unwrap_or(0);
            if number == 0 {
                continue;
            }
            let key = format!("{}/{}/{number}", said(port, "protocol"), said(port, "hostIP"));
            if seen.contains(&key) {
                causes
                    .push(FieldError::duplicate(format!("{path}.hostPort"), &key.as_str().into()));
            }
            seen.push(key);
        }
    }
}

fn validate_host_network(spec: &Value, path: &str, causes: &mut FieldErrors) {
    if spec.get("hostNetwork") != Some(&Value::Bool(true)) {
        return;
    }
    for list in ["containers", "initContainers"] {
        for (path, container) in items(spec.get(list), &format!("{path}.{list}")) {
            for (path, port) in items(container.get("ports"), &format!("{path}.ports")) {
                if port.get("hostPort") != port.get("containerPort") {
                    let number = port.get("hostPort").cloned().unwrap_or_else(|| 0.into());
                    let why = "must match `containerPort` when `hostNetwork` is true";
                    causes.push(FieldError::invalid_json(format!("{path}.hostPort"), &number, why));
                }
            }
        }
    }
}

pub(in crate::strategy::builtin) fn validate_toleration(
    toleration: &Value,
    path: &str,
    causes: &mut FieldErrors,
) {
    let (key, operator, effect) =
        (said(toleration, "key"), said(toleration, "operator"), said(toleration, "effect"));
    for why in names::wrongs_of_qualified_name(key).filter(|_| !key.is_empty()) {
        causes.push(FieldError::invalid(format!("{path}.key"), key, why));
    }
    if key.is_empty() && operator != "Exists" {
        let why = "operator must be Exists when `key` is empty, which means \"match all values and \
                   all keys\"";
        causes.push(FieldError::invalid(format!("{path}.operator"), operator, why));
    }
    if toleration.get("tolerationSeconds").is_some() && effect != "NoExecute" {
        let why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
        causes.push(FieldError::invalid(format!("{path}.effect"), effect, why));
    }
    match operator {
        "Equal" | "" => {
            let value = said(toleration, "value");
            if let Some(why) = names::wrong_label_value(value) {
                causes.push(FieldError::invalid(format!("{path}.operator"), value, why));
            }
        }
        "Exists" => {
            if !said(toleration, "value").is_empty() {
                let why = "value must be empty when `operator` is 'Exists'";
                causes.push(FieldError::invalid(
                    format!("{path}.operator"),
                    said(toleration, "value"),
                    why,
                ));
            }
        }
        other => causes.push(FieldError::unsupported(
            format!("{path}.operator"),
            other,
            &["Equal", "Exists"],
        )),
    }
    let effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
    if !effect.is_empty() && !effects.contains(&effect) {
        causes.push(FieldError::unsupported(format!("{path}.effect"), effect, &effects));
    }
}
