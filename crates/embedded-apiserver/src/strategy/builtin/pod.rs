//! Pods.

mod admission;
mod cells;
mod change;

use std::sync::Arc;

use jiff::Timestamp;
use k8s_value::quantity::Quantity;
use k8s_value::{FieldError, FieldErrors, names};
use serde_json::{Value, json};

use crate::api::clock;
use crate::api::kind::Codec;
use crate::api::metadata::{self, Object};
use crate::strategy::builtin::cells::NONE;
use crate::strategy::builtin::members::{at, fill, items, said, text};
use crate::strategy::builtin::pod_spec;
use crate::strategy::builtin::row::{NAMESPACED, Row};
use crate::strategy::builtin::values::{address, immutable, subdomain};
use crate::strategy::columns::Cell::{Made, Member, Timed};
use crate::strategy::columns::{AGE, Column, NAME, column, wide};
use crate::strategy::{Creation, Generation, Strategy, Write};

pub(super) static POD: Row = Row {
    kind: "Pod",
    plural: "pods",
    status: true,
    short_names: &["po"],
    categories: &["all"],
    selectable: &[
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ],
    codec: Some(|| Arc::new(Pod)),
    strategy: &Pod,
    ..NAMESPACED
};

const COLUMNS: &[Column] = &[
    NAME,
    column("Ready", Made(cells::ready)),
    column("Status", Made(cells::status)),
    column("Restarts", Timed(cells::restarts)),
    AGE,
    wide("IP", Member("/status/podIP", NONE)),
    wide("Node", Member("/spec/nodeName", NONE)),
    wide("Nominated Node", Member("/status/nominatedNodeName", NONE)),
    wide("Readiness Gates", Made(cells::gates)),
];

#[derive(Debug)]
struct Pod;

impl Codec for Pod {
    fn selectable_value(&self, object: &Value, path: &str) -> Option<String> {
        let flag = || object.pointer("/spec/hostNetwork")?.as_bool();
        (path == "spec.hostNetwork").then(|| flag().unwrap_or(false).to_string())
    }
}

impl Strategy for Pod {
    fn default(&self, object: &mut Object) {
        fill(object, "spec", &[("enableServiceLinks", json!(true))]);
        let Some(Value::Object(spec)) = object.get_mut("spec") else { return };
        pod_spec::default_pod_spec(spec);
        default_addresses(object);
    }

    fn admit(&self, object: &mut Object) -> Result<(), String> {
        admission::admit(object)
    }

    fn prepare_create(&self, object: &mut Object, creation: Creation) {
        let mut status = json!({ "phase": "Pending", "qosClass": quality(object) });
        if is_gated(object) {
            status["conditions"] = json!([{
                "type": "PodScheduled",
                "status": "False",
                "lastProbeTime": null,
                "lastTransitionTime": clock::seconds(creation.now),
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }]);
        }
        object.insert("status".to_owned(), status);
    }

    fn prepare_update(&self, object: &mut Object, old: &Object) {
        admission::prepare_update(object, old);
    }

    fn prepare_status_update(&self, object: &mut Object, old: &Object, _now: Timestamp) {
        metadata::copy(old, object, "ownerReferences");
        metadata::copy(old, object, "deletionTimestamp");
        if let Some(quality) = at(old, "status.qosClass") {
            fill(object, "status", &[("qosClass", quality.clone())]);
        }
    }

    fn validate(&self, object: &Object, write: Write<'_>, causes: &mut FieldErrors) {
        let spec = object.get("spec").unwrap_or(&Value::Null);
        pod_spec::validate_spec(spec, "spec", causes);
        if write.old.is_none() {
            pod_spec::validate_tokens(spec, causes);
            if is_gated(object) && !text(object, "spec.nodeName").is_empty() {
                let why = "cannot be set until all schedulingGates have been cleared";
                causes.push(FieldError::forbidden("spec.nodeName", why));
            }
        }
    }

    fn validate_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        change::validate(object, old, causes);
    }

    fn validate_status_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        validate_status(object, old, causes);
    }

    fn has_warnings(&self) -> bool {
        true
    }

    fn warnings(&self, object: &Object, old: Option<&Object>) -> Vec<String> {
        let mut warnings = Vec::new();
        if old.is_some() {
            return warnings;
        }
        pod_spec::add_warnings(&Value::Object(object.clone()), "", &mut warnings);
        if let Some(why) = names::wrong_label(metadata::text(object, "name")) {
            warnings.push(format!(
                "metadata.name: this is used in the Pod's hostname, which can result in \
                 surprising behavior; a DNS label is recommended: [{why}]"
            ));
        }
        warnings
    }

    fn generation(&self) -> Generation {
        Generation::Spec
    }

    fn reset_fields_of_status(&self) -> &'static [&'static [&'static str]] {
        &[&["spec"], &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]]
    }

    fn delete_answers_object(&self) -> bool {
        true
    }

    fn deletes_gracefully(&self) -> bool {
        true
    }

    /// A kubelet gets time to stop a scheduled pod that has not ended.
    fn grace_period(&self, old: &Object, asked: Option<i64>) -> i64 {
        // A second delete can only shorten the period.
        if metadata::is_being_deleted(old) {
            let given = metadata::get(old, "deletionGracePeriodSeconds").and_then(Value::as_i64);
            let given = given.unwrap_or(0);
            return asked.map_or(given, |asked| asked.min(given));
        }
        let has_ended = matches!(text(old, "status.phase"), "Failed" | "Succeeded");
        if text(old, "spec.nodeName").is_empty() || has_ended {
            return 0;
        }
        let own = at(old, "spec.terminationGracePeriodSeconds").and_then(Value::as_i64);
        asked.or(own).unwrap_or(30)
    }

    fn row_condition(&self, object: &Value) -> Option<(&'static str, &'static str)> {
        match object.pointer("/status/phase")?.as_str()? {
            "Succeeded" => Some(("Succeeded", "The pod has completed successfully.")),
            "Failed" => Some(("Failed", "The pod failed.")),
            _ => None,
        }
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

/// Whether gates hold the Pod back from the scheduler.
fn is_gated(object: &Object) -> bool {
    let gates = at(object, "spec.schedulingGates").and_then(Value::as_array);
    gates.is_some_and(|gates| !gates.is_empty())
}

/// Synchronizes podIP and podIPs. podIP is authoritative.
fn default_addresses(object: &mut Object) {
    let Some(Value::Object(status)) = object.get_mut("status") else { return };
    let single =
        status.get("podIP").cloned().filter(|ip| ip.as_str().is_some_and(|ip| !ip.is_empty()));
    let first = status.get("podIPs").and_then(|all| all.get(0)?.get("ip")).cloned();
    match (single, first) {
        (Some(single), first) if first.as_ref() != Some(&single) => {
            status.insert("podIPs".to_owned(), json!([{ "ip": single }]));
        }
        (None, Some(first)) => drop(status.insert("podIP".to_owned(), first)),
        _ => {}
    }
}

#[doc(alias = "ComputePodQOS")]
fn quality(object: &Object) -> &'static str {
    let spec = at(object, "spec");
    let lists =
        ["containers", "initContainers"].iter().filter_map(|list| spec?.get(list)?.as_array());
    let (mut some, mut all) = (false, true);
    for container in lists.flatten() {
        for of in ["cpu", "memory"] {
            let amount = |sort: &str| {
                let text = container.get("resources")?.get(sort)?.get(of)?.as_str()?;
                Quantity::parse(text).ok().map(Quantity::nanos).filter(|nanos| *nanos > 0)
            };
            let (request, limit) = (amount("requests"), amount("limits"));
            some |= request.is_some() || limit.is_some();
            all &= limit.is_some() && request == limit;
        }
    }
    match (some, all) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

/// Checks addresses and immutable members.
#[doc(alias = "ValidatePodStatusUpdate")]
fn validate_status(object: &Object, old: &Object, causes: &mut FieldErrors) {
    immutable(at(object, "status.qosClass"), at(old, "status.qosClass"), "status.qosClass", causes);
    for list in ["podIPs", "hostIPs"] {
        let path = format!("status.{list}");
        for (path, item) in items(at(object, &path), &path) {
            address(said(item, "ip"), &path, causes);
        }
    }
    let node = text(object, "status.nominatedNodeName");
    if !node.is_empty() && node != text(old, "status.nominatedNodeName") {
        subdomain(node, "status.nominatedNodeName", causes);
    }
}
