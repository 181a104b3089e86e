//! Endpoints and EndpointSlices: what they leave out, what they refuse, and what of them may
//! change. Pure.

use std::net::IpAddr;

use serde_json::{Value, json};

use crate::builtin::rules::text;
use crate::builtin::values::{
    address, endpoint_address, immutable, items, label, port_number, protocol, said, subdomain,
};
use crate::metadata::Object;
use crate::status::{FieldError, FieldErrors};
use k8s_value::names;

const ADDRESS_TYPES: [&str; 3] = ["FQDN", "IPv4", "IPv6"];
const MOST_ENDPOINTS: usize = 1000;
const MOST_ADDRESSES: usize = 100;

/// `SetDefaults_Endpoints`.
pub(super) fn default_endpoints(object: &mut Object) {
    let subsets = object.get_mut("subsets").and_then(Value::as_array_mut).into_iter().flatten();
    for port in subsets.filter_map(|subset| subset.get_mut("ports")?.as_array_mut()).flatten() {
        if let Value::Object(port) = port {
            port.entry("protocol").or_insert_with(|| "TCP".into());
        }
    }
}

/// `SetDefaults_EndpointPort`.
pub(super) fn default_slice(object: &mut Object) {
    let ports = object.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten();
    for port in ports.filter_map(Value::as_object_mut) {
        port.entry("name").or_insert_with(|| "".into());
        port.entry("protocol").or_insert_with(|| json!("TCP"));
    }
}

/// `validateEndpointSubsets`.
pub(super) fn check_endpoints(object: &Object, causes: &mut FieldErrors) {
    for (path, subset) in items(object.get("subsets"), "subsets") {
        let count = |member: &str| subset.get(member).and_then(Value::as_array).map_or(0, Vec::len);
        if count("addresses") + count("notReadyAddresses") == 0 {
            causes.push(FieldError::required(
                path.as_str(),
                "must specify `addresses` or `notReadyAddresses`",
            ));
        }
        for member in ["addresses", "notReadyAddresses"] {
            for (path, endpoint) in items(subset.get(member), &format!("{path}.{member}")) {
                check_address(endpoint, &path, causes);
            }
        }
        for (path, port) in items(subset.get("ports"), &format!("{path}.ports")) {
            check_port(port, count("ports") > 1, &path, causes);
        }
    }
}

fn check_address(endpoint: &Value, path: &str, causes: &mut FieldErrors) {
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

fn check_port(port: &Value, needs_name: bool, path: &str, causes: &mut FieldErrors) {
    match said(port, "name") {
        "" if needs_name => causes.push(FieldError::required(format!("{path}.name"), "")),
        "" => {}
        name => label(name, &format!("{path}.name"), causes),
    }
    port_number(port.get("port").unwrap_or(&Value::Null), &format!("{path}.port"), causes);
    protocol(port.get("protocol").unwrap_or(&Value::Null), path, causes);
}

/// `ValidateEndpointSlice`.
pub(super) fn check_slice(object: &Object, causes: &mut FieldErrors) {
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
            check_endpoint(endpoint, of, &path, causes);
        }
    }
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

fn check_endpoint(endpoint: &Value, of: &str, path: &str, causes: &mut FieldErrors) {
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

/// The sort of addresses stays.
pub(super) fn check_slice_update(object: &Object, old: &Object, causes: &mut FieldErrors) {
    immutable(object.get("addressType"), old.get("addressType"), "addressType", causes);
}
