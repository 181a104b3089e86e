//! Validation of containers.

use std::collections::BTreeMap;

use k8s_value::{FieldError, FieldErrors};
use serde_json::Value;

use crate::strategy::builtin::members::{items, said};
use crate::strategy::builtin::pod_spec::resources::validate_resources;
use crate::strategy::builtin::values::{label, port_number, protocol, wrong_port_name};

#[doc(alias = "validateContainerCommon")]
pub(super) fn validate_container(
    container: &Value,
    volumes: &BTreeMap<&str, &Value>,
    path: &str,
    causes: &mut FieldErrors,
) {
    let field = |member: &str| format!("{path}.{member}");
    match said(container, "name") {
        "" => causes.push(FieldError::required(field("name"), "")),
        name => label(name, &field("name"), causes),
    }
    if said(container, "image").is_empty() {
        causes.push(FieldError::required(field("image"), ""));
    }
    let policies = ["File", "FallbackToLogsOnError"];
    let policy = said(container, "terminationMessagePolicy");
    if !policies.contains(&policy) {
        causes.push(FieldError::unsupported(field("terminationMessagePolicy"), policy, &policies));
    }
    validate_ports(container, &field("ports"), causes);
    validate_environment(container, path, causes);
    validate_mounts(container, volumes, &field("volumeMounts"), causes);
    let policies = ["Always", "IfNotPresent", "Never"];
    let policy = said(container, "imagePullPolicy");
    if !policies.contains(&policy) {
        causes.push(FieldError::unsupported(field("imagePullPolicy"), policy, &policies));
    }
    validate_resources(container.get("resources"), &field("resources"), causes);
}

fn validate_ports(container: &Value, path: &str, causes: &mut FieldErrors) {
    let mut seen = Vec::new();
    for (path, port) in items(container.get("ports"), path) {
        let (field, name) = (format!("{path}.name"), said(port, "name"));
        if !name.is_empty() {
            let wrong = wrong_port_name(name);
            if wrong.is_empty() && seen.contains(&name) {
                causes.push(FieldError::duplicate(field.as_str(), &name.into()));
            }
            wrong
                .into_iter()
                .for_each(|why| causes.push(FieldError::invalid(field.as_str(), name, why)));
            seen.push(name);
        }
        match port.get("containerPort").and_then(Value::as_i64).unwrap_or(0) {
            0 => causes.push(FieldError::required(format!("{path}.containerPort"), "")),
            number => port_number(&number.into(), &format!("{path}.containerPort"), causes),
        }
        if let Some(number) = port.get("hostPort").filter(|number| **number != 0) {
            port_number(number, &format!("{path}.hostPort"), causes);
        }
        protocol(port.get("protocol").unwrap_or(&Value::Null), &path, causes);
    }
}

fn validate_environment(container: &Value, path: &str, causes: &mut FieldErrors) {
    for (path, variable) in items(container.get("env"), &format!("{path}.env")) {
        let name = said(variable, "name");
        if name.is_empty() {
            causes.push(FieldError::required(format!("{path}.name"), ""));
        } else if name.contains(|c: char| c == '=' || !(' '..='~').contains(&c)) {
            let why = "a valid environment variable name must consist only of printable ASCII \
                       characters other than '='";
            causes.push(FieldError::invalid(format!("{path}.name"), name, why));
        }
        let Some(from) = variable.get("valueFrom") else { continue };
        let field = format!("{path}.valueFrom");
        let sources = from.as_object().map_or(0, serde_json::Map::len);
        if !said(variable, "value").is_empty() && sources > 0 {
            causes.push(FieldError::invalid(
                field.as_str(),
                "",
                "may not be specified when `value` is not empty",
            ));
        }
        match sources {
            0 => {
                let why = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, \
                           `secretKeyRef`, or \
                           `fileKeyRef`";
                causes.push(FieldError::invalid(field.as_str(), "", why));
            }
            1 => {}
            _ => causes.push(FieldError::invalid(
                field.as_str(),
                "",
                "may not have more than one field specified at a time",
            )),
        }
        for of in ["configMapKeyRef", "secretKeyRef"] {
            if let Some(reference) = from.get(of) {
                if said(reference, "name").is_empty() {
                    causes.push(FieldError::required(format!("{field}.{of}.name"), ""));
                }
                if said(reference, "key").is_empty() {
                    causes.push(FieldError::required(format!("{field}.{of}.key"), ""));
                }
            }
        }
    }
    for (path, source) in items(container.get("envFrom"), &format!("{path}.envFrom")) {
        for of in ["configMapRef", "secretRef"] {
            if source.get(of).is_some_and(|reference| said(reference, "name").is_empty()) {
                causes.push(FieldError::required(format!("{path}.{of}.name"), ""));
            }
        }
    }
}

fn validate_mounts(
    container: &Value,
    volumes: &BTreeMap<&str, &Value>,
    path: &str,
    causes: &mut FieldErrors,
) {
    let mut seen = Vec::new();
    for (path, mount) in items(container.get("volumeMounts"), path) {
        let (name, to) = (said(mount, "name"), said(mount, "mountPath"));
        if name.is_empty() {
            causes.push(FieldError::required(format!("{path}.name"), ""));
        }
        if !volumes.contains_key(name) {
            causes.push(FieldError::not_found(format!("{path}.name"), name));
        }
        if to.is_empty() {
            causes.push(FieldError::required(format!("{path}.mountPath"), ""));
        }
        if seen.contains(&to) {
            causes.push(FieldError::invalid(format!("{path}.mountPath"), to, "must be unique"));
        }
        seen.push(to);
    }
}
