//! Patches in the answers of mutating webhooks.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::target::Target;
use crate::conformance::webhooks::fixture::*;
use crate::conformance::{Answer, Case, case};

/// The answer to a create whose webhook answers with this patch.
async fn patched(t: &Target, operations: Value, said: Value) -> Result<Answer, String> {
    let hooks = hooks(t, move |seen| patch(seen, operations.clone())).await?;
    hooks.one(MUTATING, "change", said).await?;
    t.post(&t.maps(""), &map("x", "v")).await
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "a_patch_changes_what_is_stored",
            "The patch of a webhook changes the stored object, labels and annotations included.",
            async |t| {
                let operations = json!([
                    { "op": "add", "path": "/metadata/labels", "value": { "a": "b" } },
                    { "op": "add", "path": "/data/more", "value": "w" },
                    { "op": "remove", "path": "/data/k" },
                ]);
                let made = patched(t, operations, json!({})).await?.is(201)?;
                let expected = json!({
                    "metadata": { "labels": { "a": "b" } }, "data": { "more": "w", "k": null },
                });
                has(&made, expected.clone())?;
                has(&t.get(&t.maps("/x")).await?.is(200)?, expected)
            },
        ),
        case(
            "defaults_follow_a_patch",
            "Members that a patch adds get their defaults before the next webhook sees them.",
            async |t| {
                let hooks = hooks(t, |seen| match name(seen) {
                    "change" => {
                        let port = json!({ "port": 81, "name": "more" });
                        patch(
                            seen,
                            json!([{ "op": "add", "path": "/spec/ports/-", "value": port }]),
                        )
                    }
                    _ => allow(seen),
                })
                .await?;
                let services = json!({ "rules": rules(&["CREATE"], "/v1", &["services"]) });
                let two = ["change", "see"].map(|name| hooks.webhook(name, services.clone()));
                hooks.register(MUTATING, "a", two.to_vec()).await?;
                let mut object = service("x");
                object["spec"]["ports"] = json!([{ "port": 80, "name": "first" }]);
                t.make(&t.core("services", ""), object).await?;
                let requests = hooks.requests();
                let port = json!({ "protocol": "TCP", "targetPort": 81 });
                has(requests[1].pointer("/object/spec/ports/1").unwrap_or(&Value::Null), port)
            },
        ),
        case(
            "an_empty_patch_changes_nothing",
            "An empty list of operations is no change.",
            async |t| patched(t, json!([]), json!({})).await?.is(201).map(drop),
        ),
        case(
            "a_patch_that_does_not_apply_fails",
            "A patch that does not apply answers 500 with the reason, whatever the failurePolicy.",
            async |t| {
                let operations = json!([{ "op": "remove", "path": "/data/none" }]);
                let answer = patched(t, operations, json!({ "failurePolicy": "Ignore" })).await?;
                let why = "error in remove for path: '/data/none': Unable to remove nonexistent key: none: missing value";
                answer
                    .says(500, "InternalError", &format!("Internal error occurred: {why}"))
                    .map(drop)
            },
        ),
        case(
            "a_patch_of_a_missing_member_fails",
            "A patch below a member that does not exist answers 500 with the path.",
            async |t| {
                let operations = json!([{ "op": "add", "path": "/spec/a/b", "value": 1 }]);
                let answer = patched(t, operations, json!({})).await?;
                let why = "add operation does not apply: doc is missing path: \"/spec/a/b\": missing value";
                answer
                    .says(500, "InternalError", &format!("Internal error occurred: {why}"))
                    .map(drop)
            },
        ),
        case(
            "a_test_that_fails_fails_the_write",
            "A test of a patch that fails answers 500.",
            async |t| {
                let operations = json!([{ "op": "test", "path": "/data/k", "value": "other" }]);
                let answer = patched(t, operations, json!({})).await?;
                answer
                    .says(500, "InternalError", "testing value /data/k failed: test failed")
                    .map(drop)
            },
        ),
        case(
            "a_patch_may_make_the_object_invalid",
            "An object that a webhook made invalid answers 422 with its causes.",
            async |t| {
                let operations = json!([{ "op": "add", "path": "/data/wrong key", "value": "v" }]);
                patched(t, operations, json!({}))
                    .await?
                    .invalid(&["FieldValueInvalid data[wrong key]"])
                    .map(drop)
            },
        ),
        case(
            "a_patch_may_not_change_the_types",
            "An object whose member a webhook gave a wrong type answers 500.",
            async |t| {
                let operations = json!([{ "op": "add", "path": "/data", "value": 7 }]);
                patched(t, operations, json!({})).await?.refused(500, "InternalError").map(drop)
            },
        ),
        case(
            "a_patch_may_not_change_the_namespace",
            "A webhook cannot move an object to another namespace.",
            async |t| {
                let operations =
                    json!([{ "op": "replace", "path": "/metadata/namespace", "value": "other" }]);
                let answer = patched(t, operations, json!({})).await?;
                answer.refused(400, "BadRequest").map(drop)
            },
        ),
        case(
            "a_patch_may_rename_a_new_object",
            "The name that a webhook gives a new object is the name that is stored.",
            async |t| {
                let operations =
                    json!([{ "op": "replace", "path": "/metadata/name", "value": "y" }]);
                let made = patched(t, operations, json!({})).await?.is(201)?;
                same("name", text(&made, "/metadata/name"), "y")
            },
        ),
        case(
            "an_unknown_patch_type_fails",
            "An answer with another patchType than JSONPatch fails the call.",
            async |t| {
                let hooks = hooks(t, |seen| {
                    let patch = base64("[{\"op\":\"remove\",\"path\":\"/data\"}]");
                    respond(seen, json!({ "allowed": true, "patchType": "Merge", "patch": patch }))
                })
                .await?;
                hooks.one(MUTATING, "a", json!({})).await?;
                let answer = t.post(&t.maps(""), &map("x", "v")).await?;
                failed(&answer, "a", "unsupported patch type \"Merge\"")
            },
        ),
        case(
            "a_patch_that_is_none_fails",
            "An answer whose patch is no JSON patch fails the call.",
            async |t| {
                let hooks = hooks(t, |seen| {
                    let patch = base64("{\"data\":null}");
                    respond(
                        seen,
                        json!({ "allowed": true, "patchType": "JSONPatch", "patch": patch }),
                    )
                })
                .await?;
                hooks.one(MUTATING, "a", json!({})).await?;
                let answer = t.post(&t.maps(""), &map("x", "v")).await?;
                failed(&answer, "a", "received undecodable patch in webhook response: ")
            },
        ),
        case(
            "patch_and_patch_type_come_together",
            "A patch without patchType, or a patchType without patch, fails the call.",
            async |t| {
                let hooks = hooks(t, |seen| match name(seen) {
                    "patch" => respond(seen, json!({ "allowed": true, "patch": base64("[]") })),
                    _ => respond(seen, json!({ "allowed": true, "patchType": "JSONPatch" })),
                })
                .await?;
                let of = |name: &str| json!({ "objectSelector": { "matchLabels": { "a": name } } });
                let two = ["patch", "type"].map(|name| hooks.webhook(name, of(name)));
                hooks.register(MUTATING, "a", two.to_vec()).await?;
                let mut object = map("x", "v");
                for (name, why) in [
                    ("patch", "webhook returned response.patch but not response.patchType"),
                    ("type", "webhook returned response.patchType but not response.patch"),
                ] {
                    object["metadata"]["labels"] = json!({ "a": name });
                    let answer = t.post(&t.maps(""), &object).await?;
                    failed(&answer, name, &format!("received invalid webhook response: {why}"))?;
                }
                Ok(())
            },
        ),
        case(
            "a_validating_webhook_returns_no_patch",
            "The patch of a validating webhook fails the call.",
            async |t| {
                let hooks = hooks(t, sign).await?;
                hooks.one(VALIDATING, "a", json!({})).await?;
                let answer = t.post(&t.maps(""), &map("x", "v")).await?;
                let why = "received invalid webhook response: validating webhook may not return response.patch";
                failed(&answer, "a", why)
            },
        ),
    ]
}
