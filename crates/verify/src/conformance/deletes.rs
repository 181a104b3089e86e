//! Deletes of one object: what comes back, options and preconditions.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "delete_answers_a_status_for_most_kinds",
            "The delete of a ConfigMap, Secret, Lease or Event answers a Status whose details hold the uid.",
            async |t| {
                for (path, object) in [
                    (t.maps(""), named("a")),
                    (t.core("secrets", ""), named("a")),
                    (t.leases(""), lease("a", "x")),
                    (t.core("events", ""), old_event("a", &t.namespace)),
                    (t.widgets(""), widget("a", json!({}))),
                ] {
                    let made = t.make(&path, object).await?;
                    let gone = t.delete(&format!("{path}/a")).await?.is(200)?;
                    let details = json!({ "name": "a", "uid": text(&made, "/metadata/uid") });
                    has(
                        &gone,
                        json!({ "kind": "Status", "status": "Success", "details": details }),
                    )
                    .map_err(|why| format!("{path}: {why}"))?;
                }
                Ok(())
            },
        ),
        case(
            "delete_answers_the_object_for_some",
            "The delete of a Pod, Service, ServiceAccount, class or volume answers with the object or a Status as the kind wants.",
            async |t| {
                let (pods, services) = (t.core("pods", ""), t.core("services", ""));
                t.make(&pods, pod("a")).await?;
                has(&t.delete(&format!("{pods}/a")).await?.is(200)?, json!({ "kind": "Pod" }))?;
                t.make(&services, service("a")).await?;
                has(
                    &t.delete(&format!("{services}/a")).await?.is(200)?,
                    json!({ "kind": "Service" }),
                )?;
                let name = t.own("c");
                t.make(&t.classes(""), class(&name)).await?;
                has(
                    &t.delete(&t.classes(&format!("/{name}"))).await?.is(200)?,
                    json!({ "kind": "StorageClass" }),
                )
            },
        ),
        case(
            "delete_of_a_missing_object_is_404",
            "A delete of a missing object answers 404, and a second delete too.",
            async |t| {
                t.map("a", "v").await?;
                t.delete(&t.maps("/a")).await?.is(200)?;
                t.delete(&t.maps("/a")).await?.refused(404, "NotFound")?;
                Ok(())
            },
        ),
        case(
            "the_deleted_event_has_a_new_version",
            "The DELETED event holds the last content at the resourceVersion of the deletion.",
            async |t| {
                let made = t.map("a", "v").await?;
                let mut watch =
                    t.watch(&t.maps(&format!("?resourceVersion={}", version(&made)))).await?;
                t.delete(&t.maps("/a")).await?.is(200)?;
                let gone = watch.event("DELETED", "a").await?;
                has(&gone, json!({ "data": { "k": "v" } }))?;
                holds("its version is newer than the object's", number(&gone) > number(&made))
            },
        ),
        case(
            "a_uid_precondition_that_fails_is_409",
            "A delete with another uid as precondition answers 409 and deletes nothing.",
            async |t| {
                let made = t.map("a", "v").await?;
                let options = json!({ "preconditions": { "uid": "other" } });
                let why = format!(
                    "Operation cannot be fulfilled on ConfigMap \"a\": the UID in the precondition (other) does not match the UID in record ({}). The object might have been deleted and then recreated",
                    text(&made, "/metadata/uid")
                );
                t.delete_with(&t.maps("/a"), options).await?.says(409, "Conflict", &why)?;
                t.get(&t.maps("/a")).await?.is(200)?;
                let options = json!({ "preconditions": { "uid": text(&made, "/metadata/uid") } });
                t.delete_with(&t.maps("/a"), options).await?.is(200)?;
                Ok(())
            },
        ),
        case(
            "a_version_precondition_that_fails_is_409",
            "A delete with a stale resourceVersion as precondition answers 409.",
            async |t| {
                let made = t.map("a", "v").await?;
                t.merge(&t.maps("/a"), json!({ "data": { "k": "w" } })).await?.is(200)?;
                let options = json!({ "preconditions": { "resourceVersion": version(&made) } });
                t.delete_with(&t.maps("/a"), options).await?.says(
                    409,
                    "Conflict",
                    "does not match the ResourceVersion in record (",
                )?;
                Ok(())
            },
        ),
        case(
            "preconditions_of_a_missing_object_are_404",
            "A delete with preconditions of a missing object answers 404.",
            async |t| {
                let options = json!({ "preconditions": { "uid": "other" } });
                t.delete_with(&t.maps("/a"), options).await?.refused(404, "NotFound")?;
                Ok(())
            },
        ),
        case(
            "delete_options_of_another_kind_are_400",
            "A delete whose body says it is something else than DeleteOptions answers 400.",
            async |t| {
                t.map("a", "v").await?;
                let options = json!({ "kind": "ConfigMap", "apiVersion": "v1" });
                t.delete_with(&t.maps("/a"), options).await?.refused(400, "BadRequest")?;
                t.get(&t.maps("/a")).await?.is(200)?;
                Ok(())
            },
        ),
        case(
            "delete_options_of_an_unknown_kind_are_400",
            "A delete whose body has a kind that nobody knows answers 400.",
            async |t| {
                t.map("a", "v").await?;
                let options = json!({ "kind": "Nonsense", "apiVersion": "v1" });
                t.delete_with(&t.maps("/a"), options).await?.refused(400, "BadRequest")?;
                Ok(())
            },
        ),
        case(
            "delete_options_may_say_what_they_are",
            "DeleteOptions may carry kind and apiVersion, v1 or meta.k8s.io/v1, or the group's own.",
            async |t| {
                for version in ["v1", "meta.k8s.io/v1"] {
                    t.map("a", "v").await?;
                    let options = json!({ "kind": "DeleteOptions", "apiVersion": version });
                    t.delete_with(&t.maps("/a"), options).await?.is(200)?;
                }
                Ok(())
            },
        ),
        case(
            "unknown_members_of_delete_options_are_ignored",
            "An unknown member of DeleteOptions changes nothing.",
            async |t| {
                t.map("a", "v").await?;
                t.delete_with(&t.maps("/a"), json!({ "odd": 1 })).await?.is(200)?;
                Ok(())
            },
        ),
        case(
            "wrong_types_in_delete_options_are_400",
            "A DeleteOptions member of the wrong type answers 400.",
            async |t| {
                t.map("a", "v").await?;
                t.delete_with(&t.maps("/a"), json!({ "gracePeriodSeconds": "soon" }))
                    .await?
                    .refused(400, "BadRequest")?;
                Ok(())
            },
        ),
        case(
            "an_unknown_propagation_policy_is_422",
            "A propagationPolicy of another word answers 422.",
            async |t| {
                t.map("a", "v").await?;
                let answer = t
                    .delete_with(&t.maps("/a"), json!({ "propagationPolicy": "Sideways" }))
                    .await?;
                answer.invalid(&["FieldValueNotSupported propagationPolicy"])?;
                Ok(())
            },
        ),
        case(
            "two_words_on_dependents_are_422",
            "propagationPolicy and orphanDependents together answer 422.",
            async |t| {
                t.map("a", "v").await?;
                let answer = t
                    .delete_with(
                        &t.maps("/a"),
                        json!({ "propagationPolicy": "Orphan", "orphanDependents": true }),
                    )
                    .await?;
                answer.invalid(&["FieldValueInvalid propagationPolicy"])?;
                Ok(())
            },
        ),
        case(
            "options_may_come_in_the_query",
            "Without a body, delete options are read from the query.",
            async |t| {
                t.map("a", "v").await?;
                t.delete(&t.maps("/a?propagationPolicy=Sideways"))
                    .await?
                    .refused(422, "Invalid")?;
                t.delete(&t.maps("/a?dryRun=All")).await?.is(200)?;
                t.get(&t.maps("/a")).await?.is(200)?;
                Ok(())
            },
        ),
        case(
            "a_dry_run_delete_deletes_nothing",
            "A delete with dryRun All answers as the delete would, and deletes nothing.",
            async |t| {
                t.map("a", "v").await?;
                has(
                    &t.delete_with(&t.maps("/a"), json!({ "dryRun": ["All"] })).await?.is(200)?,
                    json!({ "status": "Success" }),
                )?;
                t.get(&t.maps("/a")).await?.is(200)?;
                t.delete_with(&t.maps("/a"), json!({ "dryRun": ["Some"] }))
                    .await?
                    .refused(422, "Invalid")?;
                Ok(())
            },
        ),
        case(
            "a_grace_period_of_a_map_is_ignored",
            "gracePeriodSeconds of a kind without graceful deletion changes nothing.",
            async |t| {
                t.map("a", "v").await?;
                t.delete_with(&t.maps("/a"), json!({ "gracePeriodSeconds": 30 })).await?.is(200)?;
                t.get(&t.maps("/a")).await?.is(404)?;
                Ok(())
            },
        ),
        case(
            "a_grace_period_below_zero_is_one_second",
            "gracePeriodSeconds -1 deletes a ConfigMap, and gives a running Pod one second.",
            async |t| {
                t.map("a", "v").await?;
                t.delete_with(&t.maps("/a"), json!({ "gracePeriodSeconds": -1 })).await?.is(200)?;
                t.get(&t.maps("/a")).await?.is(404)?;
                let spec =
                    json!({ "nodeName": "n", "containers": [{ "name": "c", "image": "i" }] });
                t.make(&t.core("pods", ""), json!({ "metadata": { "name": "p" }, "spec": spec }))
                    .await?;
                let held = t
                    .delete_with(&t.core("pods", "/p"), json!({ "gracePeriodSeconds": -1 }))
                    .await?
                    .is(200)?;
                has(&held, json!({ "metadata": { "deletionGracePeriodSeconds": 1 } }))?;
                t.delete_with(&t.core("pods", "/p"), json!({ "gracePeriodSeconds": 0 }))
                    .await?
                    .is(200)?;
                Ok(())
            },
        ),
        case(
            "a_shorter_grace_counts_from_the_first_delete",
            "A second delete of a Pod with a shorter grace moves its deletionTimestamp back, by what the grace is shorter.",
            async |t| {
                let spec =
                    json!({ "nodeName": "n", "containers": [{ "name": "c", "image": "i" }] });
                t.make(&t.core("pods", ""), json!({ "metadata": { "name": "p" }, "spec": spec }))
                    .await?;
                let path = t.core("pods", "/p");
                let end = |pod: &Value| {
                    let time = text(pod, "/metadata/deletionTimestamp").parse::<jiff::Timestamp>();
                    time.map_err(|error| error.to_string())
                };
                let long = json!({ "gracePeriodSeconds": 3600 });
                let first = end(&t.delete_with(&path, long).await?.is(200)?)?;
                let short = json!({ "gracePeriodSeconds": 600 });
                let second = t.delete_with(&path, short).await?.is(200)?;
                has(&second, json!({ "metadata": { "deletionGracePeriodSeconds": 600 } }))?;
                same("moved by", first.duration_since(end(&second)?).as_secs(), 3000)?;
                t.delete_with(&path, json!({ "gracePeriodSeconds": 0 })).await?.is(200)?;
                Ok(())
            },
        ),
        case(
            "a_delete_that_shortens_the_grace_period_says_anew_what_waits",
            "A delete in the foreground, then one in the background: the finalizer goes only if the second asks for less time.",
            async |t| {
                let spec =
                    json!({ "nodeName": "n", "containers": [{ "name": "c", "image": "i" }] });
                let pod = t
                    .make(&t.core("pods", ""), json!({ "metadata": { "name": "p" }, "spec": spec }))
                    .await?;
                // A garbage collector waits for it, and leaves the finalizer alone.
                let mut dependent = map("a", "v");
                dependent["metadata"]["finalizers"] = json!(["example.com/held"]);
                dependent["metadata"]["ownerReferences"] = json!([{
                    "apiVersion": "v1", "kind": "Pod", "name": "p",
                    "uid": text(&pod, "/metadata/uid"), "blockOwnerDeletion": true,
                }]);
                t.make(&t.maps(""), dependent).await?;
                for (seconds, policy, held) in
                    [(60, "Foreground", true), (60, "Background", true), (30, "Background", false)]
                {
                    let options =
                        json!({ "gracePeriodSeconds": seconds, "propagationPolicy": policy });
                    let pod = t.delete_with(&t.core("pods", "/p"), options).await?.is(200)?;
                    let finalizers = if held { json!(["foregroundDeletion"]) } else { Value::Null };
                    same(policy, pod["metadata"]["finalizers"].clone(), finalizers)?;
                }
                t.delete_with(&t.core("pods", "/p"), json!({ "gracePeriodSeconds": 0 }))
                    .await?
                    .is(200)?;
                let freed = json!({ "metadata": { "finalizers": null } });
                t.merge(&t.maps("/a"), freed).await?.is(200).map(drop)
            },
        ),
        case(
            "a_pod_has_at_least_a_second_to_end",
            "terminationGracePeriodSeconds -1 of a Pod is stored as 1.",
            async |t| {
                let spec = json!({ "terminationGracePeriodSeconds": -1, "containers": [{ "name": "c", "image": "i" }] });
                let made = t
                    .make(&t.core("pods", ""), json!({ "metadata": { "name": "p" }, "spec": spec }))
                    .await?;
                has(&made, json!({ "spec": { "terminationGracePeriodSeconds": 1 } }))
            },
        ),
        case(
            "a_body_of_another_media_type_is_415",
            "A delete with a body of another media type answers 415.",
            async |t| {
                t.map("a", "v").await?;
                let answer = t
                    .send(
                        http::Method::DELETE,
                        &t.maps("/a"),
                        &[("content-type", "text/plain")],
                        "{}",
                    )
                    .await?;
                answer.refused(415, "UnsupportedMediaType")?;
                Ok(())
            },
        ),
        case(
            "background_is_an_ordinary_delete",
            "A delete in the background removes an object without finalizers at once.",
            async |t| {
                t.map("a", "v").await?;
                t.delete_with(&t.maps("/a"), json!({ "propagationPolicy": "Background" }))
                    .await?
                    .is(200)?;
                t.get(&t.maps("/a")).await?.is(404)?;
                Ok(())
            },
        ),
    ]
}
