//! Validates an object before it is stored.

use k8s_value::names;

use crate::api::metadata::{self, Object};
use crate::api::status::{FieldError, FieldErrors};
use crate::strategy::Write;
use crate::strategy::resource::ServedResource;

/// What names are made up from.
const BASE: &str = "metadata.generateName";

/// Validates the name of a new object and its generateName.
pub(super) fn validate_name(
    kind: &ServedResource,
    (name, base): (&str, &str),
    causes: &mut FieldErrors,
) {
    let strategy = kind.strategy();
    if !base.is_empty() {
        for why in strategy.validate_generate_name(base) {
            causes.push(FieldError::invalid(BASE, base, why));
        }
    }
    if name.is_empty() {
        causes.push(FieldError::required("metadata.name", "name or generateName is required"));
    } else if let Some(why) = strategy.validate_name(name) {
        causes.push(FieldError::invalid("metadata.name", name, why));
    }
}

/// Validates the generateName of an update: all kinds use the rule for path segments
/// (`BeforeUpdate` of k8s.io/apiserver/pkg/registry/rest).
pub(super) fn validate_generate_name_of_update(
    kind: &ServedResource,
    object: &Object,
    subresource: Option<&str>,
    causes: &mut FieldErrors,
) {
    let base = metadata::text(object, "generateName");
    if base.is_empty() {
        return;
    }
    let mut wrongs: Vec<_> = names::wrongs_of_path_prefix(base).collect();
    if subresource.is_none() && kind.strategy().validates_generate_name_of_updates() {
        wrongs.extend(kind.strategy().validate_generate_name(base));
    }
    for why in wrongs {
        causes.push(FieldError::invalid(BASE, base, why));
    }
}

/// Validates an object by its kind, after its metadata.
pub(super) fn validate(
    kind: &ServedResource,
    object: &Object,
    write: Write<'_>,
    causes: &mut FieldErrors,
) {
    let strategy = kind.strategy();
    if strategy.validates_finalizer_names(write) {
        metadata::check_old_finalizers(object, causes);
    }
    strategy.validate(object, write, causes);
    if let Some(old) = write.old {
        strategy.validate_update(object, old, causes);
        if write.subresource == Some("status") {
            strategy.validate_status_update(object, old, causes);
        }
    }
}
