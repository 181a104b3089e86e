//! The webhooks of the stored configurations, compiled once for each version of a configuration.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::admission::configurations::Configurations;
use crate::admission::match_conditions::MatchConditions;
use crate::admission::matcher::Matcher;
use crate::admission::review::ReviewVersion;
use crate::api::metadata::Object;
use crate::strategy::expressions::environment;
use crate::webhook::{CallError, Endpoint};

/// A webhook of a configuration.
#[derive(Debug)]
#[doc(alias = "WebhookAccessor")]
pub(crate) struct Webhook {
    pub(crate) name: String,
    /// Tells webhooks of one name in one configuration apart.
    pub(crate) uid: String,
    pub(crate) matcher: Matcher,
    pub(crate) conditions: MatchConditions,
    pub(crate) endpoint: Result<Endpoint, CallError>,
    /// `None`: it takes no review that this server can write.
    pub(crate) version: Option<ReviewVersion>,
    /// Whether a call that fails counts as allowed.
    pub(crate) ignores_failures: bool,
    pub(crate) supports_dry_run: bool,
    pub(crate) timeout: Duration,
    /// Whether it is called again if a later one changes the object.
    pub(crate) is_reinvoked: bool,
}

impl Webhook {
    fn read(uid: String, webhook: &Value) -> Self {
        let text = |member: &str| webhook.get(member).and_then(Value::as_str).unwrap_or_default();
        let versions = webhook.get("admissionReviewVersions").and_then(Value::as_array);
        let versions: Vec<&str> =
            versions.into_iter().flatten().filter_map(Value::as_str).collect();
        let seconds = webhook.get("timeoutSeconds").and_then(Value::as_u64).unwrap_or(10);
        Self {
            name: text("name").to_owned(),
            uid,
            matcher: Matcher::of_webhook(webhook),
            conditions: MatchConditions::read(webhook, &environment(false, true)),
            endpoint: Endpoint::read(webhook.get("clientConfig").unwrap_or(&Value::Null)),
            version: ReviewVersion::of(&versions),
            ignores_failures: text("failurePolicy") == "Ignore",
            supports_dry_run: matches!(text("sideEffects"), "None" | "NoneOnDryRun"),
            timeout: Duration::from_secs(seconds),
            is_reinvoked: text("reinvocationPolicy") == "IfNeeded",
        }
    }
}

/// The webhooks of a configuration, in its order.
fn webhooks(configuration: &str, object: &Object) -> Vec<Webhook> {
    let webhooks = object.get("webhooks").and_then(Value::as_array).into_iter().flatten();
    let mut named: HashMap<String, usize> = HashMap::new();
    let read = |webhook: &Value| {
        let name = webhook.get("name").and_then(Value::as_str).unwrap_or_default();
        let count = named.entry(name.to_owned()).or_default();
        let uid = format!("{configuration}/{name}/{count}");
        *count += 1;
        Webhook::read(uid, webhook)
    };
    webhooks.map(read).collect()
}

/// The group of the kinds that configure admission.
const GROUP: &str = "admissionregistration.k8s.io";

/// The stored configurations of webhooks.
#[derive(Debug)]
pub(crate) struct Registrations {
    /// Whether a configuration of admission was ever written. Most servers have none, and look no
    /// further.
    is_configured: AtomicBool,
    pub(crate) mutating: Configurations<Vec<Webhook>>,
    pub(crate) validating: Configurations<Vec<Webhook>>,
}

impl Default for Registrations {
    fn default() -> Self {
        let view = |plural| Configurations::new(GROUP, plural, webhooks);
        Self {
            is_configured: AtomicBool::new(false),
            mutating: view("mutatingwebhookconfigurations"),
            validating: view("validatingwebhookconfigurations"),
        }
    }
}

impl Registrations {
    /// Notes a write to a table, before it is made.
    pub(crate) fn note(&self, table: &str) {
        if table.starts_with(GROUP) {
            self.is_configured.store(true, Ordering::Relaxed);
        }
    }

    /// Whether there may be a webhook or a policy.
    pub(crate) fn are_possible(&self) -> bool {
        self.is_configured.load(Ordering::Relaxed)
    }
}
