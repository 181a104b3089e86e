//! Admission webhooks, beside what the conformance cases ask of both servers: writes that wait.

use embedded_apiserver::EmbeddedApiServer;
use http::StatusCode;
use serde_json::{Value, json};

use crate::wire;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const CONFIGURATIONS: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";

/// Creates a configuration of one webhook, of writes of this resource.
async fn configure(server: &EmbeddedApiServer, client_config: Value, group: &str, resource: &str) {
    let webhook = json!({
        "name": "a.example.com", "clientConfig": client_config,
        "admissionReviewVersions": ["v1"], "sideEffects": "None",
        "rules": [{
            "operations": ["*"], "apiGroups": [group], "apiVersions": ["*"],
            "resources": [resource],
        }],
    });
    let object = json!({ "metadata": { "name": "a" }, "webhooks": [webhook] });
    let made = wire::post(server, CONFIGURATIONS, &object).await;
    assert_eq!(made.code, StatusCode::CREATED, "{}", made.text);
}

fn map(name: &str) -> Value {
    json!({ "metadata": { "name": name } })
}

#[cfg(not(feature = "webhooks"))]
#[tokio::test]
async fn without_the_feature_a_write_that_matches_names_it() {
    let server = EmbeddedApiServer::new();
    configure(&server, json!({ "url": "https://127.0.0.1:9" }), "", "configmaps").await;
    let refused = wire::post(&server, MAPS, &map("x")).await;
    assert_eq!(refused.code, StatusCode::INTERNAL_SERVER_ERROR, "{}", refused.text);
    assert!(refused.text.contains("its feature `webhooks`"), "{}", refused.text);
    let other = wire::post(&server, "/api/v1/namespaces/default/secrets", &map("x")).await;
    assert_eq!(other.code, StatusCode::CREATED, "{}", other.text);
}

#[tokio::test]
async fn a_service_is_answered_with_what_to_do() {
    let server = EmbeddedApiServer::new();
    let service = json!({ "service": { "namespace": "default", "name": "a" } });
    configure(&server, service, "", "configmaps").await;
    let refused = wire::post(&server, MAPS, &map("x")).await;
    assert_eq!(refused.code, StatusCode::INTERNAL_SERVER_ERROR, "{}", refused.text);
    assert!(refused.text.contains("give clientConfig.url"), "{}", refused.text);
}

#[tokio::test]
async fn what_the_program_registers_calls_no_webhook() {
    let server = EmbeddedApiServer::new();
    let (group, resource) = ("apiextensions.k8s.io", "customresourcedefinitions");
    configure(&server, json!({ "url": "https://127.0.0.1:9" }), group, resource).await;
    let definition = json!({
        "metadata": { "name": "widgets.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": { "plural": "widgets", "kind": "Widget" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object" } },
            }],
        },
    });
    let definition = serde_json::from_value(definition).unwrap();
    let refused = server.register_definition(&definition).unwrap_err().to_string();
    assert!(refused.contains("write this object with a client"), "{refused}");
}

#[cfg(all(feature = "webhooks", feature = "tls"))]
mod called {
    use std::sync::Arc;
    use std::time::Duration;

    use api_front::{Backend, Body, Front, Listener};
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use bytes::Bytes;
    use embedded_apiserver::Tls;
    use http::{HeaderValue, Request, Response, header};
    use parking_lot::Mutex;
    use tokio::sync::Semaphore;

    use super::*;

    const MERGE: &str = "application/merge-patch+json";

    /// A webhook that allows everything, when it may answer.
    #[derive(Clone)]
    struct Webhook {
        seen: Arc<Mutex<Vec<Value>>>,
        answers: Arc<Semaphore>,
    }

    impl Webhook {
        async fn listen(answers: usize) -> (Self, Listener, Value) {
            let answers = Arc::new(Semaphore::new(answers));
            let webhook = Self { seen: Arc::default(), answers };
            let tls = Tls::self_signed().unwrap();
            let service = Front::builder().build().service(webhook.clone());
            let listener = service.listen_tls("127.0.0.1:0", &tls).await.unwrap();
            let ca_bundle = STANDARD.encode(tls.authority());
            let client_config = json!({ "url": listener.url(), "caBundle": ca_bundle });
            (webhook, listener, client_config)
        }

        /// Waits for this number of requests.
        async fn called(&self, calls: usize) {
            let called = async {
                while self.seen.lock().len() < calls {
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(Duration::from_secs(30), called).await.unwrap();
        }
    }

    impl Backend for Webhook {
        async fn answer(&self, request: Request<Bytes>) -> Response<Body> {
            let review: Value = serde_json::from_slice(request.body()).unwrap();
            let uid = review["request"]["uid"].clone();
            self.seen.lock().push(review);
            if let Ok(answer) = self.answers.acquire().await {
                answer.forget();
            }
            let answer = json!({
                "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                "response": { "uid": uid, "allowed": true },
            });
            let mut response = Response::new(Body::full(answer.to_string()));
            let json = HeaderValue::from_static("application/json");
            response.headers_mut().insert(header::CONTENT_TYPE, json);
            response
        }
    }

    #[tokio::test]
    async fn while_a_write_waits_others_go_on() {
        let (webhook, _listener, client_config) = Webhook::listen(0).await;
        let server = EmbeddedApiServer::new();
        configure(&server, client_config, "", "configmaps").await;
        let waiting = tokio::spawn({
            let server = server.clone();
            async move { wire::post(&server, MAPS, &map("x")).await.code }
        });
        webhook.called(1).await;
        let secrets = "/api/v1/namespaces/default/secrets";
        assert_eq!(wire::post(&server, secrets, &map("s")).await.code, StatusCode::CREATED);
        assert_eq!(wire::get(&server, &format!("{MAPS}/x")).await.code, StatusCode::NOT_FOUND);
        webhook.answers.add_permits(1);
        assert_eq!(waiting.await.unwrap(), StatusCode::CREATED);
        assert_eq!(wire::get(&server, &format!("{MAPS}/x")).await.code, StatusCode::OK);
    }

    #[tokio::test]
    async fn a_patch_that_lost_calls_the_webhook_again() {
        let (webhook, _listener, client_config) = Webhook::listen(0).await;
        let server = EmbeddedApiServer::new();
        wire::post(&server, MAPS, &map("x")).await;
        configure(&server, client_config, "", "configmaps").await;
        let path = format!("{MAPS}/x");
        let waiting = tokio::spawn({
            let (server, path) = (server.clone(), path.clone());
            async move { wire::patch(&server, &path, MERGE, &json!({ "data": { "a": "1" } })).await }
        });
        webhook.called(1).await;
        // A write that no rule matches.
        let gone = wire::delete(&server, &format!("{CONFIGURATIONS}/a"), &Value::Null).await;
        assert_eq!(gone.code, StatusCode::OK, "{}", gone.text);
        let other = json!({ "data": { "b": "2" } });
        assert_eq!(wire::patch(&server, &path, MERGE, &other).await.code, StatusCode::OK);
        webhook.answers.add_permits(2);
        let patched = waiting.await.unwrap();
        assert_eq!(patched.json()["data"], json!({ "a": "1", "b": "2" }), "{}", patched.text);
        let seen = webhook.seen.lock();
        assert_eq!(seen.len(), 2);
        assert_eq!(seen[1]["request"]["oldObject"]["data"], json!({ "b": "2" }));
        assert_eq!(seen[1]["request"]["object"]["data"], json!({ "a": "1", "b": "2" }));
    }

    #[tokio::test]
    async fn a_write_whose_client_goes_away_is_not_made() {
        let (webhook, _listener, client_config) = Webhook::listen(0).await;
        let server = EmbeddedApiServer::new();
        configure(&server, client_config, "", "configmaps").await;
        let waiting = tokio::spawn({
            let server = server.clone();
            async move { wire::post(&server, MAPS, &map("x")).await.code }
        });
        webhook.called(1).await;
        waiting.abort();
        assert!(waiting.await.unwrap_err().is_cancelled());
        webhook.answers.add_permits(2);
        // The next write finds everything as it was.
        assert_eq!(wire::post(&server, MAPS, &map("y")).await.code, StatusCode::CREATED);
        assert_eq!(wire::get(&server, &format!("{MAPS}/x")).await.code, StatusCode::NOT_FOUND);
    }

    #[tokio::test(start_paused = true)]
    async fn a_webhook_on_the_same_thread_answers_under_a_paused_clock() {
        let (webhook, _listener, client_config) = Webhook::listen(100).await;
        let server = EmbeddedApiServer::new();
        configure(&server, client_config, "", "configmaps").await;
        for at in 0..20 {
            let made = wire::post(&server, MAPS, &map(&format!("x{at}"))).await;
            assert_eq!(made.code, StatusCode::CREATED, "{}", made.text);
        }
        assert_eq!(webhook.seen.lock().len(), 20);
    }
}
