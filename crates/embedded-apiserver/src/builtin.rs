//! The kinds that every cluster has, and what differs between them. What can be data is a row of
//! [`rows`], or was recorded of the real server; the rest are rules, a file for each family of
//! kinds.

mod access;
mod deployments;
mod endpoints;
pub(crate) mod event;
pub(crate) mod jobs;
mod leases;
mod nodes;
mod pod_checks;
mod pods;
mod rows;
pub(crate) mod reviews;
pub(crate) mod rules;
mod selectors;
pub(crate) mod services;
mod shape;
pub(crate) mod storage;
mod topology;
pub(crate) mod unserved;
mod values;
mod warnings;

use std::sync::Arc;

use serde_json::Value;

use crate::builtin::rows::{Generation, ROWS, Row};
pub(crate) use crate::builtin::shape::Source;
pub(crate) use crate::builtin::shape::canonical as canonical_message;
pub(crate) use crate::builtin::shape::metadata as canonical_metadata;
use crate::kind::{Codec, Kind, api_version};
use crate::metadata::{self, Object};
use crate::recorded::types::TYPES;

/// A built-in kind: its types are decoded, and its own rules hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Builtin {
    Claim,
    ClusterRole,
    ClusterRoleBinding,
    ConfigMap,
    Definition,
    Deployment,
    EndpointSlice,
    Endpoints,
    Event,
    EventV1,
    Job,
    Lease,
    LeaseCandidate,
    Namespace,
    Node,
    Pod,
    ReplicaSet,
    Role,
    RoleBinding,
    /// The view of a subresource: no objects of it are stored.
    Scale,
    Secret,
    Service,
    ServiceAccount,
    StorageClass,
    Volume,
}

/// All built-in kinds, and which each is.
pub(crate) fn kinds() -> impl Iterator<Item = (Kind, Builtin)> {
    ROWS.iter().map(|row| (kind(row), row.builtin))
}

fn kind(row: &Row) -> Kind {
    let new = if row.namespaced { Kind::namespaced } else { Kind::cluster_scoped };
    let kind = new(row.group, row.version, row.kind, row.plural).status(row.status);
    let kind = row.short_names.iter().fold(kind, |kind, name| kind.short_name(name));
    let kind = row.categories.iter().fold(kind, |kind, name| kind.category(name));
    let kind = row.selectable.iter().fold(kind, |kind, path| kind.selectable_field(path));
    let kind = match row.builtin {
        Builtin::Deployment | Builtin::ReplicaSet => {
            kind.scale("spec.replicas", "status.replicas", Some("spec.selector"))
        }
        _ => kind,
    };
    match row.builtin {
        // The two groups of Event have one table, and the rules of the older one.
        Builtin::EventV1 => {
            kind.stored_as("/events").refused_as_of("").codec(Arc::new(event::EventsV1))
        }
        Builtin::Event => kind.codec(Arc::new(event::Reporters)),
        Builtin::Pod | Builtin::Node | Builtin::Job => kind.codec(Arc::new(row.builtin)),
        _ => kind,
    }
}

impl Codec for Builtin {
    fn converts(&self, _revision: u64) -> bool {
        false
    }

    fn to_version(&self, object: Object, _revision: u64) -> Object {
        object
    }

    fn to_storage(&self, object: Object) -> Object {
        object
    }

    fn selectable_value(&self, object: &Value, path: &str) -> Option<String> {
        let flag = |pointer: &str| {
            object.pointer(pointer).and_then(Value::as_bool).unwrap_or(false).to_string()
        };
        match (self, path) {
            (Self::Pod, "spec.hostNetwork") => Some(flag("/spec/hostNetwork")),
            (Self::Node, "spec.unschedulable") => Some(flag("/spec/unschedulable")),
            (Self::Job, "status.successful") => {
                let succeeded = object.pointer("/status/succeeded").and_then(Value::as_i64);
                Some(succeeded.unwrap_or(0).to_string())
            }
            _ => None,
        }
    }
}

impl Builtin {
    fn row(self) -> Option<&'static Row> {
        ROWS.iter().find(|row| row.builtin == self)
    }

    /// The object's one form, as Go's types have it; what they do not have falls out, and its name
    /// into `unknown`.
    ///
    /// # Errors
    ///
    /// What Go's decoder says of a member of a wrong type.
    pub(crate) fn canonical(
        self,
        object: Object,
        unknown: &mut Vec<String>,
    ) -> Result<Object, String> {
        self.canonical_of(object, Source::Json, unknown)
    }

    /// As `canonical`, of an object that Go reads out of this.
    ///
    /// # Errors
    ///
    /// Says which member is of a wrong type.
    pub(crate) fn canonical_of(
        self,
        object: Object,
        source: Source,
        unknown: &mut Vec<String>,
    ) -> Result<Object, String> {
        let Some(message) = self.message() else { return Ok(object) };
        canonical_message(message, object, source, unknown)
    }

    /// Its Go type.
    pub(crate) fn message(self) -> Option<usize> {
        match self {
            Self::Scale => TYPES.kind("autoscaling/v1", "Scale"),
            _ => self
                .row()
                .and_then(|row| TYPES.kind(&api_version(row.group, row.version), row.kind)),
        }
    }

    /// PUT of a missing object creates it.
    pub(crate) fn creates_on_update(self) -> bool {
        self.row().is_some_and(|row| row.creates_on_update)
    }

    /// PUT without a resourceVersion overwrites whatever is there.
    pub(crate) fn updates_unconditionally(self) -> bool {
        self.row().is_some_and(|row| row.updates_unconditionally)
    }

    pub(crate) fn has_generation(self) -> bool {
        self.row().is_some_and(|row| row.generation != Generation::None)
    }

    /// Whether a change of an object counts a generation.
    pub(crate) fn bumps_generation(self, new: &Object, old: &Object) -> bool {
        let differs = |member: &str| new.get(member) != old.get(member);
        match self.row().map_or(Generation::None, |row| row.generation) {
            Generation::None => false,
            Generation::Spec => differs("spec"),
            Generation::SpecAndAnnotations => {
                differs("spec")
                    || metadata::get(new, "annotations") != metadata::get(old, "annotations")
            }
            Generation::Content => {
                // Labels are content there, too: pkg/registry/discovery/endpointslice/strategy.go.
                let mut names = new.keys().chain(old.keys());
                names.any(|name| name != "metadata" && differs(name))
                    || metadata::get(new, "labels") != metadata::get(old, "labels")
            }
        }
    }

    /// DELETE answers with the object; the other kinds with a Status.
    pub(crate) fn delete_answers_object(self) -> bool {
        self.row().is_some_and(|row| row.delete_answers_object)
    }

    /// Whether its finalizers are checked as `ValidateObjectMeta` of pkg/apis/core/validation does;
    /// what is younger uses apimachinery's.
    pub(crate) const fn has_old_finalizers(self) -> bool {
        !matches!(self, Self::Event | Self::Lease | Self::LeaseCandidate | Self::Definition)
    }

    /// Whether an update of it is checked by the whole of `ValidateObjectMeta`, which looks at
    /// generateName too.
    pub(crate) const fn checks_base_of_updates(self) -> bool {
        !matches!(
            self,
            Self::Definition
                | Self::Deployment
                | Self::Event
                | Self::EventV1
                | Self::Lease
                | Self::LeaseCandidate
                | Self::ReplicaSet
                | Self::Scale
                | Self::Service
        )
    }

    /// A warning in every answer about the kind.
    pub(crate) fn deprecated(self) -> Option<&'static str> {
        self.row().and_then(|row| row.deprecated)
    }
}
