//! Writes that change nothing: equal ones and dry runs.

use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, case};

pub(super) fn equal_writes() -> Vec<Case> {
    vec![
        case(
            "an_equal_replace_changes_nothing",
            "A PUT that changes nothing answers 200 with the same resourceVersion.",
            async |t| {
                let made = t.map("a", "v").await?;
                let put = t.put(&t.maps("/a"), &made).await?.is(200)?;
                same("version", version(&put), version(&made))
            },
        ),
        case(
            "an_equal_patch_changes_nothing",
            "A merge patch and a JSON patch that change nothing keep the resourceVersion.",
            async |t| {
                let made = t.map("a", "v").await?;
                let merged =
                    t.merge(&t.maps("/a"), json!({ "data": { "k": "v" } })).await?.is(200)?;
                same("version", version(&merged), version(&made))?;
                let patch = json!([{ "op": "replace", "path": "/data/k", "value": "v" }]);
                let patched = t.json_patch(&t.maps("/a"), patch).await?.is(200)?;
                same("version", version(&patched), version(&made))
            },
        ),
        case(
            "an_equal_write_makes_no_event",
            "A write that changes nothing is not seen by a watch.",
            async |t| {
                let made = t.map("a", "v").await?;
                let mut watch =
                    t.watch(&t.maps(&format!("?resourceVersion={}", version(&made)))).await?;
                t.put(&t.maps("/a"), &made).await?.is(200)?;
                t.map("b", "v").await?;
                watch.event("ADDED", "b").await.map(drop)
            },
        ),
        case(
            "an_equal_write_of_a_lease_keeps_its_version",
            "A PUT of a Lease with the same times changes nothing.",
            async |t| {
                let made = t.make(&t.leases(""), lease("a", "x")).await?;
                let put = t.put(&t.leases("/a"), &made).await?.is(200)?;
                same("version", version(&put), version(&made))
            },
        ),
        case(
            "an_equal_write_of_a_custom_object_keeps_version_and_generation",
            "A PUT of a custom object that changes nothing keeps resourceVersion and generation.",
            async |t| {
                let made = t.make(&t.widgets(""), widget("a", json!({ "n": 1 }))).await?;
                let put = t.put(&t.widgets("/a"), &made).await?.is(200)?;
                same("version", version(&put), version(&made))?;
                has(&put, json!({ "metadata": { "generation": 1 } }))
            },
        ),
        case(
            "a_write_that_takes_nothing_away_is_equal",
            "Removing a label or an annotation that is not there changes nothing.",
            async |t| {
                let made = t.map("a", "v").await?;
                let patch = json!({ "metadata": { "labels": { "x": null }, "annotations": { "y": null } } });
                let patched = t.merge(&t.maps("/a"), patch).await?.is(200)?;
                same("version", version(&patched), version(&made))
            },
        ),
        case(
            "empty_maps_and_lists_are_absent_ones",
            "Writing empty labels, annotations or finalizers changes nothing on an object without them.",
            async |t| {
                let made = t.map("a", "v").await?;
                let patch =
                    json!({ "metadata": { "labels": {}, "annotations": {}, "finalizers": [] } });
                let patched = t.merge(&t.maps("/a"), patch).await?.is(200)?;
                same("version", version(&patched), version(&made))
            },
        ),
    ]
}

pub(super) fn dry_runs() -> Vec<Case> {
    vec![
        case(
            "a_dry_run_create_answers_and_stores_nothing",
            "A create with dryRun=All answers 201 with an object without resourceVersion, and stores nothing.",
            async |t| {
                let made = t.post(&t.maps("?dryRun=All"), &map("a", "v")).await?.is(201)?;
                has(&made, json!({ "metadata": { "uid": "*", "resourceVersion": null } }))?;
                t.get(&t.maps("/a")).await?.is(404)?;
                Ok(())
            },
        ),
        case(
            "a_dry_run_update_answers_and_stores_nothing",
            "A PUT or PATCH with dryRun=All answers with the change and stores nothing.",
            async |t| {
                let made = t.map("a", "v").await?;
                let put = t.put(&t.maps("/a?dryRun=All"), &map("a", "w")).await?.is(200)?;
                has(
                    &put,
                    json!({ "data": { "k": "w" }, "metadata": { "resourceVersion": version(&made) } }),
                )?;
                let patched = t
                    .merge(&t.maps("/a?dryRun=All"), json!({ "data": { "k": "x" } }))
                    .await?
                    .is(200)?;
                has(
                    &patched,
                    json!({ "data": { "k": "x" }, "metadata": { "resourceVersion": version(&made) } }),
                )?;
                has(&t.get(&t.maps("/a")).await?.is(200)?, json!({ "data": { "k": "v" } }))
            },
        ),
        case(
            "a_dry_run_still_refuses",
            "A dry run refuses what the write would: existing names, stale versions, invalid objects.",
            async |t| {
                let mut made = t.map("a", "v").await?;
                t.post(&t.maps("?dryRun=All"), &map("a", "v"))
                    .await?
                    .refused(409, "AlreadyExists")?;
                made["metadata"]["resourceVersion"] = "1".into();
                t.put(&t.maps("/a?dryRun=All"), &made).await?.refused(409, "Conflict")?;
                t.post(&t.maps("?dryRun=All"), &map("A_", "v")).await?.refused(422, "Invalid")?;
                Ok(())
            },
        ),
        case(
            "another_dry_run_is_422",
            "dryRun of another value than All answers 422 Invalid.",
            async |t| {
                t.post(&t.maps("?dryRun=Some"), &named("a"))
                    .await?
                    .invalid(&["FieldValueNotSupported dryRun"])?;
                Ok(())
            },
        ),
    ]
}
