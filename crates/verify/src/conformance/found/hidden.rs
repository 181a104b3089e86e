//! What random calls found of what is stored and not shown, or shown and not stored.

use http::Method;
use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::found_typed::objects::replica_set;
use crate::conformance::objects::*;
use crate::conformance::{APPLY, Case, STRATEGIC, case};

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "empty_metadata_that_were_applied_are_stored",
            "An apply of a custom object with an empty list in its metadata stores it, and nobody is shown it: the next \
             write leaves it out, which is a new version, and the same apply again is one each time.",
            async |t| {
                let path = t.widgets("/a?fieldManager=m");
                let mut object = widget("a", json!({}));
                object["metadata"]["finalizers"] = json!([]);
                let made = t.patch(&path, APPLY, &object).await?.is(201)?;
                holds("the list is not shown", made["metadata"]["finalizers"].is_null())?;
                t.settled(&t.widgets("")).await?;
                let left_out = t.merge(&t.widgets("/a"), json!({})).await?.is(200)?;
                holds("leaving it out is a write", number(&left_out) > number(&made))?;
                t.settled(&t.widgets("")).await?;
                let same_again = t.merge(&t.widgets("/a"), json!({})).await?.is(200)?;
                same("the version after that", version(&same_again), version(&left_out))?;
                let to_status = t
                    .patch(&t.widgets("/a/status?fieldManager=n"), APPLY, &object)
                    .await?
                    .is(200)?;
                same(
                    "the version after an apply to the status",
                    version(&to_status),
                    version(&left_out),
                )?;
                let once = t.patch(&path, APPLY, &object).await?.is(200)?;
                t.settled(&t.widgets("")).await?;
                let twice = t.patch(&path, APPLY, &object).await?.is(200)?;
                holds("each apply is a write", number(&twice) > number(&once))
            },
        ),
        case(
            "who_says_another_kind_to_the_status_owns_nothing",
            "A write to the status of a custom object that says another kind is done and leaves the object without \
             owners; what is wrong with it answers 422 in the name of that kind.",
            async |t| {
                t.make(&t.trackers(""), tracker("a", json!({}))).await?;
                let path = t.trackers("/a/status");
                let refused =
                    t.merge(&path, json!({ "kind": "X", "status": { "phase": 1 } })).await?;
                let status = refused.says(
                    422,
                    "Invalid",
                    &format!("X.{GROUP} \"a\" is invalid: status.phase"),
                )?;
                has(&status, json!({ "details": { "kind": "X", "group": GROUP, "name": "a" } }))?;
                let done = t
                    .merge(&path, json!({ "kind": "X", "status": { "phase": "a" } }))
                    .await?
                    .is(200)?;
                has(&done, json!({ "kind": "Tracker", "status": { "phase": "a" } }))?;
                holds("nobody owns it", done["metadata"]["managedFields"].is_null())?;
                let other =
                    json!({ "apiVersion": "other.example.com/v1", "status": { "phase": 1 } });
                let refused = t.merge(&path, other).await?;
                refused
                    .says(
                        422,
                        "Invalid",
                        "Tracker.other.example.com \"a\" is invalid: status.phase",
                    )
                    .map(drop)
            },
        ),
        case(
            "a_time_that_is_none_is_no_time_of_an_applied_custom_object",
            "An apply of a custom object with a number for a time, or with a generation that is no whole number, answers \
             201 without it.",
            async |t| {
                let odd = [
                    ("a", "creationTimestamp", json!(0)),
                    ("b", "deletionTimestamp", json!(0)),
                    ("c", "generation", json!(1.5)),
                    ("d", "deletionGracePeriodSeconds", json!(1.5)),
                ];
                for (name, member, value) in odd {
                    let mut object = widget(name, json!({}));
                    object["metadata"][member] = value.clone();
                    let path = t.widgets(&format!("/{name}?fieldManager=m"));
                    let made = t.patch(&path, APPLY, &object).await?.is(201)?;
                    holds("the number is not there", made["metadata"][member] != value)?;
                }
                Ok(())
            },
        ),
        case(
            "an_applied_float_that_is_whole_is_no_change",
            "An apply of a custom object that writes a whole number as a float, and changes a label, leaves the generation.",
            async |t| {
                t.make(&t.widgets(""), widget("a", json!({ "size": 2 }))).await?;
                let mut object = widget("a", json!({ "size": 2.0 }));
                object["metadata"]["labels"] = json!({ "l": "x" });
                let path = t.widgets("/a?fieldManager=m&force=true");
                has(
                    &t.patch(&path, APPLY, &object).await?.is(200)?,
                    json!({ "metadata": { "generation": 1 } }),
                )
            },
        ),
        case(
            "a_null_in_a_list_has_the_defaults_of_an_item",
            "A port of a Service that is null is refused for what has no default, and not for its protocol.",
            async |t| {
                let service = json!({ "metadata": { "name": "a" }, "spec": { "ports": [null] } });
                let answer = t.post(&t.core("services", ""), &service).await?;
                let causes = [
                    "FieldValueInvalid spec.ports[0].port",
                    "FieldValueInvalid spec.ports[0].targetPort",
                ];
                answer.invalid(&causes).map(drop)
            },
        ),
        case(
            "empty_metadata_of_built_in_objects_are_not_stored",
            "An apply of a built-in object with an empty list in its metadata is the same as one without.",
            async |t| {
                let mut object = map("a", "v");
                object["apiVersion"] = json!("v1");
                object["kind"] = json!("ConfigMap");
                object["metadata"]["finalizers"] = json!([]);
                let made = t.patch(&t.maps("/a?fieldManager=m"), APPLY, &object).await?.is(201)?;
                let merged = t.merge(&t.maps("/a"), json!({})).await?.is(200)?;
                same("the version", version(&merged), version(&made))
            },
        ),
        case(
            "an_owner_that_a_scale_leaves_twice_is_there_once_after_the_next_write",
            "Of two entries of one manager, which a write to a Scale leaves, the next write of the object keeps one, even \
             if it changes nothing else.",
            async |t| {
                let sets = |rest: &str| t.of_group("apps/v1", "replicasets", rest);
                t.make(&sets(""), replica_set("a")).await?;
                let entries = |object: &Value| items(object, "/metadata/managedFields").len();
                t.patch(&sets("/a/scale"), STRATEGIC, &json!({})).await?.is(200)?;
                let scaled = t.get(&sets("/a")).await?.is(200)?;
                same("the entries after the Scale", entries(&scaled), 2_usize)?;
                let written = t.patch(&sets("/a"), STRATEGIC, &json!({})).await?.is(200)?;
                same("the entries after the write", entries(&written), 1_usize)?;
                holds("it is a write", number(&written) > number(&scaled))
            },
        ),
        case(
            "an_object_that_nothing_holds_goes_with_a_write_that_changes_nothing",
            "A Pod that was created as one that is being deleted goes with the next write, whatever it says.",
            async |t| {
                let mut ending = pod("a");
                ending["apiVersion"] = json!("v1");
                ending["kind"] = json!("Pod");
                ending["metadata"]["deletionTimestamp"] = json!("2001-01-01T00:00:00Z");
                t.patch(&t.core("pods", "/a?fieldManager=m"), APPLY, &ending).await?.is(201)?;
                t.get(&t.core("pods", "/a")).await?.is(200)?;
                t.merge(&t.core("pods", "/a/status"), json!({})).await?.is(200)?;
                t.get(&t.core("pods", "/a")).await?.refused(404, "NotFound").map(drop)
            },
        ),
        case(
            "a_version_that_is_none_is_answered_by_a_dry_run",
            "A create that is only tried answers with the resourceVersion that was sent, though it is no number.",
            async |t| {
                let mut object = map("a", "v");
                object["metadata"]["resourceVersion"] = json!("x");
                let tried = t.post(&t.maps("?dryRun=All"), &object).await?.is(201)?;
                same("the version", version(&tried), "x")
            },
        ),
        case(
            "a_version_is_answered_by_an_apply_that_is_only_tried",
            "An apply that would create an object and is only tried answers with the resourceVersion that was sent.",
            async |t| {
                let mut object = widget("a", json!({}));
                object["metadata"]["resourceVersion"] = json!("1");
                let path = t.widgets("/a?dryRun=All&fieldManager=m");
                let tried = t.patch(&path, APPLY, &object).await?.is(201)?;
                same("the version", version(&tried), "1")
            },
        ),
        case(
            "a_delete_that_is_only_tried_and_frees_an_object_answers_with_nothing_of_it",
            "A dry run of a delete whose policy takes away the last finalizer answers with an empty object of the kind.",
            async |t| {
                let mut held = lease("a", "x");
                held["metadata"]["finalizers"] = json!(["orphan"]);
                t.make(&t.leases(""), held).await?;
                let options = json!({ "dryRun": ["All"], "propagationPolicy": "Background" });
                let tried = t.delete_with(&t.leases("/a"), options).await?.is(200)?;
                same("the kind", text(&tried, "/kind"), "Lease")?;
                same("the metadata", &tried["metadata"], &json!({}))?;
                let deployments = |rest: &str| t.of_group("apps/v1", "deployments", rest);
                let spec = json!({
                    "replicas": 3, "selector": { "matchLabels": { "app": "a" } },
                    "template": { "metadata": { "labels": { "app": "a" } }, "spec": pod("")["spec"] },
                });
                let held = json!({ "name": "a", "finalizers": ["orphan"] });
                t.make(&deployments(""), json!({ "metadata": held, "spec": spec })).await?;
                let options = json!({ "dryRun": ["All"], "propagationPolicy": "Background" });
                let tried = t.delete_with(&deployments("/a"), options).await?.is(200)?;
                same("the replicas of a Deployment", &tried["spec"]["replicas"], &json!(0))?;
                let mut held = widget("a", json!({}));
                held["metadata"]["finalizers"] = json!(["orphan"]);
                t.make(&t.widgets(""), held).await?;
                let options = json!({ "dryRun": ["All"], "propagationPolicy": "Background" });
                let tried = t.delete_with(&t.widgets("/a"), options).await?.is(200)?;
                same("the metadata of a custom one", &tried["metadata"], &Value::Null)?;
                t.get(&t.leases("/a")).await?.is(200).map(drop)
            },
        ),
        case(
            "data_that_are_null_are_empty",
            "A value of a Secret that is null is an empty text.",
            async |t| {
                let secret = json!({ "metadata": { "name": "a" }, "data": { "k": null } });
                has(&t.make(&t.core("secrets", ""), secret).await?, json!({ "data": { "k": "" } }))
            },
        ),
        case(
            "a_name_that_can_be_none_does_not_make_a_list_one_object",
            "A list with the field selector metadata.name of nothing, a limit and a version is read at that version.",
            async |t| {
                let first = t.map("a", "v").await?;
                let first = t
                    .get(&t.maps(&format!("?resourceVersion={}", version(&first))))
                    .await?
                    .is(200)?;
                t.map("b", "v").await?;
                let rest = format!(
                    "?fieldSelector=metadata.name%3D&limit=1&resourceVersion={}",
                    version(&first)
                );
                let list = t.send(Method::GET, &t.maps(&rest), &[], "").await?.is(200)?;
                same("the version", version(&list), version(&first))
            },
        ),
        case(
            "what_is_stored_and_not_shown_is_left_out_by_a_delete_too",
            "A second delete of a custom object that a finalizer holds is a write if an apply has stored an empty map in \
             its metadata.",
            async |t| {
                let mut object = widget("a", json!({}));
                object["metadata"]["finalizers"] = json!(["example.com/f"]);
                t.make(&t.widgets(""), object.clone()).await?;
                t.delete(&t.widgets("/a")).await?.is(200)?;
                object["metadata"] = json!({ "name": "a", "labels": {} });
                let applied =
                    t.patch(&t.widgets("/a?fieldManager=m"), APPLY, &object).await?.is(200)?;
                t.settled(&t.widgets("")).await?;
                let again = t.delete(&t.widgets("/a")).await?.is(200)?;
                holds("it is another version", number(&again) > number(&applied))?;
                t.settled(&t.widgets("")).await?;
                let third = t.delete(&t.widgets("/a")).await?.is(200)?;
                same("the version after the third", version(&third), version(&again))
            },
        ),
        case(
            "empty_metadata_that_were_applied_in_another_version_are_not_stored",
            "An apply of a custom object with an empty map in its metadata, in a version that is not the stored one, \
             leaves nothing for the next write to leave out.",
            async |t| {
                let mut object = widget("a", json!({}));
                object["apiVersion"] = json!(format!("{GROUP}/v2"));
                object["metadata"]["labels"] = json!({});
                let made =
                    t.patch(&t.widgets_v2("/a?fieldManager=m"), APPLY, &object).await?.is(201)?;
                t.settled(&t.widgets_v2("")).await?;
                for path in [t.widgets_v2("/a"), t.widgets_v2("/a/status")] {
                    let same_again = t.merge(&path, json!({})).await?.is(200)?;
                    same("the version after that", version(&same_again), version(&made))?;
                }
                Ok(())
            },
        ),
    ]
}
