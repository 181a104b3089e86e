//! Nodes.

use std::net::IpAddr;
use std::sync::Arc;

use k8s_value::quantity::Quantity;
use k8s_value::{FieldError, FieldErrors, names};
use serde_json::{Value, json};

use crate::api::kind::{Codec, Kind};
use crate::api::metadata::Object;
use crate::strategy::builtin::cells::{NONE, list};
use crate::strategy::builtin::members::{at, items, said};
use crate::strategy::builtin::row::{CLUSTER, Row};
use crate::strategy::columns::Cell::{Made, Member};
use crate::strategy::columns::{AGE, Column, NAME, column, wide};
use crate::strategy::{Strategy, Write};

pub(super) static NODE: Row = Row {
    kind: "Node",
    plural: "nodes",
    status: true,
    short_names: &["no"],
    selectable: &["spec.unschedulable"],
    codec: Some(|| Arc::new(Node)),
    strategy: &Node,
    ..CLUSTER
};

const COLUMNS: &[Column] = &[
    NAME,
    column("Status", Made(node_status)),
    column("Roles", Made(node_roles)),
    AGE,
    column("Version", Member("/status/nodeInfo/kubeletVersion", "")),
    wide("Internal-IP", Made(internal_ip)),
    wide("External-IP", Made(external_ip)),
    wide("OS-Image", Member("/status/nodeInfo/osImage", "<unknown>")),
    wide("Kernel-Version", Made(kernel)),
    wide("Container-Runtime", Member("/status/nodeInfo/containerRuntimeVersion", "<unknown>")),
];

#[derive(Debug)]
struct Node;

impl Codec for Node {
    fn selectable_value(&self, object: &Value, path: &str) -> Option<String> {
        let flag = || object.pointer("/spec/unschedulable")?.as_bool();
        (path == "spec.unschedulable").then(|| flag().unwrap_or(false).to_string())
    }
}

impl Strategy for Node {
    fn default(&self, object: &mut Object) {
        default_allocatable(object);
        default_ranges(object);
    }

    fn admit(
        &self,
        object: &mut Object,
        _classes: &mut dyn FnMut() -> Vec<Object>,
    ) -> Result<(), String> {
        taint(object);
        Ok(())
    }

    fn validate(&self, object: &Object, _: Write<'_>, causes: &mut FieldErrors) {
        validate_taints(object, causes);
        validate_resources(object, causes);
    }

    fn validate_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        for (member, name) in [("podCIDRs", "podCIDR"), ("providerID", "providerID")] {
            let path = format!("spec.{member}");
            let was = at(old, &path);
            if was.is_some_and(|was| *was != "") && at(object, &path) != was {
                let why = format!("node updates may not change {name} except from \"\" to valid");
                causes.push(FieldError::forbidden(path, &why));
            }
        }
    }

    /// A kubelet creates its node with a status.
    fn keeps_status_of_create(&self) -> bool {
        true
    }

    fn storage_prefix(&self, _kind: &Kind) -> String {
        "minions".to_owned()
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

/// By default everything is allocatable.
#[doc(alias = "SetDefaults_NodeStatus")]
fn default_allocatable(object: &mut Object) {
    let Some(Value::Object(status)) = object.get_mut("status") else { return };
    if status.get("allocatable").is_none()
        && let Some(capacity) = status.get("capacity").cloned()
    {
        status.insert("allocatable".to_owned(), capacity);
    }
}

/// Synchronizes podCIDR and podCIDRs. podCIDR is authoritative.
fn default_ranges(object: &mut Object) {
    let Some(Value::Object(spec)) = object.get_mut("spec") else { return };
    let single = spec.get("podCIDR").cloned().filter(|cidr| *cidr != "");
    let first = spec.get("podCIDRs").and_then(|all| all.get(0)).cloned();
    match (single, first) {
        (Some(single), first) if first.as_ref() != Some(&single) => {
            spec.insert("podCIDRs".to_owned(), json!([single]));
        }
        (None, Some(first)) => drop(spec.insert("podCIDR".to_owned(), first)),
        _ => {}
    }
}

/// Taints a new Node as not ready, until a controller removes the taint.
#[doc(alias = "TaintNodesByCondition")]
fn taint(object: &mut Object) {
    let spec = object.entry("spec").or_insert_with(|| json!({}));
    let Value::Object(spec) = spec else { return };
    let Value::Array(taints) = spec.entry("taints").or_insert_with(|| json!([])) else { return };
    let taint = json!({ "key": "node.kubernetes.io/not-ready", "effect": "NoSchedule" });
    let has = |known: &Value| known["key"] == taint["key"] && known["effect"] == taint["effect"];
    if !taints.iter().any(has) {
        taints.push(taint);
    }
}

#[doc(alias = "validateNodeTaints")]
fn validate_taints(object: &Object, causes: &mut FieldErrors) {
    const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
    let mut seen = Vec::new();
    for (path, taint) in items(at(object, "spec.taints"), "metadata.taints") {
        let (key, value, effect) =
            (said(taint, "key"), said(taint, "value"), said(taint, "effect"));
        for why in names::wrongs_of_qualified_name(key) {
            causes.push(FieldError::invalid(format!("{path}.key"), key, why));
        }
        if let Some(why) = names::wrong_label_value(value) {
            causes.push(FieldError::invalid(format!("{path}.value"), value, why));
        }
        match effect {
            "" => causes.push(FieldError::required(format!("{path}.effect"), "")),
            effect if !EFFECTS.contains(&effect) => {
                causes.push(FieldError::unsupported(format!("{path}.effect"), effect, &EFFECTS));
            }
            _ => {}
        }
        if seen.contains(&(key, effect)) {
            causes.push(FieldError::duplicate(path.as_str(), taint));
        }
        seen.push((key, effect));
    }
}

/// Checks capacity, allocatable and the pod CIDRs.
#[doc(alias = "ValidateNodeResources")]
fn validate_resources(object: &Object, causes: &mut FieldErrors) {
    for member in ["capacity", "allocatable"] {
        let path = format!("status.{member}");
        for (name, amount) in at(object, &path).and_then(Value::as_object).into_iter().flatten() {
            let text = amount.as_str().unwrap_or_default();
            if Quantity::parse(text).is_ok_and(Quantity::is_negative) {
                let why = "must be greater than or equal to 0";
                causes.push(FieldError::invalid(format!("{path}.{name}"), text, why));
            }
        }
    }
    for (path, range) in items(at(object, "spec.podCIDRs"), "spec.podCIDRs") {
        let range = range.as_str().unwrap_or_default();
        if !is_range(range) {
            let why = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
            causes.push(FieldError::invalid(path, range, why));
        }
    }
}

/// Whether the text is an address with a prefix length.
fn is_range(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let most = match address.parse() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    bits.parse::<u8>().is_ok_and(|bits| bits <= most)
}

fn node_status(node: &Value) -> Value {
    let ready = list(node, "/status/conditions")
        .iter()
        .rev()
        .find(|condition| condition["type"] == "Ready");
    let status = match ready {
        Some(condition) if condition["status"] == "True" => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    let closed = if node["spec"]["unschedulable"] == true { ",SchedulingDisabled" } else { "" };
    format!("{status}{closed}").into()
}

fn node_roles(node: &Value) -> Value {
    let labels = node["metadata"]["labels"].as_object().into_iter().flatten();
    let mut roles: Vec<&str> = labels
        .filter_map(|(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
            None if key == "kubernetes.io/role" => value.as_str(),
            role => role,
        })
        .filter(|role| !role.is_empty())
        .collect();
    roles.sort_unstable();
    roles.dedup();
    if roles.is_empty() { NONE.into() } else { roles.join(",").into() }
}

fn node_address(node: &Value, of: &str) -> Value {
    let found = list(node, "/status/addresses").iter().find(|address| address["type"] == of);
    found.map_or_else(|| NONE.into(), |address| address["address"].clone())
}

fn internal_ip(node: &Value) -> Value {
    node_address(node, "InternalIP")
}

fn external_ip(node: &Value) -> Value {
    node_address(node, "ExternalIP")
}

fn kernel(node: &Value) -> Value {
    let said = |member: &str| node["status"]["nodeInfo"][member].as_str().unwrap_or_default();
    let kernel = if said("kernelVersion").is_empty() { "<unknown>" } else { said("kernelVersion") };
    match said("architecture") {
        "" => kernel.into(),
        architecture => format!("{kernel} ({architecture})").into(),
    }
}
