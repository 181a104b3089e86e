//! The objects that cases make: the smallest that each kind takes, and the definitions of the
//! custom kinds.

use serde_json::{Value, json};

/// The group of the cases' custom kinds.
pub(super) const GROUP: &str = "conformance.example.com";

/// Widget: namespaced, two versions, with a status subresource and a selectable field. Gadget: of
/// cluster scope, bare. Tracker: lists and maps of every sort, and a second version that does not
/// say so.
pub(super) fn definitions() -> [Value; 4] {
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
        definition(
            "Widget",
            "widgets",
            "Namespaced",
            json!([version("v1", true), version("v2", false)]),
        ),
        definition("Gadget", "gadgets", "Cluster", gadgets),
        definition("Tracker", "trackers", "Namespaced", tracker_versions(&open)),
        definition("Gear", "gears", "Namespaced", gears()),
    ]
}

fn tracker_versions(open: &Value) -> Value {
    let text = json!({ "type": "string" });
    let list = |sort: &str, items: &Value| json!({ "type": "array", "x-kubernetes-list-type": sort, "items": items });
    let ports = json!({
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"],
        "items": {
            "type": "object", "required": ["port"],
            "properties": {
                "port": { "type": "integer" }, "protocol": { "type": "string", "default": "TCP" }, "name": text,
            },
        },
    });
    let conditions = json!({
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
        "items": { "type": "object", "required": ["type"], "properties": { "type": text, "status": text } },
    });
    let map = json!({ "type": "object", "additionalProperties": text });
    let mut atomic_map = map.clone();
    atomic_map["x-kubernetes-map-type"] = "atomic".into();
    let spec = json!({
        "set": list("set", &text),
        "ports": ports,
        "atomicList": list("atomic", &text),
        "plainList": { "type": "array", "items": { "type": "object", "properties": { "a": text } } },
        "atomicMap": atomic_map,
        "map": map,
        "members": { "type": "object", "properties": { "a": text, "b": text } },
        "open": open,
        "either": { "x-kubernetes-int-or-string": true },
        "inner": {
            "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
        },
    });
    let schema = json!({
        "type": "object",
        "properties": {
            "spec": { "type": "object", "properties": spec },
            "status": { "type": "object", "properties": { "conditions": conditions, "phase": text } },
        },
    });
    let version = |name: &str, schema: &Value| {
        json!({
            "name": name, "served": true, "storage": name == "v1", "schema": { "openAPIV3Schema": schema },
            "subresources": { "status": {} },
        })
    };
    json!([version("v1", &schema), version("v2", open)])
}

pub(super) fn tracker(name: &str, spec: Value) -> Value {
    json!({ "apiVersion": format!("{GROUP}/v1"), "kind": "Tracker", "metadata": { "name": name }, "spec": spec })
}

/// Gear: a schema with something of everything.
fn gears() -> Value {
    let text = || json!({ "type": "string" });
    let pair = || json!({ "type": "object", "properties": { "a": text(), "b": text() } });
    let with = |mut schema: Value, member: &str, alternatives: Value| {
        schema[member] = alternatives;
        schema
    };
    let either = || json!([{ "required": ["a"] }, { "required": ["b"] }]);
    let format = |format: &str| json!({ "type": "string", "format": format });
    let spec = json!({
        "name": { "type": "string", "minLength": 2, "maxLength": 5, "pattern": "^[a-z]+$" },
        "word": { "type": "string", "maxLength": 5 },
        "digit": { "type": "string", "pattern": "^\\d$" },
        "size": { "type": "integer", "minimum": 1, "maximum": 10 },
        "small": { "type": "integer", "format": "int32" },
        "ratio": { "type": "number", "maximum": 1, "exclusiveMaximum": true, "multipleOf": 0.25 },
        "mode": { "type": "string", "enum": ["fast", "slow"] },
        "level": { "type": "integer", "default": 3 },
        "nested": {
            "type": "object", "default": {}, "properties": { "depth": { "type": "integer", "default": 7 } },
        },
        "port": { "x-kubernetes-int-or-string": true },
        "maybe": { "type": "string", "nullable": true },
        "when": format("date-time"),
        "odd": format("color-of-the-day"),
        "formats": { "type": "object", "properties": {
            "ip": format("ipv4"), "uuid": format("uuid"), "cidr": format("cidr"), "duration": format("duration"),
            "bytes": format("byte"),
        } },
        "pair": { "type": "object", "required": ["left"], "properties": { "left": text(), "right": text() } },
        "labels": { "type": "object", "maxProperties": 2, "additionalProperties": text() },
        "few": { "type": "array", "minItems": 1, "maxItems": 2, "items": text() },
        "tags": { "type": "array", "x-kubernetes-list-type": "set", "items": text() },
        "parts": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object", "required": ["name"],
                "properties": { "name": text(), "n": { "type": "integer" } },
            },
        },
        "steps": { "type": "array", "items": {
            "type": "object", "properties": { "times": { "type": "integer", "default": 1 } },
        } },
        "open": {
            "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            "properties": {
                "n": { "type": "integer" }, "inner": { "type": "object", "properties": { "a": text() } },
            },
        },
        "embedded": {
            "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
        },
        "one": with(pair(), "oneOf", either()),
        "some": with(pair(), "anyOf", either()),
        "all": with(pair(), "allOf", either()),
        "none": with(pair(), "not", json!({ "required": ["a"] })),
    });
    let status = json!({
        "phase": text(), "replicas": { "type": "integer" }, "selector": text(),
    });
    json!([{
        "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
        "schema": { "openAPIV3Schema": { "type": "object", "properties": {
            "metadata": { "type": "object", "properties": { "name": { "type": "string", "maxLength": 20 } } },
            "spec": { "type": "object", "properties": spec },
            "status": { "type": "object", "properties": status },
        } } },
    }])
}

pub(super) fn gear(name: &str, spec: Value) -> Value {
    json!({ "apiVersion": format!("{GROUP}/v1"), "kind": "Gear", "metadata": { "name": name }, "spec": spec })
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

/// Sets members of the spec of an object.
pub(super) fn with_spec(mut object: Value, members: Value) -> Value {
    for (member, value) in members.as_object().into_iter().flatten() {
        object["spec"][member] = value.clone();
    }
    object
}

/// A template of Pods with the label `app: a`.
pub(super) fn pod_template() -> Value {
    json!({ "metadata": { "labels": { "app": "a" } }, "spec": pod("")["spec"] })
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
