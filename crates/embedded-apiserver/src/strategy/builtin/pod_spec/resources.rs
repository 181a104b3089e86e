//! Validation of the requests and limits of a container.

use k8s_value::quantity::Quantity;
use k8s_value::{FieldError, FieldErrors, names};
use serde_json::Value;

#[doc(alias = "validateResourceRequirements")]
pub(super) fn validate_resources(resources: Option<&Value>, path: &str, causes: &mut FieldErrors) {
    let Some(resources) = resources else { return };
    let of =
        |sort: &str| resources.get(sort).and_then(Value::as_object).cloned().unwrap_or_default();
    let (limits, requests) = (of("limits"), of("requests"));
    let parse = |value: &Value| value.as_str().and_then(|text| Quantity::parse(text).ok());
    for (sort, amounts) in [("limits", &limits), ("requests", &requests)] {
        for (name, amount) in amounts {
            let field = format!("{path}.{sort}[{name}]");
            validate_resource_name(name, &format!("{path}.{sort}"), causes);
            let Some(quantity) = parse(amount) else { continue };
            let text = amount.as_str().unwrap_or_default();
            if quantity.is_negative() {
                causes.push(FieldError::invalid(
                    field.as_str(),
                    text,
                    "must be greater than or equal to 0",
                ));
            }
            let whole = matches!(name.as_str(), "pods" | "services") || is_extended(name);
            if whole && !quantity.is_whole() {
                causes.push(FieldError::invalid(field.as_str(), text, "must be an integer"));
            }
            let Some(limit) = limits.get(name).filter(|_| sort == "requests") else {
                if sort == "requests" && (is_extended(name) || name.starts_with("hugepages-")) {
                    causes.push(FieldError::required(
                        format!("{path}.limits"),
                        "Limit must be set for non overcommitable resources",
                    ));
                }
                continue;
            };
            let above = parse(limit).is_some_and(|limit| quantity.nanos() > limit.nanos());
            let differs = parse(limit).is_some_and(|limit| quantity.nanos() != limit.nanos());
            let limit = limit.as_str().unwrap_or_default();
            let field = format!("{path}.requests");
            if is_extended(name) && differs {
                let why = format!("must be equal to {name} limit of {limit}");
                causes.push(FieldError::invalid(field, text, &why));
            } else if above {
                let why = format!("must be less than or equal to {name} limit of {limit}");
                causes.push(FieldError::invalid(field, text, &why));
            }
        }
    }
}

/// Whether it is an extended resource. Its quantities are whole numbers.
fn is_extended(name: &str) -> bool {
    name.contains('/') && !name.contains("kubernetes.io/") && !name.starts_with("requests.")
}

fn validate_resource_name(name: &str, path: &str, causes: &mut FieldErrors) {
    const STANDARD: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
    if let Some(why) = names::wrong_qualified_name(name) {
        causes.push(FieldError::invalid(path, name, why));
    } else if !name.contains('/') && !STANDARD.contains(&name) && !name.starts_with("hugepages-") {
        causes.push(FieldError::invalid(path, name, "must be a standard resource for containers"));
    }
}
