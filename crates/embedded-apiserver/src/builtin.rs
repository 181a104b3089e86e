//! The names by which other files ask for a built-in kind. Its rules are in `strategy/builtin/`.

pub(crate) mod reviews;
pub(crate) mod rules;
mod shape;
pub(crate) mod unserved;

/// The table of Events.
#[cfg(feature = "actors")]
pub(crate) mod event {
    pub(crate) use crate::strategy::builtin::event::STORAGE;
}

/// The generated selector of Jobs.
pub(crate) mod jobs {
    pub(crate) use crate::strategy::builtin::job::selector::validate_generated as check_generated;
}

/// Addresses and ports of Services.
pub(crate) mod services {
    pub(crate) use crate::strategy::builtin::service::allocation;
}

/// The size of claims.
pub(crate) mod storage {
    pub(crate) use crate::strategy::builtin::persistent_volume_claim::grows;
}

pub(crate) use crate::builtin::shape::Source;
pub(crate) use crate::builtin::shape::canonical as canonical_message;
pub(crate) use crate::builtin::shape::metadata as canonical_metadata;
use crate::kind::{Kind, api_version};
use crate::metadata::Object;
use crate::recorded::types::TYPES;
use crate::strategy::Strategy;
use crate::strategy::builtin::scale::SCALE;
use crate::strategy::builtin::{KINDS, Row};

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
    /// A kind without rules of its own, by its place in the table of kinds.
    Generic(usize),
}

/// The kinds that have a name here, in the order of the table of kinds. Kinds without rules of
/// their own follow them there.
const NAMED: [Builtin; 24] = [
    Builtin::Definition,
    Builtin::Claim,
    Builtin::Volume,
    Builtin::ConfigMap,
    Builtin::Event,
    Builtin::EventV1,
    Builtin::Namespace,
    Builtin::Node,
    Builtin::Pod,
    Builtin::Secret,
    Builtin::ServiceAccount,
    Builtin::Service,
    Builtin::Endpoints,
    Builtin::EndpointSlice,
    Builtin::Deployment,
    Builtin::ReplicaSet,
    Builtin::Job,
    Builtin::Lease,
    Builtin::LeaseCandidate,
    Builtin::Role,
    Builtin::RoleBinding,
    Builtin::ClusterRole,
    Builtin::ClusterRoleBinding,
    Builtin::StorageClass,
];

/// All built-in kinds, and which each is.
pub(crate) fn kinds() -> impl Iterator<Item = (Kind, Builtin)> {
    KINDS
        .iter()
        .enumerate()
        .map(|(at, row)| (row.to_kind(), NAMED.get(at).copied().unwrap_or(Builtin::Generic(at))))
}

impl Builtin {
    /// Its names and its strategy.
    fn row(self) -> &'static Row {
        let at = match self {
            Self::Scale => None,
            Self::Generic(at) => Some(at),
            named => NAMED.iter().position(|of| *of == named),
        };
        at.and_then(|at| KINDS.get(at)).copied().unwrap_or(&SCALE)
    }

    /// Its rules.
    pub(crate) fn strategy(self) -> &'static dyn Strategy {
        self.row().strategy
    }

    /// The object's one form, as Go's types have it. Unknown members are dropped, and their names
    /// are added to `unknown`.
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
        let row = self.row();
        TYPES.kind(&api_version(row.group, row.version), row.kind)
    }

    /// PUT of a missing object creates it.
    pub(crate) fn creates_on_update(self) -> bool {
        self.strategy().creates_on_update()
    }

    /// PUT without a resourceVersion overwrites whatever is there.
    pub(crate) fn updates_unconditionally(self) -> bool {
        self.strategy().updates_unconditionally()
    }

    pub(crate) fn has_generation(self) -> bool {
        self.strategy().generation().exists()
    }

    /// Whether a change of an object counts a generation.
    pub(crate) fn bumps_generation(self, new: &Object, old: &Object) -> bool {
        self.strategy().generation().is_counted(new, old)
    }

    /// DELETE answers with the object; the other kinds with a Status.
    pub(crate) fn delete_answers_object(self) -> bool {
        self.strategy().delete_answers_object()
    }

    /// Whether finalizers without a domain must be known ones.
    pub(crate) fn has_old_finalizers(self) -> bool {
        self.strategy().validates_finalizer_names()
    }

    /// A warning in every answer about the kind.
    pub(crate) fn deprecated(self) -> Option<&'static str> {
        self.strategy().deprecation()
    }
}
