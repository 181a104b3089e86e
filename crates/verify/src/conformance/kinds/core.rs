//! The kinds that most controllers use.

use serde_json::{Value, json};

use crate::conformance::Case;
use crate::conformance::kinds::walk::{KIND, Sample};
use crate::conformance::objects::*;

const RBAC: &str = "rbac.authorization.k8s.io/v1";

static DEFINITION: Sample = Sample {
    version: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    plural: "customresourcedefinitions",
    is_namespaced: false,
    has_status: true,
    name: |t, letter| format!("{letter}s.{}.example.com", t.class),
    content: |_, name| definition(name),
    ..KIND
};
static CLAIM: Sample = Sample {
    kind: "PersistentVolumeClaim",
    plural: "persistentvolumeclaims",
    has_status: true,
    content: |t, _| claim("", &t.class),
    ..KIND
};
static VOLUME: Sample = Sample {
    kind: "PersistentVolume",
    plural: "persistentvolumes",
    is_namespaced: false,
    has_status: true,
    content: |t, _| volume("", &t.class),
    ..KIND
};
static CONFIG_MAP: Sample = Sample { kind: "ConfigMap", plural: "configmaps", ..KIND };
static OLD_EVENT: Sample =
    Sample { kind: "Event", plural: "events", content: |t, _| old_event("", &t.namespace), ..KIND };
static NEW_EVENT: Sample = Sample {
    version: "events.k8s.io/v1",
    kind: "Event",
    plural: "events",
    content: |t, _| new_event("", &t.namespace),
    ..KIND
};
static NAMESPACE: Sample = Sample {
    kind: "Namespace",
    plural: "namespaces",
    is_namespaced: false,
    has_status: true,
    ..KIND
};
static NODE: Sample =
    Sample { kind: "Node", plural: "nodes", is_namespaced: false, has_status: true, ..KIND };
static POD: Sample =
    Sample { kind: "Pod", plural: "pods", has_status: true, content: |_, _| pod(""), ..KIND };
static SECRET: Sample = Sample { kind: "Secret", plural: "secrets", ..KIND };
static ACCOUNT: Sample = Sample { kind: "ServiceAccount", plural: "serviceaccounts", ..KIND };
static SERVICE: Sample = Sample {
    kind: "Service",
    plural: "services",
    has_status: true,
    content: |_, _| service(""),
    ..KIND
};
static ENDPOINTS: Sample = Sample { kind: "Endpoints", plural: "endpoints", ..KIND };
static SLICE: Sample = Sample {
    version: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    plural: "endpointslices",
    content: |_, _| json!({ "addressType": "IPv4", "endpoints": [] }),
    ..KIND
};
static DEPLOYMENT: Sample = Sample {
    version: "apps/v1",
    kind: "Deployment",
    plural: "deployments",
    has_status: true,
    has_scale: true,
    content: |_, _| json!({ "spec": workload() }),
    ..KIND
};
static REPLICA_SET: Sample = Sample { kind: "ReplicaSet", plural: "replicasets", ..DEPLOYMENT };
static JOB: Sample = Sample {
    version: "batch/v1",
    kind: "Job",
    plural: "jobs",
    has_status: true,
    content: |_, _| {
        let mut spec = pod("")["spec"].take();
        spec["restartPolicy"] = "Never".into();
        json!({ "spec": { "template": { "spec": spec } } })
    },
    ..KIND
};
static LEASE: Sample =
    Sample { version: "coordination.k8s.io/v1", kind: "Lease", plural: "leases", ..KIND };
static ROLE: Sample =
    Sample { version: RBAC, kind: "Role", plural: "roles", content: |_, _| rules(), ..KIND };
static CLUSTER_ROLE: Sample =
    Sample { kind: "ClusterRole", plural: "clusterroles", is_namespaced: false, ..ROLE };
static ROLE_BINDING: Sample = Sample {
    version: RBAC,
    kind: "RoleBinding",
    plural: "rolebindings",
    content: |_, _| binds("ClusterRole"),
    ..KIND
};
static CLUSTER_ROLE_BINDING: Sample = Sample {
    kind: "ClusterRoleBinding",
    plural: "clusterrolebindings",
    is_namespaced: false,
    ..ROLE_BINDING
};
static CLASS: Sample = Sample {
    version: "storage.k8s.io/v1",
    kind: "StorageClass",
    plural: "storageclasses",
    is_namespaced: false,
    content: |_, _| class(""),
    ..KIND
};
static WIDGET: Sample = Sample {
    version: "conformance.example.com/v1",
    kind: "Widget",
    plural: "widgets",
    has_status: true,
    content: |_, _| widget("", json!({})),
    ..KIND
};
static GADGET: Sample = Sample {
    version: "conformance.example.com/v1",
    kind: "Gadget",
    plural: "gadgets",
    is_namespaced: false,
    content: |_, _| gadget("", json!({})),
    ..KIND
};

fn definition(name: &str) -> Value {
    let (plural, group) = name.split_once('.').unwrap_or_default();
    let schema = json!({ "openAPIV3Schema": { "type": "object" } });
    json!({ "spec": {
        "group": group, "scope": "Namespaced", "names": { "plural": plural, "kind": plural.to_uppercase() },
        "versions": [{ "name": "v1", "served": true, "storage": true, "schema": schema }],
    } })
}

fn workload() -> Value {
    json!({
        "replicas": 0,
        "selector": { "matchLabels": { "app": "a" } },
        "template": { "metadata": { "labels": { "app": "a" } }, "spec": pod("")["spec"] },
    })
}

fn rules() -> Value {
    json!({ "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"] }] })
}

fn binds(kind: &str) -> Value {
    json!({
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "view" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ada" }],
    })
}

pub(super) fn cases() -> Vec<(&'static Sample, Case)> {
    kinds! {
        "definitions" DEFINITION "a CustomResourceDefinition is answered, its status included";
        "claims" CLAIM "a PersistentVolumeClaim is answered, its status included";
        "volumes" VOLUME "a PersistentVolume is answered, its status included";
        "config_maps" CONFIG_MAP "a ConfigMap is answered; it has no subresource";
        "old_events" OLD_EVENT "an Event of core/v1 is answered; it has no subresource";
        "new_events" NEW_EVENT "an Event of events.k8s.io/v1 is answered; it has no subresource";
        "namespaces" NAMESPACE "a Namespace is answered, its status included, but for deletecollection";
        "nodes" NODE "a Node is answered, its status included";
        "pods" POD "a Pod is answered, its status included";
        "secrets" SECRET "a Secret is answered; it has no subresource";
        "service_accounts" ACCOUNT "a ServiceAccount is answered; it has no status";
        "services" SERVICE "a Service is answered, its status included";
        "endpoints" ENDPOINTS "Endpoints are answered; they have no subresource";
        "endpoint_slices" SLICE "an EndpointSlice is answered; it has no subresource";
        "deployments" DEPLOYMENT "a Deployment is answered, its status and its scale included";
        "replica_sets" REPLICA_SET "a ReplicaSet is answered, its status and its scale included";
        "jobs" JOB "a Job is answered, its status included";
        "leases" LEASE "a Lease is answered; it has no subresource";
        "roles" ROLE "a Role is answered; it has no subresource";
        "cluster_roles" CLUSTER_ROLE "a ClusterRole is answered; it has no subresource";
        "role_bindings" ROLE_BINDING "a RoleBinding is answered; it has no subresource";
        "cluster_role_bindings" CLUSTER_ROLE_BINDING "a ClusterRoleBinding is answered; it has no subresource";
        "storage_classes" CLASS "a StorageClass is answered; it has no subresource";
        "kinds_with_a_status" WIDGET "a custom kind is answered, its status included, but for strategic merge patches";
        "bare_kinds" GADGET "a custom kind of cluster scope is answered, but for strategic merge patches";
    }
}
