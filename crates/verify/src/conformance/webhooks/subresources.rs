//! Webhooks of subresources.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::{GROUP, pod, widget};
use crate::conformance::target::Target;
use crate::conformance::webhooks::fixture::*;
use crate::conformance::{Case, case};

async fn deployment(t: &Target) -> Result<String, String> {
    let labels = json!({ "a": "b" });
    let template = json!({
        "metadata": { "labels": labels },
        "spec": { "containers": [{ "name": "c", "image": "i" }] },
    });
    let spec = json!({ "paused": true, "replicas": 1, "selector": { "matchLabels": labels }, "template": template });
    let path = |rest: &str| t.of_group("apps/v1", "deployments", rest);
    t.make(&path(""), json!({ "metadata": { "name": "x" }, "spec": spec })).await?;
    Ok(path("/x"))
}

fn of(resources: &[&str]) -> Value {
    json!({ "rules": rules(&["*"], "apps/v1", resources) })
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "a_rule_of_a_resource_does_not_name_its_subresources",
            "A rule of a resource sees no write to its status, and a rule of the status no other write.",
            async |t| {
                // A kind that no controller writes to: a conflict would make a second call.
                t.make(&t.widgets(""), widget("x", json!({ "size": 1 }))).await?;
                let hooks = hooks(t, allow).await?;
                let of = |resource: &str| json!({ "rules": rules(&["*"], &format!("{GROUP}/v1"), &[resource]) });
                hooks.one(VALIDATING, "all", of("widgets")).await?;
                hooks.one(VALIDATING, "status", of("widgets/status")).await?;
                t.merge(&t.widgets("/x/status"), json!({ "status": { "phase": "up" } }))
                    .await?
                    .is(200)?;
                same("calls", hooks.called(), "status")?;
                t.merge(&t.widgets("/x"), json!({ "spec": { "size": 2 } })).await?.is(200)?;
                same("calls", hooks.called(), "status all")
            },
        ),
        case(
            "a_review_of_a_status",
            "The review of a write to the status has the whole object and the name of the subresource.",
            async |t| {
                let path = deployment(t).await?;
                let hooks = hooks(t, |seen| {
                    patch(
                        seen,
                        json!([{ "op": "add", "path": "/status/readyReplicas", "value": 1 }]),
                    )
                })
                .await?;
                hooks.one(MUTATING, "see", of(&["deployments/*"])).await?;
                let change = json!({ "status": { "replicas": 3 } });
                let written = t.merge(&format!("{path}/status"), change).await?.is(200)?;
                has(&written, json!({ "status": { "replicas": 3, "readyReplicas": 1 } }))?;
                has(
                    &hooks.requests()[0],
                    json!({
                        "kind": { "kind": "Deployment" }, "resource": { "resource": "deployments" },
                        "subResource": "status", "requestSubResource": "status", "operation": "UPDATE",
                        "object": { "kind": "Deployment", "status": { "replicas": 3 }, "spec": { "paused": true } },
                        "oldObject": { "kind": "Deployment" },
                    }),
                )
            },
        ),
        case(
            "a_status_webhook_changes_the_status_alone",
            "What a webhook changes of the spec in a write to the status is lost.",
            async |t| {
                let path = deployment(t).await?;
                let hooks = hooks(t, |seen| {
                    patch(seen, json!([{ "op": "replace", "path": "/spec/replicas", "value": 9 }]))
                })
                .await?;
                hooks.one(MUTATING, "see", of(&["deployments/status"])).await?;
                let change = json!({ "status": { "replicas": 3 } });
                let written = t.merge(&format!("{path}/status"), change).await?.is(200)?;
                has(&written, json!({ "status": { "replicas": 3 }, "spec": { "replicas": 1 } }))
            },
        ),
        case(
            "a_review_of_a_scale",
            "The review of a write to the scale has Scales, and a webhook may change the replicas.",
            async |t| {
                let path = deployment(t).await?;
                let hooks = hooks(t, |seen| match text(&seen.review, "/request/operation") {
                    "UPDATE" if name(seen) == "change" => patch(
                        seen,
                        json!([{ "op": "replace", "path": "/spec/replicas", "value": 5 }]),
                    ),
                    _ => allow(seen),
                })
                .await?;
                hooks.one(MUTATING, "change", of(&["deployments/scale"])).await?;
                hooks.one(VALIDATING, "see", of(&["*/scale"])).await?;
                let scale = t.get(&format!("{path}/scale")).await?.is(200)?;
                let mut wanted = scale.clone();
                wanted["spec"]["replicas"] = 2.into();
                let written = t.put(&format!("{path}/scale"), &wanted).await?.is(200)?;
                has(&written, json!({ "kind": "Scale", "spec": { "replicas": 5 } }))?;
                let requests = hooks.requests();
                same("calls", hooks.called(), "change see")?;
                let kind = json!({ "group": "autoscaling", "version": "v1", "kind": "Scale" });
                let resource =
                    json!({ "group": "apps", "version": "v1", "resource": "deployments" });
                for (request, replicas) in requests.iter().zip([2, 5]) {
                    let scale = |replicas: i32| {
                        json!({
                            "kind": "Scale", "apiVersion": "autoscaling/v1", "spec": { "replicas": replicas },
                        })
                    };
                    has(
                        request,
                        json!({
                            "kind": kind, "requestKind": kind, "resource": resource,
                            "requestResource": resource, "subResource": "scale", "name": "x",
                            "object": scale(replicas), "oldObject": scale(1),
                        }),
                    )?;
                }
                Ok(())
            },
        ),
        case(
            "a_review_of_an_eviction",
            "The review of an eviction has the Eviction, and the end of the Pod sends none.",
            async |t| {
                t.make(&t.core("pods", ""), pod("x")).await?;
                let hooks = hooks(t, allow).await?;
                let parts = json!({ "rules": rules(&["*"], "/v1", &["pods", "pods/eviction"]) });
                hooks.one(VALIDATING, "see", parts).await?;
                let eviction = json!({
                    "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": "x" },
                });
                t.post(&t.core("pods", "/x/eviction"), &eviction).await?.is(201)?;
                same("calls", hooks.operations(), "CREATE x")?;
                has(
                    &hooks.requests()[0],
                    json!({
                        "kind": { "group": "policy", "version": "v1", "kind": "Eviction" },
                        "resource": { "group": "", "version": "v1", "resource": "pods" },
                        "subResource": "eviction", "namespace": t.namespace, "oldObject": null,
                        "object": {
                            "apiVersion": "policy/v1", "kind": "Eviction",
                            "metadata": { "name": "x", "namespace": t.namespace },
                        },
                        "options": { "kind": "CreateOptions" },
                    }),
                )
            },
        ),
        case(
            "a_mutating_webhook_can_refuse_an_eviction",
            "A Pod whose eviction a mutating webhook refuses stays.",
            async |t| {
                t.make(&t.core("pods", ""), pod("x")).await?;
                let hooks =
                    hooks(t, |seen| deny(seen, json!({ "message": "not yet", "code": 429 })))
                        .await?;
                let eviction = json!({ "rules": rules(&["CREATE"], "/v1", &["pods/eviction"]) });
                hooks.one(MUTATING, "no", eviction).await?;
                let eviction = json!({
                    "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": "x" },
                });
                let refused = t.post(&t.core("pods", "/x/eviction"), &eviction).await?;
                refused.says(429, "", "\"no.example.com\" denied the request: not yet")?;
                t.get(&t.core("pods", "/x")).await?.is(200).map(drop)
            },
        ),
        case(
            "a_scale_can_be_refused",
            "A webhook refuses a write to the scale, and the object stays as it was.",
            async |t| {
                let path = deployment(t).await?;
                let hooks =
                    hooks(t, |seen| deny(seen, json!({ "message": "too many", "code": 422 })))
                        .await?;
                hooks.one(VALIDATING, "see", of(&["deployments/scale"])).await?;
                let change = json!({ "spec": { "replicas": 7 } });
                let refused = t.merge(&format!("{path}/scale"), change).await?;
                refused.says(422, "", "\"see.example.com\" denied the request: too many")?;
                has(&t.get(&path).await?.is(200)?, json!({ "spec": { "replicas": 1 } }))
            },
        ),
    ]
}
