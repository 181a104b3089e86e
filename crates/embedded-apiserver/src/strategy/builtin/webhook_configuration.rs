//! ValidatingWebhookConfigurations and MutatingWebhookConfigurations.

use k8s_value::{FieldError, FieldErrors};
use serde_json::{Value, json};

use crate::api::metadata::Object;
use crate::strategy::builtin::members::{items, objects, said, set_missing};
use crate::strategy::builtin::row::{CLUSTER, Row};
use crate::strategy::builtin::webhook::{self, Leniency};
use crate::strategy::builtin::{match_conditions, static_suffix};
use crate::strategy::columns::Cell::Items;
use crate::strategy::columns::{AGE, Column, NAME, column};
use crate::strategy::{Generation, Strategy, Write};

pub(super) static VALIDATING_WEBHOOK_CONFIGURATION: Row = Row {
    group: "admissionregistration.k8s.io",
    kind: "ValidatingWebhookConfiguration",
    plural: "validatingwebhookconfigurations",
    categories: &["api-extensions"],
    strategy: &WebhookConfiguration { mutates: false },
    ..CLUSTER
};

pub(super) static MUTATING_WEBHOOK_CONFIGURATION: Row = Row {
    kind: "MutatingWebhookConfiguration",
    plural: "mutatingwebhookconfigurations",
    strategy: &WebhookConfiguration { mutates: true },
    ..VALIDATING_WEBHOOK_CONFIGURATION
};

const COLUMNS: &[Column] = &[NAME, column("Webhooks", Items("/webhooks")), AGE];

#[derive(Debug)]
struct WebhookConfiguration {
    mutates: bool,
}

impl Strategy for WebhookConfiguration {
    fn not_implemented(&self, object: &Object) -> Option<String> {
        let mut webhooks = items(object.get("webhooks"), "");
        webhooks.find_map(|(_, webhook)| match_conditions::unsupported(webhook))
    }

    #[doc(alias("SetDefaults_ValidatingWebhook", "SetDefaults_MutatingWebhook"))]
    fn default(&self, object: &mut Object) {
        for webhook in objects(object.get_mut("webhooks")) {
            set_missing(
                webhook,
                &[
                    ("failurePolicy", json!("Fail")),
                    ("matchPolicy", json!("Equivalent")),
                    ("namespaceSelector", json!({})),
                    ("objectSelector", json!({})),
                    ("timeoutSeconds", json!(10)),
                ],
            );
            if self.mutates {
                set_missing(webhook, &[("reinvocationPolicy", "Never".into())]);
            }
            for rule in objects(webhook.get_mut("rules")) {
                set_missing(rule, &[("scope", "*".into())]);
            }
            let service = webhook.get_mut("clientConfig").and_then(|it| it.get_mut("service"));
            if let Some(Value::Object(service)) = service {
                set_missing(service, &[("port", 443.into())]);
            }
        }
    }

    fn validate(&self, object: &Object, write: Write<'_>, causes: &mut FieldErrors) {
        let leniency = write.old.map_or_else(Leniency::default, |old| {
            Leniency::of_update(object.get("webhooks"), old.get("webhooks"))
        });
        let mut names = Vec::new();
        for (path, webhook) in items(object.get("webhooks"), "webhooks") {
            webhook::validate(webhook, &path, leniency, causes);
            let name = said(webhook, "name");
            if names.contains(&name) && !name.is_empty() && !leniency.allows_equal_names {
                causes.push(FieldError::duplicate(format!("{path}.name"), &name.into()));
            } else {
                names.push(name);
            }
        }
    }

    fn validates_finalizer_names(&self, _write: Write<'_>) -> bool {
        false
    }

    fn has_warnings(&self) -> bool {
        true
    }

    fn warnings(&self, object: &Object, _: Option<&Object>) -> Vec<String> {
        static_suffix::warnings(object)
    }

    fn generation(&self) -> Generation {
        Generation::Members
    }

    fn updates_unconditionally(&self) -> bool {
        false
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}
