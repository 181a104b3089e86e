//! Validation of the volumes of a Pod.

use std::collections::BTreeMap;

use k8s_value::quantity::Quantity;
use k8s_value::{FieldError, FieldErrors};
use serde_json::Value;

use crate::strategy::builtin::members::{items, said};
use crate::strategy::builtin::values::label;

/// Validates the volumes, and returns the valid ones by name.
pub(super) fn validate_volumes<'a>(
    spec: &'a Value,
    path: &str,
    causes: &mut FieldErrors,
) -> BTreeMap<&'a str, &'a Value> {
    let mut known = BTreeMap::new();
    for (path, volume) in items(spec.get("volumes"), path) {
        let mut own = FieldErrors::default();
        validate_source(volume, &path, &mut own);
        let (field, name) = (format!("{path}.name"), said(volume, "name"));
        if name.is_empty() {
            own.push(FieldError::required(field.as_str(), ""));
        } else {
            label(name, &field, &mut own);
        }
        if known.contains_key(name) {
            own.push(FieldError::duplicate(field, &name.into()));
        }
        if own.is_empty() {
            known.insert(name, volume);
        } else {
            causes.append(own);
        }
    }
    known
}

/// A volume has one source, with its required members.
#[doc(alias = "validateVolumeSource")]
fn validate_source(volume: &Value, path: &str, causes: &mut FieldErrors) {
    const NEEDED: [(&str, &str); 8] = [
        ("hostPath", "path"),
        ("secret", "secretName"),
        ("configMap", "name"),
        ("persistentVolumeClaim", "claimName"),
        ("nfs", "server"),
        ("nfs", "path"),
        ("csi", "driver"),
        ("gitRepo", "repository"),
    ];
    let members = volume.as_object().into_iter().flatten();
    let mut sources: Vec<&str> =
        members.map(|(name, _)| name.as_str()).filter(|name| *name != "name").collect();
    sources.sort_by_key(|name| {
        ["emptyDir", "hostPath"].iter().position(|first| first == name).unwrap_or(2)
    });
    for source in sources.iter().skip(1) {
        causes.push(FieldError::forbidden(
            format!("{path}.{source}"),
            "may not specify more than 1 volume type",
        ));
    }
    let Some(source) = sources.first() else {
        return causes.push(FieldError::required(path, "must specify a volume type"));
    };
    let inner = volume.get(*source).unwrap_or(&Value::Null);
    for (_, member) in NEEDED.iter().filter(|(of, _)| of == source) {
        if said(inner, member).is_empty() {
            causes.push(FieldError::required(format!("{path}.{source}.{member}"), ""));
        }
    }
    if let Some(mode) = inner.get("defaultMode")
        && !mode.as_i64().is_some_and(|mode| (0..=0o777).contains(&mode))
    {
        let why = "must be a number between 0 and 0777 (octal), both inclusive";
        causes.push(FieldError::invalid_json(format!("{path}.{source}.defaultMode"), mode, why));
    }
    if *source == "hostPath" && said(inner, "path").split('/').any(|part| part == "..") {
        causes.push(FieldError::invalid(
            format!("{path}.hostPath.path"),
            said(inner, "path"),
            "must not contain '..'",
        ));
    }
    if *source == "emptyDir"
        && let Some(limit) = inner.get("sizeLimit")
        && limit
            .as_str()
            .and_then(|limit| Quantity::parse(limit).ok())
            .is_some_and(Quantity::is_negative)
    {
        causes.push(FieldError::forbidden(
            format!("{path}.emptyDir.sizeLimit"),
            "SizeLimit field must be a valid resource quantity",
        ));
    }
}

/// A projected token needs a ServiceAccount. No admission plugin sets one here.
pub(in crate::strategy::builtin) fn validate_tokens(spec: &Value, causes: &mut FieldErrors) {
    if !said(spec, "serviceAccountName").is_empty() {
        return;
    }
    for (path, volume) in items(spec.get("volumes"), "spec.volumes") {
        let sources = volume.pointer("/projected/sources");
        for (path, _) in items(sources, &format!("{path}.projected.sources"))
            .filter(|(_, source)| source.get("serviceAccountToken").is_some())
        {
            let why = "must not be specified when serviceAccountName is not set";
            causes.push(FieldError::forbidden(format!("{path}.serviceAccountToken"), why));
        }
    }
}
