//! Inserts a new object.

use std::sync::{Arc, LazyLock};

use jiff::Timestamp;
use serde_json::Value;

use crate::access::CreateRight;
use crate::api::clock;
use crate::api::metadata::{self, Object};
use crate::api::status::{FieldErrors, Status};
use crate::rest::admission_chain::AdmissionChain;
use crate::rest::allocation::allocate;
use crate::rest::decode::{self, Hidden};
use crate::rest::definitions;
use crate::rest::guaranteed_update::Answer;
use crate::rest::namespace::{check_namespace, set_namespace};
use crate::rest::ownership::Owners;
use crate::rest::route::Target;
use crate::rest::state::ApiState;
use crate::rest::validation::{validate, validate_name};
use crate::rest::version::parse_version;
use crate::rest::versions::{Version, put};
use crate::store::stored::{Key, Stored};
use crate::store::transaction::Transaction;
use crate::strategy::resource::ServedResource;
use crate::strategy::{Creation, Write};

/// The create of an object.
#[derive(Debug, Clone, Copy)]
pub(super) struct New<'a> {
    kind: &'a ServedResource,
    namespace: Option<&'a str>,
    now: Timestamp,
    dry_run: bool,
    /// A PUT or an apply creates the object. Only a POST cleans up the metadata.
    by_update: Option<&'a CreateRight<'a>>,
    subresource: Option<&'a str>,
    hidden: Hidden,
    /// `None` for objects that the server creates itself.
    admission: Option<&'a AdmissionChain<'a>>,
}

impl<'a> New<'a> {
    pub(super) fn at(
        target: &'a Target,
        admission: &'a AdmissionChain<'a>,
        now: Timestamp,
        dry_run: bool,
    ) -> Self {
        let (namespace, subresource) = (target.namespace.as_deref(), target.subresource.as_deref());
        Self {
            kind: &target.kind,
            namespace,
            now,
            dry_run,
            by_update: None,
            subresource,
            hidden: Hidden::default(),
            admission: Some(admission),
        }
    }

    pub(super) fn by_update(
        target: &'a Target,
        admission: &'a AdmissionChain<'a>,
        right: &'a CreateRight<'a>,
        now: Timestamp,
        dry_run: bool,
    ) -> Self {
        Self { by_update: Some(right), ..Self::at(target, admission, now, dry_run) }
    }

    pub(super) fn hiding(self, hidden: Hidden) -> Self {
        Self { hidden, ..self }
    }

    /// For objects that the server creates itself.
    pub(super) fn of_server(
        kind: &'a ServedResource,
        namespace: Option<&'a str>,
        now: Timestamp,
    ) -> Self {
        Self {
            kind,
            namespace,
            now,
            dry_run: false,
            by_update: None,
            subresource: None,
            hidden: Hidden::default(),
            admission: None,
        }
    }
}

/// The table of priority classes.
static CLASSES: LazyLock<Arc<str>> = LazyLock::new(|| "scheduling.k8s.io/priorityclasses".into());

/// Brings a new object to its canonical form, validates it and adds it to the transaction.
pub(super) async fn insert(
    api: &ApiState,
    transaction: &mut Transaction<'_>,
    new: &New<'_>,
    mut object: Object,
    owners: Owners<'_>,
) -> Result<Answer, Status> {
    let New { kind, namespace, now, dry_run, by_update, subresource, hidden, admission } = *new;
    let strategy = kind.strategy();
    let said_version = metadata::text(&object, "resourceVersion").to_owned();
    set_namespace(&mut object, namespace)?;
    remove_system_metadata(&mut object, by_update.is_some());
    if let Some(namespace) = namespace {
        check_namespace(api, transaction, kind, namespace, &object)?;
    }
    // As upstream, changes by admission have no owner.
    let owners = match admission {
        Some(chain) if chain.mutates() => {
            let sent = defaulted(kind, object.clone());
            Owners::Known(owners.of(api, kind, None, &sent, now).await?)
        }
        _ => owners,
    };
    let mut object = match admission {
        Some(chain) => chain.mutate(object, owners.known(), None).await?,
        None => object,
    };
    set_namespace(&mut object, namespace)?;
    let base = metadata::text(&object, "generateName").to_owned();
    let name = name(api, kind, namespace, &mut object);
    metadata::set(&mut object, "uid", api.store.draw(metadata::new_uid));
    metadata::set(&mut object, "creationTimestamp", clock::seconds(now));
    if strategy.generation().exists() {
        metadata::set(&mut object, "generation", 1);
    }
    // The writer of the status owns it, although it is not stored.
    let by_status = subresource.is_some();
    let drops_status = kind.has_status() && !strategy.keeps_status_of_create() && !by_status;
    // The status of a custom object is removed after validation. An invalid object has no owners.
    let drops_it_later = !kind.is_built_in();
    if drops_status && !drops_it_later {
        object.remove("status");
    }
    definitions::may_be_created(api, kind, &object, &name)?;
    definitions::require_served(api, transaction, kind);
    strategy.default(&mut object);
    let unsaid = strategy.leaves_unsaid(&object, None) || hidden.is_stored(kind, None);
    // The client owns the defaults. As upstream, later changes have no owner.
    let managed = owners.of(api, kind, None, &object, now).await?;
    if drops_status && drops_it_later {
        object.remove("status");
    }
    let mut classes =
        || transaction.list(&CLASSES).iter().map(|class| class.object()).collect::<Vec<_>>();
    let admitted = strategy.admit(&mut object, &mut classes);
    admitted.map_err(|why| Status::forbidden(kind, &name, &why))?;
    if by_status {
        // A create through a subresource allocates nothing.
        strategy.reset_status(&mut object);
    } else {
        if let Some(chain) = admission {
            strategy.set_creator(&mut object, chain.user());
        }
        let creation = Creation { now, protects_volumes: api.options.protect_volumes };
        strategy.prepare_create(&mut object, creation);
        allocate(api, transaction, kind, &name, (&mut object, None), dry_run)?;
    }
    decode::check_own_type(kind, &object, None, subresource)?;
    let mut causes = FieldErrors::default();
    validate_name(kind, (&name, &base), &mut causes);
    managed.validate(&mut causes);
    metadata::check(&object, &mut causes);
    validate(kind, &object, Write { old: None, subresource: None }, &mut causes);
    if !causes.is_empty() {
        return Err(Status::invalid(kind, &name, &causes));
    }
    by_update.map_or(Ok(()), CreateRight::check)?;
    if hidden.ends_at_zero && by_update.is_some() && kind.is_stored_as_protobuf() {
        metadata::set(&mut object, "deletionTimestamp", Value::Null);
    }
    if let Some(chain) = admission {
        let told = chain.validate(&object, &managed, None).await;
        told.map_err(|status| status.warned(&strategy.warnings(&object, None)))?;
    }
    // Only the store checks it, and a dry run does not reach the store. An unreadable version
    // counts as absent.
    if parse_version(&said_version).unwrap_or(0) != 0 && !dry_run {
        let why = "resourceVersion should not be set on objects to be created";
        return Err(Status::unknown(why).warned(&strategy.warnings(&object, None)));
    }
    let key = Key::new(namespace.unwrap_or_default(), &name);
    if let Some(found) = transaction.get(&kind.storage, &key) {
        return Err(already_exists(api, kind, &object, &found, &base));
    }
    if dry_run && !said_version.is_empty() {
        // A dry run keeps the sent text.
        metadata::set(&mut object, "resourceVersion", said_version);
    }
    let version = Version { key, object, managed: &managed, unsaid, over: None };
    put(api, transaction, kind, version, 0, dry_run).await
}

/// Removes the members that only the server sets.
fn remove_system_metadata(object: &mut Object, by_update: bool) {
    for member in ["uid", "resourceVersion", "creationTimestamp"] {
        metadata::of(object).remove(member);
    }
    if !by_update {
        for member in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
            metadata::of(object).remove(member);
        }
    }
}

/// Returns the name of a new object, or generates one. As upstream, it tries several names.
fn name(
    api: &ApiState,
    kind: &ServedResource,
    namespace: Option<&str>,
    object: &mut Object,
) -> String {
    const TRIES: usize = 8;
    let base = metadata::text(object, "generateName").to_owned();
    if metadata::text(object, "name").is_empty() && !base.is_empty() {
        let place = namespace.unwrap_or_default();
        let is_free =
            |name: &String| api.store.get(&kind.storage, &Key::new(place, name)).is_none();
        let mut names =
            std::iter::repeat_with(|| api.store.draw(|rng| metadata::generate_name(&base, rng)));
        let mut name = names.next().unwrap_or_default();
        for next in names.take(TRIES - 1) {
            if is_free(&name) {
                break;
            }
            name = next;
        }
        metadata::set(object, "name", name);
    } else if metadata::text(object, "name").is_empty() && kind.strategy().draws_names() {
        metadata::set(object, "name", api.store.draw(metadata::new_uid));
    }
    metadata::text(object, "name").to_owned()
}

/// The error of a create whose object exists.
fn already_exists(
    api: &ApiState,
    kind: &ServedResource,
    object: &Object,
    found: &Stored,
    base: &str,
) -> Status {
    let name = metadata::text(object, "name");
    // The error about a generated name is in the group that has the rules.
    let has_other_rules = !base.is_empty() && kind.group_of_rules() != kind.group();
    let other = has_other_rules
        .then(|| api.registry.read().find(kind.group_of_rules(), "v1", kind.plural()))
        .flatten();
    let mut status = Status::already_exists(other.as_deref().unwrap_or(kind), name)
        .warned(&kind.strategy().warnings(object, None));
    if !base.is_empty() {
        status = status.no_unique_name();
    }
    let goes = found.is_being_deleted() || metadata::ends_at_zero(&found.object());
    if goes { status.and_is_being_deleted() } else { status }
}

/// A sent object with its defaults.
pub(super) fn defaulted(kind: &ServedResource, mut object: Object) -> Object {
    kind.strategy().default(&mut object);
    metadata::normalize(&mut object);
    object
}
