//! The webhooks of a folder's manifests, which the test serves itself.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// Sends the webhooks of a manifest that name a Service to an address of the test.
#[doc(alias = "modifyWebhook")]
pub(super) fn redirect(object: &mut Value, base: &str, ca: &[u8]) {
    let clients: Vec<&mut Value> = match object.get("kind").and_then(Value::as_str) {
        Some("MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration") => {
            let webhooks = object.get_mut("webhooks").and_then(Value::as_array_mut);
            let webhooks = webhooks.into_iter().flatten();
            webhooks.filter_map(|webhook| webhook.get_mut("clientConfig")).collect()
        }
        Some("CustomResourceDefinition") => {
            object.pointer_mut("/spec/conversion/webhook/clientConfig").into_iter().collect()
        }
        _ => Vec::new(),
    };
    for client in clients {
        let Some(service) = client.get("service").filter(|service| !service.is_null()) else {
            continue;
        };
        let path = service.get("path").and_then(Value::as_str).unwrap_or_default();
        let (base, path) = (base.trim_end_matches('/'), path.trim_start_matches('/'));
        *client = json!({ "url": format!("{base}/{path}"), "caBundle": STANDARD.encode(ca) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_becomes_a_url_with_its_path() {
        let service = |path: Value| json!({ "clientConfig": { "service": { "name": "w", "namespace": "n", "path": path, "port": 9443 }, "caBundle": "eA==" } });
        let webhooks = json!([service("/mutate".into()), service(Value::Null), { "clientConfig": { "url": "https://a/" } }]);
        let mut object = json!({ "kind": "MutatingWebhookConfiguration", "webhooks": webhooks });
        redirect(&mut object, "https://127.0.0.1:9443/", b"pem");
        let client = |url: &str| json!({ "clientConfig": { "url": url, "caBundle": "cGVt" } });
        assert_eq!(
            object["webhooks"],
            json!([
                client("https://127.0.0.1:9443/mutate"),
                client("https://127.0.0.1:9443/"),
                { "clientConfig": { "url": "https://a/" } },
            ])
        );
    }

    #[test]
    fn the_conversion_of_a_definition_is_redirected_and_other_kinds_are_not() {
        let client = json!({ "service": { "name": "w", "namespace": "n", "path": "/convert" } });
        let spec = json!({ "conversion": { "webhook": { "clientConfig": client } } });
        let definition = json!({ "kind": "CustomResourceDefinition", "spec": spec });
        let (mut redirected, mut other) = (definition.clone(), definition);
        redirect(&mut redirected, "https://127.0.0.1:1", b"");
        let url = redirected.pointer("/spec/conversion/webhook/clientConfig/url").unwrap();
        assert_eq!(url, "https://127.0.0.1:1/convert");
        other["kind"] = "Widget".into();
        let before = other.clone();
        redirect(&mut other, "https://127.0.0.1:1", b"");
        assert_eq!(other, before);
    }
}
