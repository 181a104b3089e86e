//! Endpoints.

use k8s_value::{FieldError, FieldErrors};
use serde_json::Value;

use crate::api::kind::Kind;
use crate::api::metadata::Object;
use crate::strategy::builtin::cells::{NONE, list, text_at};
use crate::strategy::builtin::members::{items, said};
use crate::strategy::builtin::row::{NAMESPACED, Row};
use crate::strategy::builtin::values::{
    address, endpoint_address, label, port_number, protocol, subdomain,
};
use crate::strategy::columns::Cell::Made;
use crate::strategy::columns::{AGE, Column, NAME, column};
use crate::strategy::{Strategy, Write};

pub(super) static ENDPOINTS: Row = Row {
    kind: "Endpoints",
    plural: "endpoints",
    short_names: &["ep"],
    strategy: &Endpoints,
    ..NAMESPACED
};

const COLUMNS: &[Column] = &[NAME, column("Endpoints", Made(addresses)), AGE];

#[derive(Debug)]
struct Endpoints;

impl Strategy for Endpoints {
    fn default(&self, object: &mut Object) {
        let subsets = object.get_mut("subsets").and_then(Value::as_array_mut).into_iter().flatten();
        for port in subsets.filter_map(|subset| subset.get_mut("ports")?.as_array_mut()).flatten() {
            if let Value::Object(port) = port {
                port.entry("protocol").or_insert_with(|| "TCP".into());
            }
        }
    }

    fn validate(&self, object: &Object, _: Write<'_>, causes: &mut FieldErrors) {
        for (path, subset) in items(object.get("subsets"), "subsets") {
            validate_subset(subset, &path, causes);
        }
    }

    fn deprecation(&self) -> Option<&str> {
        Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice")
    }

    fn creates_on_update(&self) -> bool {
        true
    }

    fn storage_prefix(&self, _kind: &Kind) -> String {
        "services/endpoints".to_owned()
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

#[doc(alias = "validateEndpointSubsets")]
fn validate_subset(subset: &Value, path: &str, causes: &mut FieldErrors) {
    let count = |member: &str| subset.get(member).and_then(Value::as_array).map_or(0, Vec::len);
    if count("addresses") + count("notReadyAddresses") == 0 {
        causes.push(FieldError::required(path, "must specify `addresses` or `notReadyAddresses`"));
    }
    for member in ["addresses", "notReadyAddresses"] {
        for (path, endpoint) in items(subset.get(member), &format!("{path}.{member}")) {
            validate_address(endpoint, &path, causes);
        }
    }
    for (path, port) in items(subset.get("ports"), &format!("{path}.ports")) {
        validate_port(port, count("ports") > 1, &path, causes);
    }
}

fn validate_address(endpoint: &Value, path: &str, causes: &mut FieldErrors) {
    let (field, ip) = (format!("{path}.ip"), said(endpoint, "ip"));
    let parsed = address(ip, &field, causes);
    if !said(endpoint, "hostname").is_empty() {
        label(said(endpoint, "hostname"), &format!("{path}.hostname"), causes);
    }
    if endpoint.get("nodeName").is_some() {
        subdomain(said(endpoint, "nodeName"), &format!("{path}.nodeName"), causes);
    }
    match parsed {
        Some(parsed) => endpoint_address(parsed, ip, &field, causes),
        None => causes.push(FieldError::invalid(field, ip, "must be a valid IP address")),
    }
}

fn validate_port(port: &Value, needs_name: bool, path: &str, causes: &mut FieldErrors) {
    match said(port, "name") {
        "" if needs_name => causes.push(FieldError::required(format!("{path}.name"), "")),
        "" => {}
        name => label(name, &format!("{path}.name"), causes),
    }
    port_number(port.get("port").unwrap_or(&Value::Null), &format!("{path}.port"), causes);
    protocol(port.get("protocol").unwrap_or(&Value::Null), path, causes);
}

fn addresses(endpoints: &Value) -> Value {
    const SHOWN: usize = 3;
    let mut all = Vec::new();
    for subset in list(endpoints, "/subsets") {
        for address in list(subset, "/addresses") {
            let ip = text_at(address, "/ip");
            let before = all.len();
            all.extend(list(subset, "/ports").iter().map(|port| format!("{ip}:{}", port["port"])));
            if all.len() == before {
                all.push(ip.to_owned());
            }
        }
    }
    let more = all.len().saturating_sub(SHOWN);
    let shown = all.into_iter().take(SHOWN).collect::<Vec<_>>().join(",");
    if more > 0 {
        format!("{shown} + {more} more...").into()
    } else {
        if shown.is_empty() { NONE.into() } else { shown.into() }
    }
}
