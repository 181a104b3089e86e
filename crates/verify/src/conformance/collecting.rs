//! Garbage collection: what becomes of objects whose owners go, with the garbage collector of
//! kube-controller-manager.

use http::Method;
use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::target::MERGE;
use crate::conformance::{Case, Outcome, Target, case};

/// An owner reference to an object.
fn reference(owner: &Value, block: bool) -> Value {
    json!({
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "blockOwnerDeletion": block,
    })
}

/// A reference to an object that never was.
fn nobody() -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "nobody", "uid": "00000000-0000-4000-8000-000000000000" })
}

async fn owned(t: &Target, name: &str, owners: &[Value]) -> Result<Value, String> {
    let mut object = map(name, "v");
    object["metadata"]["ownerReferences"] = json!(owners);
    t.make(&t.maps(""), object).await
}

/// One that is held by a finalizer of nobody's.
async fn held(t: &Target, name: &str, owners: &[Value]) -> Result<Value, String> {
    let mut object = map(name, "v");
    object["metadata"]["ownerReferences"] = json!(owners);
    object["metadata"]["finalizers"] = json!(["example.com/held"]);
    t.make(&t.maps(""), object).await
}

async fn release(t: &Target, name: &str) -> Outcome {
    let free = json!({ "metadata": { "finalizers": null } });
    t.merge(&t.maps(&format!("/{name}")), free).await?.is(200).map(drop)
}

async fn delete(t: &Target, name: &str, policy: &str) -> Result<Value, String> {
    t.delete_with(&t.maps(&format!("/{name}")), json!({ "propagationPolicy": policy }))
        .await?
        .is(200)
}

async fn gone(t: &Target, name: &str) -> Outcome {
    t.until_gone(&t.maps(&format!("/{name}"))).await
}

async fn is_there(t: &Target, name: &str) -> Result<Value, String> {
    t.get(&t.maps(&format!("/{name}"))).await?.is(200)
}

/// The collector has dealt with all that was before: it has collected something that was made after
/// it.
async fn collected(t: &Target) -> Outcome {
    owned(t, "last-of-all", &[nobody()]).await?;
    gone(t, "last-of-all").await
}

fn is_being_deleted(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some()
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "dependents_go_after_their_owner",
            "What is owned by a deleted object is deleted, and what that owns.",
            async |t| {
                let owner = t.map("owner", "v").await?;
                let child = owned(t, "child", &[reference(&owner, false)]).await?;
                owned(t, "grandchild", &[reference(&child, false)]).await?;
                t.delete(&t.maps("/owner")).await?.is(200)?;
                gone(t, "child").await?;
                gone(t, "grandchild").await
            },
        ),
        case(
            "an_owner_outlives_its_dependents",
            "The delete of a dependent leaves its owner and its siblings.",
            async |t| {
                let owner = t.map("owner", "v").await?;
                owned(t, "a", &[reference(&owner, true)]).await?;
                owned(t, "b", &[reference(&owner, true)]).await?;
                t.delete(&t.maps("/a")).await?.is(200)?;
                collected(t).await?;
                is_there(t, "owner").await?;
                is_there(t, "b").await.map(drop)
            },
        ),
        case(
            "an_owner_that_never_was",
            "What is owned only by an object that is not there is deleted.",
            async |t| {
                owned(t, "a", &[nobody()]).await?;
                gone(t, "a").await
            },
        ),
        case(
            "an_owner_is_meant_by_its_uid",
            "An object of the owner's name with another uid is no owner.",
            async |t| {
                let owner = t.map("owner", "v").await?;
                let mut other = reference(&owner, false);
                other["uid"] = nobody()["uid"].clone();
                owned(t, "a", &[other]).await?;
                gone(t, "a").await
            },
        ),
        case(
            "one_owner_of_two_is_enough",
            "An object with an owner that is there stays, and loses its references to those that are not.",
            async |t| {
                let owner = t.map("owner", "v").await?;
                owned(t, "a", &[nobody(), reference(&owner, false)]).await?;
                let uid = owner["metadata"]["uid"].clone();
                t.until(&t.maps("/a"), "owned by one", |_, a| {
                    items(a, "/metadata/ownerReferences").len() == 1
                })
                .await?;
                has(
                    &is_there(t, "a").await?,
                    json!({ "metadata": { "ownerReferences": [{ "uid": uid }] } }),
                )
            },
        ),
        case(
            "a_reference_taken_out_in_time",
            "An object whose reference was taken out stays when the former owner goes.",
            async |t| {
                let owner = t.map("owner", "v").await?;
                owned(t, "a", &[reference(&owner, false)]).await?;
                t.merge(&t.maps("/a"), json!({ "metadata": { "ownerReferences": null } }))
                    .await?
                    .is(200)?;
                t.delete(&t.maps("/owner")).await?.is(200)?;
                collected(t).await?;
                is_there(t, "a").await.map(drop)
            },
        ),
        case(
            "a_reference_put_in_later",
            "An object that is given an owner later goes with it.",
            async |t| {
                let owner = t.map("owner", "v").await?;
                t.map("a", "v").await?;
                t.merge(
                    &t.maps("/a"),
                    json!({ "metadata": { "ownerReferences": [reference(&owner, false)] } }),
                )
                .await?
                .is(200)?;
                t.delete(&t.maps("/owner")).await?.is(200)?;
                gone(t, "a").await
            },
        ),
        case(
            "a_held_dependent_is_marked",
            "A dependent with a finalizer gets a deletionTimestamp, and goes when it is released.",
            async |t| {
                let owner = t.map("owner", "v").await?;
                held(t, "a", &[reference(&owner, false)]).await?;
                t.delete(&t.maps("/owner")).await?.is(200)?;
                t.until(&t.maps("/a"), "marked", |_, a| is_being_deleted(a)).await?;
                release(t, "a").await?;
                gone(t, "a").await
            },
        ),
        case(
            "a_foreground_deletion_waits_for_what_blocks_it",
            "An owner deleted in the foreground keeps the finalizer foregroundDeletion until its blocking dependents are gone.",
            async |t| {
                let owner = t.map("owner", "v").await?;
                held(t, "a", &[reference(&owner, true)]).await?;
                delete(t, "owner", "Foreground").await?;
                t.until(&t.maps("/a"), "marked", |_, a| is_being_deleted(a)).await?;
                has(
                    &is_there(t, "owner").await?,
                    json!({ "metadata": { "deletionTimestamp": "*", "finalizers": ["foregroundDeletion"] } }),
                )?;
                release(t, "a").await?;
                gone(t, "a").await?;
                gone(t, "owner").await
            },
        ),
        case(
            "a_foreground_deletion_does_not_wait_for_others",
            "A dependent without blockOwnerDeletion is deleted, but not waited for.",
            async |t| {
                let owner = t.map("owner", "v").await?;
                held(t, "a", &[reference(&owner, false)]).await?;
                delete(t, "owner", "Foreground").await?;
                gone(t, "owner").await?;
                t.until(&t.maps("/a"), "marked", |_, a| is_being_deleted(a)).await.map(drop)
            },
        ),
        case(
            "a_foreground_deletion_without_dependents_ends",
            "A foreground delete of an object that owns nothing is done soon.",
            async |t| {
                t.map("owner", "v").await?;
                delete(t, "owner", "Foreground").await?;
                gone(t, "owner").await
            },
        ),
        case(
            "a_foreground_deletion_goes_through_all_generations",
            "A dependent that owns something itself is deleted in the foreground, too.",
            async |t| {
                let owner = t.map("owner", "v").await?;
                let child = owned(t, "child", &[reference(&owner, true)]).await?;
                held(t, "grandchild", &[reference(&child, true)]).await?;
                delete(t, "owner", "Foreground").await?;
                t.until(&t.maps("/grandchild"), "marked", |_, a| is_being_deleted(a)).await?;
                has(
                    &is_there(t, "child").await?,
                    json!({ "metadata": { "finalizers": ["foregroundDeletion"] } }),
                )?;
                is_there(t, "owner").await?;
                release(t, "grandchild").await?;
                gone(t, "child").await?;
                gone(t, "owner").await
            },
        ),
        case(
            "a_dependent_that_stops_blocking_is_no_longer_waited_for",
            "When a dependent sets blockOwnerDeletion to false, its owner's foreground deletion ends.",
            async |t| {
                let owner = t.map("owner", "v").await?;
                held(t, "a", &[reference(&owner, true)]).await?;
                delete(t, "owner", "Foreground").await?;
                t.until(&t.maps("/a"), "marked", |_, a| is_being_deleted(a)).await?;
                let free = json!({ "metadata": { "ownerReferences": [reference(&owner, false)] } });
                t.merge(&t.maps("/a"), free).await?.is(200)?;
                gone(t, "owner").await?;
                is_there(t, "a").await.map(drop)
            },
        ),
        case(
            "a_circle_of_owners_ends",
            "Two objects that own each other both go when one is deleted in the foreground.",
            async |t| {
                let first = t.map("a", "v").await?;
                let second = owned(t, "b", &[reference(&first, true)]).await?;
                t.merge(
                    &t.maps("/a"),
                    json!({ "metadata": { "ownerReferences": [reference(&second, true)] } }),
                )
                .await?
                .is(200)?;
                delete(t, "a", "Foreground").await?;
                gone(t, "a").await?;
                gone(t, "b").await
            },
        ),
        case(
            "a_circle_of_owners_is_no_garbage",
            "Two objects that own each other stay as long as nobody deletes one.",
            async |t| {
                let first = t.map("a", "v").await?;
                let second = owned(t, "b", &[reference(&first, false)]).await?;
                t.merge(
                    &t.maps("/a"),
                    json!({ "metadata": { "ownerReferences": [reference(&second, false)] } }),
                )
                .await?
                .is(200)?;
                collected(t).await?;
                is_there(t, "a").await?;
                is_there(t, "b").await.map(drop)
            },
        ),
        case(
            "a_dependent_of_an_owner_that_waits",
            "What comes to block an owner in foreground deletion is deleted when the owner is looked at again.",
            async |t| {
                let owner = t.map("owner", "v").await?;
                held(t, "a", &[reference(&owner, true)]).await?;
                delete(t, "owner", "Foreground").await?;
                t.until(&t.maps("/a"), "marked", |_, a| is_being_deleted(a)).await?;
                // What the collector does because of `a` is behind it.
                collected(t).await?;
                owned(t, "late", &[reference(&owner, true)]).await?;
                collected(t).await?;
                has(
                    &is_there(t, "late").await?,
                    json!({ "metadata": { "deletionTimestamp": null } }),
                )?;
                release(t, "a").await?;
                gone(t, "late").await?;
                gone(t, "owner").await
            },
        ),
        case(
            "orphans_stay",
            "With propagationPolicy Orphan the dependents stay and lose their reference, then the owner goes.",
            async |t| {
                let owner = t.map("owner", "v").await?;
                owned(t, "a", &[reference(&owner, true)]).await?;
                delete(t, "owner", "Orphan").await?;
                gone(t, "owner").await?;
                has(
                    &is_there(t, "a").await?,
                    json!({ "metadata": { "ownerReferences": null, "deletionTimestamp": null } }),
                )
            },
        ),
        case(
            "orphans_keep_their_other_owners",
            "An orphaned dependent keeps its references to other owners.",
            async |t| {
                let owner = t.map("owner", "v").await?;
                let other = t.map("other", "v").await?;
                owned(t, "a", &[reference(&owner, true), reference(&other, false)]).await?;
                delete(t, "owner", "Orphan").await?;
                gone(t, "owner").await?;
                let uid = other["metadata"]["uid"].clone();
                has(
                    &is_there(t, "a").await?,
                    json!({ "metadata": { "ownerReferences": [{ "uid": uid }] } }),
                )
            },
        ),
        case(
            "orphan_dependents_is_the_old_word",
            "orphanDependents=true leaves the dependents, as propagationPolicy Orphan does.",
            async |t| {
                let owner = t.map("owner", "v").await?;
                owned(t, "a", &[reference(&owner, true)]).await?;
                t.delete_with(&t.maps("/owner"), json!({ "orphanDependents": true }))
                    .await?
                    .is(200)?;
                gone(t, "owner").await?;
                has(&is_there(t, "a").await?, json!({ "metadata": { "ownerReferences": null } }))
            },
        ),
        case(
            "an_owner_in_another_namespace",
            "An owner is looked for in the namespace of the dependent: one elsewhere is none.",
            async |t| {
                let owner = t.map("owner", "v").await?;
                let path = "/api/v1/namespaces/default/configmaps";
                let name = t.own("elsewhere");
                let mut object = map(&name, "v");
                object["metadata"]["ownerReferences"] = json!([reference(&owner, false)]);
                t.make(path, object).await?;
                t.until_gone(&format!("{path}/{name}")).await?;
                is_there(t, "owner").await.map(drop)
            },
        ),
        case(
            "an_event_tells_of_an_owner_elsewhere",
            "A reference to an owner in another namespace is told in an Event, in that of the dependent or in default.",
            async |t| {
                let owner = t.map("owner", "v").await?;
                let uid = text(&owner, "/metadata/uid");
                let name = t.own("told");
                let (mut inside, mut outside) = (map(&name, "v"), class(&name));
                for object in [&mut inside, &mut outside] {
                    object["metadata"]["ownerReferences"] = json!([reference(&owner, false)]);
                }
                t.make("/api/v1/namespaces/default/configmaps", inside).await?;
                t.make(&t.classes(""), outside).await?;
                let component = "garbage-collector-controller";
                for (kind, namespace) in [("ConfigMap", "default"), ("StorageClass", "")] {
                    let wanted =
                        format!("involvedObject.name%3D{name},involvedObject.kind%3D{kind}");
                    let path = format!("/api/v1/namespaces/default/events?fieldSelector={wanted}");
                    let found =
                        t.until(&path, "told", |_, list| items(list, "/items").len() == 1).await?;
                    let message = format!(
                        "ownerRef [v1/ConfigMap, namespace: {namespace}, name: owner, uid: {uid}] does not exist in \
                         namespace {namespace:?}"
                    );
                    let event = &found["items"][0];
                    has(
                        event,
                        json!({
                            "reason": "OwnerRefInvalidNamespace", "message": message, "type": "Warning", "count": 1,
                            "source": { "component": component }, "reportingComponent": component, "reportingInstance": "",
                            "eventTime": null, "involvedObject": { "resourceVersion": null, "uid": "*" },
                        }),
                    )?;
                    same(
                        "its name",
                        text(event, "/metadata/name").starts_with(&format!("{name}.")),
                        true,
                    )?;
                    same("times", event.get("firstTimestamp"), event.get("lastTimestamp"))?;
                }
                Ok(())
            },
        ),
        case(
            "an_owner_in_a_namespace_of_an_object_outside",
            "An object of cluster scope with an owner in a namespace is never collected.",
            async |t| {
                let owner = t.map("owner", "v").await?;
                let name = t.own("class");
                let mut object = class(&name);
                object["metadata"]["ownerReferences"] = json!([reference(&owner, false), nobody()]);
                t.make(&t.classes(""), object).await?;
                t.delete(&t.maps("/owner")).await?.is(200)?;
                collected(t).await?;
                let there = t.get(&t.classes(&format!("/{name}"))).await?.is(200)?;
                same("owners", items(&there, "/metadata/ownerReferences").len(), 2)
            },
        ),
        case(
            "an_owner_of_cluster_scope",
            "What is owned by an object of cluster scope goes with it.",
            async |t| {
                let name = t.own("class");
                let owner = t.make(&t.classes(""), class(&name)).await?;
                owned(t, "a", &[reference(&owner, false)]).await?;
                t.delete(&t.classes(&format!("/{name}"))).await?.is(200)?;
                gone(t, "a").await
            },
        ),
        case(
            "an_owner_of_a_kind_that_is_not_served",
            "An object whose owner is of an unknown kind stays.",
            async |t| {
                let mut unknown = nobody();
                unknown["apiVersion"] = "nothing.example.com/v1".into();
                owned(t, "a", &[unknown]).await?;
                collected(t).await?;
                is_there(t, "a").await.map(drop)
            },
        ),
        case(
            "events_are_not_collected",
            "An Event stays whatever becomes of its owner.",
            async |t| {
                let mut event = old_event("e", &t.namespace);
                event["metadata"]["ownerReferences"] = json!([nobody()]);
                t.make(&t.core("events", ""), event).await?;
                collected(t).await?;
                t.get(&t.core("events", "/e")).await?.is(200).map(drop)
            },
        ),
        case(
            "a_deleted_collection_takes_its_dependents_along",
            "A delete of a collection collects what its objects owned.",
            async |t| {
                let owner = t.labelled("owner", "which", "these").await?;
                owned(t, "a", &[reference(&owner, false)]).await?;
                t.delete(&t.maps("?labelSelector=which%3Dthese")).await?.is(200)?;
                gone(t, "a").await
            },
        ),
        case(
            "a_finalizer_decides_when_nobody_does",
            "A delete without a policy, of an object that carries the finalizer orphan, orphans.",
            async |t| {
                let mut object = map("owner", "v");
                object["metadata"]["finalizers"] = json!(["orphan"]);
                let owner = t.make(&t.maps(""), object).await?;
                owned(t, "a", &[reference(&owner, false)]).await?;
                t.delete(&t.maps("/owner")).await?.is(200)?;
                gone(t, "owner").await?;
                has(&is_there(t, "a").await?, json!({ "metadata": { "ownerReferences": null } }))
            },
        ),
        case(
            "a_policy_overrules_a_finalizer",
            "A delete with propagationPolicy Background takes the finalizer orphan off, and the dependents go.",
            async |t| {
                let mut object = map("owner", "v");
                object["metadata"]["finalizers"] = json!(["orphan"]);
                let owner = t.make(&t.maps(""), object).await?;
                owned(t, "a", &[reference(&owner, false)]).await?;
                delete(t, "owner", "Background").await?;
                gone(t, "owner").await?;
                gone(t, "a").await
            },
        ),
        case(
            "an_update_wakes_the_collector_too",
            "A reference changed to an owner that is not there is found by the collector.",
            async |t| {
                let owner = t.map("owner", "v").await?;
                owned(t, "a", &[reference(&owner, false)]).await?;
                let patch = json!({ "metadata": { "ownerReferences": [nobody()] } });
                let headers = [("content-type", MERGE)];
                t.send(Method::PATCH, &t.maps("/a"), &headers, patch.to_string()).await?.is(200)?;
                gone(t, "a").await
            },
        ),
    ]
}
