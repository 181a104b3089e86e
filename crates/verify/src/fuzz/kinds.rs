//! The kinds that calls are about: where they are, what an object of each looks like, and what may
//! be changed of it.

mod admission;
mod autoscalers;
mod cluster;
mod controllers;
mod drivers;
mod expressions;
mod networking;
mod plain;
mod policies;
mod schemas;
mod workloads;

use serde_json::json;

use crate::fuzz::kind::{BASE, Kind};
use crate::fuzz::pick::one;

/// All kinds that calls are drawn for.
pub(super) fn kinds() -> impl Iterator<Item = &'static Kind> {
    let all = [
        COMMON,
        controllers::KINDS,
        policies::KINDS,
        autoscalers::KINDS,
        admission::KINDS,
        networking::KINDS,
        drivers::KINDS,
    ];
    all.into_iter().flatten()
}

/// The kinds that most controllers use.
const COMMON: &[Kind] = &[
    Kind {
        collection: "/api/v1/namespaces/{ns}/configmaps",
        kind: "ConfigMap",
        weight: 8,
        rest: plain::map,
        ..BASE
    },
    Kind {
        collection: "/apis/conformance.example.com/v1/namespaces/{ns}/widgets",
        api_version: "conformance.example.com/v1",
        kind: "Widget",
        subresources: &["status"],
        custom: true,
        weight: 6,
        fields: &["spec.color"],
        rest: plain::widget,
        status: plain::widget_status,
        ..BASE
    },
    Kind {
        collection: "/apis/conformance.example.com/v2/namespaces/{ns}/widgets",
        api_version: "conformance.example.com/v2",
        kind: "Widget",
        subresources: &["status"],
        custom: true,
        weight: 2,
        fields: &["spec.color"],
        rest: plain::widget,
        ..BASE
    },
    Kind {
        collection: "/apis/conformance.example.com/v1/gadgets",
        api_version: "conformance.example.com/v1",
        kind: "Gadget",
        cluster: true,
        custom: true,
        weight: 2,
        rest: plain::widget,
        ..BASE
    },
    Kind {
        collection: "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases",
        api_version: "coordination.k8s.io/v1",
        kind: "Lease",
        weight: 5,
        rest: plain::lease,
        ..BASE
    },
    Kind {
        collection: "/apis/coordination.k8s.io/v1beta1/namespaces/{ns}/leasecandidates",
        api_version: "coordination.k8s.io/v1beta1",
        kind: "LeaseCandidate",
        rest: plain::candidate,
        dry: true,
        ..BASE
    },
    Kind {
        collection: "/api/v1/namespaces/{ns}/secrets",
        kind: "Secret",
        weight: 2,
        fields: &["type"],
        rest: plain::secret,
        ..BASE
    },
    Kind {
        collection: "/api/v1/namespaces/{ns}/pods",
        kind: "Pod",
        subresources: &["status"],
        weight: 3,
        fields: &["spec.nodeName", "status.phase", "spec.restartPolicy"],
        rest: workloads::pod,
        status: workloads::pod_status,
        ..BASE
    },
    Kind {
        collection: "/api/v1/namespaces/{ns}/persistentvolumeclaims",
        kind: "PersistentVolumeClaim",
        subresources: &["status"],
        rest: plain::claim,
        status: plain::claim_status,
        ..BASE
    },
    Kind {
        collection: "/api/v1/namespaces/{ns}/services",
        kind: "Service",
        subresources: &["status"],
        fields: &["spec.type", "spec.clusterIP"],
        rest: plain::service,
        status: |rng| json!({ "loadBalancer": { "ingress": [{ "ip": one(rng, &["1.2.3.4", "x"]) }] } }),
        ..BASE
    },
    Kind {
        collection: "/api/v1/namespaces/{ns}/serviceaccounts",
        kind: "ServiceAccount",
        rest: plain::account,
        ..BASE
    },
    Kind {
        collection: "/api/v1/namespaces/{ns}/events",
        kind: "Event",
        fields: &["involvedObject.name", "reason", "type"],
        rest: plain::event,
        ..BASE
    },
    Kind {
        collection: "/api/v1/persistentvolumes",
        kind: "PersistentVolume",
        cluster: true,
        subresources: &["status"],
        rest: plain::volume,
        status: |rng| json!({ "phase": one(rng, &["Available", "Released", "Failed"]), "message": "m" }),
        ..BASE
    },
    Kind {
        collection: "/apis/storage.k8s.io/v1/storageclasses",
        api_version: "storage.k8s.io/v1",
        kind: "StorageClass",
        cluster: true,
        rest: plain::class,
        ..BASE
    },
    Kind {
        collection: "/apis/conformance.example.com/v1/namespaces/{ns}/trackers",
        api_version: "conformance.example.com/v1",
        kind: "Tracker",
        subresources: &["status"],
        custom: true,
        weight: 6,
        rest: schemas::tracker,
        status: schemas::tracker_status,
        ..BASE
    },
    Kind {
        collection: "/apis/conformance.example.com/v1/namespaces/{ns}/gears",
        api_version: "conformance.example.com/v1",
        kind: "Gear",
        subresources: &["status"],
        custom: true,
        weight: 4,
        rest: schemas::gear,
        status: |rng| json!({ "phase": one(rng, &["a", "b"]), "replicas": one(rng, &[1, 2]) }),
        ..BASE
    },
    Kind {
        collection: "/apis/apps/v1/namespaces/{ns}/deployments",
        api_version: "apps/v1",
        kind: "Deployment",
        subresources: &["status", "scale"],
        weight: 4,
        rest: workloads::deployment,
        status: workloads::deployment_status,
        ..BASE
    },
    Kind {
        collection: "/apis/apps/v1/namespaces/{ns}/replicasets",
        api_version: "apps/v1",
        kind: "ReplicaSet",
        subresources: &["status", "scale"],
        weight: 2,
        fields: &["status.replicas"],
        rest: workloads::replica_set,
        status: |rng| json!({ "replicas": one(rng, &[0, 1, 2, -1]), "readyReplicas": one(rng, &[0, 1, 3]) }),
        ..BASE
    },
    Kind {
        collection: "/apis/batch/v1/namespaces/{ns}/jobs",
        api_version: "batch/v1",
        kind: "Job",
        subresources: &["status"],
        weight: 2,
        fields: &["status.successful"],
        rest: workloads::job,
        status: |rng| json!({ "active": one(rng, &[0, 1, -1]), "succeeded": one(rng, &[0, 1]) }),
        ..BASE
    },
    Kind {
        collection: "/api/v1/namespaces/{ns}/endpoints",
        kind: "Endpoints",
        rest: cluster::endpoints,
        ..BASE
    },
    Kind {
        collection: "/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices",
        api_version: "discovery.k8s.io/v1",
        kind: "EndpointSlice",
        rest: cluster::slice,
        ..BASE
    },
    Kind {
        collection: "/apis/events.k8s.io/v1/namespaces/{ns}/events",
        api_version: "events.k8s.io/v1",
        kind: "Event",
        fields: &["regarding.name", "reason"],
        rest: plain::new_event,
        ..BASE
    },
    Kind {
        collection: "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles",
        api_version: "rbac.authorization.k8s.io/v1",
        kind: "Role",
        rest: cluster::role,
        ..BASE
    },
    Kind {
        collection: "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings",
        api_version: "rbac.authorization.k8s.io/v1",
        kind: "RoleBinding",
        rest: cluster::binding,
        ..BASE
    },
    Kind {
        collection: "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        api_version: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRole",
        cluster: true,
        rest: cluster::role,
        ..BASE
    },
    Kind {
        collection: "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
        api_version: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRoleBinding",
        cluster: true,
        rest: cluster::binding,
        ..BASE
    },
    Kind {
        collection: "/api/v1/nodes",
        kind: "Node",
        cluster: true,
        subresources: &["status"],
        rest: cluster::node,
        status: cluster::node_status,
        ..BASE
    },
    Kind {
        collection: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        api_version: "apiextensions.k8s.io/v1",
        kind: "CustomResourceDefinition",
        cluster: true,
        rest: schemas::definition,
        dry: true,
        ..BASE
    },
];
