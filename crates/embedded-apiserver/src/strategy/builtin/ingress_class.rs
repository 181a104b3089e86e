//! IngressClasses.

use k8s_value::{FieldError, FieldErrors, names};
use serde_json::Value;

use crate::api::metadata::Object;
use crate::strategy::builtin::cells::{NONE, text_at};
use crate::strategy::builtin::members::{at, part, said, text};
use crate::strategy::builtin::row::{CLUSTER, Row};
use crate::strategy::builtin::values::{immutable, label, one_of_texts, path_name, subdomain};
use crate::strategy::columns::Cell::{Made, Member};
use crate::strategy::columns::{AGE, Column, column};
use crate::strategy::{Generation, Strategy, Write};

pub(super) static INGRESS_CLASS: Row = Row {
    group: "networking.k8s.io",
    kind: "IngressClass",
    plural: "ingressclasses",
    strategy: &IngressClass,
    ..CLUSTER
};

const COLUMNS: &[Column] = &[
    column("Name", Made(class_name)),
    column("Controller", Member("/spec/controller", "")),
    column("Parameters", Made(parameters)),
    AGE,
];
const LONGEST_CONTROLLER: usize = 250;
const PATH: &str = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";

#[derive(Debug)]
struct IngressClass;

impl Strategy for IngressClass {
    #[doc(alias = "SetDefaults_IngressClass")]
    fn default(&self, object: &mut Object) {
        let parameters = object.get_mut("spec").and_then(|spec| spec.get_mut("parameters"));
        if let Some(Value::Object(parameters)) = parameters {
            parameters.entry("scope").or_insert_with(|| "Cluster".into());
        }
    }

    fn validate(&self, object: &Object, _: Write<'_>, causes: &mut FieldErrors) {
        validate_controller(text(object, "spec.controller"), causes);
        if let Some(parameters) = at(object, "spec.parameters") {
            validate_parameters(parameters, causes);
        }
    }

    fn validate_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        let path = "spec.controller";
        immutable(at(object, path), at(old, path), path, causes);
    }

    fn generation(&self) -> Generation {
        Generation::Spec
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

#[doc(alias = "IsDomainPrefixedPath")]
fn validate_controller(controller: &str, causes: &mut FieldErrors) {
    let field = "spec.controller";
    if controller.len() > LONGEST_CONTROLLER {
        causes.push(FieldError::too_long(field, LONGEST_CONTROLLER));
    }
    let is_path = |c: char| c.is_ascii_alphanumeric() || "/-._~%!$&'()*+,;=:".contains(c);
    match controller.split_once('/') {
        None if controller.is_empty() => causes.push(FieldError::required(field, "")),
        None | Some(("", _) | (_, "")) => {
            let why = "must be a domain-prefixed path (such as \"acme.io/foo\")";
            causes.push(FieldError::invalid(field, controller, why));
        }
        Some((host, path)) => {
            if let Some(why) = names::wrong_subdomain(host) {
                causes.push(FieldError::invalid(field, host, why));
            }
            if !path.chars().all(is_path) {
                causes.push(FieldError::invalid(field, path, PATH));
            }
        }
    }
}

#[doc(alias = "validateIngressClassParametersReference")]
fn validate_parameters(parameters: &Value, causes: &mut FieldErrors) {
    let path = |member: &str| format!("spec.parameters.{member}");
    if let Some(group) = part(parameters, "apiGroup") {
        subdomain(group.as_str().unwrap_or_default(), &path("apiGroup"), causes);
    }
    for member in ["kind", "name"] {
        match said(parameters, member) {
            "" => causes.push(FieldError::required(path(member), "")),
            name => path_name(name, &path(member), causes),
        }
    }
    let scope = part(parameters, "scope").unwrap_or(&Value::Null);
    one_of_texts(scope, &path("scope"), &["Cluster", "Namespace"], causes);
    match (scope.as_str(), part(parameters, "namespace")) {
        (Some("Namespace"), None) => {
            let why = "`parameters.scope` is set to 'Namespace'";
            causes.push(FieldError::required(path("namespace"), why));
        }
        (Some("Namespace"), Some(namespace)) => {
            label(namespace.as_str().unwrap_or_default(), &path("namespace"), causes);
        }
        (Some("Cluster"), Some(_)) => {
            let why = "`parameters.scope` is set to 'Cluster'";
            causes.push(FieldError::forbidden(path("namespace"), why));
        }
        _ => {}
    }
}

fn class_name(class: &Value) -> Value {
    let name = text_at(class, "/metadata/name");
    if class["metadata"]["annotations"]["ingressclass.kubernetes.io/is-default-class"] == "true" {
        format!("{name} (default)").into()
    } else {
        name.into()
    }
}

fn parameters(class: &Value) -> Value {
    let Some(parameters) = class["spec"].get("parameters") else { return NONE.into() };
    let (kind, name) = (said(parameters, "kind"), said(parameters, "name"));
    match part(parameters, "apiGroup").and_then(Value::as_str) {
        Some(group) => format!("{kind}.{group}/{name}").into(),
        None => format!("{kind}/{name}").into(),
    }
}
