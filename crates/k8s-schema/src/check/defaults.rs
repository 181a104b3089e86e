//! Defaults in a schema must be what the schema itself allows
//! (pkg/apiserver/schema/defaulting/validation.go of k8s.io/apiextensions-apiserver).

use crate::old::Old;
use crate::path::Path;
use crate::prune::prune_value;
use crate::schema::Schema;
use crate::validate::validate_member;
use k8s_value::go_value::shown;
use k8s_value::{FieldError, FieldErrors};

/// Checks every default in a schema, but for those below `additionalProperties`: upstream does not.
pub(super) fn check(schema: &Schema, path: &Path<'_>, causes: &mut FieldErrors) {
    if causes.is_full() {
        return;
    }
    if let Some(default) = &schema.default {
        let place = path.field("default").to_string();
        let mut pruned = default.clone();
        prune_value(&mut pruned, schema);
        if pruned == *default {
            validate_member(schema, default, Old(None), &place, causes);
        } else {
            causes.push(FieldError::invalid_shown(
                place,
                &shown(default),
                "must not have unknown fields",
            ));
        }
    }
    if let Some(of_items) = &schema.items {
        check(of_items, &path.field("items"), causes);
    }
    let properties = path.field("properties");
    for (name, member) in &schema.properties {
        check(member, &properties.key(name), causes);
    }
}
