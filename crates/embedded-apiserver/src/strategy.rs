//! The strategy of a kind: its rules when an object is written or deleted.

pub(crate) mod age;
pub(crate) mod builtin;
pub(crate) mod crd;
pub(crate) mod columns;
mod custom;
mod deletion;
pub(crate) mod expressions;
mod generation;
mod generic;
pub(crate) mod openapi;
pub(crate) mod registry;
pub(crate) mod resource;
pub(crate) mod reviews;
pub(crate) mod scale_paths;
pub(crate) mod shape;
pub(crate) mod unserved;

use std::fmt::Debug;

use api_front::User;
use jiff::Timestamp;
use k8s_value::{FieldErrors, names};
use serde_json::Value;

use crate::api::kind::Kind;
use crate::api::metadata::Object;
use crate::strategy::columns::Column;

pub(crate) use crate::strategy::custom::Custom;
pub(crate) use crate::strategy::deletion::{Deletion, Dependents, Propagation};
pub(crate) use crate::strategy::generation::Generation;
pub(crate) use crate::strategy::generic::Generic;

/// The input of a create, for strategies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Creation {
    pub(crate) now: Timestamp,
    /// Whether claims and volumes get the protection finalizer.
    pub(crate) protects_volumes: bool,
}

/// The number of addresses and node ports that were allocated so far.
#[derive(Debug, Default)]
pub(crate) struct AllocationCounts {
    pub(crate) addresses: u32,
    pub(crate) ports: u32,
}

/// A write, for validation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Write<'a> {
    /// The stored object; `None` for a new one.
    pub(crate) old: Option<&'a Object>,
    /// `status`, `finalize`; `None` for the object itself.
    pub(crate) subresource: Option<&'a str>,
}

/// The rules of a kind.
///
/// Every method has a default, which is right for a built-in kind without rules of its own. The
/// methods are pure: they see objects, times and counts, and no store. A method that takes
/// `&Object` changes nothing; a method that takes `&mut Object` refuses nothing, but for
/// [`admit`](Self::admit) and [`allocate`](Self::allocate).
///
/// | write | methods, in their order |
/// | --- | --- |
/// | create | `default`, `admit`, `prepare_create`, `allocate`, names, `validate`, `warnings` |
/// | create by `status` | `default`, `admit`, `reset_status`, names, `validate`, `warnings` |
/// | update | `default`, `prepare_update`, `allocate`, `validate`, `validate_update`, `warnings` |
/// | update of `status` | `prepare_status_update`, `default`, the three validations, `warnings` |
/// | delete | `why_undeletable`, `deletion`, `dependents`, `grace_period`, `mark_deleted` |
#[doc(alias("RESTCreateStrategy", "RESTUpdateStrategy", "RESTDeleteStrategy"))]
pub(crate) trait Strategy: Debug + Send + Sync {
    /// Sets the members that the client has left out. Runs on every write, twice on an update:
    /// a second run must change nothing.
    #[doc(alias = "SetDefaults")]
    fn default(&self, _object: &mut Object) {}

    /// Runs the admission plugins that every server has on. Only for a new object, before
    /// [`prepare_create`](Self::prepare_create). `classes` reads all PriorityClasses.
    ///
    /// # Errors
    ///
    /// Says why a plugin refuses the object (403).
    #[doc(alias = "MutatingAdmissionPlugin")]
    fn admit(
        &self,
        _object: &mut Object,
        _classes: &mut dyn FnMut() -> Vec<Object>,
    ) -> Result<(), String> {
        Ok(())
    }

    /// Sets the members that say who has created the object. Runs before
    /// [`prepare_create`](Self::prepare_create), if a user creates it.
    fn set_creator(&self, _object: &mut Object, _user: &User) {}

    /// Sets what only the creation sets: the first status, generated selectors. Must not remove
    /// what `validate` refuses.
    #[doc(alias = "PrepareForCreate")]
    fn prepare_create(&self, _object: &mut Object, _creation: Creation) {}

    /// Sets the status of an object that a write to its status creates. Runs instead of
    /// [`prepare_create`](Self::prepare_create).
    fn reset_status(&self, _object: &mut Object) {}

    /// Puts back what an update cannot change, and sets what follows from the change. Not for
    /// updates of a subresource.
    #[doc(alias = "PrepareForUpdate")]
    fn prepare_update(&self, _object: &mut Object, _old: &Object) {}

    /// Puts back what an update of the status cannot change. The members beside `metadata` and
    /// `status` are put back already.
    #[doc(alias = "PrepareForUpdate")]
    fn prepare_status_update(&self, _object: &mut Object, _old: &Object, _now: Timestamp) {}

    /// Whether there is the subresource `approval`, which writes conditions of the status.
    fn has_approval(&self) -> bool {
        false
    }

    /// Puts back what an update of the approval cannot change. The members beside `metadata` and
    /// `status` are put back already.
    #[doc(alias = "PrepareForUpdate")]
    fn prepare_approval(&self, _object: &mut Object, _old: &Object, _now: Timestamp) {}

    /// Whether the object needs something that all objects of the kind share, so that
    /// [`allocate`](Self::allocate) must run. `old` is `None` for a new object.
    fn needs_allocation(&self, _object: &Object, _old: Option<&Object>) -> bool {
        false
    }

    /// Gives the object what no other object of its kind has. `others` are all that are stored.
    /// A dry run answers with values that are never given.
    ///
    /// # Errors
    ///
    /// Names the fields whose value is taken or out of range.
    fn allocate(
        &self,
        _object: &mut Object,
        _old: Option<&Object>,
        _others: &mut dyn Iterator<Item = Object>,
        _counts: &mut AllocationCounts,
        _dry_run: bool,
    ) -> Result<(), FieldErrors> {
        Ok(())
    }

    /// Says what is wrong with the name of a new object.
    #[doc(alias = "ValidateNameFunc")]
    fn validate_name(&self, name: &str) -> Option<&'static str> {
        names::wrong_subdomain(name)
    }

    /// Whether a new object without a name gets a uid as its name.
    fn draws_names(&self) -> bool {
        false
    }

    /// Says all that is wrong with the `generateName` of a new object; it is not empty.
    #[doc(alias = "ValidateNameFunc")]
    fn validate_generate_name(&self, prefix: &str) -> Vec<&'static str> {
        self.validate_name(&names::without_dash(prefix)).into_iter().collect()
    }

    /// Whether updates check `generateName` as creation does. Kinds whose update validation calls
    /// `ValidateObjectMeta` do.
    fn validates_generate_name_of_updates(&self) -> bool {
        true
    }

    /// Whether finalizers without a domain must be known ones: the rule of the kinds that
    /// `ValidateObjectMeta` of pkg/apis/core/validation checks.
    fn validates_finalizer_names(&self, _write: Write<'_>) -> bool {
        true
    }

    /// Says what is wrong with an object. Runs on every write, after the metadata was checked.
    #[doc(alias = "Validate")]
    fn validate(&self, _object: &Object, _write: Write<'_>, _causes: &mut FieldErrors) {}

    /// Says which changes are wrong. Runs after [`validate`](Self::validate) on every update, of
    /// the object or of a subresource.
    #[doc(alias = "ValidateUpdate")]
    fn validate_update(&self, _object: &Object, _old: &Object, _causes: &mut FieldErrors) {}

    /// Says what is wrong with an update of the status. Runs after
    /// [`validate_update`](Self::validate_update), on updates of the status only.
    #[doc(alias = "ValidateUpdate")]
    fn validate_status_update(&self, _object: &Object, _old: &Object, _causes: &mut FieldErrors) {}

    /// Whether [`warnings`](Self::warnings) can say anything: to read the object for them costs
    /// time.
    fn has_warnings(&self) -> bool {
        false
    }

    /// Whether [`warnings`](Self::warnings) runs after writes to the status, too.
    fn warns_of_status(&self) -> bool {
        false
    }

    /// Says what is likely not meant in an object that was written. Runs after the write was
    /// accepted.
    #[doc(alias("WarningsOnCreate", "WarningsOnUpdate"))]
    fn warnings(&self, _object: &Object, _old: Option<&Object>) -> Vec<String> {
        Vec::new()
    }

    /// The warning in every answer about a kind whose version is deprecated.
    #[doc(alias = "APILifecycleDeprecated")]
    fn deprecation(&self) -> Option<&str> {
        None
    }

    /// Says what of an object this server does not implement (501).
    fn not_implemented(&self, _object: &Object) -> Option<String> {
        None
    }

    /// What counts as a generation of an object.
    fn generation(&self) -> Generation {
        Generation::None
    }

    /// Whether PUT of a missing object creates it.
    #[doc(alias = "AllowCreateOnUpdate")]
    fn creates_on_update(&self) -> bool {
        false
    }

    /// Whether PUT to the status of a missing object creates it.
    fn creates_on_status_update(&self) -> bool {
        false
    }

    /// Whether PUT without a resourceVersion overwrites what is stored.
    #[doc(alias = "AllowUnconditionalUpdate")]
    fn updates_unconditionally(&self) -> bool {
        true
    }

    /// Whether a new object keeps the status that its client has set.
    fn keeps_status_of_create(&self) -> bool {
        false
    }

    /// Whether an update of the status takes changes of the metadata along.
    fn changes_metadata_by_status(&self) -> bool {
        true
    }

    /// The fields that a write to an object with a status leaves alone.
    #[doc(alias = "GetResetFields")]
    fn reset_fields(&self) -> &'static [&'static [&'static str]] {
        &[&["status"]]
    }

    /// The fields that an update of the status leaves alone, as paths of member names: the client
    /// does not come to own them.
    #[doc(alias = "GetResetFields")]
    fn reset_fields_of_status(&self) -> &'static [&'static [&'static str]] {
        if self.changes_metadata_by_status() { &[&["spec"]] } else { &[&["metadata"], &["spec"]] }
    }

    /// Whether what is stored lacks something that every read sets, so that an equal update is a
    /// change. `old` is `None` for a new object.
    fn leaves_unsaid(&self, _object: &Object, _old: Option<&Object>) -> bool {
        false
    }

    /// Sets the members that Go writes in an empty object: the object of a bookmark.
    fn fill_empty(&self, _object: &mut Object) {}

    /// The member whose values are bytes in base64.
    fn bytes_member(&self) -> Option<&'static str> {
        None
    }

    /// The StorageClass that must allow this update, by name. `None`: the update needs none.
    #[doc(alias = "PersistentVolumeClaimResize")]
    fn class_to_expand<'a>(&self, _object: &'a Object, _old: &Object) -> Option<&'a str> {
        None
    }

    /// Whether the subresource `finalize` writes the spec, which updates of the object then leave
    /// alone.
    fn has_finalize(&self) -> bool {
        false
    }

    /// Whether DELETE of a collection is served.
    #[doc(alias = "CollectionDeleter")]
    fn deletes_collections(&self) -> bool {
        true
    }

    /// Whether lists and gets at a version are answered from a watch cache.
    #[doc(alias = "DefaultWatchCacheSize")]
    fn has_watch_cache(&self) -> bool {
        true
    }

    /// Where objects of the kind are in etcd, below `/registry/`.
    #[doc(alias = "ResourcePrefix")]
    fn storage_prefix(&self, kind: &Kind) -> String {
        kind.plural().to_owned()
    }

    /// What a field selector is refused for if it names a field that is not selectable.
    fn why_unselectable(&self, path: &str) -> String {
        format!("field label not supported: {path}")
    }

    /// The columns of the tables that kubectl shows.
    #[doc(alias("TableConvertor", "PrintHandler"))]
    fn columns(&self) -> &'static [Column] {
        columns::DEFAULT
    }

    /// What the row of an object that has ended is marked with: a reason and a message.
    #[doc(alias("podSuccessConditions", "podFailedConditions"))]
    fn row_condition(&self, _object: &Value) -> Option<(&'static str, &'static str)> {
        None
    }

    /// How the first delete of an object goes.
    fn deletion(&self) -> Deletion {
        Deletion::Generic
    }

    /// Why this object may not be deleted (403).
    fn why_undeletable(&self, _name: &str) -> Option<&'static str> {
        None
    }

    /// Whether DELETE answers with the object, and not with a Status.
    #[doc(alias = "ReturnDeletedObject")]
    fn delete_answers_object(&self) -> bool {
        false
    }

    /// What becomes of the dependents if the options of the delete do not say.
    #[doc(alias = "DefaultGarbageCollectionPolicy")]
    fn dependents(&self) -> Dependents {
        Dependents::Delete
    }

    /// Whether an object is marked before it is removed, whatever its grace period.
    #[doc(alias = "RESTGracefulDeleteStrategy")]
    fn deletes_gracefully(&self) -> bool {
        false
    }

    /// Seconds between the mark and the removal. `asked` is what the options say, not negative.
    #[doc(alias = "CheckGracefulDelete")]
    fn grace_period(&self, _old: &Object, _asked: Option<i64>) -> i64 {
        0
    }

    /// Marks an object as being deleted, in the way of its kind. Runs on the first delete, and not
    /// where [`deletion`](Self::deletion) is generic.
    fn mark_deleted(&self, _object: &mut Object, _propagation: Propagation<'_>, _now: Timestamp) {}

    /// Whether an object that is being deleted is held by something beside its finalizers.
    #[doc(alias = "ShouldDeleteDuringUpdate")]
    fn is_held(&self, _object: &Object) -> bool {
        false
    }

    /// The kind, as group, version and plural, whose object of the same name is removed with an
    /// object of this one.
    #[doc(alias = "AfterDelete")]
    fn removed_with(&self) -> Option<(&'static str, &'static str, &'static str)> {
        None
    }
}
