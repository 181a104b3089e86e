//! ValidatingWebhookConfigurations and MutatingWebhookConfigurations.

use serde_json::{Value, json};

use crate::api::metadata::Object;
use crate::strategy::builtin::members::{objects, set_missing};
use crate::strategy::builtin::row::{CLUSTER, Row};
use crate::strategy::columns::Cell::Items;
use crate::strategy::columns::{AGE, Column, NAME, column};
use crate::strategy::{Generation, Strategy};

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
                webhook.entry("reinvocationPolicy").or_insert_with(|| "Never".into());
            }
            for rule in objects(webhook.get_mut("rules")) {
                rule.entry("scope").or_insert_with(|| "*".into());
            }
            let service = webhook.get_mut("clientConfig").and_then(|it| it.get_mut("service"));
            if let Some(Value::Object(service)) = service {
                service.entry("port").or_insert_with(|| 443.into());
            }
        }
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
