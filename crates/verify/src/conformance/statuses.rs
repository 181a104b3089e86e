//! Status subresources: what a write to the object leaves alone, what a write to its status does.

use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "create_drops_the_status",
            "The status of a create is dropped where status is a subresource.",
            async |t| {
                let mut object = widget("a", json!({}));
                object["status"] = json!({ "n": 1 });
                has(&t.make(&t.widgets(""), object).await?, json!({ "status": null }))?;
                let mut object = claim("a", &t.class);
                object["status"] = json!({ "phase": "Bound" });
                has(
                    &t.make(&t.claims(""), object).await?,
                    json!({ "status": { "phase": "Pending" } }),
                )
            },
        ),
        case(
            "create_keeps_the_status_of_a_kind_without",
            "The status of a create stays where status is no subresource.",
            async |t| {
                let mut object = gadget(&t.own("g"), json!({}));
                object["status"] = json!({ "n": 1 });
                has(&t.make(&t.gadgets(""), object).await?, json!({ "status": { "n": 1 } }))
            },
        ),
        case(
            "a_write_to_the_object_leaves_its_status",
            "A PUT or patch of the object does not change its status.",
            async |t| {
                t.make(&t.widgets(""), widget("a", json!({ "n": 1 }))).await?;
                t.merge(&t.widgets("/a/status"), json!({ "status": { "n": 1 } })).await?.is(200)?;
                let patched = t
                    .merge(&t.widgets("/a"), json!({ "spec": { "n": 2 }, "status": { "n": 2 } }))
                    .await?
                    .is(200)?;
                has(&patched, json!({ "spec": { "n": 2 }, "status": { "n": 1 } }))?;
                let mut put = patched;
                put["status"] = json!({ "n": 3 });
                put["spec"]["n"] = 3.into();
                has(
                    &t.put(&t.widgets("/a"), &put).await?.is(200)?,
                    json!({ "spec": { "n": 3 }, "status": { "n": 1 } }),
                )
            },
        ),
        case(
            "a_write_to_the_status_leaves_the_rest",
            "A PUT or patch of the status does not change spec or, for custom kinds, metadata.",
            async |t| {
                t.make(&t.widgets(""), widget("a", json!({ "n": 1 }))).await?;
                let patch = json!({ "spec": { "n": 2 }, "metadata": { "labels": { "l": "1" } }, "status": { "n": 2 } });
                let patched = t.merge(&t.widgets("/a/status"), patch).await?.is(200)?;
                has(
                    &patched,
                    json!({ "spec": { "n": 1 }, "status": { "n": 2 }, "metadata": { "labels": null, "generation": 1 } }),
                )?;
                let mut put = patched;
                put["spec"]["n"] = 3.into();
                put["status"]["n"] = 3.into();
                has(
                    &t.put(&t.widgets("/a/status"), &put).await?.is(200)?,
                    json!({ "spec": { "n": 1 }, "status": { "n": 3 }, "metadata": { "generation": 1 } }),
                )
            },
        ),
        case(
            "only_a_status_change_is_no_write_of_the_object",
            "A write to the object that changes its status alone changes nothing.",
            async |t| {
                let made = t.make(&t.widgets(""), widget("a", json!({ "n": 1 }))).await?;
                let patched =
                    t.merge(&t.widgets("/a"), json!({ "status": { "n": 2 } })).await?.is(200)?;
                same("version", version(&patched), version(&made))
            },
        ),
        case(
            "a_status_write_counts_a_version",
            "A write to the status gives the object a new resourceVersion, and a watch sees it.",
            async |t| {
                let made = t.make(&t.widgets(""), widget("a", json!({}))).await?;
                let mut watch =
                    t.watch(&t.widgets(&format!("?resourceVersion={}", version(&made)))).await?;
                let patched = t
                    .merge(&t.widgets("/a/status"), json!({ "status": { "n": 2 } }))
                    .await?
                    .is(200)?;
                holds("the version is newer", number(&patched) > number(&made))?;
                let seen = watch.event("MODIFIED", "a").await?;
                same("version", version(&seen), version(&patched))
            },
        ),
        case(
            "an_equal_status_write_changes_nothing",
            "A write to the status that changes nothing keeps the resourceVersion.",
            async |t| {
                t.make(&t.widgets(""), widget("a", json!({}))).await?;
                let one = t
                    .merge(&t.widgets("/a/status"), json!({ "status": { "n": 2 } }))
                    .await?
                    .is(200)?;
                let two = t
                    .merge(&t.widgets("/a/status"), json!({ "status": { "n": 2 } }))
                    .await?
                    .is(200)?;
                same("version", version(&two), version(&one))
            },
        ),
        case(
            "a_stale_status_write_is_409",
            "A PUT of a status with an old resourceVersion answers 409.",
            async |t| {
                let made = t.make(&t.widgets(""), widget("a", json!({}))).await?;
                t.merge(&t.widgets("/a"), json!({ "spec": { "n": 2 } })).await?.is(200)?;
                t.put(&t.widgets("/a/status"), &made).await?.refused(409, "Conflict")?;
                Ok(())
            },
        ),
        case(
            "a_status_write_of_a_missing_object_is_404",
            "A PUT or patch of a missing object's status answers 404, of a Lease's, which has none, too.",
            async |t| {
                t.put(&t.widgets("/a/status"), &widget("a", json!({})))
                    .await?
                    .refused(404, "NotFound")?;
                t.merge(&t.widgets("/a/status"), json!({ "status": {} }))
                    .await?
                    .refused(404, "NotFound")?;
                t.merge(&t.leases("/a/status"), json!({ "status": {} }))
                    .await?
                    .refused(404, "NotFound")?;
                Ok(())
            },
        ),
        case(
            "a_status_can_be_read_by_itself",
            "A get of the status answers the whole object.",
            async |t| {
                let made = t.make(&t.widgets(""), widget("a", json!({ "n": 1 }))).await?;
                same("body", t.get(&t.widgets("/a/status")).await?.is(200)?, made)
            },
        ),
        case(
            "a_status_has_only_get_put_and_patch",
            "POST and DELETE of a status answer 405.",
            async |t| {
                t.make(&t.widgets(""), widget("a", json!({}))).await?;
                t.post(&t.widgets("/a/status"), &widget("a", json!({})))
                    .await?
                    .refused(405, "MethodNotAllowed")?;
                t.delete(&t.widgets("/a/status")).await?.refused(405, "MethodNotAllowed")?;
                Ok(())
            },
        ),
        case(
            "a_claims_status_is_written_by_itself",
            "A claim's phase is changed by its status subresource only.",
            async |t| {
                t.make(&t.claims(""), claim("a", &t.class)).await?;
                let patch = json!({ "status": { "phase": "Lost" } });
                has(
                    &t.merge(&t.claims("/a"), patch.clone()).await?.is(200)?,
                    json!({ "status": { "phase": "Pending" } }),
                )?;
                let patched = t.merge(&t.claims("/a/status?dryRun=All"), patch).await?.is(200)?;
                has(&patched, json!({ "status": { "phase": "Lost" } }))
            },
        ),
        case(
            "a_status_write_of_a_built_in_kind_takes_labels_along",
            "A write to a claim's status changes its labels too.",
            async |t| {
                t.make(&t.claims(""), claim("a", &t.class)).await?;
                let patch = json!({ "metadata": { "labels": { "l": "1" } } });
                let patched = t.merge(&t.claims("/a/status"), patch).await?.is(200)?;
                has(&patched, json!({ "metadata": { "labels": { "l": "1" } } }))
            },
        ),
        case(
            "a_status_write_leaves_the_spec_of_a_claim",
            "A write to a claim's or a volume's status leaves the spec alone.",
            async |t| {
                t.make(&t.claims(""), claim("a", &t.class)).await?;
                let patch = json!({ "spec": { "volumeName": "v" } });
                let patched = t.merge(&t.claims("/a/status"), patch).await?.is(200)?;
                has(&patched, json!({ "spec": { "volumeName": null } }))
            },
        ),
        case(
            "a_volumes_phase_change_is_dated",
            "A change of a volume's phase sets lastPhaseTransitionTime.",
            async |t| {
                let name = t.own("v");
                let made = t.make(&t.volumes(""), volume(&name, &t.class)).await?;
                has(
                    &made,
                    json!({ "status": { "phase": "Pending", "lastPhaseTransitionTime": "*" } }),
                )?;
                let path = t.volumes(&format!("/{name}/status?dryRun=All"));
                let patch = json!({ "status": { "phase": "Failed", "message": "m" } });
                let patched = t.merge(&path, patch).await?.is(200)?;
                has(
                    &patched,
                    json!({ "status": { "phase": "Failed", "message": "m", "lastPhaseTransitionTime": "*" } }),
                )
            },
        ),
    ]
}
