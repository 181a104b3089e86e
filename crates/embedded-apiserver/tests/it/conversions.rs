//! Conversion webhooks: how often they are asked, and where they are not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use api_front::{Backend, Body, Front, Listener, Tls};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use embedded_apiserver::EmbeddedApiServer;
use http::{Method, Request, Response};
use serde_json::{Value, json};

use crate::wire;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Returns the objects in the desired version, otherwise unchanged, and counts the requests.
#[derive(Clone, Default)]
struct Webhook(Arc<AtomicUsize>);

impl Backend for Webhook {
    async fn answer(&self, request: Request<Bytes>) -> Response<Body> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let mut review: Value = serde_json::from_slice(request.body()).unwrap();
        let desired = review["request"]["desiredAPIVersion"].clone();
        let mut objects = review["request"]["objects"].take();
        for object in objects.as_array_mut().unwrap() {
            object["apiVersion"] = desired.clone();
        }
        let uid = review["request"]["uid"].take();
        review["response"] = json!({
            "uid": uid, "convertedObjects": objects, "result": { "status": "Success" },
        });
        Response::new(Body::full(review.to_string()))
    }
}

/// A server with a definition of things, `v1` and `v2`, whose webhook counts.
struct Things {
    server: EmbeddedApiServer,
    asked: Arc<AtomicUsize>,
    listener: Listener,
}

impl Things {
    async fn new() -> Self {
        let (webhook, tls) = (Webhook::default(), Tls::self_signed().unwrap());
        let asked = Arc::clone(&webhook.0);
        let service = Front::builder().build().service(webhook);
        let listener = service.listen_tls("127.0.0.1:0", &tls).await.unwrap();
        let ca = STANDARD.encode(tls.authority());
        let config = json!({ "url": listener.url(), "caBundle": ca });
        let things = Self { server: EmbeddedApiServer::new(), asked, listener };
        things.make(DEFINITIONS, &definition(config)).await;
        things
    }

    async fn make(&self, path: &str, object: &Value) {
        let (code, answer) = send(&self.server, Method::POST, path, object).await;
        assert_eq!(code, 201, "{answer}");
    }

    async fn get(&self, path: &str) -> Value {
        let (code, answer) = send(&self.server, Method::GET, path, &Value::Null).await;
        assert_eq!(code, 200, "{answer}");
        answer
    }

    /// The requests since the last call.
    fn asked(&self) -> usize {
        self.asked.swap(0, Ordering::Relaxed)
    }
}

async fn send(
    server: &EmbeddedApiServer,
    method: Method,
    path: &str,
    body: &Value,
) -> (u16, Value) {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let json = [("content-type", "application/json")];
    let answer = wire::send(server, method, path, &json, body).await;
    (answer.code.as_u16(), answer.json())
}

fn definition(client_config: Value) -> Value {
    let version = |name: &str| {
        let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        json!({
            "name": name, "served": true, "storage": name == "v1",
            "schema": { "openAPIV3Schema": schema },
        })
    };
    let webhook = json!({ "conversionReviewVersions": ["v1"], "clientConfig": client_config });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "things.example.com" },
        "spec": {
            "group": "example.com", "scope": "Cluster",
            "names": { "plural": "things", "kind": "Thing" },
            "conversion": { "strategy": "Webhook", "webhook": webhook },
            "versions": [version("v1"), version("v2")],
        },
    })
}

fn path(version: &str, rest: &str) -> String {
    format!("/apis/example.com/{version}/things{rest}")
}

fn thing(version: &str, name: &str) -> Value {
    json!({
        "apiVersion": format!("example.com/{version}"), "kind": "Thing",
        "metadata": { "name": name },
    })
}

#[tokio::test]
async fn a_list_asks_for_each_object_once() {
    let things = Things::new().await;
    for at in 0..40 {
        things.make(&path("v1", ""), &thing("v1", &format!("t{at}"))).await;
    }
    assert_eq!(things.asked(), 0, "writes in the storage version");
    things.get(&path("v1", "")).await;
    assert_eq!(things.asked(), 0, "a list in the storage version");
    let list = things.get(&path("v2", "")).await;
    let items = list["items"].as_array().unwrap();
    assert_eq!(items.len(), 40);
    assert!(items.iter().all(|item| item["apiVersion"] == "example.com/v2"));
    assert_eq!(things.asked(), 40, "the first list");
    things.get(&path("v2", "")).await;
    assert_eq!(things.asked(), 0, "the second list");
    things.get(&path("v2", "/t1")).await;
    assert_eq!(things.asked(), 1, "a get");
}

#[tokio::test]
async fn a_definition_goes_without_its_webhook() {
    let things = Things::new().await;
    things.make(&path("v1", ""), &thing("v1", "a")).await;
    things.make(&path("v2", ""), &thing("v2", "b")).await;
    let own = format!("{DEFINITIONS}/things.example.com");
    let mut definition = things.get(&own).await;
    for (at, storage) in [(0, false), (1, true)] {
        definition["spec"]["versions"][at]["storage"] = storage.into();
    }
    assert_eq!(send(&things.server, Method::PUT, &own, &definition).await.0, 200);
    let Things { server, listener, .. } = things;
    listener.shutdown().await;
    let (code, answer) = send(&server, Method::GET, &path("v2", ""), &Value::Null).await;
    assert_eq!(code, 500, "{answer}");
    let message = answer["message"].as_str().unwrap();
    assert!(message.ends_with("connect: connection refused"), "{message}");
    assert_eq!(send(&server, Method::DELETE, &own, &Value::Null).await.0, 200);
    assert_eq!(send(&server, Method::GET, &own, &Value::Null).await.0, 404);
}

#[tokio::test]
async fn a_service_is_not_routed_to() {
    let server = EmbeddedApiServer::new();
    let service = json!({ "service": { "name": "a", "namespace": "b" } });
    let (code, answer) = send(&server, Method::POST, DEFINITIONS, &definition(service)).await;
    assert_eq!(code, 201, "{answer}");
    let new = thing("v2", "a");
    let (code, answer) = send(&server, Method::POST, &path("v2", ""), &new).await;
    assert_eq!(code, 500, "{answer}");
    let message = answer["message"].as_str().unwrap();
    assert!(message.contains("give clientConfig.url"), "{message}");
}
