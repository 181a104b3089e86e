//! Pods and Services: what they fill in and refuse, and what of a Pod may change. Pure.

use serde_json::{Map, Value, json};

use crate::builtin::rules::{at, fill, text};
use crate::metadata::Object;
use crate::status::{Cause, Causes};

/// What a Pod leaves out.
pub(super) fn default_pod(object: &mut Object) {
    let spec = [
        ("restartPolicy", json!("Always")),
        ("terminationGracePeriodSeconds", json!(30)),
        ("dnsPolicy", json!("ClusterFirst")),
        ("schedulerName", json!("default-scheduler")),
        ("securityContext", json!({})),
        ("enableServiceLinks", json!(true)),
    ];
    fill(object, "spec", &spec);
    let Some(Value::Object(spec)) = object.get_mut("spec") else { return };
    if let Some(seconds) = spec.get_mut("terminationGracePeriodSeconds")
        && seconds.as_i64().is_some_and(|seconds| seconds < 0)
    {
        *seconds = json!(1);
    }
    for member in ["containers", "initContainers"] {
        let containers = spec.get_mut(member).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten().filter_map(Value::as_object_mut) {
            default_container(container);
        }
    }
}

fn default_container(container: &mut Map<String, Value>) {
    let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
    // A tag follows the last colon, unless that is the port of a registry; a digest is no tag.
    let tag = image.rsplit_once(':').map(|(_, tag)| tag).filter(|tag| !tag.contains('/'));
    let latest = !image.contains('@') && tag.is_none_or(|tag| tag == "latest");
    let pull = if latest { "Always" } else { "IfNotPresent" };
    for (member, value) in [
        ("imagePullPolicy", json!(pull)),
        ("terminationMessagePath", json!("/dev/termination-log")),
        ("terminationMessagePolicy", json!("File")),
        ("resources", json!({})),
    ] {
        container.entry(member).or_insert(value);
    }
    for port in container.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(port) = port.as_object_mut() {
            port.entry("protocol").or_insert_with(|| json!("TCP"));
        }
    }
}

pub(super) fn check_pod(object: &Object, causes: &mut Causes) {
    let containers = at(object, "spec.containers").and_then(Value::as_array);
    if containers.is_none_or(Vec::is_empty) {
        causes.push(Cause::required("spec.containers", ""));
    }
    for (index, container) in containers.into_iter().flatten().enumerate() {
        for member in ["name", "image"] {
            if container.get(member).and_then(Value::as_str).unwrap_or_default().is_empty() {
                causes.push(Cause::required(format!("spec.containers[{index}].{member}"), ""));
            }
        }
    }
}

/// `ValidatePodUpdate`: images, the deadline and more tolerations may change.
pub(super) fn check_pod_update(object: &Object, old: &Object, causes: &mut Causes) {
    let spec = |object: &Object| object.get("spec").and_then(Value::as_object).cloned().unwrap_or_default();
    let (mut new, was) = (spec(object), spec(old));
    for member in ["containers", "initContainers"] {
        let images = was.get(member).and_then(Value::as_array).into_iter().flatten();
        let containers = new.get_mut(member).and_then(Value::as_array_mut).into_iter().flatten();
        for (container, old) in containers.zip(images) {
            if let (Some(container), Some(image)) = (container.as_object_mut(), old.get("image")) {
                container.insert("image".to_owned(), image.clone());
            }
        }
    }
    let tolerations = |spec: &Object| spec.get("tolerations").and_then(Value::as_array).cloned();
    let (before, now) = (tolerations(&was).unwrap_or_default(), tolerations(&new).unwrap_or_default());
    let only_more = before.iter().all(|toleration| now.contains(toleration));
    let negative =
        at(old, "spec.terminationGracePeriodSeconds").and_then(Value::as_i64).is_some_and(|s| s < 0);
    for (member, allowed) in [
        ("activeDeadlineSeconds", true),
        ("tolerations", only_more),
        ("terminationGracePeriodSeconds", negative),
    ] {
        match was.get(member) {
            _ if !allowed => {}
            Some(value) => drop(new.insert(member.to_owned(), value.clone())),
            None => drop(new.remove(member)),
        }
    }
    if new != was {
        let why = "pod updates may not change fields other than `spec.containers[*].image`,\
                   `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to \
                   existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was \
                   previously negative)";
        causes.push(Cause::forbidden("spec", why));
    }
}

/// What a Service leaves out. Addresses are not allocated.
pub(super) fn default_service(object: &mut Object) {
    fill(object, "spec", &[("type", json!("ClusterIP")), ("sessionAffinity", json!("None"))]);
    if text(object, "spec.type") != "ExternalName" {
        fill(object, "spec", &[("internalTrafficPolicy", json!("Cluster"))]);
    }
    let ports = object.get_mut("spec").and_then(|spec| spec.get_mut("ports")).and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
        port.entry("protocol").or_insert_with(|| json!("TCP"));
        let number = port.get("port").cloned().unwrap_or_default();
        port.entry("targetPort").or_insert(number);
    }
}

pub(super) fn check_service(object: &Object, causes: &mut Causes) {
    let ports = at(object, "spec.ports").and_then(Value::as_array);
    let headless = text(object, "spec.clusterIP") == "None" || text(object, "spec.type") == "ExternalName";
    if !headless && ports.is_none_or(Vec::is_empty) {
        causes.push(Cause::required("spec.ports", ""));
    }
    let ports: Vec<_> = ports.into_iter().flatten().collect();
    for (index, port) in ports.iter().enumerate() {
        let unnamed = port.get("name").and_then(Value::as_str).unwrap_or_default().is_empty();
        if ports.len() > 1 && unnamed {
            causes.push(Cause::required(format!("spec.ports[{index}].name"), ""));
        }
    }
}
