//! Webhooks of evictions, bindings and requests for tokens.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::{named, pod};
use crate::conformance::target::Target;
use crate::conformance::webhooks::fixture::*;
use crate::conformance::{Case, case};

fn of(resource: &str) -> Value {
    json!({ "rules": rules(&["CREATE"], "/v1", &[resource]) })
}

/// A review about an object of the core group, whose posted object is of another kind.
fn review(t: &Target, plural: &str, subresource: &str, (group, kind): (&str, &str)) -> Value {
    let version = if group.is_empty() { "v1".to_owned() } else { format!("{group}/v1") };
    json!({
        "operation": "CREATE", "name": "x", "namespace": t.namespace, "oldObject": null,
        "kind": { "group": group, "version": "v1", "kind": kind },
        "resource": { "group": "", "version": "v1", "resource": plural },
        "subResource": subresource, "requestSubResource": subresource,
        "object": { "apiVersion": version, "kind": kind, "metadata": { "name": "x" } },
        "options": { "kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1" },
    })
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "an_eviction_can_be_refused",
            "A webhook of pods/eviction sees the Eviction as a create, and its refusal keeps the Pod.",
            async |t| {
                t.make(&t.core("pods", ""), pod("x")).await?;
                let hooks =
                    hooks(t, |seen| deny(seen, json!({ "message": "not now", "code": 429 })))
                        .await?;
                hooks.one(VALIDATING, "see", of("pods/eviction")).await?;
                let eviction = json!({ "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": "x" } });
                let refused = t.post(&t.core("pods", "/x/eviction"), &eviction).await?;
                refused.says(429, "", "\"see.example.com\" denied the request: not now")?;
                t.get(&t.core("pods", "/x")).await?.is(200)?;
                has(&hooks.requests()[0], review(t, "pods", "eviction", ("policy", "Eviction")))
            },
        ),
        case(
            "a_binding_can_be_changed",
            "A mutating webhook of pods/binding gives the Binding labels, which the Pod then has.",
            async |t| {
                t.make(&t.core("pods", ""), pod("x")).await?;
                let hooks = hooks(t, |seen| {
                    let labels = json!({ "zone": "z" });
                    patch(
                        seen,
                        json!([{ "op": "add", "path": "/metadata/labels", "value": labels }]),
                    )
                })
                .await?;
                hooks.one(MUTATING, "see", of("pods/binding")).await?;
                let binding = json!({ "metadata": { "name": "x" }, "target": { "name": "n" } });
                t.post(&t.core("pods", "/x/binding"), &binding).await?.is(201)?;
                let bound = t.get(&t.core("pods", "/x")).await?.is(200)?;
                let labels = json!({ "zone": "z" });
                has(
                    &bound,
                    json!({ "metadata": { "labels": labels }, "spec": { "nodeName": "n" } }),
                )?;
                has(&hooks.requests()[0], review(t, "pods", "binding", ("", "Binding")))
            },
        ),
        case(
            "a_token_can_be_refused",
            "A validating webhook of serviceaccounts/token sees the TokenRequest with the account's name, and no token yet.",
            async |t| {
                t.make(&t.core("serviceaccounts", ""), named("x")).await?;
                let hooks =
                    hooks(t, |seen| deny(seen, json!({ "message": "not you", "code": 403 })))
                        .await?;
                hooks.one(VALIDATING, "see", of("serviceaccounts/token")).await?;
                let refused = t.post(&t.core("serviceaccounts", "/x/token"), &json!({})).await?;
                refused.says(403, "", "denied the request: not you")?;
                let of_kind = ("authentication.k8s.io", "TokenRequest");
                has(&hooks.requests()[0], review(t, "serviceaccounts", "token", of_kind))?;
                has(
                    &hooks.requests()[0]["object"],
                    json!({ "spec": { "expirationSeconds": 3600 }, "status": { "token": "" } }),
                )
            },
        ),
    ]
}
