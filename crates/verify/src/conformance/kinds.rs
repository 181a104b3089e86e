//! Every verb on every kind, one case a kind: what the table of verbs by kinds is filled from.

use http::Method;
use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::target::{APPLY, JSON_PATCH, MERGE, STRATEGIC};
use crate::conformance::{Case, Outcome, Target, case};

/// A kind, as its case walks through its verbs.
struct Sample {
    /// `v1`, or with a group.
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
    is_namespaced: bool,
    /// Which of its subresources there are.
    has_status: bool,
    has_scale: bool,
    /// The name of its object that is called by a letter.
    name: fn(&Target, &str) -> String,
    /// What a new object of a name has beside its metadata.
    content: fn(&Target, &str) -> Value,
}

const KIND: Sample = Sample {
    version: "v1",
    kind: "",
    plural: "",
    is_namespaced: true,
    has_status: false,
    has_scale: false,
    name: |t, letter| t.own(letter),
    content: |_, _| json!({}),
};
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

impl Sample {
    fn path(&self, t: &Target, rest: &str) -> String {
        let root = if self.version == "v1" { "/api" } else { "/apis" };
        let place =
            if self.is_namespaced { format!("/namespaces/{}", t.namespace) } else { String::new() };
        format!("{root}/{}{place}/{}{rest}", self.version, self.plural)
    }

    /// A new object of the case, which its label tells from those of others.
    fn object(&self, t: &Target, name: &str) -> Value {
        let mut object = (self.content)(t, name);
        object["apiVersion"] = self.version.into();
        object["kind"] = self.kind.into();
        object["metadata"] = json!({ "name": name, "labels": { "case": t.class } });
        object
    }

    /// Custom kinds have no strategic merge patch.
    fn is_custom(&self) -> bool {
        self.version.contains("example.com")
    }
}

fn note(value: &str) -> Value {
    json!({ "metadata": { "annotations": { "note": value } } })
}

/// Every verb, in an order in which each finds what it needs.
async fn walk(t: &Target, kind: &'static Sample) -> Outcome {
    let name = (kind.name)(t, "a");
    let (collection, path) = (kind.path(t, ""), kind.path(t, &format!("/{name}")));
    let own = format!("?labelSelector=case%3D{}", t.class);
    let made = t.make(&collection, kind.object(t, &name)).await?;
    has(&made, json!({ "metadata": { "name": name, "uid": "*", "resourceVersion": "*" } }))?;
    has(&t.get(&path).await?.is(200)?, json!({ "kind": kind.kind, "apiVersion": kind.version }))?;
    let list = t.get(&format!("{collection}{own}")).await?.is(200)?;
    has(&list, json!({ "kind": format!("{}List", kind.kind) }))?;
    same("names", names(&list), name.clone())?;
    let from = format!("{collection}{own}&resourceVersion={}", version(&list));
    let mut watch = t.watch(&from).await?;

    writes(t, kind, &path).await?;
    let seen = watch.event("MODIFIED", &name).await?;
    has(&seen, json!({ "metadata": { "uid": text(&made, "/metadata/uid") } }))?;
    subresources(t, kind, &path).await?;

    let ends = json!({ "gracePeriodSeconds": 0, "propagationPolicy": "Background" });
    t.delete_with(&path, ends.clone()).await?.is(200)?;
    t.make(&collection, kind.object(t, &(kind.name)(t, "b"))).await?;
    let swept = t.delete_with(&format!("{collection}{own}"), ends).await?;
    // Namespaces go one by one.
    if kind.kind == "Namespace" {
        swept.refused(405, "MethodNotAllowed")?;
    } else {
        swept.is(200)?;
    }
    Ok(())
}

/// Updates and patches of an annotation, each seen in the answer to the next one.
async fn writes(t: &Target, kind: &Sample, path: &str) -> Outcome {
    let patched = t.merge(path, note("merged")).await?.is(200)?;
    has(&patched, note("merged"))?;
    let operation =
        json!([{ "op": "replace", "path": "/metadata/annotations/note", "value": "operated" }]);
    has(&t.patch(path, JSON_PATCH, &operation).await?.is(200)?, note("operated"))?;
    let strategic = t.patch(path, STRATEGIC, &note("strategic")).await?;
    if kind.is_custom() {
        strategic.refused(415, "UnsupportedMediaType")?;
    } else {
        has(&strategic.is(200)?, note("strategic"))?;
    }
    let applied = json!({
        "apiVersion": kind.version, "kind": kind.kind, "metadata": { "annotations": { "note": "applied" } },
    });
    let applies = format!("{path}?fieldManager=m&force=true");
    has(&t.patch(&applies, APPLY, &applied).await?.is(200)?, note("applied"))?;
    let replaced = t
        .replace(path, |whole| whole["metadata"]["annotations"]["note"] = "replaced".into())
        .await?;
    has(&replaced.is(200)?, note("replaced"))
}

/// The status and the scale, read and written, or not there.
async fn subresources(t: &Target, kind: &Sample, path: &str) -> Outcome {
    let status = format!("{path}/status");
    if kind.has_status {
        t.replace(&status, |_| ()).await?.is(200)?;
        t.merge(&status, json!({})).await?.is(200)?;
        t.patch(&status, JSON_PATCH, &json!([])).await?.is(200)?;
        if !kind.is_custom() {
            t.patch(&status, STRATEGIC, &json!({})).await?.is(200)?;
        }
        let applied = json!({ "apiVersion": kind.version, "kind": kind.kind });
        t.patch(&format!("{status}?fieldManager=m"), APPLY, &applied).await?.is(200)?;
        t.delete(&status).await?.refused(405, "MethodNotAllowed")?;
    } else {
        t.get(&status).await?.is(404)?;
    }
    let scale = format!("{path}/scale");
    if !kind.has_scale {
        t.get(&scale).await?.is(404)?;
        return Ok(());
    }
    let whole = t.get(&scale).await?.is(200)?;
    has(&whole, json!({ "kind": "Scale", "apiVersion": "autoscaling/v1" }))?;
    t.put(&scale, &whole).await?.is(200)?;
    for media in [MERGE, STRATEGIC] {
        let scaled =
            t.patch(&scale, media, &json!({ "spec": { "replicas": 2 } })).await?.is(200)?;
        has(&scaled, json!({ "spec": { "replicas": 2 } }))?;
    }
    let operation = json!([{ "op": "replace", "path": "/spec/replicas", "value": 0 }]);
    t.patch(&scale, JSON_PATCH, &operation).await?.is(200)?;
    t.send(Method::POST, &scale, &[("content-type", "application/json")], whole.to_string())
        .await?
        .refused(405, "MethodNotAllowed")?;
    Ok(())
}

macro_rules! kinds {
    ($($name:literal $kind:ident $what:literal;)*) => {
        vec![$(case(
            $name,
            concat!("Every verb on ", $what, "."),
            async |t| walk(t, &$kind).await,
        )),*]
    };
}

pub(super) fn cases() -> Vec<Case> {
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
