//! A test of an operator's mutating webhook: the webhook and the API server in one process, over
//! HTTPS on loopback. Then the webhook fails, and its failure policy decides.

use std::error::Error;

use api_front::{Backend, Body, Front};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use embedded_apiserver::{EmbeddedApiServer, Fault, FaultPlan, Match, Rule, Tls};
use http::{HeaderValue, Request, Response, header};
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kube::api::{Api, PostParams};
use serde_json::{Value, json};

/// The operator's webhook: it gives each object the label `team`. Any HTTPS server will do in its
/// place, as axum.
#[derive(Clone)]
struct Webhook;

impl Backend for Webhook {
    async fn answer(&self, request: Request<Bytes>) -> Response<Body> {
        let review: Value = serde_json::from_slice(request.body()).unwrap_or_default();
        let patch = json!([{ "op": "add", "path": "/metadata/labels", "value": { "team": "a" } }]);
        let answer = json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "response": {
                "uid": review["request"]["uid"], "allowed": true,
                "patchType": "JSONPatch", "patch": STANDARD.encode(patch.to_string()),
            },
        });
        let mut response = Response::new(Body::full(answer.to_string()));
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        response
    }
}

/// The configuration, as an operator's manifest has it, but for `clientConfig`: a test names the
/// address of the webhook in place of a Service.
fn configuration(url: &str, tls: &Tls) -> Result<MutatingWebhookConfiguration, serde_json::Error> {
    serde_json::from_value(json!({
        "metadata": { "name": "teams" },
        "webhooks": [{
            "name": "teams.example.com",
            "clientConfig": { "url": url, "caBundle": STANDARD.encode(tls.authority()) },
            "rules": [{
                "operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"],
                "resources": ["configmaps"],
            }],
            "admissionReviewVersions": ["v1"], "sideEffects": "None", "timeoutSeconds": 1,
        }],
    }))
}

fn config_map(name: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    map
}

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "an example shows what happens")]
async fn main() -> Result<(), Box<dyn Error>> {
    // The webhook listens, with a certificate that is made for it.
    let (front, tls) = (Front::builder().build(), Tls::self_signed()?);
    let webhook = front.service(Webhook).listen_tls("127.0.0.1:0", &tls).await?;

    // The server calls it for each new ConfigMap, as soon as the configuration is created.
    let server = EmbeddedApiServer::new();
    let client = server.client();
    let configurations = Api::<MutatingWebhookConfiguration>::all(client.clone());
    let configured = configuration(&format!("{}/mutate", webhook.url()), &tls)?;
    configurations.create(&PostParams::default(), &configured).await?;
    let maps = Api::<ConfigMap>::default_namespaced(client);
    let made = maps.create(&PostParams::default(), &config_map("a")).await?;
    println!("{} has the labels {:?}", made.name_any(), made.labels());
    assert_eq!(made.labels()["team"], "a");

    // A webhook that does not answer in time refuses the write: its failure policy is `Fail`.
    let silence = Rule::new(Match::any(), Fault::NeverAnswer);
    front.faults().set_plan(FaultPlan::none().rule(silence));
    let refused = maps.create(&PostParams::default(), &config_map("b")).await;
    let Err(kube::Error::Api(status)) = refused else { return Err("it is made".into()) };
    println!("{}", status.message);

    // With the failure policy `Ignore` it counts as allowed.
    let mut configured = configurations.get("teams").await?;
    for webhook in configured.webhooks.iter_mut().flatten() {
        webhook.failure_policy = Some("Ignore".to_owned());
    }
    configurations.replace("teams", &PostParams::default(), &configured).await?;
    let made = maps.create(&PostParams::default(), &config_map("b")).await?;
    assert!(made.labels().is_empty());
    println!("{} has no label: the webhook was ignored", made.name_any());
    Ok(())
}
