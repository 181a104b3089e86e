//! The server and the checks that all fuzz targets share. The cases are fixed; `PROPTEST_RNG_SEED`
//! (a number) and `PROPTEST_CASES` change them. A failing target prints its smallest case.

use embedded_apiserver::EmbeddedApiServer;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestCaseError};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::wire::Answer;

pub(crate) const MAPS: &str = "/api/v1/namespaces/default/configmaps";
pub(crate) const WIDGETS: &str = "/apis/fuzz.example.com/v1/namespaces/default/widgets";

/// `number` scales with proptest's default of 256 cases: each case starts a server and sends many
/// requests.
pub(crate) fn cases(number: u32) -> ProptestConfig {
    let given = ProptestConfig::default();
    let seed = if given.rng_seed == RngSeed::Random { RngSeed::Fixed(1) } else { given.rng_seed };
    let cases = given.cases.saturating_mul(number).div_ceil(256);
    ProptestConfig {
        cases,
        rng_seed: seed,
        failure_persistence: None,
        max_shrink_iters: 3000,
        ..given
    }
}

/// A server with a paused clock, and objects `a` and `b` of several kinds.
pub(crate) struct Target {
    runtime: tokio::runtime::Runtime,
    pub(crate) server: EmbeddedApiServer,
}

impl Target {
    pub(crate) fn new() -> Self {
        let builder =
            tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        let server = EmbeddedApiServer::builder().seed(1).build();
        let definition = serde_json::from_value(definition()).expect("a definition");
        let target = Self { runtime: builder.expect("a runtime"), server };
        target.server.register_definition(&definition).expect("it can be served");
        for (path, mut object) in objects() {
            for name in ["a", "b"] {
                object["metadata"]["name"] = name.into();
                let answer =
                    target.json(Method::POST, path, "application/json", object.to_string());
                assert_eq!(answer.expect("judged").code, StatusCode::CREATED, "{path}");
            }
        }
        target
    }

    /// Checks an answer: success, or a well-formed error.
    pub(crate) fn send(
        &self,
        method: Method,
        uri: &str,
        headers: &[(&str, &str)],
        body: impl Into<bytes::Bytes>,
    ) -> Result<Answer, TestCaseError> {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        // A request that is not valid HTTP cannot reach the server.
        let Ok(request) = request.body(Full::new(body.into())) else {
            return Ok(Answer {
                code: StatusCode::BAD_REQUEST,
                headers: Default::default(),
                text: String::new(),
            });
        };
        let response = self.runtime.block_on(self.server.service().oneshot(request));
        let (parts, body) = response.expect("no fault was planned").into_parts();
        let body = self.runtime.block_on(body.collect()).expect("no fault was planned").to_bytes();
        let text = String::from_utf8(body.to_vec());
        let answer = Answer {
            code: parts.status,
            headers: parts.headers,
            text: text.expect("answers are text"),
        };
        judge(&answer)?;
        Ok(answer)
    }

    pub(crate) fn json(
        &self,
        method: Method,
        uri: &str,
        media: &str,
        body: impl Into<bytes::Bytes>,
    ) -> Result<Answer, TestCaseError> {
        self.send(method, uri, &[("content-type", media)], body)
    }

    pub(crate) fn get(&self, uri: &str) -> Result<Answer, TestCaseError> {
        self.send(Method::GET, uri, &[], "")
    }

    /// Checks that other requests still succeed.
    pub(crate) fn serves_others(&self) -> Result<(), TestCaseError> {
        let path = "/api/v1/namespaces/kube-public/configmaps";
        let made =
            self.json(Method::POST, path, "application/json", r#"{"metadata":{"name":"other"}}"#)?;
        prop_assert_eq!(made.code, StatusCode::CREATED);
        prop_assert_eq!(self.get(&format!("{path}/other"))?.code, StatusCode::OK);
        Ok(())
    }
}

/// Encodes the value of a query.
pub(crate) fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// The names of a list's objects, in order.
pub(crate) fn names(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().into_iter().flatten();
    items.map(|item| item["metadata"]["name"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Checks an error: a Status with the code of the response, or a line of text outside of the API.
fn judge(answer: &Answer) -> Result<(), TestCaseError> {
    let Answer { code, text, headers } = answer;
    if code.is_success() || *code == StatusCode::NOT_MODIFIED {
        return Ok(());
    }
    let media = headers.get("content-type").map_or("", |value| value.to_str().unwrap_or_default());
    if code.is_redirection() {
        prop_assert!(headers.contains_key("location"), "{} to nowhere", code);
    } else if media.starts_with("text/plain") {
        let fails = is_as_the_real_server_fails(answer);
        prop_assert!((code.is_client_error() || fails) && !text.is_empty(), "{}: {:?}", code, text);
    } else if media.contains("json") {
        let status: Value =
            serde_json::from_str(text).map_err(|why| TestCaseError::fail(why.to_string()))?;
        prop_assert_eq!(&status["kind"], "Status", "{}: {}", code, text);
        prop_assert_eq!(&status["status"], "Failure", "{}: {}", code, text);
        prop_assert_eq!(&status["code"], code.as_u16(), "{}: {}", code, text);
        prop_assert!(
            status["message"].as_str().is_some_and(|message| !message.is_empty()),
            "{}",
            text
        );
    }
    prop_assert!(
        code.is_client_error() || is_as_the_real_server_fails(answer),
        "{}: {}",
        code,
        text
    );
    Ok(())
}

/// 5xx that kube-apiserver answers too. Conformance cases compare them.
fn is_as_the_real_server_fails(answer: &Answer) -> bool {
    let words: &[&str] = match answer.code.as_u16() {
        500 => &[
            "resourceVersion should not be set on objects to be created",
            "is no number of 64 bits",
            "no object can be in a namespace",
            "invalid resource name",
            "failed to create RequestInfo",
            "failed to create typed patch object",
            "failed to create manager for existing fields",
            "the applied configuration cannot be decoded",
            "apiVersion is missing",
            "caused apiserver to panic",
            // For strategic patches.
            "does not contain declared merge key",
            "unknown $patch",
            "doesn't match $setElementOrder list",
            "expected a list, got",
            "list element types are not identical",
            "merging lists cannot yet be specified",
            "cannot merge lists without merge key",
            "unable to find api field",
            "lists of lists are not supported",
            "value for key 0 is not a map",
        ],
        501 => &["does not implement"],
        504 => &["Too large resource version", "request did not complete"],
        _ => &[],
    };
    words.iter().any(|words| answer.text.contains(words))
}

/// A kind whose schema has many types of members.
fn definition() -> Value {
    let spec = json!({
        "type": "object",
        "properties": {
            "color": { "type": "string", "maxLength": 10, "pattern": "^[a-z]*$", "default": "red" },
            "size": { "type": "integer", "minimum": 0, "format": "int32" },
            "port": { "x-kubernetes-int-or-string": true },
            "set": { "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "set" },
            "list": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": {
                    "type": "object", "required": ["name"],
                    "properties": { "name": { "type": "string" }, "value": { "type": "number" } },
                },
            },
            "any": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
            "map": { "type": "object", "additionalProperties": { "type": "string", "nullable": true } },
            "when": { "type": "string", "format": "date-time" },
        },
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "widgets.fuzz.example.com" },
        "spec": {
            "group": "fuzz.example.com", "scope": "Namespaced",
            "names": { "kind": "Widget", "plural": "widgets", "singular": "widget" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {
                    "status": {}, "scale": { "specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size" },
                },
                "schema": { "openAPIV3Schema": {
                    "type": "object", "properties": { "spec": spec, "status": {
                        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                    } },
                } },
            }],
        },
    })
}

/// A valid object of each of several kinds.
pub(crate) fn objects() -> Vec<(&'static str, Value)> {
    let template = json!({
        "metadata": { "labels": { "app": "x" } },
        "spec": { "containers": [{ "name": "c", "image": "i", "ports": [{ "containerPort": 80 }] }] },
    });
    let object = |path, version: &str, kind: &str, more: Value| {
        let mut object = json!({ "apiVersion": version, "kind": kind });
        object["metadata"] =
            json!({ "name": "o", "labels": { "app": "x" }, "annotations": { "n": "1" } });
        if let (Value::Object(object), Value::Object(more)) = (&mut object, more) {
            object.extend(more);
        }
        (path, object)
    };
    vec![
        object(
            MAPS,
            "v1",
            "ConfigMap",
            json!({ "data": { "k": "v" }, "binaryData": { "b": "AAE=" } }),
        ),
        object(
            WIDGETS,
            "fuzz.example.com/v1",
            "Widget",
            json!({ "spec": { "color": "blue", "size": 1, "port": "x", "set": ["a", "b"], "any": { "x": [1] },
                "list": [{ "name": "a", "value": 1.5 }], "map": { "k": null }, "when": "2026-01-02T03:04:05Z" } }),
        ),
        object(
            "/api/v1/namespaces/default/pods",
            "v1",
            "Pod",
            json!({ "spec": template["spec"].clone() }),
        ),
        object(
            "/api/v1/namespaces/default/persistentvolumeclaims",
            "v1",
            "PersistentVolumeClaim",
            json!({ "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } } }),
        ),
        object(
            "/api/v1/namespaces/default/services",
            "v1",
            "Service",
            json!({ "spec": { "selector": { "app": "x" }, "ports": [{ "port": 80, "targetPort": "http" }] } }),
        ),
        object(
            "/apis/coordination.k8s.io/v1/namespaces/default/leases",
            "coordination.k8s.io/v1",
            "Lease",
            json!({ "spec": { "holderIdentity": "h", "renewTime": "2026-01-02T03:04:05.000001Z" } }),
        ),
        object(
            "/apis/apps/v1/namespaces/default/deployments",
            "apps/v1",
            "Deployment",
            json!({ "spec": { "replicas": 2, "selector": { "matchLabels": { "app": "x" } }, "template": template } }),
        ),
        object(
            "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
            "rbac.authorization.k8s.io/v1",
            "Role",
            json!({ "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }] }),
        ),
    ]
}
