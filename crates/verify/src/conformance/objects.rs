//! The objects that cases make: the smallest that each kind takes, and the definitions of the custom kinds.

use serde_json::{Value, json};

/// The group of the cases' custom kinds.
pub(super) const GROUP: &str = "conformance.example.com";

/// Widget: namespaced, two versions, with a status subresource and a selectable field. Gadget: of cluster scope, bare.
pub(super) fn definitions() -> [Value; 2] {
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let mut widget = open.clone();
    widget["properties"] = json!({
        "spec": {
            "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            "properties": { "color": { "type": "string" } },
        },
    });
    let version = |name: &str, stored: bool| {
        json!({
            "name": name, "served": true, "storage": stored, "schema": { "openAPIV3Schema": widget },
            "subresources": { "status": {} }, "selectableFields": [{ "jsonPath": ".spec.color" }],
        })
    };
    let definition = |kind: &str, plural: &str, scope: &str, versions: Value| {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("{plural}.{GROUP}") },
            "spec": {
                "group": GROUP, "scope": scope, "versions": versions,
                "names": {
                    "kind": kind, "listKind": format!("{kind}List"), "plural": plural,
                    "singular": kind.to_lowercase(),
                },
            },
        })
    };
    let gadgets = json!([
        { "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": open } },
    ]);
    [
        definition("Widget", "widgets", "Namespaced", json!([version("v1", true), version("v2", false)])),
        definition("Gadget", "gadgets", "Cluster", gadgets),
    ]
}

pub(super) fn map(name: &str, value: &str) -> Value {
    json!({ "metadata": { "name": name }, "data": { "k": value } })
}

pub(super) fn named(name: &str) -> Value {
    json!({ "metadata": { "name": name } })
}

pub(super) fn widget(name: &str, spec: Value) -> Value {
    json!({ "apiVersion": format!("{GROUP}/v1"), "kind": "Widget", "metadata": { "name": name }, "spec": spec })
}

pub(super) fn gadget(name: &str, spec: Value) -> Value {
    json!({ "apiVersion": format!("{GROUP}/v1"), "kind": "Gadget", "metadata": { "name": name }, "spec": spec })
}

pub(super) fn lease(name: &str, holder: &str) -> Value {
    json!({
        "metadata": { "name": name },
        "spec": { "holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": "2026-01-02T03:04:05.000006Z" },
    })
}

pub(super) fn claim(name: &str, class: &str) -> Value {
    json!({
        "metadata": { "name": name },
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": class,
            "resources": { "requests": { "storage": "1Gi" } },
        },
    })
}

pub(super) fn volume(name: &str, class: &str) -> Value {
    json!({
        "metadata": { "name": name },
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": class, "capacity": { "storage": "1Gi" },
            "hostPath": { "path": "/tmp/conformance" },
        },
    })
}

pub(super) fn class(name: &str) -> Value {
    json!({ "metadata": { "name": name }, "provisioner": "conformance.example.com/none" })
}

pub(super) fn pod(name: &str) -> Value {
    json!({ "metadata": { "name": name }, "spec": { "containers": [{ "name": "c", "image": "i" }] } })
}

pub(super) fn service(name: &str) -> Value {
    json!({ "metadata": { "name": name }, "spec": { "ports": [{ "port": 80 }] } })
}

/// An Event in core/v1 as old clients send it.
pub(super) fn old_event(name: &str, namespace: &str) -> Value {
    json!({
        "metadata": { "name": name },
        "involvedObject": { "kind": "Pod", "namespace": namespace, "name": "p", "apiVersion": "v1" },
        "reason": "Seen", "message": "it was seen", "type": "Normal", "source": { "component": "c" },
    })
}

/// An Event of events.k8s.io/v1.
pub(super) fn new_event(name: &str, namespace: &str) -> Value {
    json!({
        "metadata": { "name": name }, "eventTime": "2026-01-02T03:04:05.000006Z", "action": "See", "reason": "Seen",
        "type": "Normal", "note": "it was seen", "reportingController": "example.com/c", "reportingInstance": "i",
        "regarding": { "kind": "Pod", "namespace": namespace, "name": "p", "apiVersion": "v1" },
    })
}
