//! The rules of built-in kinds, by the names under which the writes ask for them.

use jiff::Timestamp;
use k8s_value::names;

use crate::builtin::Builtin;
use crate::metadata::Object;
use crate::resource::ServedResource;
use crate::status::FieldErrors;
use crate::strategy::{Creation, Write};

pub(crate) use crate::strategy::builtin::members::at;

/// Fills in what a new or changed object leaves out.
pub(crate) fn default(builtin: Builtin, object: &mut Object) {
    builtin.strategy().default(object);
}

/// What the admission plugins that every server has on add to a new object.
///
/// # Errors
///
/// Why they refuse it.
pub(crate) fn admit(builtin: Builtin, object: &mut Object) -> Result<(), String> {
    builtin.strategy().admit(object)
}

/// What a change of the object itself leaves as it was, and what follows from it.
pub(crate) fn prepare_update(builtin: Builtin, object: &mut Object, old: &Object) {
    builtin.strategy().prepare_update(object, old);
}

/// What only creation sets: the first status.
pub(crate) fn prepare_create(
    builtin: Builtin,
    object: &mut Object,
    now: Timestamp,
    protects_volumes: bool,
) {
    builtin.strategy().prepare_create(object, Creation { now, protects_volumes });
}

/// Whether what is stored lacks something that every read sets. That claims do is told elsewhere.
pub(crate) fn leaves_unsaid(builtin: Builtin, object: &Object) -> bool {
    builtin.strategy().leaves_unsaid(object, Some(object))
}

/// The status of an object that a write to its status creates.
pub(crate) fn reset_status(builtin: Builtin, object: &mut Object) {
    builtin.strategy().reset_status(object);
}

/// What a write to the status leaves as it was.
pub(crate) fn prepare_status(builtin: Builtin, object: &mut Object, old: &Object, now: Timestamp) {
    builtin.strategy().prepare_status_update(object, old, now);
}

/// What an empty object has when it comes from the type that Go keeps.
pub(crate) fn converted(builtin: Builtin, object: &mut Object) {
    builtin.strategy().fill_empty(object);
}

/// Says what is wrong with the name.
pub(crate) fn wrong_name(kind: &ServedResource, name: &str) -> Option<&'static str> {
    kind.strategy().validate_name(name)
}

/// All that is wrong with `generateName`.
pub(crate) fn wrongs_of_base(kind: &ServedResource, base: &str) -> Vec<&'static str> {
    kind.strategy().validate_generate_name(base)
}

/// All that is wrong with `generateName` in an update. All kinds hold it to the rule of paths
/// (`BeforeUpdate` of k8s.io/apiserver/pkg/registry/rest).
pub(crate) fn wrongs_of_new_base(
    kind: &ServedResource,
    base: &str,
    subresource: Option<&str>,
) -> Vec<&'static str> {
    let mut wrongs: Vec<_> = names::wrongs_of_path_prefix(base).collect();
    if subresource.is_none() && kind.strategy().validates_generate_name_of_updates() {
        wrongs.extend(kind.strategy().validate_generate_name(base));
    }
    wrongs
}

/// Says what is wrong with an object, changed or new. Definitions and generated selectors of Jobs
/// are checked elsewhere.
pub(crate) fn check(
    builtin: Builtin,
    object: &Object,
    old: Option<&Object>,
    causes: &mut FieldErrors,
) {
    if builtin != Builtin::Definition {
        let subresource = Some("status");
        builtin.strategy().validate(object, Write { old, subresource }, causes);
    }
}

/// Says which changes are wrong.
pub(crate) fn check_update(
    builtin: Builtin,
    object: &Object,
    old: &Object,
    causes: &mut FieldErrors,
) {
    builtin.strategy().validate_update(object, old, causes);
}

/// Says what is wrong with a change of the status.
pub(crate) fn check_status(
    builtin: Builtin,
    object: &Object,
    old: &Object,
    causes: &mut FieldErrors,
) {
    builtin.strategy().validate_status_update(object, old, causes);
}

/// Whether there is anything that an answer about the kind warns of.
pub(crate) fn warns(builtin: Builtin) -> bool {
    builtin.strategy().has_warnings()
}

/// What an answer to a write warns of.
pub(crate) fn warnings(builtin: Builtin, object: &Object, old: Option<&Object>) -> Vec<String> {
    builtin.strategy().warnings(object, old)
}
