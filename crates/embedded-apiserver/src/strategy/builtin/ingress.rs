//! Ingresses.

mod backend;

use std::collections::BTreeSet;

use k8s_value::{FieldError, FieldErrors, names};
use serde_json::{Value, json};

use crate::api::kind::Kind;
use crate::api::metadata::{self, Object};
use crate::strategy::builtin::cells::{NONE, list};
use crate::strategy::builtin::cidr::{address_warning, read_address, wrong_address};
use crate::strategy::builtin::members::{at, items, part, said};
use crate::strategy::builtin::row::{NAMESPACED, Row};
use crate::strategy::builtin::values::subdomain;
use crate::strategy::columns::Cell::Made;
use crate::strategy::columns::{AGE, Column, NAME, column};
use crate::strategy::{Creation, Generation, Strategy, Write};

pub(super) static INGRESS: Row = Row {
    group: "networking.k8s.io",
    kind: "Ingress",
    plural: "ingresses",
    status: true,
    short_names: &["ing"],
    strategy: &Ingress,
    ..NAMESPACED
};

const COLUMNS: &[Column] = &[
    NAME,
    column("Class", Made(class)),
    column("Hosts", Made(hosts)),
    column("Address", Made(address)),
    column(
        "Ports",
        Made(|ingress| if list(ingress, "/spec/tls").is_empty() { "80" } else { "80, 443" }.into()),
    ),
    AGE,
];
/// The annotation that named the class before `spec.ingressClassName`.
const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";
const WILDCARD: &str = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid \
    DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end \
    with an alphanumeric character (e.g. '*.example.com', regex used for validation is \
    '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const NO_HOST: &str = "must be a DNS name, not an IP address";
const WIDEST_ADDRESS: usize = 16;

#[derive(Debug)]
struct Ingress;

impl Strategy for Ingress {
    fn prepare_create(&self, object: &mut Object, _: Creation) {
        object.insert("status".to_owned(), json!({ "loadBalancer": {} }));
    }

    fn validate(&self, object: &Object, write: Write<'_>, causes: &mut FieldErrors) {
        if write.subresource.is_some() {
            validate_status(object, causes);
            return;
        }
        validate_spec(object, causes);
        let class = at(object, "spec.ingressClassName").and_then(Value::as_str);
        if let (Some(annotated), Some(class), None) = (annotated_class(object), class, write.old)
            && annotated != class
        {
            let path = format!("annotations.{CLASS_ANNOTATION}");
            let why = "must match `ingressClassName` when both are specified";
            causes.push(FieldError::invalid(path, annotated, why));
        }
    }

    fn has_warnings(&self) -> bool {
        true
    }

    fn warns_of_status(&self) -> bool {
        true
    }

    fn warnings(&self, object: &Object, old: Option<&Object>) -> Vec<String> {
        if old.is_some() {
            let path = "status.loadBalancer.ingress";
            let addresses = items(at(object, path), path);
            return addresses
                .filter_map(|(path, address)| address_warning(said(address, "ip"), &path))
                .collect();
        }
        let is_old = annotated_class(object).is_some();
        if is_old && at(object, "spec.ingressClassName").is_none() {
            let instead = "is deprecated, please use 'spec.ingressClassName' instead";
            return vec![format!("annotation {CLASS_ANNOTATION:?} {instead}")];
        }
        Vec::new()
    }

    fn storage_prefix(&self, _: &Kind) -> String {
        "ingress".to_owned()
    }

    fn generation(&self) -> Generation {
        Generation::Spec
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

fn annotated_class(object: &Object) -> Option<&str> {
    metadata::get(object, "annotations")?.get(CLASS_ANNOTATION)?.as_str()
}

#[doc(alias = "ValidateIngressSpec")]
fn validate_spec(object: &Object, causes: &mut FieldErrors) {
    let rules = at(object, "spec.rules");
    let default = at(object, "spec.defaultBackend");
    if items(rules, "").next().is_none() && default.is_none() {
        let shown = rules.map_or("null", |_| "[]");
        let why = "either `defaultBackend` or `rules` must be specified";
        causes.push(FieldError::invalid_shown("spec", shown, why));
    }
    if let Some(default) = default {
        backend::validate(default, "spec.defaultBackend", causes);
    }
    for (path, rule) in items(rules, "spec.rules") {
        let host = said(rule, "host");
        if !host.is_empty() {
            let path = format!("{path}.host");
            if read_address(host).is_some() {
                causes.push(FieldError::invalid(path.clone(), host, NO_HOST));
            }
            validate_host(host, &path, causes);
        }
        if let Some(http) = part(rule, "http") {
            validate_paths(http, &format!("{path}.http.paths"), causes);
        }
    }
    for (path, tls) in items(at(object, "spec.tls"), "spec.tls") {
        for (path, host) in items(tls.get("hosts"), &format!("{path}.hosts")) {
            validate_host(host.as_str().unwrap_or_default(), &path, causes);
        }
        let secret = said(tls, "secretName");
        if !secret.is_empty() {
            subdomain(secret, &format!("{path}.secretName"), causes);
        }
    }
    if let Some(class) = at(object, "spec.ingressClassName").and_then(Value::as_str) {
        subdomain(class, "spec.ingressClassName", causes);
    }
}

fn validate_host(host: &str, path: &str, causes: &mut FieldErrors) {
    if !host.contains('*') {
        subdomain(host, path, causes);
        return;
    }
    let rest = host.strip_prefix("*.");
    if rest.is_none_or(|rest| names::wrong_subdomain(rest).is_some()) {
        causes.push(FieldError::invalid(path, host, WILDCARD));
    }
}

fn validate_paths(http: &Value, path: &str, causes: &mut FieldErrors) {
    if items(http.get("paths"), "").next().is_none() {
        causes.push(FieldError::required(path, ""));
    }
    for (path, of) in items(http.get("paths"), path) {
        let Some(kind) = part(of, "pathType").and_then(Value::as_str) else {
            let why = "pathType must be specified";
            causes.push(FieldError::required(format!("{path}.pathType"), why));
            continue;
        };
        validate_path(kind, said(of, "path"), &path, causes);
        let backend = of.get("backend").unwrap_or(&Value::Null);
        backend::validate(backend, &format!("{path}.backend"), causes);
    }
}

#[doc(alias = "validateHTTPIngressPath")]
fn validate_path(kind: &str, text: &str, path: &str, causes: &mut FieldErrors) {
    let types = ["Exact", "ImplementationSpecific", "Prefix"];
    if !types.contains(&kind) {
        causes.push(FieldError::unsupported(format!("{path}.pathType"), kind, &types));
        return;
    }
    let is_strict = kind != "ImplementationSpecific";
    let mut refuse =
        |why: &str| causes.push(FieldError::invalid(format!("{path}.path"), text, why));
    if !text.starts_with('/') && (is_strict || !text.is_empty()) {
        refuse("must be an absolute path");
    }
    if !is_strict {
        return;
    }
    for sequence in ["//", "/./", "/../", "%2f", "%2F"] {
        if text.contains(sequence) {
            refuse(&format!("must not contain '{sequence}'"));
        }
    }
    for suffix in ["/..", "/."] {
        if text.ends_with(suffix) {
            refuse(&format!("cannot end with '{suffix}'"));
        }
    }
}

#[doc(alias = "ValidateIngressLoadBalancerStatus")]
fn validate_status(object: &Object, causes: &mut FieldErrors) {
    let path = "status.loadBalancer.ingress";
    for (path, ingress) in items(at(object, path), path) {
        let (ip, host) = (said(ingress, "ip"), said(ingress, "hostname"));
        if let Some(why) = wrong_address(ip).filter(|_| !ip.is_empty()) {
            causes.push(FieldError::invalid(format!("{path}.ip"), ip, why));
        }
        if !host.is_empty() {
            let path = format!("{path}.hostname");
            subdomain(host, &path, causes);
            if read_address(host).is_some() {
                causes.push(FieldError::invalid(path, host, NO_HOST));
            }
        }
    }
}

fn class(ingress: &Value) -> Value {
    ingress.pointer("/spec/ingressClassName").cloned().unwrap_or_else(|| NONE.into())
}

#[doc(alias = "formatHosts")]
fn hosts(ingress: &Value) -> Value {
    const SHOWN: usize = 3;
    let rules = list(ingress, "/spec/rules");
    let mut shown: Vec<&str> = Vec::new();
    let mut more = false;
    for rule in rules {
        more |= shown.len() == SHOWN;
        let host = said(rule, "host");
        if !more && !host.is_empty() {
            shown.push(host);
        }
    }
    match (shown.join(","), more) {
        (none, _) if none.is_empty() => "*".into(),
        (shown, false) => shown.into(),
        (shown, true) => format!("{shown} + {} more...", rules.len().saturating_sub(SHOWN)).into(),
    }
}

#[doc(alias = "ingressLoadBalancerStatusStringer")]
fn address(ingress: &Value) -> Value {
    let all: BTreeSet<&str> = list(ingress, "/status/loadBalancer/ingress")
        .iter()
        .map(|of| if said(of, "ip").is_empty() { said(of, "hostname") } else { said(of, "ip") })
        .filter(|address| !address.is_empty())
        .collect();
    let all = all.into_iter().collect::<Vec<_>>().join(",");
    match all.get(..WIDEST_ADDRESS - 3) {
        Some(start) if all.len() > WIDEST_ADDRESS => format!("{start}...").into(),
        _ => all.into(),
    }
}
