//! An update: from the old version of an object to the new one.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, LazyLock};

use jiff::Timestamp;
use k8s_merge::managed_fields::ManagedFields;
use serde_json::Value;

use crate::api::metadata::{self, Object};
use crate::api::status::{FieldError, FieldErrors, Status};
use crate::rest::admission_chain::AdmissionChain;
use crate::rest::allocation::allocate;
use crate::rest::decode::{self, Hidden};
use crate::rest::guaranteed_update::Answer;
use crate::rest::insert::defaulted;
use crate::rest::namespace::{check_namespace_of_update, set_namespace};
use crate::rest::ownership::Owners;
use crate::rest::removal::remove_with;
use crate::rest::route::Target;
use crate::rest::state::ApiState;
use crate::rest::validation::{validate, validate_generate_name_of_update};
use crate::rest::version::parse_version;
use crate::rest::versions::{Over, Version, put};
use crate::store::stored::{Key, NEXT, Stored};
use crate::store::transaction::Transaction;
use crate::strategy::Write;
use crate::strategy::resource::ServedResource;

const STALE: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// An update with its old and its new version.
pub(super) struct Edited<'a> {
    pub(super) api: &'a ApiState,
    pub(super) kind: &'a ServedResource,
    pub(super) target: &'a Target,
    pub(super) name: &'a str,
    pub(super) current: &'a Arc<Stored>,
    pub(super) old: &'a Object,
    /// The owners of the new version.
    pub(super) owned: &'a ManagedFields,
    pub(super) now: Timestamp,
    pub(super) hidden: Hidden,
    pub(super) admission: &'a AdmissionChain<'a>,
}

impl Edited<'_> {
    pub(super) async fn store(
        &self,
        transaction: &mut Transaction<'_>,
        new: Object,
        owners: Owners<'_>,
        dry_run: bool,
    ) -> Result<Answer, Status> {
        let Self { kind, old, current, owned, .. } = *self;
        let (strategy, subresource) = (kind.strategy(), self.target.subresource.as_deref());
        if let Some(namespace) = &self.target.namespace {
            check_namespace_of_update(self.api, transaction, namespace)?;
        }
        // As upstream, changes by admission have no owner.
        let owners = match self.admission.mutates() {
            true => Owners::Known(self.managed(&defaulted(kind, new.clone()), owners).await?),
            false => owners,
        };
        let mut new = if self.admission.has_view() {
            new
        } else {
            self.admission.mutate(new, owners.known(), Some((old, current))).await?
        };
        self.check_version(&new)?;
        set_namespace(&mut new, self.target.namespace.as_deref())?;
        strategy.default(&mut new);
        metadata::normalize(&mut new);
        let (of, version) = decode::said_types(kind, &new);
        let (of, version) = (of.map(str::to_owned), version.map(str::to_owned));
        let says_other = of.is_some() || version.is_some();
        let managed = self.managed(&new, owners).await?;
        self.keep_system_metadata(&mut new);
        self.split_status(&mut new);
        let unlabelled = strategy.leaves_unsaid(&new, Some(old));
        let ending = self.keeps_zero_end() && !metadata::is_being_deleted(old);
        let unsaid = unlabelled || self.hidden.is_stored(kind, subresource) || ending;
        strategy.default(&mut new);
        if subresource.is_none() {
            strategy.prepare_update(&mut new, old);
            if let Some(what) = strategy.not_implemented(&new) {
                return Err(Status::not_implemented(&what));
            }
            let (api, name) = (self.api, self.name);
            allocate(api, transaction, kind, name, (&mut new, Some(old)), dry_run)?;
        }
        metadata::normalize(&mut new);
        decode::check_own_type(kind, &new, Some(old), subresource)?;
        let mut causes = FieldErrors::default();
        managed.validate(&mut causes);
        validate_generate_name_of_update(kind, &new, subresource, &mut causes);
        metadata::check(&new, &mut causes);
        self.check_metadata(&new, &mut causes);
        validate(kind, &new, Write { old: Some(old), subresource }, &mut causes);
        if !causes.is_empty() && says_other {
            let said = (of.as_deref(), version.as_deref());
            return Err(Status::invalid_of(kind, said, self.name, &causes));
        }
        if !causes.is_empty() {
            return Err(Status::invalid(kind, self.name, &causes));
        }
        metadata::copy(old, &mut new, "resourceVersion");
        if self.ends_at_zero() {
            metadata::set(&mut new, "deletionTimestamp", Value::Null);
        }
        // A change of times in managedFields alone is no write. Members that a stored version
        // leaves implicit count as a change.
        let over = Over { stored: current, written: subresource.unwrap_or("spec") };
        let changes = self.differs(&new, over)
            || self.counts_floats()
            || unsaid
            || current.leaves_unsaid()
            || self.changes_version();
        let is_released = is_released(kind, &new, old);
        if !changes && managed.equals_but_for_times(owned) && !is_released {
            self.admission.validate(&new, &managed, Some((old, current))).await?;
            return Ok(Answer::Known(Arc::clone(current)));
        }
        if subresource.is_none() {
            check_class_to_expand(transaction, kind, (self.name, &new, old))?;
        }
        if self.bumps_generation(&new) {
            metadata::set(&mut new, "generation", metadata::generation(old).saturating_add(1));
        }
        self.admission.validate(&new, &managed, Some((old, current))).await?;
        if is_released {
            if unlabelled {
                // The version is final: no read fills in labels.
                metadata::of(&mut new).remove("labels");
            }
            let mut last = kind.to_storage(new);
            let managed = managed.encode();
            let answer =
                Stored::new(kind, current.key.clone(), current.revision, &mut last, &managed);
            let answer = if kind.has_webhook() { answer.converted() } else { answer };
            if !dry_run {
                // The old version at the revision of the delete, as in etcd's event.
                let stored = transaction.get(&kind.storage, &current.key);
                let last = stored.as_ref().unwrap_or(current).at_revision(kind, NEXT);
                transaction.remove(&kind.storage, last);
                remove_with(self.api, transaction, kind, &current.key, self.now).await;
            }
            return Ok(Answer::Known(Arc::new(answer)));
        }
        let key = current.key.clone();
        let version = Version { key, object: new, managed: &managed, unsaid, over: Some(over) };
        put(self.api, transaction, kind, version, current.revision, dry_run).await
    }

    /// The owners of the client's object with defaults.
    async fn managed(&self, new: &Object, owners: Owners<'_>) -> Result<ManagedFields, Status> {
        let Self { kind, old, owned, .. } = *self;
        // An object of another declared kind has no schema to find owners by; it is refused later.
        if decode::said_types(kind, new) != (None, None) {
            return Ok(ManagedFields::default());
        }
        // A zero deletionTimestamp has an owner and is stored until the next write.
        let ending = self.keeps_zero_end().then(|| {
            let mut ending = new.clone();
            metadata::set(&mut ending, "deletionTimestamp", Value::Null);
            ending
        });
        let wanted = ending.as_ref().unwrap_or(new);
        owners.of(self.api, kind, Some((old, owned)), wanted, self.now).await
    }

    /// Whether the deletionTimestamp of a custom object becomes Go's zero time.
    fn keeps_zero_end(&self) -> bool {
        let is_custom = !self.kind.is_built_in() && self.target.subresource.is_none();
        is_custom && self.hidden.ends_at_zero
    }

    /// Whether the object differs from the old one as it is stored.
    fn differs(&self, new: &Object, over: Over<'_>) -> bool {
        if !self.kind.is_lossy() {
            return new != self.old;
        }
        let mut new = self.kind.to_storage(new.clone());
        over.restore(self.kind, &mut new);
        new != over.stored.object()
    }

    /// Whether the object is stored in another version than the storage version of now.
    fn changes_version(&self) -> bool {
        let definition = self.kind.definition();
        definition.is_some_and(|served| served.stored_number != self.current.version())
    }

    fn check_version(&self, new: &Object) -> Result<(), Status> {
        let (kind, name) = (self.kind, self.name);
        let version = metadata::text(new, "resourceVersion");
        match parse_version(version).map_err(|why| Status::unknown(why.plain()))? {
            0 if kind.strategy().updates_unconditionally() => Ok(()),
            0 => Err(Status::version_required(kind, name)),
            seen if seen == self.current.revision => Ok(()),
            _ => Err(Status::conflict(kind, name, STALE)),
        }
    }

    /// Restores what clients cannot change, as `rest.BeforeUpdate` does.
    fn keep_system_metadata(&self, new: &mut Object) {
        let old = self.old;
        metadata::copy(old, new, "creationTimestamp");
        metadata::copy(old, new, "generation");
        for member in ["uid", "deletionTimestamp", "deletionGracePeriodSeconds"] {
            let absent = metadata::get(new, member).is_none();
            if absent || (member == "deletionTimestamp" && metadata::is_being_deleted(old)) {
                metadata::copy(old, new, member);
            }
        }
    }

    /// A write to the object keeps the status. A write to a subresource keeps the rest.
    fn split_status(&self, new: &mut Object) {
        let (kind, strategy, old) = (self.kind, self.kind.strategy(), self.old);
        let keep = |new: &mut Object, member: &str| match old.get(member) {
            Some(value) => drop(new.insert(member.to_owned(), value.clone())),
            None => drop(new.remove(member)),
        };
        match self.target.subresource.as_deref() {
            None => {
                if kind.has_status() {
                    keep(new, "status");
                }
                if kind.strategy().has_finalize() {
                    // The spec is written through a subresource.
                    keep(new, "spec");
                }
            }
            Some(subresource) => {
                let own = if subresource == "finalize" { "spec" } else { "status" };
                let kept: Vec<String> = old.keys().chain(new.keys()).cloned().collect();
                for member in kept {
                    let open = member == "metadata" && strategy.changes_metadata_by_status();
                    if member != own && !open {
                        keep(new, &member);
                    }
                }
                if subresource == "approval" {
                    strategy.prepare_approval(new, old, self.now);
                } else {
                    strategy.prepare_status_update(new, old, self.now);
                }
            }
        }
    }

    fn check_metadata(&self, new: &Object, causes: &mut FieldErrors) {
        let old = self.old;
        for member in ["name", "uid", "deletionTimestamp", "deletionGracePeriodSeconds"] {
            if metadata::get(new, member) != metadata::get(old, member) {
                let value = metadata::get(new, member).cloned().unwrap_or_else(|| "".into());
                causes.push(FieldError::invalid_json(
                    format!("metadata.{member}"),
                    &value,
                    "field is immutable",
                ));
            }
        }
        if self.ends_at_zero() != metadata::ends_at_zero(old) {
            causes.push(FieldError::invalid_json(
                "metadata.deletionTimestamp",
                &Value::Null,
                "field is immutable",
            ));
        }
        if metadata::is_being_deleted(old) || metadata::ends_at_zero(old) {
            let before: HashSet<_> = metadata::finalizers(old).into_iter().collect();
            let added: BTreeSet<_> =
                metadata::finalizers(new).into_iter().filter(|f| !before.contains(f)).collect();
            if !added.is_empty() {
                let added = added.iter().map(|f| format!("{f:?}")).collect::<Vec<_>>().join(", ");
                let why = format!(
                    "no new finalizers can be added if the object is being deleted, found new finalizers \
                     []string{{{added}}}"
                );
                causes.push(FieldError::forbidden("metadata.finalizers", &why));
            }
        }
    }

    /// Whether the deletionTimestamp of a built-in object becomes Go's zero time.
    fn ends_at_zero(&self) -> bool {
        self.hidden.ends_at_zero && self.kind.is_built_in() && !metadata::is_being_deleted(self.old)
    }

    /// Whether whole numbers written as floats count as a change.
    const fn counts_floats(&self) -> bool {
        self.hidden.floats && self.target.subresource.is_none()
    }

    fn bumps_generation(&self, new: &Object) -> bool {
        let of_status = self.target.subresource.as_deref() == Some("status");
        if self.kind.is_built_in() && of_status {
            return false;
        }
        let counts_floats = !self.kind.is_built_in() && self.counts_floats();
        counts_floats || self.kind.strategy().generation().is_counted(new, self.old)
    }
}

/// Whether an object with a deletionTimestamp has no finalizer left (`ShouldDeleteDuringUpdate` of
/// k8s.io/apiserver/pkg/registry/generic/registry).
fn is_released(kind: &ServedResource, object: &Object, old: &Object) -> bool {
    let waits =
        metadata::get(old, "deletionGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(0) > 0;
    (metadata::is_being_deleted(old) || metadata::ends_at_zero(old))
        && metadata::finalizers(object).is_empty()
        && !waits
        && !kind.strategy().is_held(object)
}

/// The table of storage classes.
static CLASSES: LazyLock<Arc<str>> = LazyLock::new(|| "storage.k8s.io/storageclasses".into());

/// The admission plugin PersistentVolumeClaimResize: a claim grows only if its class allows it.
fn check_class_to_expand(
    transaction: &mut Transaction<'_>,
    kind: &ServedResource,
    (name, new, old): (&str, &Object, &Object),
) -> Result<(), Status> {
    let Some(class) = kind.strategy().class_to_expand(new, old) else { return Ok(()) };
    let class = transaction.get(&CLASSES, &Key::new("", class));
    let allows = |class: &Stored| class.object().get("allowVolumeExpansion") == Some(&true.into());
    if class.is_some_and(|class| allows(&class)) {
        return Ok(());
    }
    let why = "only dynamically provisioned pvc can be resized and the storageclass that \
               provisions the pvc must support resize";
    Err(Status::forbidden(kind, name, why))
}
