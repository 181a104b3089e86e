//! Rules that claims and volumes share.

use k8s_value::{FieldError, FieldErrors, Quantity, names, quantity};
use serde_json::Value;

use crate::api::metadata::Object;
use crate::strategy::builtin::cells::text_at;
use crate::strategy::builtin::members::{at, text};
use crate::strategy::builtin::values::one_of;

const MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

#[doc(alias = "validateAccessModes")]
pub(super) fn validate_access_modes(object: &Object, why_required: &str, causes: &mut FieldErrors) {
    let modes = at(object, "spec.accessModes").and_then(Value::as_array);
    if modes.is_none_or(Vec::is_empty) {
        causes.push(FieldError::required("spec.accessModes", why_required));
    }
    let modes: Vec<_> = modes.into_iter().flatten().filter_map(Value::as_str).collect();
    for mode in modes.iter().filter(|mode| !MODES.contains(mode)) {
        causes.push(FieldError::unsupported("spec.accessModes", mode, &MODES));
    }
    if modes.len() > 1 && modes.contains(&"ReadWriteOncePod") {
        let why = "may not use ReadWriteOncePod with other access modes";
        causes.push(FieldError::forbidden("spec.accessModes", why));
    }
}

/// Checks the spec of a claim; `path` is that of the spec.
#[doc(alias = "ValidatePersistentVolumeClaimSpec")]
pub(super) fn validate_claim_spec(claim: &Object, path: &str, causes: &mut FieldErrors) {
    let mut own = FieldErrors::default();
    validate_access_modes(claim, "at least 1 access mode is required", &mut own);
    let size = at(claim, "spec.resources.requests.storage");
    validate_size(size, "spec.resources[storage]", &mut own);
    validate_class_and_mode(claim, &mut own);
    match path.strip_suffix(".spec") {
        Some(place) => causes.append_below(place, own),
        None => causes.append(own),
    }
}

/// Warns of amounts of bytes that are no whole numbers; `path` is that of the spec.
#[doc(alias = "GetWarningsForPersistentVolumeClaimSpec")]
pub(super) fn warn_of_claim(claim: &Value, path: &str, warnings: &mut Vec<String>) {
    for list in ["requests", "limits"] {
        let amount = text_at(claim, &format!("/spec/resources/{list}/storage"));
        if Quantity::parse(amount).is_ok_and(|amount| !amount.is_whole()) {
            warnings.push(format!(
                "{path}.resources.{list}[storage]: fractional byte value {amount:?} is invalid, \
                 must be an integer"
            ));
        }
    }
}

/// Checks a size in bytes.
pub(super) fn validate_size(size: Option<&Value>, field: &str, causes: &mut FieldErrors) {
    let Some(size) = size.and_then(Value::as_str) else {
        return causes.push(FieldError::required(field, ""));
    };
    if quantity::bytes(size).is_none_or(|bytes| bytes == 0) {
        causes.push(FieldError::invalid(field, size, "must be greater than zero"));
    }
}

/// An amount is not negative.
#[doc(alias = "ValidateNonnegativeQuantity")]
pub(super) fn validate_amount(amount: Option<&Value>, field: &str, causes: &mut FieldErrors) {
    if let Some(amount) = amount.and_then(Value::as_str).filter(|amount| amount.starts_with('-')) {
        causes.push(FieldError::invalid(field, amount, "must be greater than or equal to 0"));
    }
}

/// Checks the name of what makes volumes.
pub(super) fn validate_provisioner(name: &str, field: &str, causes: &mut FieldErrors) {
    if name.is_empty() {
        causes.push(FieldError::required(field, ""));
        return;
    }
    let name = name.to_lowercase();
    for why in names::wrongs_of_qualified_name(&name) {
        causes.push(FieldError::invalid(field, &name, why));
    }
}

/// Checks the name of a driver.
#[doc(alias = "ValidateCSIDriverName")]
pub(super) fn validate_driver(name: &str, field: &str, causes: &mut FieldErrors) {
    const LONGEST: usize = 63;
    if name.is_empty() {
        causes.push(FieldError::required(field, ""));
        return;
    }
    if name.len() > LONGEST {
        causes.push(FieldError::too_long(field, LONGEST));
    }
    if let Some(why) = names::wrong_subdomain(&name.to_lowercase()) {
        causes.push(FieldError::invalid(field, name, why));
    }
}

/// Checks the name of the StorageClass and the mode of the volume.
pub(super) fn validate_class_and_mode(object: &Object, causes: &mut FieldErrors) {
    let class = text(object, "spec.storageClassName");
    if !class.is_empty()
        && let Some(why) = names::wrong_subdomain(class)
    {
        causes.push(FieldError::invalid("spec.storageClassName", class, why));
    }
    one_of(object, "spec.volumeMode", &["Block", "Filesystem"], causes);
}

/// The cell of the phase.
pub(super) fn phase(object: &Value) -> Value {
    if object["metadata"]["deletionTimestamp"].is_string() {
        "Terminating".into()
    } else {
        text_at(object, "/status/phase").into()
    }
}

/// The cell of the access modes, by their short names.
pub(super) fn modes(modes: &Value) -> Value {
    const SHORT: [(&str, &str); 4] = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let has = |mode: &str| modes.as_array().into_iter().flatten().any(|said| said == mode);
    let short: Vec<&str> =
        SHORT.iter().filter(|(mode, _)| has(mode)).map(|(_, short)| *short).collect();
    short.join(",").into()
}
