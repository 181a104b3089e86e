//! Validation of the conversion of a definition (`validateCustomResourceConversion`).

use k8s_schema::Path;
use k8s_value::names;
use serde_json::Value;

use crate::api::metadata::Object;
use crate::api::status::{FieldError, FieldErrors};
use crate::strategy::crd::members::{flag, is_true, list, text};
use crate::webhook::validation::{check_ca_bundle, check_service, check_url};

/// The versions of reviews that there are.
const REVIEWS: [&str; 2] = ["v1", "v1beta1"];

/// Validates `spec.conversion`. Fields have the names of upstream's internal type.
pub(super) fn check_conversion(
    spec: &Value,
    old: Option<&Object>,
    path: &Path<'_>,
    causes: &mut FieldErrors,
) {
    let conversion = spec.get("conversion").unwrap_or(&Value::Null);
    if conversion.is_null() {
        return;
    }
    let field = |name: &str| path.field(name).to_string();
    let strategy = text(conversion, "strategy");
    if strategy != "None" && flag(spec, "preserveUnknownFields") {
        let why = "must be None if spec.preserveUnknownFields is true";
        causes.push(FieldError::invalid(field("strategy"), strategy, why));
    }
    match strategy {
        "" => causes.push(FieldError::required(field("strategy"), "")),
        "None" | "Webhook" => {}
        other => {
            causes.push(FieldError::unsupported(field("strategy"), other, &["None", "Webhook"]))
        }
    }
    let webhook = conversion.get("webhook").unwrap_or(&Value::Null);
    let client_config = webhook.get("clientConfig").filter(|config| config.is_object());
    let (at_config, at_reviews) = (field("webhookClientConfig"), field("conversionReviewVersions"));
    if strategy != "Webhook" {
        let why = "should not be set when strategy is not set to Webhook";
        if client_config.is_some() {
            causes.push(FieldError::forbidden(at_config, why));
        }
        if !list(webhook, "conversionReviewVersions").is_empty() {
            causes.push(FieldError::forbidden(at_reviews, why));
        }
        return;
    }
    match client_config {
        None => {
            let why = "required when strategy is set to Webhook";
            causes.push(FieldError::required(at_config, why));
        }
        Some(config) => check_client_config(config, old, &at_config, causes),
    }
    check_reviews(webhook, old, &at_reviews, causes);
}

fn check_client_config(
    config: &Value,
    old: Option<&Object>,
    field: &str,
    causes: &mut FieldErrors,
) {
    let url = config.get("url").and_then(Value::as_str);
    let service = config.get("service").filter(|service| service.is_object());
    match (url, service) {
        (Some(url), None) => check_url(&format!("{field}.url"), url, causes),
        (None, Some(service)) => check_service(&format!("{field}.service"), service, causes),
        _ => {
            let why = "exactly one of url or service is required";
            causes.push(FieldError::required(field, why));
        }
    }
    if old.is_some_and(|old| is_true(old, "Established") && !has_invalid_ca_bundle(old)) {
        check_ca_bundle(&format!("{field}.caBundle"), config, causes);
    }
}

fn webhook_of(object: &Object) -> Option<&Value> {
    object.get("spec")?.get("conversion")?.get("webhook")
}

/// Whether the authorities of a definition's webhook cannot be read. Upstream does not establish
/// it then, and lets it stay as it is.
pub(super) fn has_invalid_ca_bundle(object: &Object) -> bool {
    let config = webhook_of(object).and_then(|webhook| webhook.get("clientConfig"));
    let mut causes = FieldErrors::default();
    config.iter().for_each(|config| check_ca_bundle("", config, &mut causes));
    !causes.is_empty()
}

fn check_reviews(webhook: &Value, old: Option<&Object>, field: &str, causes: &mut FieldErrors) {
    let versions = list(webhook, "conversionReviewVersions");
    if versions.is_empty() {
        return causes.push(FieldError::required(field, ""));
    }
    let has_known =
        |versions: &[Value]| versions.iter().any(|version| REVIEWS.iter().any(|it| version == it));
    for (at, version) in versions.iter().enumerate() {
        let (place, shown) = (format!("{field}[{at}]"), version.as_str().unwrap_or_default());
        if versions.iter().take(at).any(|before| before == version) {
            causes.push(FieldError::invalid(place, shown, "duplicate version"));
        } else if let Some(why) = names::wrong_dns_1035_label(shown) {
            causes.push(FieldError::invalid(place, shown, why));
        }
    }
    // A definition without a known version may keep it so.
    let before = old.and_then(webhook_of);
    let before = before.map_or(&[][..], |webhook| list(webhook, "conversionReviewVersions"));
    if !has_known(versions) && (before.is_empty() || has_known(before)) {
        let shown = Value::from(versions.to_vec());
        let why = format!("must include at least one of {}", REVIEWS.join(", "));
        causes.push(FieldError::invalid_json(field, &shown, &why));
    }
}
