//! Webhooks of deletes.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::webhooks::fixture::*;
use crate::conformance::{Case, case};

fn on_delete() -> Value {
    json!({ "rules": rules(&["DELETE"], "/v1", &["configmaps"]) })
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "a_review_of_a_delete",
            "The review of a delete has the old object, no new one, and DeleteOptions.",
            async |t| {
                let made = t.map("x", "v").await?;
                let hooks = hooks(t, allow).await?;
                hooks.one(MUTATING, "a", on_delete()).await?;
                hooks.one(VALIDATING, "b", on_delete()).await?;
                let options = json!({ "propagationPolicy": "Background" });
                t.delete_with(&t.maps("/x"), options).await?.is(200)?;
                same("calls", hooks.called(), "a b")?;
                for request in hooks.requests() {
                    has(
                        &request,
                        json!({
                            "operation": "DELETE", "name": "x", "namespace": t.namespace, "object": null,
                            "oldObject": {
                                "apiVersion": "v1", "kind": "ConfigMap", "data": { "k": "v" },
                                "metadata": { "uid": text(&made, "/metadata/uid") },
                            },
                            "options": {
                                "kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1",
                                "propagationPolicy": "Background",
                            },
                        }),
                    )?;
                }
                Ok(())
            },
        ),
        case(
            "a_delete_can_be_refused",
            "An object whose delete a webhook refuses stays.",
            async |t| {
                t.map("x", "v").await?;
                let hooks =
                    hooks(t, |seen| deny(seen, json!({ "message": "it stays", "code": 403 })))
                        .await?;
                hooks.one(VALIDATING, "keep", on_delete()).await?;
                t.delete(&t.maps("/x")).await?.says(403, "", "denied the request: it stays")?;
                t.get(&t.maps("/x")).await?.is(200).map(drop)
            },
        ),
        case(
            "a_collection_sends_each_of_its_objects",
            "The delete of a collection sends each object in a review of its own, without a name.",
            async |t| {
                t.labelled("x", "a", "b").await?;
                t.labelled("y", "a", "b").await?;
                let hooks = hooks(t, allow).await?;
                hooks.one(VALIDATING, "see", on_delete()).await?;
                t.delete(&t.maps("?labelSelector=a%3Db")).await?.is(200)?;
                let requests = hooks.requests();
                let mut names: Vec<_> =
                    requests.iter().map(|it| text(it, "/oldObject/metadata/name")).collect();
                names.sort_unstable();
                same("names", names, ["x", "y"])?;
                requests.iter().try_for_each(|request| {
                    has(request, json!({ "name": null, "operation": "DELETE" }))
                })
            },
        ),
        case(
            "a_delete_cannot_be_changed",
            "A patch in the answer to a delete answers 500.",
            async |t| {
                t.map("x", "v").await?;
                let hooks = hooks(t, |seen| {
                    patch(seen, json!([{ "op": "add", "path": "/data/a", "value": "b" }]))
                })
                .await?;
                hooks.one(MUTATING, "change", on_delete()).await?;
                let why = "admission webhook \"change.example.com\" attempted to modify the object, which is not \
                           supported for this operation";
                t.delete(&t.maps("/x")).await?.says(500, "InternalError", why).map(drop)
            },
        ),
        case(
            "the_end_of_a_finalizer_is_an_update",
            "The update that removes the last finalizer sends no review of a delete.",
            async |t| {
                let mut object = map("x", "v");
                object["metadata"]["finalizers"] = json!(["example.com/held"]);
                t.make(&t.maps(""), object).await?;
                let hooks = hooks(t, allow).await?;
                let both = json!({ "rules": rules(&["DELETE", "UPDATE"], "/v1", &["configmaps"]) });
                hooks.one(VALIDATING, "see", both).await?;
                t.delete(&t.maps("/x")).await?.is(200)?;
                t.merge(&t.maps("/x"), json!({ "metadata": { "finalizers": null } }))
                    .await?
                    .is(200)?;
                t.get(&t.maps("/x")).await?.is(404)?;
                same("calls", hooks.operations(), "DELETE x, UPDATE x")
            },
        ),
        case(
            "a_dry_run_of_a_delete_is_told",
            "The review of a delete with dryRun says so.",
            async |t| {
                t.map("x", "v").await?;
                let hooks = hooks(t, allow).await?;
                hooks.one(VALIDATING, "see", on_delete()).await?;
                t.delete(&t.maps("/x?dryRun=All")).await?.is(200)?;
                has(
                    &hooks.requests()[0],
                    json!({ "dryRun": true, "options": { "dryRun": ["All"] } }),
                )?;
                t.get(&t.maps("/x")).await?.is(200).map(drop)
            },
        ),
        case(
            "what_is_not_there_is_not_sent",
            "The delete of an object that does not exist calls no webhook.",
            async |t| {
                let hooks = hooks(t, allow).await?;
                hooks.one(VALIDATING, "see", on_delete()).await?;
                t.delete(&t.maps("/x")).await?.is(404)?;
                same("calls", hooks.called(), "")
            },
        ),
    ]
}
