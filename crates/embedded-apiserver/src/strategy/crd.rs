//! CustomResourceDefinitions: validation, accepted names, and the kinds that they serve. Shared by
//! the API and by `register_definition`.

mod check;
mod conversion;
mod conversion_cache;
mod conversion_check;
mod embedded;
pub(crate) mod members;
mod registered;
mod served;
pub(crate) mod status;
mod version_check;
mod version_paths;
mod versions;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use crate::api::kind::Kind;
use crate::api::metadata::Object;
use k8s_schema::unsupported_in_rules;

pub(crate) use crate::strategy::crd::check::{check, check_status};
pub(crate) use crate::strategy::crd::conversion::Conversion;
pub(crate) use crate::strategy::crd::registered::{Ended, Registered};
pub(crate) use crate::strategy::crd::served::{Column, Served};
pub(crate) use crate::strategy::crd::status::mark_deleted;

/// The table of definitions.
pub(crate) const TABLE: &str = "apiextensions.k8s.io/customresourcedefinitions";
/// The finalizer that holds a definition until its objects are deleted.
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Sets the defaults of a definition (pkg/apis/apiextensions/v1/defaults.go).
pub(crate) fn default(object: &mut Object) {
    if let Some(Value::Object(spec)) = object.get_mut("spec") {
        if let Some(Value::Object(names)) = spec.get_mut("names") {
            let kind = names.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
            let empty = |names: &Object, name: &str| {
                names.get(name).and_then(Value::as_str).unwrap_or_default().is_empty()
            };
            if empty(names, "singular") {
                names.insert("singular".to_owned(), kind.to_lowercase().into());
            }
            if empty(names, "listKind") && !kind.is_empty() {
                names.insert("listKind".to_owned(), format!("{kind}List").into());
            }
        }
        if !spec.get("conversion").is_some_and(Value::is_object) {
            spec.insert("conversion".to_owned(), json!({ "strategy": "None" }));
        }
        let service = spec.get_mut("conversion").and_then(|conversion| {
            conversion.get_mut("webhook")?.get_mut("clientConfig")?.get_mut("service")
        });
        if let Some(Value::Object(service)) = service
            && service.get("port").is_none_or(Value::is_null)
        {
            service.insert("port".to_owned(), 443.into());
        }
    }
    let status = object.get("status").unwrap_or(&Value::Null);
    if members::list(status, "storedVersions").is_empty() {
        remember_storage(object);
    }
}

/// Sets the status of a new definition.
pub(crate) fn prepare_create(object: &mut Object) {
    let status = json!({ "conditions": null, "acceptedNames": { "plural": "", "kind": "" } });
    object.insert("status".to_owned(), status);
    remember_storage(object);
}

/// Adds the storage version to `status.storedVersions`.
pub(crate) fn remember_storage(object: &mut Object) {
    let versions =
        object.get("spec").and_then(|spec| spec.get("versions")).and_then(Value::as_array);
    let storage = versions.into_iter().flatten().find(|version| members::flag(version, "storage"));
    let Some(storage) = storage.map(|version| members::text(version, "name").to_owned()) else {
        return;
    };
    let Some(Value::Object(status)) = object.get_mut("status") else { return };
    let stored = status.entry("storedVersions").or_insert(Value::Null);
    match stored {
        Value::Array(stored) if stored.iter().any(|version| *version == *storage) => {}
        Value::Array(stored) => stored.push(storage.into()),
        // No version is stored yet.
        stored => *stored = json!([storage]),
    }
}

/// The first part of a definition that this server does not implement.
pub(crate) fn not_implemented(object: &Object) -> Option<String> {
    let spec = object.get("spec")?;
    let strategy =
        spec.get("conversion").map_or("", |conversion| members::text(conversion, "strategy"));
    if strategy == "Webhook" && !cfg!(feature = "webhooks") {
        return Some(
            "the conversion strategy Webhook of custom resource definitions without the feature \
             `webhooks` of embedded-apiserver"
                .to_owned(),
        );
    }
    let mut schemas = members::list(spec, "versions").iter().filter_map(members::schema_of);
    let what = schemas.find_map(unsupported_in_rules)?;
    Some(format!("{what} in rules in CEL (x-kubernetes-validations)"))
}

/// The definition's name for a kind: `widgets.example.com`.
pub(crate) fn name_of(kind: &Kind) -> String {
    format!("{}.{}", kind.plural(), kind.group())
}
