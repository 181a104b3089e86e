//! EndpointSlices.

use std::net::IpAddr;

use k8s_value::{FieldError, FieldErrors, names};
use serde_json::{Value, json};

use crate::api::metadata::Object;
use crate::strategy::builtin::cells::{list, some};
use crate::strategy::builtin::members::{items, said, text};
use crate::strategy::builtin::row::{NAMESPACED, Row};
use crate::strategy::builtin::values::{
    address, endpoint_address, immutable, label, protocol, subdomain,
};
use crate::strategy::columns::Cell::{Made, Member};
use crate::strategy::columns::{AGE, Column, NAME, column};
use crate::strategy::{Generation, Strategy, Write};

const ADDRESS_TYPES: [&str; 3] = ["FQDN", "IPv4", "IPv6"];
const MOST_ENDPOINTS: usize = 1000;
const MOST_ADDRESSES: usize = 100;

pub(super) static ENDPOINT_SLICE: Row = Row {
    group: "discovery.k8s.io",
    kind: "EndpointSlice",
    plural: "endpointslices",
    strategy: &EndpointSlice,
    ..NAMESPACED
};

const COLUMNS: &[Column] = &[
    NAME,
    column("AddressType", Member("/addressType", "")),
    column("Ports", Made(port_cell)),
    column("Endpoints", Made(endpoint_cell)),
    AGE,
];

#[derive(Debug)]
struct EndpointSlice;

impl Strategy for EndpointSlice {
    fn default(&self, object: &mut Object) {
        let ports = object.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten();
        for port in ports.filter_map(Value::as_object_mut) {
            port.entry("name").or_insert_with(|| "".into());
            port.entry("protocol").or_insert_with(|| json!("TCP"));
        }
    }

    fn validate(&self, object: &Object, _: Write<'_>, causes: &mut FieldErrors) {
        validate_endpoints(object, causes);
        validate_ports(object, causes);
    }

    fn validate_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        immutable(object.get("addressType"), old.get("addressType"), "addressType", causes);
    }

    fn has_warnings(&self) -> bool {
        true
    }

    fn warnings(&self, object: &Object, old: Option<&Object>) -> Vec<String> {
        let is_named = object.get("addressType").is_some_and(|kind| kind == "FQDN");
        let warns = is_named && old.is_none();
        let warning = || "spec.addressType: FQDN endpoints are deprecated".to_owned();
        warns.then(warning).into_iter().collect()
    }

    fn generation(&self) -> Generation {
        Generation::MembersAndLabels
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

#[doc(alias = "ValidateEndpointSlice")]
fn validate_endpoints(object: &Object, causes: &mut FieldErrors) {
    let of = text(object, "addressType");
    if of.is_empty() {
        causes.push(FieldError::required("addressType", ""));
    } else if !ADDRESS_TYPES.contains(&of) {
        causes.push(FieldError::unsupported("addressType", of, &ADDRESS_TYPES));
    }
    let count = object.get("endpoints").and_then(Value::as_array).map_or(0, Vec::len);
    if count > MOST_ENDPOINTS {
        causes.push(FieldError::too_many("endpoints", count, MOST_ENDPOINTS));
    } else {
        for (path, endpoint) in items(object.get("endpoints"), "endpoints") {
            validate_endpoint(endpoint, of, &path, causes);
        }
    }
}

fn validate_ports(object: &Object, causes: &mut FieldErrors) {
    let mut seen = Vec::new();
    for (path, port) in items(object.get("ports"), "ports") {
        let (field, name) = (format!("{path}.name"), said(port, "name"));
        if !name.is_empty() {
            label(name, &field, causes);
        }
        if seen.contains(&name) {
            causes.push(FieldError::duplicate(field, &name.into()));
        }
        seen.push(name);
        protocol(port.get("protocol").unwrap_or(&Value::Null), &path, causes);
    }
}

fn validate_endpoint(endpoint: &Value, of: &str, path: &str, causes: &mut FieldErrors) {
    let all = format!("{path}.addresses");
    let count = endpoint.get("addresses").and_then(Value::as_array).map_or(0, Vec::len);
    if count == 0 {
        causes.push(FieldError::required(all.as_str(), "must contain at least 1 address"));
    } else if count > MOST_ADDRESSES {
        causes.push(FieldError::too_many(all.as_str(), count, MOST_ADDRESSES));
    }
    for (path, text) in items(endpoint.get("addresses"), &all) {
        let text = text.as_str().unwrap_or_default();
        match of {
            "IPv4" | "IPv6" => {
                let Some(ip) = address(text, &path, causes) else { continue };
                let (fits, why) = match ip {
                    IpAddr::V4(_) => (of == "IPv4", "must be an IPv6 address"),
                    IpAddr::V6(_) => (of == "IPv6", "must be an IPv4 address"),
                };
                if !fits {
                    causes.push(FieldError::invalid(all.as_str(), text, why));
                }
                endpoint_address(ip, text, &path, causes);
            }
            "FQDN" => {
                let name = text.strip_suffix('.').unwrap_or(text);
                if name.is_empty() {
                    causes.push(FieldError::required(path, ""));
                } else if let Some(why) = names::wrong_subdomain(name) {
                    causes.push(FieldError::invalid(path, name, why));
                } else if !name.contains('.') {
                    let why = "should be a domain with at least two segments separated by dots";
                    causes.push(FieldError::invalid(path, name, why));
                }
            }
            _ => {}
        }
    }
    if endpoint.get("nodeName").is_some() {
        subdomain(said(endpoint, "nodeName"), &format!("{path}.nodeName"), causes);
    }
    if endpoint.get("hostname").is_some() {
        label(said(endpoint, "hostname"), &format!("{path}.hostname"), causes);
    }
}

fn port_cell(slice: &Value) -> Value {
    let ports = list(slice, "/ports").iter().map(|port| {
        match (port["port"].as_i64(), port["name"].as_str()) {
            (Some(number), _) => number.to_string(),
            (None, Some(name)) => name.to_owned(),
            (None, None) => "*".to_owned(),
        }
    });
    some(&ports.collect::<Vec<_>>())
}

fn endpoint_cell(slice: &Value) -> Value {
    let addresses =
        list(slice, "/endpoints").iter().flat_map(|endpoint| list(endpoint, "/addresses"));
    some(&addresses.filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>())
}
