//! Backends of an Ingress: a service or another object.

use k8s_value::{FieldError, FieldErrors};
use serde_json::Value;

use crate::strategy::builtin::members::{part, said};
use crate::strategy::builtin::values::{label, path_name, port_number, port_or_name, subdomain};

#[doc(alias = "validateIngressBackend")]
pub(super) fn validate(backend: &Value, path: &str, causes: &mut FieldErrors) {
    match (part(backend, "resource"), part(backend, "service")) {
        (Some(_), Some(_)) => {
            let why = "cannot set both resource and service backends";
            causes.push(FieldError::invalid(path, "", why));
        }
        (Some(resource), None) => {
            validate_resource(resource, &format!("{path}.resource"), causes);
        }
        (None, Some(service)) => validate_service(service, path, causes),
        (None, None) => {
            causes.push(FieldError::invalid(path, "", "resource or service backend is required"));
        }
    }
}

fn validate_resource(resource: &Value, path: &str, causes: &mut FieldErrors) {
    if let Some(group) = part(resource, "apiGroup") {
        subdomain(group.as_str().unwrap_or_default(), &format!("{path}.apiGroup"), causes);
    }
    for member in ["kind", "name"] {
        let path = format!("{path}.{member}");
        match said(resource, member) {
            "" => causes.push(FieldError::required(path, "")),
            name => path_name(name, &path, causes),
        }
    }
}

fn validate_service(service: &Value, path: &str, causes: &mut FieldErrors) {
    let field = |member: &str| format!("{path}.service.{member}");
    match said(service, "name") {
        "" => causes.push(FieldError::required(field("name"), "")),
        name => label(name, &field("name"), causes),
    }
    let port = service.get("port").unwrap_or(&Value::Null);
    let name = part(port, "name").filter(|name| *name != "");
    let number = part(port, "number").filter(|number| *number != 0);
    match (name, number) {
        (Some(_), Some(_)) => {
            causes.push(FieldError::invalid(path, "", "cannot set both port name & port number"));
        }
        (Some(name), None) => port_or_name(name, &field("port.name"), causes),
        (None, Some(number)) => port_number(number, &field("port.number"), causes),
        (None, None) => {
            causes.push(FieldError::required(path, "port name or number is required"));
        }
    }
}
