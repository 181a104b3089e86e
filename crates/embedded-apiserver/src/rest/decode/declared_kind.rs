//! Compares an object's declared apiVersion and kind with those of the request.

use serde_json::Value;

use crate::api::metadata::{self, Object};
use crate::api::status::{FieldErrors, Status};
use crate::strategy::resource::ServedResource;
use crate::strategy::unserved;

/// The error of a custom object whose apiVersion is missing.
pub(super) const MISSING_VERSION: &str = "apiVersion is missing";
/// The error of a custom object whose kind is missing.
pub(super) const MISSING_KIND: &str = "kind is missing";

pub(super) fn check_types(kind: &ServedResource, object: &Object) -> Result<(), String> {
    let says = |member: &str| object.get(member).and_then(Value::as_str).unwrap_or_default();
    let (version, name) = (says("apiVersion"), says("kind"));
    if !version.is_empty() && version != kind.api_version() {
        return Err(other_version(version, kind));
    }
    if kind.is_built_in() && !name.is_empty() && name != kind.kind() {
        return Err(format!(
            "the kind in the data ({name}) does not match the expected kind ({})",
            kind.kind()
        ));
    }
    Ok(())
}

/// The error of a declared kind that Kubernetes does not have.
pub(super) fn unregistered(kind: &ServedResource, object: &Object) -> Option<String> {
    let said =
        |member: &str| object.get(member).and_then(Value::as_str).filter(|said| !said.is_empty());
    let (own_version, own_kind) = (kind.api_version(), kind.kind());
    let (version, name) =
        (said("apiVersion").unwrap_or(&own_version), said("kind").unwrap_or(own_kind));
    let is_own = !kind.is_built_in() || (version == own_version && name == own_kind);
    if is_own || version.matches('/').count() > 1 || unserved::is_kind(version, name) {
        return None;
    }
    let short = version.rsplit('/').next().unwrap_or_default();
    Some(format!(
        "{name} in version {short:?} cannot be handled as a {own_kind}: no kind {name:?} is registered for version \
         {version:?}"
    ))
}

fn is_scale(kind: &ServedResource) -> bool {
    (kind.group(), kind.kind()) == ("autoscaling", "Scale")
}

/// The error of a declared kind that cannot be converted to Scale.
pub(super) fn unconvertible(kind: &ServedResource, object: &Object) -> Option<String> {
    let said =
        |member: &str| object.get(member).and_then(Value::as_str).filter(|said| !said.is_empty());
    let (own_version, own_kind) = (kind.api_version(), kind.kind());
    let (version, name) =
        (said("apiVersion").unwrap_or(&own_version), said("kind").unwrap_or(own_kind));
    if !is_scale(kind) || (version == own_version && name == own_kind) {
        return None;
    }
    Some(format!("expected a {own_kind} of {own_version}, got a {name:?} of {version:?}"))
}

/// Why the declared type of a custom object is wrong.
pub(super) enum Untyped {
    /// Decoding fails.
    Decoding(String),
    /// Decoding succeeds, and the next step fails.
    Later(String),
}

/// Checks that a custom object declares an apiVersion and a kind.
pub(super) fn check_said_types(object: &Object) -> Result<(), Untyped> {
    let says = |member: &str| object.get(member).and_then(Value::as_str).unwrap_or_default();
    if says("kind").is_empty() {
        return Err(Untyped::Decoding(MISSING_KIND.to_owned()));
    }
    match says("apiVersion") {
        "" => Err(Untyped::Later(MISSING_VERSION.to_owned())),
        version if version.matches('/').count() > 1 => {
            Err(Untyped::Decoding(format!("unexpected GroupVersion string: {version}")))
        }
        _ => Ok(()),
    }
}

/// Checks that a custom object declares its own kind. Validation does this, so a different
/// apiVersion or kind stays in the object until then.
pub(crate) fn check_own_type(
    kind: &ServedResource,
    object: &Object,
    old: Option<&Object>,
    subresource: Option<&str>,
) -> Result<(), Status> {
    match said_types(kind, object) {
        (None, None) => Ok(()),
        (of, version) => {
            let mut more = FieldErrors::default();
            if let Some(definition) = kind.definition() {
                definition.check_beside_schema(kind, object, old, subresource, &mut more);
            }
            Err(Status::of_other_kind(kind, (of, version), metadata::text(object, "name"), more))
        }
    }
}

/// The declared kind and version, where they differ from the expected ones.
pub(crate) fn said_types<'a>(
    kind: &ServedResource,
    object: &'a Object,
) -> (Option<&'a str>, Option<&'a str>) {
    let said =
        |member: &str| object.get(member).and_then(Value::as_str).filter(|_| !kind.is_built_in());
    (said("kind"), said("apiVersion"))
}

pub(super) fn other_version(version: &str, kind: &ServedResource) -> String {
    let expected = kind.api_version();
    format!(
        "the API version in the data ({version}) does not match the expected API version ({expected})"
    )
}
