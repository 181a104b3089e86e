//! The review that a webhook gets.

use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::target::{APPLY, MERGE};
use crate::conformance::webhooks::fixture::*;
use crate::conformance::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = writes();
    cases.extend([
        case(
            "a_review_of_a_create",
            "The review of a create has the kind, the resource, the user, the object and the options.",
            async |t| {
                let hooks = hooks(t, allow).await?;
                hooks.one(MUTATING, "see", json!({ "timeoutSeconds": 7 })).await?;
                let path = t.maps("?fieldManager=me&fieldValidation=Strict");
                t.post(&path, &map("x", "v")).await?.is(201)?;
                let seen = hooks.seen();
                same("path", &*seen[0].path, "/see?timeout=7s")?;
                let media = seen[0].headers.get("content-type").and_then(|it| it.to_str().ok());
                same("content-type", media, Some("application/json"))?;
                let resource = json!({ "group": "", "version": "v1", "resource": "configmaps" });
                let kind = json!({ "group": "", "version": "v1", "kind": "ConfigMap" });
                has(
                    &seen[0].review,
                    json!({
                        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                        "response": null,
                        "request": {
                            "uid": "*", "kind": kind, "resource": resource, "requestKind": kind,
                            "requestResource": resource, "subResource": null,
                            "requestSubResource": null, "name": "x", "namespace": t.namespace,
                            "operation": "CREATE", "userInfo": { "username": "*" },
                            "oldObject": null, "dryRun": false,
                            "object": {
                                "apiVersion": "v1", "kind": "ConfigMap", "data": { "k": "v" },
                                "metadata": { "name": "x", "namespace": t.namespace },
                            },
                            "options": {
                                "kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1",
                                "fieldManager": "me", "fieldValidation": "Strict", "dryRun": null,
                            },
                        },
                    }),
                )?;
                let groups = items(&seen[0].review, "/request/userInfo/groups");
                holds("the groups of the user are told", groups.contains(&json!("system:masters")))
            },
        ),
        case(
            "a_mutating_webhook_sees_defaults",
            "A mutating webhook gets the object with its defaults.",
            async |t| {
                let hooks = hooks(t, allow).await?;
                let services = json!({ "rules": rules(&["CREATE"], "/v1", &["services"]) });
                hooks.one(MUTATING, "see", services).await?;
                t.make(&t.core("services", ""), service("x")).await?;
                let requests = hooks.requests();
                let spec = json!({ "type": "ClusterIP", "sessionAffinity": "None", "clusterIP": null });
                has(&requests[0], json!({ "object": { "spec": spec } }))
            },
        ),
        case(
            "a_webhook_sees_the_field_owners",
            "The objects of a review have their managedFields, the new one with those of the write.",
            async |t| {
                let hooks = hooks(t, allow).await?;
                let rules = rules(&["CREATE", "UPDATE"], "/v1", &["configmaps"]);
                hooks.one(MUTATING, "see", json!({ "rules": rules })).await?;
                t.post(&t.maps("?fieldManager=me"), &map("x", "v")).await?.is(201)?;
                let change = json!({ "data": { "k": "w" } });
                t.merge(&t.maps("/x?fieldManager=you"), change).await?.is(200)?;
                let requests = hooks.requests();
                let managers = |at: usize, object: &str| {
                    let entries = items(&requests[at], &format!("/{object}/metadata/managedFields"));
                    let names: Vec<_> = entries.iter().map(|entry| text(entry, "/manager")).collect();
                    names.join(" ")
                };
                same("of the create", managers(0, "object"), "me")?;
                same("before", managers(1, "oldObject"), "me")?;
                holds("of the update", managers(1, "object").contains("you"))
            },
        ),
        case(
            "a_generated_name_is_unknown_to_mutating_webhooks",
            "With generateName a mutating webhook gets no name, and a validating one the generated name.",
            async |t| {
                let hooks = hooks(t, allow).await?;
                hooks.one(MUTATING, "before", json!({})).await?;
                hooks.one(VALIDATING, "after", json!({})).await?;
                let made = t.make(&t.maps(""), json!({ "metadata": { "generateName": "x-" } })).await?;
                same("calls", hooks.called(), "before after")?;
                let requests = hooks.requests();
                has(&requests[0], json!({ "name": null, "object": { "metadata": { "name": null } } }))?;
                let name = text(&made, "/metadata/name");
                has(&requests[1], json!({ "name": name, "object": { "metadata": { "name": name } } }))
            },
        ),
        case(
            "an_older_review_is_sent_to_who_wants_it",
            "The first known one of admissionReviewVersions is the version of the review.",
            async |t| {
                let hooks = hooks(t, sign).await?;
                let old = json!({ "admissionReviewVersions": ["v7", "v1beta1", "v1"] });
                hooks.one(MUTATING, "old", old).await?;
                let made = t.map("x", "v").await?;
                has(&made, json!({ "data": { "k": "v old" } }))?;
                let version = text(&hooks.seen()[0].review, "/apiVersion").to_owned();
                same("apiVersion", &*version, "admission.k8s.io/v1beta1")
            },
        ),
        case(
            "a_dry_run_is_told",
            "The review of a dry run says so, in dryRun and in the options.",
            async |t| {
                let hooks = hooks(t, allow).await?;
                let side_effects = json!({ "sideEffects": "NoneOnDryRun" });
                hooks.one(MUTATING, "see", side_effects).await?;
                hooks.one(VALIDATING, "look", json!({})).await?;
                t.post(&t.maps("?dryRun=All"), &map("x", "v")).await?.is(201)?;
                t.get(&t.maps("/x")).await?.is(404)?;
                same("calls", hooks.called(), "see look")?;
                for request in hooks.requests() {
                    has(&request, json!({ "dryRun": true, "options": { "dryRun": ["All"] } }))?;
                }
                Ok(())
            },
        ),
        case(
            "each_call_has_a_uid_of_its_own",
            "Each review has another uid.",
            async |t| {
                let hooks = hooks(t, allow).await?;
                hooks.one(MUTATING, "a", json!({})).await?;
                hooks.one(VALIDATING, "b", json!({})).await?;
                t.map("x", "v").await?;
                let requests = hooks.requests();
                let uid = |at: usize| text(&requests[at], "/uid");
                holds("the uids differ", !uid(0).is_empty() && uid(0) != uid(1))
            },
        ),
    ]);
    cases
}

fn writes() -> Vec<Case> {
    vec![
        case(
            "a_review_of_an_update",
            "The review of a PUT has the new and the old object, and UpdateOptions.",
            async |t| {
                let made = t.map("x", "v").await?;
                let hooks = hooks(t, allow).await?;
                let rules = rules(&["UPDATE"], "/v1", &["configmaps"]);
                hooks.one(VALIDATING, "see", json!({ "rules": rules })).await?;
                let mut new = made.clone();
                new["data"]["k"] = "w".into();
                t.put(&t.maps("/x?fieldManager=me"), &new).await?.is(200)?;
                let old = json!({
                    "apiVersion": "v1", "kind": "ConfigMap", "data": { "k": "v" },
                    "metadata": { "uid": text(&made, "/metadata/uid"), "resourceVersion": version(&made) },
                });
                has(
                    &hooks.requests()[0],
                    json!({
                        "operation": "UPDATE", "name": "x", "object": { "data": { "k": "w" } },
                        "oldObject": old,
                        "options": { "kind": "UpdateOptions", "fieldManager": "me" },
                    }),
                )
            },
        ),
        case(
            "a_review_of_a_patch",
            "The review of a PATCH is an update with the patched object and UpdateOptions.",
            async |t| {
                t.map("x", "v").await?;
                let hooks = hooks(t, sign).await?;
                let rules = rules(&["UPDATE"], "/v1", &["configmaps"]);
                hooks.one(MUTATING, "see", json!({ "rules": rules })).await?;
                let patched =
                    t.patch(&t.maps("/x"), MERGE, &json!({ "data": { "a": "b" } })).await?;
                has(&patched.is(200)?, json!({ "data": { "a": "b", "k": "v see" } }))?;
                has(
                    &hooks.requests()[0],
                    json!({
                        "operation": "UPDATE", "object": { "data": { "a": "b", "k": "v" } },
                        "oldObject": { "data": { "a": null, "k": "v" } },
                        "options": { "kind": "UpdateOptions", "force": null },
                    }),
                )
            },
        ),
        case(
            "a_review_of_an_apply",
            "An apply is a create with CreateOptions, or an update with UpdateOptions, and the change of a webhook has no owner.",
            async |t| {
                let hooks = hooks(t, sign).await?;
                let rules = rules(&["CREATE", "UPDATE"], "/v1", &["configmaps"]);
                hooks.one(MUTATING, "see", json!({ "rules": rules })).await?;
                let path = t.maps("/x?fieldManager=me&force=true");
                let mut config = map("x", "v");
                config["apiVersion"] = "v1".into();
                config["kind"] = "ConfigMap".into();
                let made = t.patch(&path, APPLY, &config).await?.is(201)?;
                has(&made, json!({ "data": { "k": "v see" } }))?;
                same("managers", items(&made, "/metadata/managedFields").len(), 1)?;
                let again = t.patch(&path, APPLY, &config).await?.is(200)?;
                has(&again, json!({ "data": { "k": "v see" } }))?;
                let requests = hooks.requests();
                let create =
                    json!({ "kind": "CreateOptions", "fieldManager": "me", "force": null });
                has(
                    &requests[0],
                    json!({ "operation": "CREATE", "options": create, "oldObject": null }),
                )?;
                let update =
                    json!({ "kind": "UpdateOptions", "fieldManager": "me", "force": null });
                let object = json!({ "data": { "k": "v" } });
                has(
                    &requests[1],
                    json!({ "operation": "UPDATE", "options": update, "object": object }),
                )
            },
        ),
        case(
            "a_put_that_creates_is_a_create",
            "A PUT that creates its object is a create with CreateOptions.",
            async |t| {
                let hooks = hooks(t, allow).await?;
                let version = "coordination.k8s.io/v1";
                let leases = json!({ "rules": rules(&["*"], version, &["leases"]) });
                hooks.one(VALIDATING, "see", leases).await?;
                t.put(&t.leases("/x"), &lease("x", "me")).await?.is(201)?;
                same("calls", hooks.operations(), "CREATE x")?;
                has(&hooks.requests()[0], json!({ "options": { "kind": "CreateOptions" } }))
            },
        ),
        case(
            "a_write_that_changes_nothing_is_sent_too",
            "A write that changes nothing calls the webhooks, and a refusal is its answer.",
            async |t| {
                let made = t.map("x", "v").await?;
                let hooks = hooks(t, |seen| deny(seen, json!({ "message": "no" }))).await?;
                let rules = rules(&["UPDATE"], "/v1", &["configmaps"]);
                hooks.one(VALIDATING, "see", json!({ "rules": rules })).await?;
                t.put(&t.maps("/x"), &made).await?.says(400, "", "denied the request: no")?;
                same("calls", hooks.called(), "see")
            },
        ),
        case(
            "a_write_in_vain_is_sent_too",
            "The create of an object that exists calls the webhooks before it answers 409.",
            async |t| {
                t.map("x", "v").await?;
                let hooks = hooks(t, allow).await?;
                hooks.one(MUTATING, "a", json!({})).await?;
                hooks.one(VALIDATING, "b", json!({})).await?;
                t.post(&t.maps(""), &map("x", "v")).await?.refused(409, "AlreadyExists")?;
                same("calls", hooks.called(), "a b")
            },
        ),
        case(
            "an_invalid_object_meets_mutating_webhooks_alone",
            "An invalid object is sent to mutating webhooks, and not to validating ones.",
            async |t| {
                let hooks = hooks(t, allow).await?;
                hooks.one(MUTATING, "a", json!({})).await?;
                hooks.one(VALIDATING, "b", json!({})).await?;
                t.post(&t.maps(""), &map("X", "v"))
                    .await?
                    .invalid(&["FieldValueInvalid metadata.name"])?;
                same("calls", hooks.called(), "a")
            },
        ),
    ]
}
