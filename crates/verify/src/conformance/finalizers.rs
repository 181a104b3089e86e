//! Objects that are held while they are deleted.

use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, Target, case};

async fn held(t: &Target, name: &str) -> Result<serde_json::Value, String> {
    let mut object = map(name, "v");
    object["metadata"]["finalizers"] = json!(["example.com/f"]);
    t.make(&t.maps(""), object).await
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "delete_marks_a_held_object",
            "The delete of an object with finalizers answers the object with a deletionTimestamp, and it stays.",
            async |t| {
                let made = held(t, "a").await?;
                let marked = t.delete(&t.maps("/a")).await?.is(200)?;
                has(
                    &marked,
                    json!({ "kind": "ConfigMap", "metadata": { "deletionTimestamp": "*", "deletionGracePeriodSeconds": 0, "finalizers": ["example.com/f"] } }),
                )?;
                holds("the version is newer", number(&marked) > number(&made))?;
                same("version", version(&t.get(&t.maps("/a")).await?.is(200)?), version(&marked))
            },
        ),
        case(
            "a_watch_sees_the_mark_and_the_end",
            "A watch sees MODIFIED when a held object is deleted, and DELETED when its last finalizer goes.",
            async |t| {
                let made = held(t, "a").await?;
                let mut watch =
                    t.watch(&t.maps(&format!("?resourceVersion={}", version(&made)))).await?;
                let marked = t.delete(&t.maps("/a")).await?.is(200)?;
                let patched = t
                    .merge(&t.maps("/a"), json!({ "metadata": { "finalizers": null } }))
                    .await?
                    .is(200)?;
                has(
                    &patched,
                    json!({ "metadata": { "finalizers": null, "deletionTimestamp": "*" } }),
                )?;
                same("version", version(&watch.event("MODIFIED", "a").await?), version(&marked))?;
                let gone = watch.event("DELETED", "a").await?;
                holds("the last version is newer", number(&gone) > number(&marked))
            },
        ),
        case(
            "the_deleted_event_of_a_held_object_is_its_last_stored_form",
            "The DELETED event of a released object still shows the finalizer that was removed.",
            async |t| {
                let made = held(t, "a").await?;
                let mut watch =
                    t.watch(&t.maps(&format!("?resourceVersion={}", version(&made)))).await?;
                t.delete(&t.maps("/a")).await?.is(200)?;
                t.merge(&t.maps("/a"), json!({ "metadata": { "finalizers": null } }))
                    .await?
                    .is(200)?;
                watch.event("MODIFIED", "a").await?;
                let gone = watch.event("DELETED", "a").await?;
                has(
                    &gone,
                    json!({ "metadata": { "finalizers": ["example.com/f"], "deletionTimestamp": "*" } }),
                )
            },
        ),
        case(
            "removing_the_last_finalizer_removes_the_object",
            "After its last finalizer is removed a deleted object is gone.",
            async |t| {
                held(t, "a").await?;
                t.delete(&t.maps("/a")).await?.is(200)?;
                t.json_patch(
                    &t.maps("/a"),
                    json!([{ "op": "remove", "path": "/metadata/finalizers/0" }]),
                )
                .await?
                .is(200)?;
                t.get(&t.maps("/a")).await?.is(404)?;
                t.map("a", "v").await?;
                Ok(())
            },
        ),
        case(
            "a_put_can_remove_the_last_finalizer",
            "A PUT without finalizers releases a deleted object.",
            async |t| {
                held(t, "a").await?;
                let mut marked = t.delete(&t.maps("/a")).await?.is(200)?;
                marked["metadata"]["finalizers"] = json!([]);
                t.put(&t.maps("/a"), &marked).await?.is(200)?;
                t.get(&t.maps("/a")).await?.is(404)?;
                Ok(())
            },
        ),
        case(
            "without_a_deletion_finalizers_come_and_go",
            "Removing the last finalizer of an object that is not being deleted only removes the finalizer.",
            async |t| {
                held(t, "a").await?;
                t.merge(&t.maps("/a"), json!({ "metadata": { "finalizers": null } }))
                    .await?
                    .is(200)?;
                t.get(&t.maps("/a")).await?.is(200)?;
                Ok(())
            },
        ),
        case(
            "no_finalizer_is_added_while_deleting",
            "A new finalizer on an object that is being deleted answers 422 Forbidden.",
            async |t| {
                held(t, "a").await?;
                t.delete(&t.maps("/a")).await?.is(200)?;
                let patch =
                    json!({ "metadata": { "finalizers": ["example.com/f", "example.com/g"] } });
                let answer = t.merge(&t.maps("/a"), patch).await?;
                let status = answer.invalid(&["FieldValueForbidden metadata.finalizers"])?;
                let why = "no new finalizers can be added if the object is being deleted, found new finalizers []string{\"example.com/g\"}";
                holds("the message names the finalizer", text(&status, "/message").contains(why))
                    .map_err(|e| format!("{e}: {status}"))
            },
        ),
        case(
            "a_held_object_can_still_be_changed",
            "Labels and data of an object that is being deleted can be changed.",
            async |t| {
                held(t, "a").await?;
                t.delete(&t.maps("/a")).await?.is(200)?;
                let patched =
                    t.merge(&t.maps("/a"), json!({ "data": { "k": "w" } })).await?.is(200)?;
                has(
                    &patched,
                    json!({ "data": { "k": "w" }, "metadata": { "deletionTimestamp": "*" } }),
                )
            },
        ),
        case(
            "a_second_delete_changes_nothing",
            "A second delete of a held object answers the same object.",
            async |t| {
                held(t, "a").await?;
                let one = t.delete(&t.maps("/a")).await?.is(200)?;
                let two = t.delete(&t.maps("/a")).await?.is(200)?;
                same("version", version(&two), version(&one))?;
                same(
                    "time",
                    text(&two, "/metadata/deletionTimestamp"),
                    text(&one, "/metadata/deletionTimestamp"),
                )
            },
        ),
        case(
            "a_create_over_a_held_object_is_409",
            "A create of the name of an object that is being deleted answers 409 AlreadyExists.",
            async |t| {
                held(t, "a").await?;
                t.delete(&t.maps("/a")).await?.is(200)?;
                let status =
                    t.post(&t.maps(""), &map("a", "v")).await?.refused(409, "AlreadyExists")?;
                same(
                    "message",
                    text(&status, "/message"),
                    "object is being deleted: configmaps \"a\" already exists",
                )
            },
        ),
        case(
            "the_deletion_time_stays",
            "The deletionTimestamp of an object cannot be removed or changed by a write.",
            async |t| {
                held(t, "a").await?;
                let marked = t.delete(&t.maps("/a")).await?.is(200)?;
                let patched = t
                    .merge(&t.maps("/a"), json!({ "metadata": { "deletionTimestamp": null } }))
                    .await?
                    .is(200)?;
                same("version", version(&patched), version(&marked))
            },
        ),
        case(
            "foreground_leaves_its_finalizer",
            "A delete in the foreground adds the finalizer foregroundDeletion.",
            async |t| {
                let mut object = map("a", "v");
                object["metadata"]["finalizers"] = json!(["example.com/f"]);
                t.make(&t.maps(""), object).await?;
                let marked = t
                    .delete_with(&t.maps("/a"), json!({ "propagationPolicy": "Foreground" }))
                    .await?
                    .is(200)?;
                let found = marked["metadata"]["finalizers"].to_string();
                holds(
                    "it has both finalizers",
                    found.contains("foregroundDeletion") && found.contains("example.com/f"),
                )
            },
        ),
        case(
            "orphan_leaves_its_finalizer",
            "A delete that orphans the dependents adds the finalizer orphan.",
            async |t| {
                held(t, "a").await?;
                let marked = t
                    .delete_with(&t.maps("/a"), json!({ "propagationPolicy": "Orphan" }))
                    .await?
                    .is(200)?;
                let found = marked["metadata"]["finalizers"].to_string();
                holds(
                    "it has both finalizers",
                    found.contains("orphan") && found.contains("example.com/f"),
                )
            },
        ),
        case(
            "a_dry_run_does_not_mark",
            "A dry run of the delete of a held object answers it marked, and leaves it unmarked.",
            async |t| {
                held(t, "a").await?;
                let marked =
                    t.delete_with(&t.maps("/a"), json!({ "dryRun": ["All"] })).await?.is(200)?;
                has(&marked, json!({ "metadata": { "deletionTimestamp": "*" } }))?;
                has(
                    &t.get(&t.maps("/a")).await?.is(200)?,
                    json!({ "metadata": { "deletionTimestamp": null } }),
                )
            },
        ),
        case(
            "finalizers_are_kept_as_sent",
            "The order of finalizers is kept, and an equal list changes nothing.",
            async |t| {
                let mut object = map("a", "v");
                object["metadata"]["finalizers"] = json!(["example.com/b", "example.com/a"]);
                let made = t.make(&t.maps(""), object).await?;
                has(
                    &made,
                    json!({ "metadata": { "finalizers": ["example.com/b", "example.com/a"] } }),
                )
            },
        ),
        case(
            "a_stale_patch_does_not_release",
            "A JSON patch that tests the finalizer's place fails when another one moved there.",
            async |t| {
                held(t, "a").await?;
                let patch = json!([
                    { "op": "test", "path": "/metadata/finalizers/0", "value": "example.com/other" },
                    { "op": "remove", "path": "/metadata/finalizers/0" },
                ]);
                t.json_patch(&t.maps("/a"), patch).await?.refused(422, "Invalid")?;
                Ok(())
            },
        ),
    ]
}
