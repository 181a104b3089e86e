//! Validation of the requests and limits of a container.

use std::cmp::Ordering;

use k8s_value::{FieldError, FieldErrors};
use serde_json::Value;

use crate::strategy::builtin::members::members;
use crate::strategy::builtin::resource_names::{
    compare, is_overcommitted, quantity, validate_amount, validate_of_container,
};

#[doc(alias = "validateResourceRequirements")]
pub(in crate::strategy::builtin) fn validate_resources(
    resources: Option<&Value>,
    path: &str,
    causes: &mut FieldErrors,
) {
    let Some(resources) = resources else { return };
    let (limits, requests) = (members(resources.get("limits")), members(resources.get("requests")));
    for (sort, amounts) in [("limits", &limits), ("requests", &requests)] {
        for (name, amount) in amounts {
            let field = format!("{path}.{sort}[{name}]");
            validate_of_container(name, &field, causes);
            validate_amount(name, amount, &field, causes);
        }
    }
    for (name, amount) in &requests {
        let Some(limit) = limits.get(name) else {
            if !is_overcommitted(name) {
                let why = "Limit must be set for non overcommitable resources";
                causes.push(FieldError::required(format!("{path}.limits"), why));
            }
            continue;
        };
        let order = quantity(amount).zip(quantity(limit)).map(|(a, b)| compare(a, b));
        let limit = limit.as_str().unwrap_or_default();
        let why = match order {
            Some(Ordering::Less | Ordering::Greater) if !is_overcommitted(name) => {
                format!("must be equal to {name} limit of {limit}")
            }
            Some(Ordering::Greater) => {
                format!("must be less than or equal to {name} limit of {limit}")
            }
            _ => continue,
        };
        causes.push(FieldError::invalid_json(format!("{path}.requests"), amount, &why));
    }
}
