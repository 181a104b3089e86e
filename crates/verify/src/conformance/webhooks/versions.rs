//! Webhooks of kinds with several versions: `matchPolicy`.

use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::webhooks::fixture::*;
use crate::conformance::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "an_equivalent_rule_sees_the_other_version",
            "By default a rule of one version sees writes of another version, converted to its own.",
            async |t| {
                let hooks = hooks(t, |seen| {
                    patch(seen, json!([{ "op": "add", "path": "/spec/color", "value": "red" }]))
                })
                .await?;
                let rules = rules(&["CREATE"], &format!("{GROUP}/v1"), &["widgets"]);
                hooks.one(MUTATING, "see", json!({ "rules": rules })).await?;
                let mut object = widget("x", json!({ "n": 1 }));
                object["apiVersion"] = format!("{GROUP}/v2").into();
                let made = t.make(&t.widgets_v2(""), object).await?;
                has(
                    &made,
                    json!({ "apiVersion": format!("{GROUP}/v2"), "spec": { "n": 1, "color": "red" } }),
                )?;
                let kind =
                    |version: &str| json!({ "group": GROUP, "version": version, "kind": "Widget" });
                let resource = |version: &str| json!({ "group": GROUP, "version": version, "resource": "widgets" });
                has(
                    &hooks.requests()[0],
                    json!({
                        "kind": kind("v1"), "resource": resource("v1"), "requestKind": kind("v2"),
                        "requestResource": resource("v2"),
                        "object": { "apiVersion": format!("{GROUP}/v1"), "kind": "Widget" },
                    }),
                )
            },
        ),
        case(
            "an_exact_rule_sees_its_version_alone",
            "With matchPolicy Exact a rule of one version sees no write of another.",
            async |t| {
                let hooks = hooks(t, allow).await?;
                let rules = rules(&["CREATE"], &format!("{GROUP}/v1"), &["widgets"]);
                let exact = json!({ "rules": rules, "matchPolicy": "Exact" });
                hooks.one(VALIDATING, "see", exact).await?;
                let mut object = widget("x", json!({ "n": 1 }));
                object["apiVersion"] = format!("{GROUP}/v2").into();
                t.make(&t.widgets_v2(""), object).await?;
                same("calls", hooks.called(), "")?;
                t.make(&t.widgets(""), widget("y", json!({ "n": 1 }))).await?;
                same("calls", hooks.called(), "see")
            },
        ),
        case(
            "a_rule_of_both_versions_sees_the_version_of_the_request",
            "A rule that names both versions sees the object as it was sent.",
            async |t| {
                let hooks = hooks(t, allow).await?;
                let mut rules = rules(&["CREATE"], GROUP, &["widgets"]);
                rules[0]["apiVersions"] = json!(["v1", "v2"]);
                hooks.one(VALIDATING, "see", json!({ "rules": rules })).await?;
                let mut object = widget("x", json!({ "n": 1 }));
                object["apiVersion"] = format!("{GROUP}/v2").into();
                t.make(&t.widgets_v2(""), object).await?;
                has(&hooks.requests()[0], json!({ "kind": { "version": "v2" } }))
            },
        ),
        case(
            "events_of_both_groups_are_equivalent",
            "A rule of core Events sees an Event of events.k8s.io as one of core.",
            async |t| {
                let hooks = hooks(t, allow).await?;
                let rules = rules(&["CREATE"], "/v1", &["events"]);
                hooks.one(VALIDATING, "see", json!({ "rules": rules })).await?;
                t.make(&t.new_events(""), new_event("x", &t.namespace)).await?;
                has(
                    &hooks.requests()[0],
                    json!({
                        "kind": { "group": "", "version": "v1", "kind": "Event" },
                        "requestKind": { "group": "events.k8s.io", "version": "v1", "kind": "Event" },
                        "object": { "apiVersion": "v1", "kind": "Event" },
                    }),
                )
            },
        ),
        case(
            "the_status_of_a_custom_object_is_sent",
            "A rule of a custom kind's status sees the write to it, and the object with its status.",
            async |t| {
                t.make(&t.widgets(""), widget("x", json!({ "n": 1 }))).await?;
                let hooks = hooks(t, |seen| {
                    patch(seen, json!([{ "op": "add", "path": "/status/more", "value": true }]))
                })
                .await?;
                let rules = rules(&["UPDATE"], &format!("{GROUP}/v1"), &["widgets/status"]);
                hooks.one(MUTATING, "see", json!({ "rules": rules })).await?;
                let change = json!({ "status": { "ready": true } });
                let written = t.merge(&t.widgets("/x/status"), change).await?.is(200)?;
                has(&written, json!({ "status": { "ready": true, "more": true } }))?;
                has(
                    &hooks.requests()[0],
                    json!({ "subResource": "status", "kind": { "kind": "Widget" } }),
                )
            },
        ),
    ]
}
