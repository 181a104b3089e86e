//! The order of webhooks, and the second round of mutating ones.

use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::webhook_server::{Reply, Seen};
use crate::conformance::webhooks::fixture::*;
use crate::conformance::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = rounds();
    cases.extend([
        case(
            "webhooks_run_by_configuration_then_by_position",
            "Mutating webhooks run by the name of the configuration, then in its order, each with the object of those before.",
            async |t| {
                let hooks = hooks(t, sign).await?;
                hooks.register(MUTATING, "b", vec![hooks.webhook("third", json!({}))]).await?;
                let two = ["first", "second"].map(|name| hooks.webhook(name, json!({})));
                hooks.register(MUTATING, "a", two.to_vec()).await?;
                let made = t.map("x", "v").await?;
                has(&made, json!({ "data": { "k": "v first second third" } }))?;
                same("calls", hooks.called(), "first second third")
            },
        ),
        case(
            "validating_webhooks_see_the_mutated_object",
            "A validating webhook sees the object after all mutating ones, with its uid and its time.",
            async |t| {
                let hooks = hooks(t, |seen| match name(seen) {
                    "see" => allow(seen),
                    _ => sign(seen),
                })
                .await?;
                hooks.one(VALIDATING, "see", json!({})).await?;
                hooks.one(MUTATING, "change", json!({})).await?;
                let made = t.map("x", "v").await?;
                same("calls", hooks.called(), "change see")?;
                let requests = hooks.requests();
                has(&requests[0], json!({ "object": { "metadata": { "uid": null } } }))?;
                let uid = text(&made, "/metadata/uid");
                has(
                    &requests[1],
                    json!({
                        "object": {
                            "data": { "k": "v change" },
                            "metadata": { "uid": uid, "creationTimestamp": "*" },
                        },
                    }),
                )
            },
        ),
        case(
            "all_validating_webhooks_are_asked",
            "Validating webhooks are all called, and one refusal is the answer.",
            async |t| {
                let hooks = hooks(t, |seen| deny(seen, json!({ "message": "no" }))).await?;
                let two = ["one", "other"].map(|name| hooks.webhook(name, json!({})));
                hooks.register(VALIDATING, "a", two.to_vec()).await?;
                let refused = t.post(&t.maps(""), &json!({ "metadata": { "name": "x" } })).await?;
                refused.says(400, "", "denied the request: no")?;
                same("calls", hooks.seen().len(), 2)
            },
        ),
        case(
            "a_mutating_refusal_ends_the_write",
            "After the refusal of a mutating webhook no other is called.",
            async |t| {
                let hooks = hooks(t, |seen| deny(seen, json!({ "message": "no" }))).await?;
                let two = ["one", "other"].map(|name| hooks.webhook(name, json!({})));
                hooks.register(MUTATING, "a", two.to_vec()).await?;
                hooks.one(VALIDATING, "last", json!({})).await?;
                let refused = t.post(&t.maps(""), &json!({ "metadata": { "name": "x" } })).await?;
                refused.says(400, "", "\"one.example.com\" denied the request: no")?;
                same("calls", hooks.called(), "one")
            },
        ),
    ]);
    cases
}

/// Signs once: a webhook that was called before changes nothing.
fn sign_once(seen: &Seen) -> Reply {
    match text(&seen.review, "/request/object/data/k").contains(name(seen)) {
        true => allow(seen),
        false => sign(seen),
    }
}

fn rounds() -> Vec<Case> {
    vec![
        case(
            "a_webhook_is_called_again_if_a_later_one_changes",
            "With reinvocationPolicy IfNeeded a webhook is called again if a later one changed the object.",
            async |t| {
                let hooks = hooks(t, sign_once).await?;
                let if_needed = json!({ "reinvocationPolicy": "IfNeeded" });
                let three = vec![
                    hooks.webhook("never", json!({})),
                    hooks.webhook("again", if_needed.clone()),
                    hooks.webhook("later", json!({})),
                ];
                hooks.register(MUTATING, "a", three).await?;
                t.map("x", "v").await?;
                same("calls", hooks.called(), "never again later again")?;
                let seen = hooks.requests();
                has(&seen[3], json!({ "object": { "data": { "k": "v never again later" } } }))
            },
        ),
        case(
            "no_second_round_without_a_later_change",
            "A webhook with reinvocationPolicy IfNeeded is called once if no later one changes the object.",
            async |t| {
                let hooks = hooks(t, |seen| match name(seen) {
                    "again" => sign_once(seen),
                    "quiet" => allow(seen),
                    // A patch that changes nothing is no change.
                    _ => patch(
                        seen,
                        json!([{ "op": "test", "path": "/kind", "value": "ConfigMap" }]),
                    ),
                })
                .await?;
                let if_needed = json!({ "reinvocationPolicy": "IfNeeded" });
                let three = vec![
                    hooks.webhook("again", if_needed),
                    hooks.webhook("quiet", json!({})),
                    hooks.webhook("equal", json!({})),
                ];
                hooks.register(MUTATING, "a", three).await?;
                t.map("x", "v").await?;
                same("calls", hooks.called(), "again quiet equal")
            },
        ),
        case(
            "there_are_two_rounds_at_most",
            "Two webhooks with reinvocationPolicy IfNeeded that always change the object are called twice at most.",
            async |t| {
                let hooks = hooks(t, sign).await?;
                let if_needed = json!({ "reinvocationPolicy": "IfNeeded" });
                let two = ["one", "two"].map(|name| hooks.webhook(name, if_needed.clone()));
                hooks.register(MUTATING, "a", two.to_vec()).await?;
                let made = t.map("x", "v").await?;
                same("calls", hooks.called(), "one two one two")?;
                has(&made, json!({ "data": { "k": "v one two one two" } }))
            },
        ),
        case(
            "the_second_round_calls_none_for_the_first_time",
            "A webhook that matches only after the changes of a later one is not called in the second round.",
            async |t| {
                let hooks = hooks(t, |seen| match name(seen) {
                    "late" => sign(seen),
                    _ => patch(
                        seen,
                        json!([{ "op": "add", "path": "/metadata/labels", "value": { "a": "b" } }]),
                    ),
                })
                .await?;
                let late = json!({
                    "reinvocationPolicy": "IfNeeded",
                    "objectSelector": { "matchLabels": { "a": "b" } },
                });
                let two = vec![hooks.webhook("late", late), hooks.webhook("label", json!({}))];
                hooks.register(MUTATING, "a", two).await?;
                t.map("x", "v").await?;
                same("calls", hooks.called(), "label")
            },
        ),
    ]
}
