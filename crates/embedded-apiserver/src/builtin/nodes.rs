//! Nodes: what a new one gets, what is refused, and what of it may change. Pure.

use std::net::IpAddr;

use serde_json::{Value, json};

use crate::builtin::rules::at;
use crate::builtin::values::{items, said};
use crate::metadata::Object;
use crate::status::{FieldError, FieldErrors};
use k8s_value::names;
use k8s_value::quantity::Quantity;

/// What the plugin TaintNodesByCondition, which every server has on, adds to a new Node: nothing is
/// scheduled there until somebody says that it is ready.
pub(super) fn admit(object: &mut Object) {
    let spec = object.entry("spec").or_insert_with(|| json!({}));
    let Value::Object(spec) = spec else { return };
    let Value::Array(taints) = spec.entry("taints").or_insert_with(|| json!([])) else { return };
    let taint = json!({ "key": "node.kubernetes.io/not-ready", "effect": "NoSchedule" });
    let has = |known: &Value| known["key"] == taint["key"] && known["effect"] == taint["effect"];
    if !taints.iter().any(has) {
        taints.push(taint);
    }
}

/// `SetDefaults_NodeStatus`: what nobody has said to be set aside can be allocated.
pub(super) fn default(object: &mut Object) {
    let Some(Value::Object(status)) = object.get_mut("status") else { return };
    if status.get("allocatable").is_none()
        && let Some(capacity) = status.get("capacity").cloned()
    {
        status.insert("allocatable".to_owned(), capacity);
    }
    // One range and the list of all: the single one is authoritative where they differ.
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

/// `validateNodeTaints`.
pub(super) fn check(object: &Object, causes: &mut FieldErrors) {
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
    check_resources(object, causes);
}

/// `ValidateNodeResources`, and the ranges of its pods.
fn check_resources(object: &Object, causes: &mut FieldErrors) {
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

/// An address and how many of its bits count.
fn is_range(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let most = match address.parse() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    bits.parse::<u8>().is_ok_and(|bits| bits <= most)
}

/// `ValidateNodeUpdate`.
pub(super) fn check_update(object: &Object, old: &Object, causes: &mut FieldErrors) {
    for (member, name) in [("podCIDRs", "podCIDR"), ("providerID", "providerID")] {
        let path = format!("spec.{member}");
        let was = at(old, &path);
        if was.is_some_and(|was| *was != "") && at(object, &path) != was {
            let why = format!("node updates may not change {name} except from \"\" to valid");
            causes.push(FieldError::forbidden(path, &why));
        }
    }
}
