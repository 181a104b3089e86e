//! The kinds that every cluster has, and the table of what differs between them.

use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::api::{coordination, core, events};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::kind::Kind;
use crate::metadata::Object;

pub(crate) mod event;
pub(crate) mod quantities;
pub(crate) mod rules;
pub(crate) mod storage;
mod workload;

/// A built-in kind: its types are decoded, and its own rules hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Builtin {
    Claim,
    ConfigMap,
    Endpoints,
    Event,
    EventV1,
    Lease,
    Namespace,
    Pod,
    Secret,
    Service,
    ServiceAccount,
    StorageClass,
    Volume,
}

/// All built-in kinds.
pub(crate) fn kinds() -> Vec<Kind> {
    use Builtin as B;
    let namespaced = |builtin, kind, plural| Kind::namespaced("", "v1", kind, plural).built_in(builtin);
    let cluster = |builtin, kind, plural| Kind::cluster_scoped("", "v1", kind, plural).built_in(builtin);
    let claims = namespaced(B::Claim, "PersistentVolumeClaim", "persistentvolumeclaims");
    let volumes = cluster(B::Volume, "PersistentVolume", "persistentvolumes");
    let pods = [
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ];
    let events_of = |kind: Kind, object: &str, reporter: &str| {
        let parts = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"];
        let kind = parts.iter().fold(kind, |kind, part| kind.selectable_field(&format!("{object}.{part}")));
        kind.selectable_field("reason").selectable_field(reporter).selectable_field("type").short_name("ev")
    };
    let events_v1 = Kind::namespaced("events.k8s.io", "v1", "Event", "events").built_in(B::EventV1);
    let leases = Kind::namespaced("coordination.k8s.io", "v1", "Lease", "leases");
    let classes = Kind::cluster_scoped("storage.k8s.io", "v1", "StorageClass", "storageclasses");
    vec![
        claims.status(true).short_name("pvc"),
        volumes.status(true).short_name("pv"),
        namespaced(B::ConfigMap, "ConfigMap", "configmaps").short_name("cm"),
        events_of(namespaced(B::Event, "Event", "events"), "involvedObject", "reportingComponent")
            .selectable_field("source"),
        events_of(events_v1.stored_as("/events"), "regarding", "reportingController"),
        cluster(B::Namespace, "Namespace", "namespaces")
            .status(true)
            .short_name("ns")
            .selectable_field("status.phase"),
        pods.iter()
            .fold(namespaced(B::Pod, "Pod", "pods"), |kind, path| kind.selectable_field(path))
            .status(true)
            .short_name("po"),
        namespaced(B::Secret, "Secret", "secrets").selectable_field("type"),
        namespaced(B::ServiceAccount, "ServiceAccount", "serviceaccounts").short_name("sa"),
        namespaced(B::Service, "Service", "services")
            .status(true)
            .short_name("svc")
            .selectable_field("spec.clusterIP")
            .selectable_field("spec.type"),
        namespaced(B::Endpoints, "Endpoints", "endpoints").short_name("ep"),
        leases.built_in(B::Lease),
        classes.built_in(B::StorageClass).short_name("sc"),
    ]
}

/// The value of a selectable field that is not just what stands there.
pub(crate) fn derived_field(kind: &Kind, object: &Value, path: &str) -> Option<String> {
    match (kind.builtin, path) {
        (Some(Builtin::Pod), "spec.hostNetwork") => {
            let host = object.pointer("/spec/hostNetwork").and_then(Value::as_bool).unwrap_or(false);
            Some(host.to_string())
        }
        (Some(Builtin::Event | Builtin::EventV1), "source") => {
            let reporters = ["source.component", "reportingComponent"].map(|path| Kind::field(object, path));
            reporters.into_iter().find(|reporter| !reporter.is_empty())
        }
        _ => None,
    }
}

/// Subresources that the real server has for these kinds and this one has not: 501, where any other is 404.
pub(crate) fn is_known_subresource(kind: &Kind, subresource: &str) -> bool {
    let known: &[&str] = match kind.builtin {
        Some(Builtin::Pod) => &[
            "attach",
            "binding",
            "ephemeralcontainers",
            "eviction",
            "exec",
            "log",
            "portforward",
            "proxy",
            "resize",
        ],
        Some(Builtin::Service) => &["proxy"],
        Some(Builtin::ServiceAccount) => &["token"],
        Some(_) => &[],
        None => &["scale"],
    };
    known.contains(&subresource)
}

impl Builtin {
    /// Decodes with the kind's Rust type and writes it down again: wrong types are refused, unknown members fall out,
    /// times get their one form.
    pub(crate) fn canonical(self, object: Object) -> Result<Object, serde_json::Error> {
        let object = Value::Object(object);
        let object = match self {
            Self::Claim => typed::<core::v1::PersistentVolumeClaim>(object),
            Self::ConfigMap => typed::<core::v1::ConfigMap>(object),
            Self::Endpoints => typed::<core::v1::Endpoints>(object),
            Self::Event => typed::<core::v1::Event>(object),
            Self::EventV1 => typed::<events::v1::Event>(object),
            Self::Lease => typed::<coordination::v1::Lease>(object),
            Self::Namespace => typed::<core::v1::Namespace>(object),
            Self::Pod => typed::<core::v1::Pod>(object),
            Self::Secret => typed::<core::v1::Secret>(object),
            Self::Service => typed::<core::v1::Service>(object),
            Self::ServiceAccount => typed::<core::v1::ServiceAccount>(object),
            Self::StorageClass => typed::<StorageClass>(object),
            Self::Volume => typed::<core::v1::PersistentVolume>(object),
        }?;
        match object {
            Value::Object(mut object) => {
                object.remove("apiVersion");
                object.remove("kind");
                Ok(object)
            }
            // Each of these types is written as a JSON object.
            _ => Ok(Object::new()),
        }
    }

    /// PUT of a missing object creates it.
    pub(crate) fn creates_on_update(self) -> bool {
        matches!(self, Self::Lease | Self::Event | Self::EventV1 | Self::Service)
    }

    /// PUT without a resourceVersion overwrites whatever is there.
    pub(crate) fn updates_unconditionally(self) -> bool {
        self != Self::Lease
    }

    pub(crate) fn has_generation(self) -> bool {
        self == Self::Pod
    }

    /// DELETE answers with the object; the other kinds with a Status.
    pub(crate) fn delete_answers_object(self) -> bool {
        matches!(
            self,
            Self::Pod
                | Self::Claim
                | Self::Volume
                | Self::Namespace
                | Self::StorageClass
                | Self::Service
                | Self::ServiceAccount
        )
    }

    /// Members that are `metav1.MicroTime`: exactly six digits of a second.
    pub(crate) fn micro_times(self) -> &'static [&'static str] {
        match self {
            Self::Lease => &["spec.acquireTime", "spec.renewTime"],
            Self::Event | Self::EventV1 => &["eventTime", "series.lastObservedTime"],
            _ => &[],
        }
    }
}

fn typed<T: DeserializeOwned + Serialize>(object: Value) -> Result<Value, serde_json::Error> {
    serde_json::to_value(serde_json::from_value::<T>(object)?)
}
