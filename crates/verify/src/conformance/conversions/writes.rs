//! Writes in another version than the stored one.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::conversions::hook::Hook;
use crate::conformance::{APPLY, Case, Outcome, Target, case};

pub(super) fn cases() -> Vec<Case> {
    [changes(), others()].into_iter().flatten().collect()
}

/// In `v1` the thing has this color, and in `v2` this colour.
pub(super) async fn is_everywhere(t: &Target, hook: &Hook, name: &str, color: &str) -> Outcome {
    for (version, member) in [("v1", "color"), ("v2", "colour")] {
        let got = t.get(&hook.things(version, &format!("/{name}"))).await?.is(200)?;
        same(version, &got["spec"], &json!({ member: color }))?;
    }
    Ok(())
}

fn changes() -> Vec<Case> {
    vec![
        case(
            "a_create_in_another_version_is_stored_converted",
            "An object that is created in another version than the stored one answers in that version.",
            async |t| {
                let hook = Hook::served(t).await?;
                let made = hook.make(t, "v2", "a", "red").await?;
                same("apiVersion", text(&made, "/apiVersion"), hook.version("v2"))?;
                same("the spec", &made["spec"], &json!({ "colour": "red" }))?;
                is_everywhere(t, &hook, "a", "red").await
            },
        ),
        case(
            "an_update_in_another_version_is_stored_converted",
            "An update in another version changes the stored object, and counts a generation.",
            async |t| {
                let hook = Hook::served(t).await?;
                hook.make(t, "v1", "a", "red").await?;
                let path = hook.things("v2", "/a");
                let new = t.replace(&path, |thing| thing["spec"]["colour"] = "blue".into()).await?;
                let new = new.is(200)?;
                same("the spec", &new["spec"], &json!({ "colour": "blue" }))?;
                same("the generation", &new["metadata"]["generation"], &json!(2))?;
                is_everywhere(t, &hook, "a", "blue").await
            },
        ),
        case(
            "an_update_without_a_change_is_no_write_in_any_version",
            "An update in another version that changes nothing keeps the resourceVersion.",
            async |t| {
                let hook = Hook::served(t).await?;
                let made = hook.make(t, "v1", "a", "red").await?;
                t.settled(&hook.things("v2", "")).await?;
                let same_one = t.replace(&hook.things("v2", "/a"), |_| {}).await?.is(200)?;
                same("version", version(&same_one), version(&made))
            },
        ),
        case(
            "a_stale_update_in_another_version_conflicts",
            "An update with an old resourceVersion conflicts in any version.",
            async |t| {
                let hook = Hook::served(t).await?;
                hook.make(t, "v1", "a", "red").await?;
                let old = t.get(&hook.things("v2", "/a")).await?.is(200)?;
                let patch = json!({ "spec": { "color": "blue" } });
                t.merge(&hook.things("v1", "/a"), patch).await?.is(200)?;
                t.put(&hook.things("v2", "/a"), &old).await?.refused(409, "Conflict").map(drop)
            },
        ),
        case(
            "a_merge_patch_applies_to_the_requested_version",
            "A merge patch applies to the object in the version of its path.",
            async |t| {
                let hook = Hook::served(t).await?;
                hook.make(t, "v1", "a", "red").await?;
                let patch = json!({ "spec": { "colour": "blue" } });
                let new = t.merge(&hook.things("v2", "/a"), patch).await?.is(200)?;
                same("the spec", &new["spec"], &json!({ "colour": "blue" }))?;
                is_everywhere(t, &hook, "a", "blue").await
            },
        ),
        case(
            "a_json_patch_applies_to_the_requested_version",
            "A test of a JSON patch sees the object in the version of its path.",
            async |t| {
                let hook = Hook::served(t).await?;
                hook.make(t, "v1", "a", "red").await?;
                let patch = json!([
                    { "op": "test", "path": "/spec/colour", "value": "red" },
                    { "op": "replace", "path": "/spec/colour", "value": "blue" },
                ]);
                t.json_patch(&hook.things("v2", "/a"), patch).await?.is(200)?;
                is_everywhere(t, &hook, "a", "blue").await
            },
        ),
        case(
            "an_apply_creates_in_another_version",
            "An apply in another version creates an object that is stored converted.",
            async |t| {
                let hook = Hook::served(t).await?;
                let path = hook.things("v2", "/a?fieldManager=m");
                t.patch(&path, APPLY, &hook.thing("v2", "a", "red")).await?.is(201)?;
                is_everywhere(t, &hook, "a", "red").await?;
                t.delete(&hook.things("v2", "/a")).await?.is(200).map(drop)
            },
        ),
    ]
}

fn others() -> Vec<Case> {
    vec![
        case(
            "a_status_is_written_in_any_version",
            "A write to the status in another version changes the stored status alone.",
            async |t| {
                let hook = Hook::served(t).await?;
                hook.make(t, "v1", "a", "red").await?;
                let patch = json!({ "status": { "n": 1 }, "spec": { "colour": "blue" } });
                let new = t.merge(&hook.things("v2", "/a/status"), patch).await?.is(200)?;
                same("apiVersion", text(&new, "/apiVersion"), hook.version("v2"))?;
                let stored = t.get(&hook.things("v1", "/a")).await?.is(200)?;
                same("the status", &stored["status"], &json!({ "n": 1 }))?;
                same("the spec", &stored["spec"], &json!({ "color": "red" }))
            },
        ),
        case(
            "a_delete_answers_in_the_requested_version",
            "A delete that a finalizer holds answers the object in the version of its path.",
            async |t| {
                let hook = Hook::served(t).await?;
                let mut thing = hook.thing("v1", "a", "red");
                thing["metadata"]["finalizers"] = json!(["example.com/hold"]);
                t.make(&hook.things("v1", ""), thing).await?;
                let held = t.delete(&hook.things("v2", "/a")).await?.is(200)?;
                same("apiVersion", text(&held, "/apiVersion"), hook.version("v2"))?;
                same("the spec", &held["spec"], &json!({ "colour": "red" }))?;
                holds("it ends", held["metadata"]["deletionTimestamp"].is_string())?;
                let free = json!({ "metadata": { "finalizers": null } });
                let last = t.merge(&hook.things("v2", "/a"), free).await?.is(200)?;
                same("the spec", &last["spec"], &json!({ "colour": "red" }))?;
                t.get(&hook.things("v1", "/a")).await?.refused(404, "NotFound").map(drop)
            },
        ),
        case(
            "a_collection_is_deleted_in_any_version",
            "A deletecollection in another version selects by that version's fields.",
            async |t| {
                let hook = Hook::served(t).await?;
                hook.make(t, "v1", "a", "red").await?;
                hook.make(t, "v1", "b", "blue").await?;
                let rest = "?fieldSelector=spec.colour%3Dred";
                let gone = t.delete(&hook.things("v2", rest)).await?.is(200)?;
                same("what is gone", names(&gone), "a")?;
                let left = t.get(&hook.things("v1", "")).await?.is(200)?;
                same("what is left", names(&left), "b")
            },
        ),
        case(
            "a_dry_run_is_converted",
            "A dry run in another version answers in that version and stores nothing.",
            async |t| {
                let hook = Hook::served(t).await?;
                let thing = hook.thing("v2", "a", "red");
                let made = t.post(&hook.things("v2", "?dryRun=All"), &thing).await?.is(201)?;
                same("the spec", &made["spec"], &json!({ "colour": "red" }))?;
                t.get(&hook.things("v2", "/a")).await?.refused(404, "NotFound").map(drop)
            },
        ),
        case(
            "a_new_storage_version_takes_effect_with_the_next_write",
            "After a change of the storage version an update without a change stores the object anew.",
            async |t| {
                let hook = Hook::served(t).await?;
                let made = hook.make(t, "v1", "a", "red").await?;
                t.replace(&hook.own(), |definition| {
                    for version in [0, 1] {
                        definition["spec"]["versions"][version]["storage"] = (version == 1).into();
                    }
                })
                .await?
                .is(200)?;
                // The new storage is in force when the webhook gets what is read as v1.
                hook.make(t, "v1", "b", "blue").await?;
                let stored = |_, _: &Value| {
                    let desired =
                        |seen: &Value| text(seen, "/request/desiredAPIVersion").to_owned();
                    let seen = hook.server.seen();
                    seen.iter().any(|seen| desired(&seen.review).ends_with("/v1"))
                };
                t.until(&hook.things("v1", "/b"), "stored as v2", stored).await?;
                let path = hook.things("v1", "/a");
                let again = t.replace(&path, |_| {}).await?.is(200)?;
                holds("it is written", number(&again) > number(&made))?;
                is_everywhere(t, &hook, "a", "red").await?;
                hook.fail();
                let got = t.get(&hook.things("v2", "/a")).await?.is(200)?;
                same("the spec", &got["spec"], &json!({ "colour": "red" }))?;
                hook.mend();
                for name in ["/a", "/b"] {
                    t.delete(&hook.things("v2", name)).await?.is(200)?;
                }
                Ok(())
            },
        ),
        case(
            "a_write_fails_with_its_webhook",
            "A create that the webhook does not convert to the stored version fails, and stores nothing.",
            async |t| {
                let hook = Hook::served(t).await?;
                hook.fail();
                let thing = hook.thing("v2", "a", "red");
                let message = hook.failure(&t.post(&hook.things("v2", ""), &thing).await?)?;
                let expected = format!(
                    "conversion webhook for {}, Kind=Thing failed: an error on the server (\"oh no\") \
                     has prevented the request from succeeding",
                    hook.version("v2")
                );
                same("the message", message, expected)?;
                hook.mend();
                t.get(&hook.things("v1", "/a")).await?.refused(404, "NotFound").map(drop)
            },
        ),
        case(
            "a_delete_fails_with_its_webhook",
            "A delete in another version fails while the webhook does.",
            async |t| {
                let hook = Hook::served(t).await?;
                hook.make(t, "v1", "a", "red").await?;
                hook.fail();
                hook.failure(&t.delete(&hook.things("v2", "/a")).await?)?;
                hook.mend();
                t.get(&hook.things("v1", "/a")).await?.is(200).map(drop)
            },
        ),
    ]
}
