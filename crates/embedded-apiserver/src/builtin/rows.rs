//! The built-in kinds as data: a row each.

use crate::builtin::Builtin;

/// What discovery says of a built-in kind, and which of the registry's general rules hold for it:
/// as the strategies in pkg/registry of Kubernetes have them.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) builtin: Builtin,
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) namespaced: bool,
    /// Whether there is a status subresource.
    pub(crate) status: bool,
    pub(crate) short_names: &'static [&'static str],
    /// Groups of kinds, as in `kubectl get all`.
    pub(crate) categories: &'static [&'static str],
    /// What field selectors may name, beside the metadata.
    pub(crate) selectable: &'static [&'static str],
    /// PUT of a missing object creates it.
    pub(crate) creates_on_update: bool,
    /// PUT without a resourceVersion overwrites whatever is there.
    pub(crate) updates_unconditionally: bool,
    pub(crate) generation: Generation,
    /// DELETE answers with the object; of the other kinds with a Status.
    pub(crate) delete_answers_object: bool,
    /// A warning in every answer about the kind.
    pub(crate) deprecated: Option<&'static str>,
}

/// What counts as a generation of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Generation {
    /// There is none.
    None,
    /// A change of the spec.
    Spec,
    /// That, and a change of an annotation: they are copied to the dependents.
    SpecAndAnnotations,
    /// A change of anything but the metadata.
    Content,
}

const NAMESPACED: Row = Row {
    builtin: Builtin::ConfigMap,
    group: "",
    version: "v1",
    kind: "",
    plural: "",
    namespaced: true,
    status: false,
    short_names: &[],
    categories: &[],
    selectable: &[],
    creates_on_update: false,
    updates_unconditionally: true,
    generation: Generation::None,
    delete_answers_object: false,
    deprecated: None,
};

/// Custom resource definitions: pkg/registry/customresourcedefinition of
/// k8s.io/apiextensions-apiserver.
const DEFINITION: Row = Row {
    builtin: Builtin::Definition,
    group: "apiextensions.k8s.io",
    kind: "CustomResourceDefinition",
    plural: "customresourcedefinitions",
    status: true,
    short_names: &["crd", "crds"],
    categories: &["api-extensions"],
    updates_unconditionally: false,
    generation: Generation::Spec,
    delete_answers_object: true,
    ..CLUSTER
};

const CLUSTER: Row = Row { namespaced: false, ..NAMESPACED };
const APPS: Row = Row { group: "apps", status: true, categories: &["all"], ..NAMESPACED };
const RBAC: &str = "rbac.authorization.k8s.io";
const COORDINATION: Row = Row {
    group: "coordination.k8s.io",
    creates_on_update: true,
    updates_unconditionally: false,
    ..NAMESPACED
};

const EVENT: Row = Row {
    kind: "Event",
    plural: "events",
    short_names: &["ev"],
    creates_on_update: true,
    ..NAMESPACED
};
const EVENT_FIELDS: [&str; 11] = [
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "type",
    "source",
];
const EVENT_V1_FIELDS: [&str; 10] = [
    "regarding.kind",
    "regarding.namespace",
    "regarding.name",
    "regarding.uid",
    "regarding.apiVersion",
    "regarding.resourceVersion",
    "regarding.fieldPath",
    "reason",
    "reportingController",
    "type",
];
const POD_FIELDS: [&str; 8] = [
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
];

/// All of them.
pub(crate) static ROWS: [Row; 24] = [
    DEFINITION,
    Row {
        builtin: Builtin::Claim,
        kind: "PersistentVolumeClaim",
        plural: "persistentvolumeclaims",
        status: true,
        short_names: &["pvc"],
        delete_answers_object: true,
        ..NAMESPACED
    },
    Row {
        builtin: Builtin::Volume,
        kind: "PersistentVolume",
        plural: "persistentvolumes",
        status: true,
        short_names: &["pv"],
        delete_answers_object: true,
        ..CLUSTER
    },
    Row {
        builtin: Builtin::ConfigMap,
        kind: "ConfigMap",
        plural: "configmaps",
        short_names: &["cm"],
        ..NAMESPACED
    },
    Row { builtin: Builtin::Event, selectable: &EVENT_FIELDS, ..EVENT },
    Row {
        builtin: Builtin::EventV1,
        group: "events.k8s.io",
        selectable: &EVENT_V1_FIELDS,
        ..EVENT
    },
    Row {
        builtin: Builtin::Namespace,
        kind: "Namespace",
        plural: "namespaces",
        status: true,
        short_names: &["ns"],
        selectable: &["status.phase"],
        delete_answers_object: true,
        ..CLUSTER
    },
    Row {
        builtin: Builtin::Node,
        kind: "Node",
        plural: "nodes",
        status: true,
        short_names: &["no"],
        selectable: &["spec.unschedulable"],
        ..CLUSTER
    },
    Row {
        builtin: Builtin::Pod,
        kind: "Pod",
        plural: "pods",
        status: true,
        short_names: &["po"],
        categories: &["all"],
        selectable: &POD_FIELDS,
        generation: Generation::Spec,
        delete_answers_object: true,
        ..NAMESPACED
    },
    Row {
        builtin: Builtin::Secret,
        kind: "Secret",
        plural: "secrets",
        selectable: &["type"],
        ..NAMESPACED
    },
    Row {
        builtin: Builtin::ServiceAccount,
        kind: "ServiceAccount",
        plural: "serviceaccounts",
        short_names: &["sa"],
        delete_answers_object: true,
        ..NAMESPACED
    },
    Row {
        builtin: Builtin::Service,
        kind: "Service",
        plural: "services",
        status: true,
        short_names: &["svc"],
        categories: &["all"],
        selectable: &["spec.clusterIP", "spec.type"],
        creates_on_update: true,
        delete_answers_object: true,
        ..NAMESPACED
    },
    Row {
        builtin: Builtin::Endpoints,
        kind: "Endpoints",
        plural: "endpoints",
        short_names: &["ep"],
        creates_on_update: true,
        deprecated: Some(
            "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
        ),
        ..NAMESPACED
    },
    Row {
        builtin: Builtin::EndpointSlice,
        group: "discovery.k8s.io",
        kind: "EndpointSlice",
        plural: "endpointslices",
        generation: Generation::Content,
        ..NAMESPACED
    },
    Row {
        builtin: Builtin::Deployment,
        kind: "Deployment",
        plural: "deployments",
        short_names: &["deploy"],
        generation: Generation::SpecAndAnnotations,
        ..APPS
    },
    Row {
        builtin: Builtin::ReplicaSet,
        kind: "ReplicaSet",
        plural: "replicasets",
        short_names: &["rs"],
        generation: Generation::Spec,
        ..APPS
    },
    Row {
        builtin: Builtin::Job,
        group: "batch",
        kind: "Job",
        plural: "jobs",
        status: true,
        categories: &["all"],
        selectable: &["status.successful"],
        generation: Generation::Spec,
        ..NAMESPACED
    },
    Row { builtin: Builtin::Lease, kind: "Lease", plural: "leases", ..COORDINATION },
    Row {
        builtin: Builtin::LeaseCandidate,
        version: "v1beta1",
        kind: "LeaseCandidate",
        plural: "leasecandidates",
        deprecated: Some(
            "coordination.k8s.io/v1beta1 LeaseCandidate is deprecated in v1.36+, unavailable in v1.39+",
        ),
        ..COORDINATION
    },
    Row {
        builtin: Builtin::Role,
        group: RBAC,
        kind: "Role",
        plural: "roles",
        creates_on_update: true,
        ..NAMESPACED
    },
    Row {
        builtin: Builtin::RoleBinding,
        group: RBAC,
        kind: "RoleBinding",
        plural: "rolebindings",
        creates_on_update: true,
        ..NAMESPACED
    },
    Row {
        builtin: Builtin::ClusterRole,
        group: RBAC,
        kind: "ClusterRole",
        plural: "clusterroles",
        creates_on_update: true,
        ..CLUSTER
    },
    Row {
        builtin: Builtin::ClusterRoleBinding,
        group: RBAC,
        kind: "ClusterRoleBinding",
        plural: "clusterrolebindings",
        creates_on_update: true,
        ..CLUSTER
    },
    Row {
        builtin: Builtin::StorageClass,
        group: "storage.k8s.io",
        kind: "StorageClass",
        plural: "storageclasses",
        short_names: &["sc"],
        delete_answers_object: true,
        ..CLUSTER
    },
];
