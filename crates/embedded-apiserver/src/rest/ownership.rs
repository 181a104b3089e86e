//! Field ownership of a write: the input of [`managed_fields`] from a request.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, header};
use jiff::Timestamp;
use k8s_merge::managed_fields::scale::{self, ReplicaPaths, SCALE};
use k8s_merge::managed_fields::{
    self, ApplyError, ApplyOutcome, Converter, Element, MAX_MANAGER, ManagedFields, Operation,
    RequestedFields, Set, Types,
};

use crate::api::metadata::Object;
use crate::api::query::Query;
use crate::api::status::Status;
use crate::rest::conversion::ConvertedObjects;
use crate::rest::state::ApiState;
use crate::strategy::openapi::types_of_scale;
use crate::strategy::resource::ServedResource;

/// The field manager of a write.
#[derive(Debug, Clone)]
pub(crate) struct Author {
    manager: String,
    subresource: String,
    /// The server's own write, before the first request.
    is_server: bool,
}

impl Author {
    /// The manager of a request: `fieldManager`, or the User-Agent up to its first slash.
    pub(super) fn of(query: &Query, request: &Request<Bytes>, subresource: Option<&str>) -> Self {
        let subresource = subresource.unwrap_or_default().to_owned();
        let manager = query.get("fieldManager").unwrap_or_default().to_owned();
        if !manager.is_empty() {
            return Self { manager, subresource, is_server: false };
        }
        let agent = request.headers().get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
        let product = agent.unwrap_or_default().split('/').next().unwrap_or_default();
        let mut manager = String::new();
        for c in product.chars().filter(|c| !c.is_control()) {
            if manager.len() + c.len_utf8() > MAX_MANAGER {
                break;
            }
            manager.push(c);
        }
        Self { manager, subresource, is_server: false }
    }

    /// The manager of objects that the server creates itself.
    pub(crate) fn server() -> Self {
        Self { manager: "kube-apiserver".to_owned(), subresource: String::new(), is_server: true }
    }
}

/// How the owners of a new version are found.
#[derive(Debug)]
pub(super) enum Owners<'a> {
    /// The author takes the changed fields. With the managedFields that the client sent.
    Changes(&'a Author, RequestedFields),
    /// The apply has computed them.
    Known(ManagedFields),
}

impl Owners<'_> {
    /// The owners, if they are computed.
    pub(super) const fn known(&self) -> Option<&ManagedFields> {
        match self {
            Self::Known(managed) => Some(managed),
            Self::Changes(..) => None,
        }
    }

    /// The owners of a version.
    ///
    /// # Errors
    ///
    /// A webhook does not convert the objects to the versions of their owners.
    pub(super) async fn of(
        self,
        api: &ApiState,
        kind: &ServedResource,
        live: Option<(&Object, &ManagedFields)>,
        new: &Object,
        now: Timestamp,
    ) -> Result<ManagedFields, Status> {
        match self {
            Self::Known(managed) => Ok(managed),
            Self::Changes(author, sent) => {
                let nobody = ManagedFields::default();
                let owned = live.map_or(&nobody, |(_, owned)| owned);
                let mentioned = match &sent {
                    RequestedFields::Entries(sent) => sent,
                    RequestedFields::Unset | RequestedFields::Reset => owned,
                };
                let owners = [owned, mentioned];
                // The fields are those of the object as it is shown.
                let shown;
                let new = if kind.is_lossy() {
                    shown = kind.to_version(kind.to_storage(new.clone()), u64::MAX);
                    &shown
                } else {
                    new
                };
                with_conversions(api, kind, author, &owners, now, |operation| {
                    update(operation, live.map(|(live, _)| live), owned, sent.clone(), new)
                })
                .await
            }
        }
    }
}

/// The owners after the Kubernetes controllers write the status, as JSON text.
pub(crate) fn of_controllers(
    api: &ApiState,
    kind: &ServedResource,
    old: &Object,
    owned: &str,
    new: &Object,
    now: Timestamp,
) -> ManagedFields {
    let author = Author {
        manager: "kube-apiserver".to_owned(),
        subresource: "status".to_owned(),
        is_server: false,
    };
    let owned = ManagedFields::parse(owned);
    with_operation(api, kind, &author, &[&owned], now, None, |operation| {
        update(operation, Some(old), &owned, RequestedFields::Unset, new)
    })
}

/// Runs the rules for one write. If they need an object in another version, a webhook converts it,
/// and they run again.
///
/// # Errors
///
/// The webhook fails.
pub(super) async fn with_conversions<T>(
    api: &ApiState,
    kind: &ServedResource,
    author: &Author,
    owned: &[&ManagedFields],
    now: Timestamp,
    run: impl Fn(&Operation<'_>) -> T,
) -> Result<T, Status> {
    let objects = ConvertedObjects::default();
    loop {
        let converter = kind.has_webhook().then_some(&objects as &dyn Converter);
        let done = with_operation(api, kind, author, owned, now, converter, &run);
        let Some(wanted) = objects.wanted() else { return Ok(done) };
        drop(done);
        objects.add(api, kind, wanted).await?;
    }
}

/// Runs the rules for one write. `owned`: the managedFields that name the relevant versions.
fn with_operation<T>(
    api: &ApiState,
    kind: &ServedResource,
    author: &Author,
    owned: &[&ManagedFields],
    now: Timestamp,
    converter: Option<&dyn Converter>,
    run: impl FnOnce(&Operation<'_>) -> T,
) -> T {
    let version = kind.api_version();
    let has_others =
        owned.iter().any(|owned| owned.entries().any(|entry| entry.version != version));
    let kinds: Vec<Arc<ServedResource>> =
        if has_others { api.registry.read().of_storage(&kind.storage) } else { Vec::new() };
    let mut others = BTreeMap::new();
    // The groups of Event have members of their own. As upstream, fields of one group have no owner
    // in the other.
    for other in
        kinds.iter().filter(|other| other.group() == kind.group() && other.api_version() != version)
    {
        others.insert(other.api_version(), other.types());
    }
    let deduced;
    let types = if author.is_server {
        // These objects are simple: their types are deduced, which is faster than a look-up.
        deduced = Types::deduced();
        &deduced
    } else {
        kind.types()
    };
    let operation = Operation::new(types, &version, kind.kind(), &author.manager, now);
    let reset = reset(kind, &author.subresource);
    let versions = Versions(&kinds);
    let is_converted = kind.is_built_in() && !others.is_empty();
    let converter = converter.or_else(|| is_converted.then_some(&versions as &dyn Converter));
    let operation = match converter {
        Some(converter) => operation.converter(converter),
        None => operation,
    };
    run(&operation
        .subresource(&author.subresource)
        .other_versions(&others)
        .reset(&reset)
        .resets_every_version(kind.is_built_in()))
}

/// The versions of a built-in kind, which convert without waiting.
#[derive(Debug)]
struct Versions<'a>(&'a [Arc<ServedResource>]);

impl Converter for Versions<'_> {
    fn convert(&self, object: &Object, from: &str, to: &str) -> Option<Object> {
        let version = |wanted: &str| self.0.iter().find(|kind| kind.api_version() == wanted);
        let (from, to) = (version(from)?, version(to)?);
        Some(to.to_version(from.to_storage(object.clone()), u64::MAX))
    }
}

/// The owners after a write. As upstream, an object that does not fit its schema is written without
/// owners.
fn update(
    operation: &Operation<'_>,
    live: Option<&Object>,
    owned: &ManagedFields,
    sent: RequestedFields,
    new: &Object,
) -> ManagedFields {
    managed_fields::update(operation, live, owned, sent, new).unwrap_or_else(|why| {
        tracing::debug!(%why, "an object does not fit its schema: its fields have no owners");
        ManagedFields::default()
    })
}

/// The path of the replicas in each version of a kind.
fn replica_paths(api: &ApiState, kind: &ServedResource) -> ReplicaPaths {
    let kinds = api.registry.read().of_storage(&kind.storage);
    let path = |kind: &ServedResource| {
        let paths = kind.scale_paths()?;
        Some(paths.spec_replicas.split('.').map(Element::field).collect())
    };
    kinds.iter().map(|kind| (kind.api_version(), path(kind))).collect()
}

/// A write to the Scale of an object.
#[derive(Debug, Clone, Copy)]
pub(super) enum ScaleWrite<'a> {
    /// Replaces the Scale.
    Update(&'a Object),
    /// Applies to the Scale, with force or without.
    Apply(&'a Object, bool),
}

/// Writes to the Scale of an object. Returns the new Scale, `None` if it is unchanged, and the
/// object's owners. `author` has the subresource `scale`. The Scale has no apiVersion, kind or
/// managedFields here.
///
/// # Errors
///
/// The apply conflicts with another manager.
pub(super) fn write_scale(
    api: &ApiState,
    kind: &ServedResource,
    author: &Author,
    (live, owned): (&Object, &ManagedFields),
    write: ScaleWrite<'_>,
    now: Timestamp,
) -> Result<ApplyOutcome, ApplyError> {
    let paths = replica_paths(api, kind);
    let of_scale = scale::of_scale(owned, &paths);
    let types = types_of_scale();
    let operation = Operation::new(&types, SCALE, "Scale", &author.manager, now)
        .subresource(&author.subresource);
    let ApplyOutcome { object, managed } = match write {
        ScaleWrite::Update(new) => ApplyOutcome {
            object: Some(new.clone()),
            managed: update(&operation, Some(live), &of_scale, RequestedFields::Unset, new),
        },
        ScaleWrite::Apply(config, force) => {
            managed_fields::apply(&operation, Some(live), &of_scale, config, force)?
        }
    };
    let managed = scale::of_object(owned, &managed, &kind.api_version(), &paths);
    Ok(ApplyOutcome { object, managed })
}

/// The fields that a write to an object or a subresource never changes: `GetResetFields` of each
/// strategy in k8s.io/kubernetes/pkg/registry.
fn reset(kind: &ServedResource, subresource: &str) -> Set {
    let paths: &[&[&str]] = match subresource {
        "" if kind.has_status() => kind.strategy().reset_fields(),
        "status" => kind.strategy().reset_fields_of_status(),
        "finalize" => &[&["status"]],
        "approval" => &[&["spec"], &["status", "certificate"]],
        _ => &[],
    };
    Set::of_fields(paths)
}
