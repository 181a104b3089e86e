//! A kind as its case sees it, and the way through its verbs.

use http::Method;
use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::target::{APPLY, JSON_PATCH, MERGE, STRATEGIC};
use crate::conformance::{Outcome, Target};

/// A kind, as its case walks through its verbs.
pub(super) struct Sample {
    /// `v1`, or with a group.
    pub(super) version: &'static str,
    pub(super) kind: &'static str,
    pub(super) plural: &'static str,
    pub(super) is_namespaced: bool,
    /// Which of its subresources there are.
    pub(super) has_status: bool,
    pub(super) has_scale: bool,
    /// The name of its object that is called by a letter.
    pub(super) name: fn(&Target, &str) -> String,
    /// What a new object of a name has beside its metadata.
    pub(super) content: fn(&Target, &str) -> Value,
}

pub(super) const KIND: Sample = Sample {
    version: "v1",
    kind: "",
    plural: "",
    is_namespaced: true,
    has_status: false,
    has_scale: false,
    name: |t, letter| t.own(letter),
    content: |_, _| json!({}),
};
impl Sample {
    fn path(&self, t: &Target, rest: &str) -> String {
        let root = if self.version == "v1" { "/api" } else { "/apis" };
        let place =
            if self.is_namespaced { format!("/namespaces/{}", t.namespace) } else { String::new() };
        format!("{root}/{}{place}/{}{rest}", self.version, self.plural)
    }

    /// A new object of the case, which its label tells from those of others.
    fn object(&self, t: &Target, name: &str) -> Value {
        let mut object = (self.content)(t, name);
        object["apiVersion"] = self.version.into();
        object["kind"] = self.kind.into();
        object["metadata"] = json!({ "name": name, "labels": { "case": t.class } });
        object
    }

    /// Custom kinds have no strategic merge patch.
    fn is_custom(&self) -> bool {
        self.version.contains("example.com")
    }
}

fn note(value: &str) -> Value {
    json!({ "metadata": { "annotations": { "note": value } } })
}

/// Every verb, in an order in which each finds what it needs.
pub(super) async fn walk(t: &Target, kind: &'static Sample) -> Outcome {
    let name = (kind.name)(t, "a");
    let (collection, path) = (kind.path(t, ""), kind.path(t, &format!("/{name}")));
    let own = format!("?labelSelector=case%3D{}", t.class);
    let made = t.make(&collection, kind.object(t, &name)).await?;
    has(&made, json!({ "metadata": { "name": name, "uid": "*", "resourceVersion": "*" } }))?;
    has(&t.get(&path).await?.is(200)?, json!({ "kind": kind.kind, "apiVersion": kind.version }))?;
    let list = t.get(&format!("{collection}{own}")).await?.is(200)?;
    has(&list, json!({ "kind": format!("{}List", kind.kind) }))?;
    same("names", names(&list), name.clone())?;
    let from = format!("{collection}{own}&resourceVersion={}", version(&list));
    let mut watch = t.watch(&from).await?;

    writes(t, kind, &path).await?;
    let seen = watch.event("MODIFIED", &name).await?;
    has(&seen, json!({ "metadata": { "uid": text(&made, "/metadata/uid") } }))?;
    subresources(t, kind, &path).await?;

    let ends = json!({ "gracePeriodSeconds": 0, "propagationPolicy": "Background" });
    t.delete_with(&path, ends.clone()).await?.is(200)?;
    t.make(&collection, kind.object(t, &(kind.name)(t, "b"))).await?;
    let swept = t.delete_with(&format!("{collection}{own}"), ends).await?;
    // Namespaces go one by one.
    if kind.kind == "Namespace" {
        swept.refused(405, "MethodNotAllowed")?;
    } else {
        swept.is(200)?;
    }
    Ok(())
}

/// Updates and patches of an annotation, each seen in the answer to the next one.
async fn writes(t: &Target, kind: &Sample, path: &str) -> Outcome {
    let patched = t.merge(path, note("merged")).await?.is(200)?;
    has(&patched, note("merged"))?;
    let operation =
        json!([{ "op": "replace", "path": "/metadata/annotations/note", "value": "operated" }]);
    has(&t.patch(path, JSON_PATCH, &operation).await?.is(200)?, note("operated"))?;
    let strategic = t.patch(path, STRATEGIC, &note("strategic")).await?;
    if kind.is_custom() {
        strategic.refused(415, "UnsupportedMediaType")?;
    } else {
        has(&strategic.is(200)?, note("strategic"))?;
    }
    let applied = json!({
        "apiVersion": kind.version, "kind": kind.kind, "metadata": { "annotations": { "note": "applied" } },
    });
    let applies = format!("{path}?fieldManager=m&force=true");
    has(&t.patch(&applies, APPLY, &applied).await?.is(200)?, note("applied"))?;
    let replaced = t
        .replace(path, |whole| whole["metadata"]["annotations"]["note"] = "replaced".into())
        .await?;
    has(&replaced.is(200)?, note("replaced"))
}

/// The status and the scale, read and written, or not there.
async fn subresources(t: &Target, kind: &Sample, path: &str) -> Outcome {
    let status = format!("{path}/status");
    if kind.has_status {
        t.replace(&status, |_| ()).await?.is(200)?;
        t.merge(&status, json!({})).await?.is(200)?;
        t.patch(&status, JSON_PATCH, &json!([])).await?.is(200)?;
        if !kind.is_custom() {
            t.patch(&status, STRATEGIC, &json!({})).await?.is(200)?;
        }
        let applied = json!({ "apiVersion": kind.version, "kind": kind.kind });
        t.patch(&format!("{status}?fieldManager=m"), APPLY, &applied).await?.is(200)?;
        t.delete(&status).await?.refused(405, "MethodNotAllowed")?;
    } else {
        t.get(&status).await?.is(404)?;
    }
    let scale = format!("{path}/scale");
    if !kind.has_scale {
        t.get(&scale).await?.is(404)?;
        return Ok(());
    }
    let whole = t.get(&scale).await?.is(200)?;
    has(&whole, json!({ "kind": "Scale", "apiVersion": "autoscaling/v1" }))?;
    t.put(&scale, &whole).await?.is(200)?;
    for media in [MERGE, STRATEGIC] {
        let scaled =
            t.patch(&scale, media, &json!({ "spec": { "replicas": 2 } })).await?.is(200)?;
        has(&scaled, json!({ "spec": { "replicas": 2 } }))?;
    }
    let operation = json!([{ "op": "replace", "path": "/spec/replicas", "value": 0 }]);
    t.patch(&scale, JSON_PATCH, &operation).await?.is(200)?;
    t.send(Method::POST, &scale, &[("content-type", "application/json")], whole.to_string())
        .await?
        .refused(405, "MethodNotAllowed")?;
    Ok(())
}
