//! A definition of two versions, and the webhook that converts between them.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::definitions::DEFINITIONS;
use crate::conformance::webhook_server::{Certificate, Reply, Seen, WebhookServer};
use crate::conformance::{Outcome, Target};

type Edit = Box<dyn Fn(&mut Value) + Send + Sync>;

/// How the webhook answers.
#[derive(Default)]
enum Mode {
    /// As it should.
    #[default]
    Good,
    /// With a change of the good answer.
    Edited(Edit),
    /// With this.
    Fixed(Reply),
}

/// Things, of which `v1` has `spec.color` and `v2` has `spec.colour`. `v1` is the storage version.
pub(super) struct Hook {
    pub(super) server: WebhookServer,
    mode: Arc<Mutex<Mode>>,
    group: String,
    namespace: String,
}

impl Hook {
    /// A definition with its webhook, once both versions are served.
    pub(super) async fn served(t: &Target) -> Result<Self, String> {
        let hook = Self::with(t, Certificate::Good).await?;
        hook.define(t, hook.definition()).await?;
        Ok(hook)
    }

    /// A webhook, without its definition.
    pub(super) async fn with(t: &Target, certificate: Certificate) -> Result<Self, String> {
        let mode = Arc::<Mutex<Mode>>::default();
        let how = Arc::clone(&mode);
        let server = WebhookServer::with(certificate, move |seen| answer(&how.lock(), seen));
        let (group, namespace) = (format!("{}.example.com", t.class), t.namespace.clone());
        Ok(Self { server: server.await?, mode, group, namespace })
    }

    /// Creates a definition and waits until both versions are served.
    pub(super) async fn define(&self, t: &Target, definition: Value) -> Outcome {
        t.make(DEFINITIONS, definition).await?;
        for version in ["v1", "v2"] {
            t.until(&self.things(version, ""), "served", |code, _| code == 200).await?;
        }
        Ok(())
    }

    /// The definition, with a `clientConfig` that reaches the webhook.
    pub(super) fn definition(&self) -> Value {
        let webhook = json!({
            "conversionReviewVersions": ["v1"], "clientConfig": self.server.client_config("/convert"),
        });
        definition(&self.group, json!({ "strategy": "Webhook", "webhook": webhook }))
    }

    /// The path of the definition.
    pub(super) fn own(&self) -> String {
        format!("{DEFINITIONS}/things.{}", self.group)
    }

    /// `GROUP/v1`.
    pub(super) fn version(&self, version: &str) -> String {
        format!("{}/{version}", self.group)
    }

    /// The path of the things in a version.
    pub(super) fn things(&self, version: &str, rest: &str) -> String {
        format!("/apis/{}/namespaces/{}/things{rest}", self.version(version), self.namespace)
    }

    /// A thing as a version has it.
    pub(super) fn thing(&self, version: &str, name: &str, color: &str) -> Value {
        let member = if version == "v1" { "color" } else { "colour" };
        json!({
            "apiVersion": self.version(version), "kind": "Thing", "metadata": { "name": name },
            "spec": { member: color },
        })
    }

    /// Creates a thing in a version.
    pub(super) async fn make(
        &self,
        t: &Target,
        version: &str,
        name: &str,
        color: &str,
    ) -> Result<Value, String> {
        t.make(&self.things(version, ""), self.thing(version, name, color)).await
    }

    /// From now on answers are changed so.
    pub(super) fn edit(&self, edit: impl Fn(&mut Value) + Send + Sync + 'static) {
        *self.mode.lock() = Mode::Edited(Box::new(edit));
    }

    /// From now on the one object of an answer is changed so.
    pub(super) fn edit_object(&self, edit: impl Fn(&mut Value) + Send + Sync + 'static) {
        self.edit(move |answer| {
            if let Some(object) = answer.pointer_mut("/response/convertedObjects/0") {
                edit(object);
            }
        });
    }

    /// From now on this is the answer.
    pub(super) fn fix(&self, reply: Reply) {
        *self.mode.lock() = Mode::Fixed(reply);
    }

    /// From now on answers are good.
    pub(super) fn mend(&self) {
        *self.mode.lock() = Mode::Good;
    }

    /// From now on the webhook answers 500.
    pub(super) fn fail(&self) {
        self.fix(Reply::Response(500, "text/plain", "oh no".to_owned()));
    }

    /// A get of a thing in `v2` fails with this message behind `conversion webhook for ... `.
    pub(super) async fn get_fails(&self, t: &Target, name: &str, why: &str) -> Outcome {
        let answer = t.get(&self.things("v2", &format!("/{name}"))).await?;
        let about = format!("{}, Kind=Thing", self.version("v1"));
        same("the message", self.failure(&answer)?, format!("conversion webhook for {about} {why}"))
    }

    /// The message of an answer that a webhook has failed: 500, and no reason.
    pub(super) fn failure(&self, answer: &Answer) -> Result<String, String> {
        let status = answer.refused(500, "")?;
        Ok(text(&status, "/message").to_owned())
    }
}

/// A definition of things with this conversion.
pub(super) fn definition(group: &str, conversion: Value) -> Value {
    let version = |name: &str, member: &str| {
        let spec = json!({
            "type": "object",
            "properties": { member: { "type": "string" }, "size": { "type": "integer" } },
        });
        let status = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        let schema = json!({ "type": "object", "properties": { "spec": spec, "status": status } });
        let path = format!(".spec.{member}");
        json!({
            "name": name, "served": true, "storage": name == "v1",
            "schema": { "openAPIV3Schema": schema },
            "subresources": { "status": {} },
            "selectableFields": [{ "jsonPath": path }],
            "additionalPrinterColumns": [{ "name": member, "type": "string", "jsonPath": path }],
        })
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("things.{group}") },
        "spec": {
            "group": group, "scope": "Namespaced", "names": { "plural": "things", "kind": "Thing" },
            "conversion": conversion, "versions": [version("v1", "color"), version("v2", "colour")],
        },
    })
}

fn answer(mode: &Mode, seen: &Seen) -> Reply {
    if let Mode::Fixed(reply) = mode {
        return reply.clone();
    }
    let mut review = converted(&seen.review);
    if let Mode::Edited(edit) = mode {
        edit(&mut review);
    }
    Reply::review(&review)
}

/// The good answer.
fn converted(review: &Value) -> Value {
    let desired = text(review, "/request/desiredAPIVersion");
    let objects = items(review, "/request/objects").iter();
    let objects: Vec<Value> = objects.map(|object| convert(object.clone(), desired)).collect();
    json!({
        "apiVersion": review["apiVersion"], "kind": review["kind"],
        "response": {
            "uid": review["request"]["uid"], "result": { "status": "Success" },
            "convertedObjects": objects,
        },
    })
}

fn convert(mut object: Value, desired: &str) -> Value {
    let (from, to) =
        if desired.ends_with("v1") { ("colour", "color") } else { ("color", "colour") };
    object["apiVersion"] = desired.into();
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut)
        && let Some(color) = spec.remove(from)
    {
        spec.insert(to.to_owned(), color);
    }
    object
}
