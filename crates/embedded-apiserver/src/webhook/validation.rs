//! Validation of a `clientConfig`: its URL, its service, its authorities. Pure.
//!
//! The rules are those of k8s.io/apiserver/pkg/util/webhook/validation.go.

use serde_json::Value;

use crate::webhook::url::Url;
use k8s_value::{FieldError, FieldErrors, names};

/// How a URL should look.
const FORM: &str = "; desired format: https://host[/path]";

/// Validates the URL of a webhook.
#[doc(alias = "ValidateWebhookURL")]
pub(crate) fn check_url(field: &str, text: &str, causes: &mut FieldErrors) {
    let url = match Url::parse(text) {
        Ok(url) => url,
        Err(why) => {
            let why = format!("url must be a valid URL: {why}{FORM}");
            return causes.push(FieldError::required(field, &why));
        }
    };
    let mut refuse = |value: &str, why: &str| causes.push(FieldError::invalid(field, value, why));
    if url.scheme != "https" {
        refuse(&url.scheme, &format!("'https' is the only allowed URL scheme{FORM}"));
    }
    if url.host.is_empty() {
        refuse("", &format!("host must be specified{FORM}"));
    }
    if let Some(user) = url.user {
        refuse(user, "user information is not permitted in the URL");
    }
    if !url.fragment.is_empty() {
        refuse(url.fragment, "fragments are not permitted in the URL");
    }
    if !url.query.is_empty() {
        refuse(url.query, "query parameters are not permitted in the URL");
    }
}

/// Validates the reference to a service, whose port is set.
#[doc(alias = "ValidateWebhookService")]
pub(crate) fn check_service(field: &str, service: &Value, causes: &mut FieldErrors) {
    let text = |name: &str| service.get(name).and_then(Value::as_str).unwrap_or_default();
    for name in ["name", "namespace"] {
        if text(name).is_empty() {
            causes.push(FieldError::required(format!("{field}.{name}"), ""));
        }
    }
    let port = service.get("port").and_then(Value::as_i64).unwrap_or(443);
    if !(1..=65535).contains(&port) {
        let why = "port is not valid: must be between 1 and 65535, inclusive";
        causes.push(FieldError::invalid_json(format!("{field}.port"), &port.into(), why));
    }
    let path = text("path");
    if path.is_empty() || path == "/" {
        return;
    }
    let mut refuse =
        |why: &str| causes.push(FieldError::invalid(format!("{field}.path"), path, why));
    if path == "//" {
        return refuse("segment[0] may not be empty");
    }
    if !path.starts_with('/') {
        refuse("must start with a '/'");
    }
    // Upstream leaves out the first byte, whatever it is.
    let rest = path.get(1..).unwrap_or_default();
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    for (at, step) in rest.split('/').enumerate() {
        if step.is_empty() {
            refuse(&format!("segment[{at}] may not be empty"));
        } else if let Some(why) = names::wrong_subdomain(step) {
            refuse(&format!("segment[{at}]: {why}"));
        }
    }
}

/// Why the authorities of a `clientConfig` cannot be used. Without the feature `webhooks` nothing
/// reads them.
#[doc(alias = "ValidateCABundle")]
pub(crate) fn check_ca_bundle(field: &str, client_config: &Value, causes: &mut FieldErrors) {
    #[cfg(feature = "webhooks")]
    if let Some(bundle) = crate::webhook::endpoint::ca_bundle(client_config)
        && let Err(why) = crate::webhook::roots::roots(&bundle)
    {
        let shown = client_config.get("caBundle").and_then(Value::as_str).unwrap_or_default();
        causes.push(FieldError::invalid(field, shown, &why));
    }
    #[cfg(not(feature = "webhooks"))]
    let _ = (field, client_config, causes);
}
