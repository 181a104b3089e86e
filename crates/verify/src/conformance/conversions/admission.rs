//! Admission webhooks of kinds whose versions a webhook converts.

use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::conversions::hook::Hook;
use crate::conformance::conversions::writes::is_everywhere;
use crate::conformance::webhooks::fixture::*;
use crate::conformance::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "a_rule_of_one_version_sees_the_other_converted",
            "A mutating webhook of one version gets an object of the other one converted, and its patch is converted back.",
            async |t| {
                let hook = Hook::served(t).await?;
                let hooks = hooks(t, |seen| {
                    patch(
                        seen,
                        json!([{ "op": "replace", "path": "/spec/color", "value": "blue" }]),
                    )
                })
                .await?;
                let rules = rules(&["CREATE"], &hook.version("v1"), &["things"]);
                hooks.one(MUTATING, "see", json!({ "rules": rules })).await?;
                let made = hook.make(t, "v2", "a", "red").await?;
                same("the spec", &made["spec"], &json!({ "colour": "blue" }))?;
                has(
                    &hooks.requests()[0],
                    json!({
                        "kind": { "version": "v1" }, "requestKind": { "version": "v2" },
                        "object": { "apiVersion": hook.version("v1"), "spec": { "color": "red" } },
                    }),
                )?;
                is_everywhere(t, &hook, "a", "blue").await
            },
        ),
        case(
            "match_conditions_see_the_converted_object",
            "The matchConditions of a webhook see the object in the version of its rule.",
            async |t| {
                let hook = Hook::served(t).await?;
                let hooks = hooks(t, allow).await?;
                let rules = rules(&["*"], &hook.version("v1"), &["things"]);
                let red = json!([{
                    "name": "red",
                    "expression": "(object == null ? oldObject : object).spec.color == 'red'",
                }]);
                hooks
                    .one(VALIDATING, "see", json!({ "rules": rules, "matchConditions": red }))
                    .await?;
                hook.make(t, "v2", "a", "red").await?;
                hook.make(t, "v2", "b", "blue").await?;
                t.delete(&hook.things("v2", "/a")).await?.is(200)?;
                t.delete(&hook.things("v2", "/b")).await?.is(200)?;
                same("calls", hooks.operations(), "CREATE a, DELETE a")
            },
        ),
    ]
}
