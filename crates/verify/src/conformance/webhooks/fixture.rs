//! Webhooks of one case: a server, and configurations that select the case's own writes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::conformance::answer::{Answer, Outcome, text};
use crate::conformance::objects;
use crate::conformance::target::Target;
use crate::conformance::waiting::eventually;
use crate::conformance::webhook_server::{Certificate, Reply, Seen, WebhookServer};

/// The plural of one of the two kinds of configurations.
pub(in crate::conformance) const MUTATING: &str = "mutatingwebhookconfigurations";
pub(in crate::conformance) const VALIDATING: &str = "validatingwebhookconfigurations";

/// The label of objects that no webhook of the case sees. Their refusal tells that a configuration
/// is in effect, which takes the real server a moment.
const MARKER: &str = "marker";

/// The path of a configuration.
pub(in crate::conformance) fn configuration(t: &Target, kind: &str, name: &str) -> String {
    format!("/apis/admissionregistration.k8s.io/v1/{kind}/{}", t.own(name))
}

/// A server of webhooks. The path of a webhook is its name.
pub(in crate::conformance) struct Hooks<'t> {
    t: &'t Target,
    pub(in crate::conformance) server: WebhookServer,
}

/// A server whose reviews get these answers.
pub(in crate::conformance) async fn hooks<'t>(
    t: &'t Target,
    answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
) -> Result<Hooks<'t>, String> {
    hooks_with(t, Certificate::Good, answer).await
}

pub(in crate::conformance) async fn hooks_with<'t>(
    t: &'t Target,
    certificate: Certificate,
    answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
) -> Result<Hooks<'t>, String> {
    // A webhook may be asked for a moment after its configuration is deleted.
    t.keep_namespace();
    let answered = move |seen: &Seen| match is_marker(seen) {
        true => deny(seen, json!({ "message": "it is a marker" })),
        false => answer(seen),
    };
    Ok(Hooks { t, server: WebhookServer::with(certificate, answered).await? })
}

fn is_marker(seen: &Seen) -> bool {
    seen.path.starts_with("/marker")
}

impl Hooks<'_> {
    /// A webhook: what it does not say is set so that it sees creates of ConfigMaps in the case's
    /// namespace.
    pub(in crate::conformance) fn webhook(&self, name: &str, said: Value) -> Value {
        let mut webhook = json!({
            "name": format!("{name}.example.com"),
            "clientConfig": self.server.client_config(&format!("/{name}")),
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "rules": rules(&["CREATE"], "/v1", &["configmaps"]),
            "namespaceSelector": {
                "matchLabels": { "kubernetes.io/metadata.name": self.t.namespace },
            },
            "objectSelector": {
                "matchExpressions": [{ "key": MARKER, "operator": "DoesNotExist" }],
            },
        });
        for (member, value) in said.as_object().into_iter().flatten() {
            webhook[member] = value.clone();
        }
        webhook
    }

    /// Creates a configuration of these webhooks and waits until it is in effect.
    pub(in crate::conformance) async fn register(
        &self,
        kind: &str,
        name: &str,
        webhooks: Vec<Value>,
    ) -> Outcome {
        let object = self.object(name, webhooks);
        let collection = format!("/apis/admissionregistration.k8s.io/v1/{kind}");
        self.t.post(&collection, &object).await?.is(201)?;
        self.until(name, true).await
    }

    /// One webhook in a configuration of its name.
    pub(in crate::conformance) async fn one(&self, kind: &str, name: &str, said: Value) -> Outcome {
        self.register(kind, name, vec![self.webhook(name, said)]).await
    }

    fn object(&self, name: &str, mut webhooks: Vec<Value>) -> Value {
        let label = self.t.own(name);
        webhooks.push(
            self.webhook(MARKER, json!({ "objectSelector": { "matchLabels": { MARKER: label } } })),
        );
        json!({ "metadata": { "name": label }, "webhooks": webhooks })
    }

    /// Waits until a configuration is in effect, or no more.
    pub(in crate::conformance) async fn until(&self, name: &str, in_effect: bool) -> Outcome {
        let mut marker = objects::named(MARKER);
        marker["metadata"]["labels"] = json!({ MARKER: self.t.own(name) });
        let path = self.t.maps("?dryRun=All");
        eventually(async || {
            let answer = self.t.post(&path, &marker).await?;
            let is_there = answer.code != 201;
            Ok(if is_there == in_effect { Ok(()) } else { Err(answer.text) })
        })
        .await
    }

    /// The requests that came for the case's writes, in order.
    pub(in crate::conformance) fn seen(&self) -> Vec<Seen> {
        let of_controller = |seen: &Seen| {
            let user = text(&seen.review, "/request/userInfo/username");
            ["system:kube-", "system:serviceaccount:"].iter().any(|begin| user.starts_with(begin))
        };
        let seen = self.server.seen().into_iter();
        seen.filter(|seen| !is_marker(seen) && !of_controller(seen)).collect()
    }

    /// `request` of the reviews.
    pub(in crate::conformance) fn requests(&self) -> Vec<Value> {
        self.seen().into_iter().map(|mut seen| seen.review["request"].take()).collect()
    }

    /// The names of the called webhooks, in order.
    pub(in crate::conformance) fn called(&self) -> String {
        let names: Vec<String> = self.seen().iter().map(|seen| name(seen).to_owned()).collect();
        names.join(" ")
    }

    /// The operations and the names of the objects, in order. A repeated one counts once: the real
    /// server asks again if its cache was stale.
    pub(in crate::conformance) fn operations(&self) -> String {
        let requests = self.requests();
        let operations = requests
            .iter()
            .map(|request| format!("{} {}", text(request, "/operation"), text(request, "/name")));
        let mut operations: Vec<_> = operations.collect();
        operations.dedup();
        operations.join(", ")
    }
}

/// The name of the webhook that a request is for.
pub(in crate::conformance) fn name(seen: &Seen) -> &str {
    seen.path.trim_start_matches('/').split('?').next().unwrap_or_default()
}

/// A rule for objects in namespaces. The version is as in `apiVersion`; core's begins with a slash.
pub(in crate::conformance) fn rules(
    operations: &[&str],
    version: &str,
    resources: &[&str],
) -> Value {
    let (group, version) = version.split_once('/').unwrap_or((version, "*"));
    json!([{
        "operations": operations, "apiGroups": [group], "apiVersions": [version],
        "resources": resources, "scope": "Namespaced",
    }])
}

/// An answer with these members beside the uid.
pub(in crate::conformance) fn respond(seen: &Seen, mut response: Value) -> Reply {
    response["uid"] = seen.review["request"]["uid"].clone();
    Reply::review(&json!({
        "apiVersion": seen.review["apiVersion"], "kind": "AdmissionReview", "response": response,
    }))
}

pub(in crate::conformance) fn allow(seen: &Seen) -> Reply {
    respond(seen, json!({ "allowed": true }))
}

pub(in crate::conformance) fn deny(seen: &Seen, status: Value) -> Reply {
    respond(seen, json!({ "allowed": false, "status": status }))
}

/// Allows with a JSON patch.
pub(in crate::conformance) fn patch(seen: &Seen, operations: Value) -> Reply {
    let patch = STANDARD.encode(operations.to_string());
    respond(seen, json!({ "allowed": true, "patchType": "JSONPatch", "patch": patch }))
}

/// Adds the name of the webhook to an entry of the ConfigMap.
pub(in crate::conformance) fn sign(seen: &Seen) -> Reply {
    let before = text(&seen.review, "/request/object/data/k");
    let value = format!("{before} {}", name(seen));
    patch(seen, json!([{ "op": "replace", "path": "/data/k", "value": value }]))
}

/// The path of a refusal's text behind `Post `.
pub(in crate::conformance) fn failed(answer: &Answer, name: &str, why: &str) -> Outcome {
    let why = format!("failed calling webhook \"{name}.example.com\": {why}");
    answer.says(500, "InternalError", &why).map(drop)
}

pub(in crate::conformance) fn base64(text: &str) -> String {
    STANDARD.encode(text)
}
