//! Names of resources and their amounts: in containers, quotas and limits.

use std::cmp::Ordering;

use k8s_value::quantity::Quantity;
use k8s_value::{FieldError, FieldErrors, names};
use serde_json::Value;

const OF_CONTAINERS: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
const OF_QUOTAS: [&str; 19] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "persistentvolumeclaims",
    "configmaps",
    "services.nodeports",
    "services.loadbalancers",
];
/// The resources that are counted.
const COUNTED: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

#[doc(alias = "IsStandardQuotaResourceName")]
pub(super) fn is_of_quotas(name: &str) -> bool {
    OF_QUOTAS.contains(&name)
        || name.starts_with("hugepages-")
        || name.starts_with("requests.hugepages-")
}

/// Whether it is a resource of nodes that Kubernetes does not know.
#[doc(alias = "IsExtendedResourceName")]
pub(super) fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && names::wrong_qualified_name(&format!("requests.{name}")).is_none()
}

fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

#[doc(alias = "IsOvercommitAllowed")]
pub(super) fn is_overcommitted(name: &str) -> bool {
    is_native(name) && !name.starts_with("hugepages-")
}

/// Checks the name of any resource. Returns whether it is qualified.
#[doc(alias = "validateResourceName")]
pub(super) fn validate(name: &str, path: &str, causes: &mut FieldErrors) {
    if names::wrong_qualified_name(name).is_some() {
        for why in names::wrongs_of_qualified_name(name) {
            causes.push(FieldError::invalid(path, name, why));
        }
    } else if !name.contains('/') && name != "storage" && !is_of_quotas(name) {
        let why = "must be a standard resource type or fully qualified";
        causes.push(FieldError::invalid(path, name, why));
    }
}

#[doc(alias = "validateContainerResourceName")]
pub(super) fn validate_of_container(name: &str, path: &str, causes: &mut FieldErrors) {
    validate(name, path, causes);
    if !name.contains('/') {
        if !OF_CONTAINERS.contains(&name) && !name.starts_with("hugepages-") {
            let why = "must be a standard resource for containers";
            causes.push(FieldError::invalid(path, name, why));
        }
    } else if !is_native(name) && !is_extended(name) {
        let why = "doesn't follow extended resource name standard";
        causes.push(FieldError::invalid(path, name, why));
    }
}

#[doc(alias = "ValidateResourceQuotaResourceName")]
pub(super) fn validate_of_quota(name: &str, path: &str, causes: &mut FieldErrors) {
    validate(name, path, causes);
    if !name.contains('/') && !is_of_quotas(name) {
        causes.push(FieldError::invalid(path, name, "must be a standard resource for quota"));
    }
}

/// Checks that an amount is not negative, and a whole number where the resource is counted.
#[doc(alias = "ValidateResourceQuantityValue")]
pub(super) fn validate_amount(name: &str, amount: &Value, path: &str, causes: &mut FieldErrors) {
    let Some(quantity) = quantity(amount) else { return };
    if quantity.is_negative() {
        let why = "must be greater than or equal to 0";
        causes.push(FieldError::invalid_json(path, amount, why));
    }
    if (COUNTED.contains(&name) || is_extended(name)) && !quantity.is_whole() {
        causes.push(FieldError::invalid_json(path, amount, "must be an integer"));
    }
}

/// The quantity of a member.
pub(super) fn quantity(amount: &Value) -> Option<Quantity> {
    amount.as_str().and_then(|text| Quantity::parse(text).ok())
}

/// Compares two quantities.
#[doc(alias = "Cmp")]
pub(super) fn compare(one: Quantity, other: Quantity) -> Ordering {
    match (one.is_negative(), other.is_negative()) {
        (false, false) => one.nanos().cmp(&other.nanos()),
        (true, true) => other.nanos().cmp(&one.nanos()),
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
    }
}
