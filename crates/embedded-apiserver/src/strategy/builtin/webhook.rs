//! One webhook of a webhook configuration.

use k8s_value::{FieldError, FieldErrors, names};
use serde_json::Value;

use crate::strategy::builtin::match_resources::MATCH_POLICIES;
use crate::strategy::builtin::members::{items, part, said, texts};
use crate::strategy::builtin::values::one_of_texts;
use crate::strategy::builtin::{admission_rule, label_selector, match_conditions, webhook_client};
use crate::strategy::expressions::environment;

/// The policies of what becomes of a request if the answer fails.
pub(super) const FAILURE_POLICIES: &[&str] = &["Fail", "Ignore"];
pub(super) const REINVOCATION_POLICIES: &[&str] = &["IfNeeded", "Never"];
const WITHOUT_SIDE_EFFECTS: &[&str] = &["None", "NoneOnDryRun"];
const SIDE_EFFECTS: &[&str] = &["None", "NoneOnDryRun", "Some", "Unknown"];
const VERSIONS: [&str; 2] = ["v1", "v1beta1"];

/// Mistakes that an update may keep, as the stored configuration has them.
#[derive(Debug, Clone, Copy, Default)]
#[doc(alias = "validationOptions")]
pub(super) struct Leniency {
    pub(super) allows_equal_names: bool,
    allows_side_effects: bool,
    allows_unknown_versions: bool,
    ignores_conditions: bool,
}

impl Leniency {
    pub(super) fn of_update(new: Option<&Value>, old: Option<&Value>) -> Self {
        let list = |webhooks: Option<&Value>| -> Vec<Value> {
            webhooks.and_then(Value::as_array).cloned().unwrap_or_default()
        };
        let (new, old) = (list(new), list(old));
        let names: Vec<&str> = old.iter().map(|webhook| said(webhook, "name")).collect();
        let is_known = |webhook: &Value| {
            let versions = texts(webhook.get("admissionReviewVersions"));
            versions.is_empty() || versions.iter().any(|version| VERSIONS.contains(version))
        };
        let conditions = |webhooks: &[Value]| -> Vec<Option<Value>> {
            webhooks.iter().map(|webhook| webhook.get("matchConditions").cloned()).collect()
        };
        Self {
            allows_equal_names: names
                .iter()
                .enumerate()
                .any(|(at, name)| names.iter().take(at).any(|other| other == name)),
            allows_side_effects: !old
                .iter()
                .all(|webhook| WITHOUT_SIDE_EFFECTS.contains(&said(webhook, "sideEffects"))),
            allows_unknown_versions: !old.iter().all(is_known),
            ignores_conditions: conditions(&new) == conditions(&old),
        }
    }
}

#[doc(alias("validateValidatingWebhook", "validateMutatingWebhook"))]
pub(super) fn validate(webhook: &Value, path: &str, leniency: Leniency, causes: &mut FieldErrors) {
    validate_name(said(webhook, "name"), &format!("{path}.name"), causes);
    for (path, rule) in items(webhook.get("rules"), &format!("{path}.rules")) {
        admission_rule::validate(rule, &path, causes);
    }
    one_of(webhook, path, "failurePolicy", FAILURE_POLICIES, causes);
    one_of(webhook, path, "matchPolicy", MATCH_POLICIES, causes);
    let allowed = if leniency.allows_side_effects { SIDE_EFFECTS } else { WITHOUT_SIDE_EFFECTS };
    if part(webhook, "sideEffects").is_none() {
        let why = format!("must specify one of {}", allowed.join(", "));
        causes.push(FieldError::required(format!("{path}.sideEffects"), &why));
    }
    one_of(webhook, path, "sideEffects", allowed, causes);
    if let Some(timeout) = part(webhook, "timeoutSeconds")
        && !timeout.as_i64().is_some_and(|seconds| (1..=30).contains(&seconds))
    {
        let why = "the timeout value must be between 1 and 30 seconds";
        causes.push(FieldError::invalid_json(format!("{path}.timeoutSeconds"), timeout, why));
    }
    for member in ["namespaceSelector", "objectSelector"] {
        if let Some(selector) = part(webhook, member) {
            label_selector::validate(selector, &format!("{path}.{member}"), causes);
        }
    }
    one_of(webhook, path, "reinvocationPolicy", REINVOCATION_POLICIES, causes);
    let client = webhook.get("clientConfig").unwrap_or(&Value::Null);
    webhook_client::validate(client, &format!("{path}.clientConfig"), causes);
    if !leniency.ignores_conditions {
        let conditions = webhook.get("matchConditions");
        let (path, environment) = (format!("{path}.matchConditions"), environment(false, true));
        match_conditions::validate(conditions, &path, &environment, causes);
    }
    validate_versions(webhook, path, leniency, causes);
}

fn one_of(webhook: &Value, path: &str, member: &str, all: &[&str], causes: &mut FieldErrors) {
    if let Some(value) = part(webhook, member) {
        one_of_texts(value, &format!("{path}.{member}"), all, causes);
    }
}

#[doc(alias = "IsFullyQualifiedName")]
fn validate_name(name: &str, path: &str, causes: &mut FieldErrors) {
    if name.is_empty() {
        causes.push(FieldError::required(path, ""));
    } else if let Some(why) = names::wrong_subdomain(name) {
        causes.push(FieldError::invalid(path, name, why));
    } else if name.split('.').count() < 3 {
        let why = "should be a domain with at least three segments separated by dots";
        causes.push(FieldError::invalid(path, name, why));
    }
}

#[doc(alias = "validateAdmissionReviewVersions")]
fn validate_versions(webhook: &Value, path: &str, leniency: Leniency, causes: &mut FieldErrors) {
    let path = format!("{path}.admissionReviewVersions");
    let versions = texts(webhook.get("admissionReviewVersions"));
    if versions.is_empty() {
        let why = format!("must specify one of {}", VERSIONS.join(", "));
        causes.push(FieldError::required(path, &why));
        return;
    }
    for (at, version) in versions.iter().enumerate() {
        let field = format!("{path}[{at}]");
        if versions.iter().take(at).any(|other| other == version) {
            causes.push(FieldError::invalid(field, version, "duplicate version"));
        } else if let Some(why) = names::wrong_dns_1035_label(version) {
            causes.push(FieldError::invalid(field, version, why));
        }
    }
    if !leniency.allows_unknown_versions && !versions.iter().any(|it| VERSIONS.contains(it)) {
        let why = format!("must include at least one of {}", VERSIONS.join(", "));
        causes.push(FieldError::invalid_json(path, &versions.into(), &why));
    }
}
