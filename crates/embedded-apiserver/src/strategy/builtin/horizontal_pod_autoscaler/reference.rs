//! References of an autoscaler to objects of some version.

use k8s_value::{FieldError, FieldErrors};
use serde_json::Value;

use crate::strategy::builtin::members::said;
use crate::strategy::builtin::values::wrongs_of_path_name;

/// What the `apiVersion` of a reference may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    Any,
    Valid,
    /// With a group.
    Grouped,
}

#[doc(alias = "ValidateCrossVersionObjectReference")]
pub(super) fn validate_reference(
    reference: &Value,
    path: &str,
    allowed: Version,
    causes: &mut FieldErrors,
) {
    for member in ["kind", "name"] {
        let (field, name) = (format!("{path}.{member}"), said(reference, member));
        if name.is_empty() {
            causes.push(FieldError::required(field.as_str(), ""));
        }
        for why in wrongs_of_path_name(name) {
            causes.push(FieldError::invalid(field.as_str(), name, why));
        }
    }
    let version = said(reference, "apiVersion");
    if let Some(why) = wrong_version(version, allowed) {
        causes.push(FieldError::invalid(format!("{path}.apiVersion"), version, &why));
    }
}

#[doc(alias = "ValidateAPIVersion")]
pub(super) fn wrong_version(version: &str, allowed: Version) -> Option<String> {
    let slashes = version.matches('/').count();
    match allowed {
        Version::Any => None,
        _ if slashes > 1 => Some(format!("unexpected GroupVersion string: {version}")),
        Version::Grouped if slashes == 0 || version.starts_with('/') => {
            Some("apiVersion must specify API group".to_owned())
        }
        Version::Valid | Version::Grouped => None,
    }
}
