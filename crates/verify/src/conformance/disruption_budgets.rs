//! PodDisruptionBudgets: what limits an eviction, and the status that says how many are allowed.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::with_spec;
use crate::conformance::{Case, Target, case};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

fn budgets(t: &Target, rest: &str) -> String {
    t.of_group("policy/v1", "poddisruptionbudgets", rest)
}

fn budget(name: &str, limits: Value) -> Value {
    let spec = json!({ "selector": { "matchLabels": { "app": "a" } } });
    with_spec(json!({ "metadata": { "name": name }, "spec": spec }), limits)
}

/// A condition that is valid, with other members.
fn condition(members: Value) -> Value {
    let mut condition = json!({
        "type": "DisruptionAllowed", "status": "True", "reason": "SufficientPods", "message": "",
        "lastTransitionTime": "2026-01-02T03:04:05Z",
    });
    for (member, value) in members.as_object().into_iter().flatten() {
        condition[member] = value.clone();
    }
    json!({ "status": {
        "disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2,
        "conditions": [condition],
    } })
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "a_budget_is_made_without_disruptions",
            "A new PodDisruptionBudget has generation 1 and a status of zeros, whatever its client says.",
            async |t| {
                let mut object = budget("a", json!({ "minAvailable": 1 }));
                object["status"] = json!({ "disruptionsAllowed": 7, "disruptedPods": {} });
                let made = t.make(&budgets(t, ""), object).await?;
                has(&made, json!({ "metadata": { "generation": 1 } }))?;
                let zeros = json!({ "disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0 });
                same("status", made["status"].clone(), zeros)?;
                let spec =
                    json!({ "minAvailable": 1, "selector": { "matchLabels": { "app": "a" } } });
                same("spec", made["spec"].clone(), spec)
            },
        ),
        case(
            "a_budget_has_one_limit",
            "A PodDisruptionBudget with minAvailable and maxUnavailable answers 422 about its spec.",
            async |t| {
                let object = budget("a", json!({ "minAvailable": 1, "maxUnavailable": "50%" }));
                let status = t
                    .post(&budgets(t, "?dryRun=All"), &object)
                    .await?
                    .invalid(&["FieldValueInvalid spec"])?;
                let message = "PodDisruptionBudget.policy \"a\" is invalid: spec: Invalid value: {\"MinAvailable\":1,\"Selector\":{\"matchLabels\":{\"app\":\"a\"}},\"MaxUnavailable\":\"50%\",\"UnhealthyPodEvictionPolicy\":null}: minAvailable and maxUnavailable cannot be both set";
                same("message", text(&status, "/message"), message)
            },
        ),
        case(
            "a_limit_is_a_number_or_a_percentage",
            "Limits of a PodDisruptionBudget below zero, above 100% or of other text answer 422 by their path.",
            async |t| {
                for member in ["minAvailable", "maxUnavailable"] {
                    for wrong in [json!(-1), json!("101%"), json!("5"), json!("x%")] {
                        let object = budget("a", json!({ member: wrong }));
                        t.post(&budgets(t, "?dryRun=All"), &object)
                            .await?
                            .invalid(&[&format!("FieldValueInvalid spec.{member}")])?;
                    }
                    for right in [json!(0), json!("0%"), json!("100%"), json!(101)] {
                        let object = budget("a", json!({ member: right }));
                        t.make(&budgets(t, "?dryRun=All"), object).await?;
                    }
                }
                Ok(())
            },
        ),
        case(
            "a_budget_needs_no_limit_and_no_selector",
            "A PodDisruptionBudget without a spec is accepted.",
            async |t| {
                let bare = json!({ "metadata": { "name": "a" } });
                let made = t.make(&budgets(t, "?dryRun=All"), bare).await?;
                same("spec", made["spec"].clone(), json!({}))
            },
        ),
        case(
            "the_selector_of_a_budget_is_checked",
            "A PodDisruptionBudget whose selector no server can read answers 422.",
            async |t| {
                let selector = json!({ "matchLabels": { "a b": "x y" }, "matchExpressions": [{ "key": "k", "operator": "Odd" }, { "key": "k", "operator": "In" }] });
                let object = budget("a", json!({ "selector": selector }));
                t.post(&budgets(t, "?dryRun=All"), &object).await?.invalid(&[
                    "FieldValueInvalid spec.selector.matchLabels",
                    "FieldValueInvalid spec.selector.matchExpressions[0].operator",
                    "FieldValueRequired spec.selector.matchExpressions[1].values",
                ])?;
                Ok(())
            },
        ),
        case(
            "unhealthy_pods_are_evicted_by_a_known_policy",
            "An unhealthyPodEvictionPolicy is AlwaysAllow or IfHealthyBudget.",
            async |t| {
                for policy in ["AlwaysAllow", "IfHealthyBudget"] {
                    let object = budget("a", json!({ "unhealthyPodEvictionPolicy": policy }));
                    t.make(&budgets(t, "?dryRun=All"), object).await?;
                }
                let object = budget("a", json!({ "unhealthyPodEvictionPolicy": "Never" }));
                t.post(&budgets(t, "?dryRun=All"), &object).await?.says(
                    422,
                    "Invalid",
                    "spec.unhealthyPodEvictionPolicy: Unsupported value: \"Never\": supported values: \"AlwaysAllow\", \"IfHealthyBudget\"",
                )?;
                Ok(())
            },
        ),
        case(
            "a_budgets_spec_can_be_changed",
            "Limits and selector of a PodDisruptionBudget can be changed, which counts a generation.",
            async |t| {
                t.make(&budgets(t, ""), budget("a", json!({ "minAvailable": 1 }))).await?;
                let patch = json!({ "spec": {
                    "minAvailable": null, "maxUnavailable": "10%", "selector": { "matchLabels": { "app": "b" } },
                } });
                let patched = t.merge(&budgets(t, "/a"), patch).await?.is(200)?;
                has(
                    &patched,
                    json!({ "metadata": { "generation": 2 }, "spec": { "maxUnavailable": "10%" } }),
                )?;
                let noted = json!({ "metadata": { "annotations": { "a": "b" } } });
                let patched = t.merge(&budgets(t, "/a"), noted).await?.is(200)?;
                has(&patched, json!({ "metadata": { "generation": 2 } }))
            },
        ),
        case(
            "a_budget_is_replaced_by_its_version",
            "PUT of a PodDisruptionBudget needs a resourceVersion.",
            async |t| {
                t.make(&budgets(t, ""), budget("a", json!({ "minAvailable": 1 }))).await?;
                t.put(&budgets(t, "/a"), &budget("a", json!({ "minAvailable": 2 })))
                    .await?
                    .invalid(&["FieldValueInvalid metadata.resourceVersion"])?;
                let replaced = t
                    .replace(&budgets(t, "/a"), |whole| whole["spec"]["minAvailable"] = 2.into())
                    .await?;
                has(&replaced.is(200)?, json!({ "metadata": { "generation": 2 } }))
            },
        ),
        case(
            "the_status_of_a_budget_counts_from_zero",
            "Counts below zero in the status of a PodDisruptionBudget answer 422; a spec in such a write is ignored.",
            async |t| {
                t.make(&budgets(t, ""), budget("a", json!({ "minAvailable": 1 }))).await?;
                let counts = json!({ "disruptionsAllowed": -1, "currentHealthy": -1, "desiredHealthy": -1, "expectedPods": -1 });
                t.merge(&budgets(t, "/a/status"), json!({ "status": counts })).await?.invalid(
                    &[
                        "FieldValueInvalid status.disruptionsAllowed",
                        "FieldValueInvalid status.currentHealthy",
                        "FieldValueInvalid status.desiredHealthy",
                        "FieldValueInvalid status.expectedPods",
                    ],
                )?;
                let mut patch = condition(json!({}));
                patch["spec"] = json!({ "minAvailable": -1 });
                patch["status"]["disruptedPods"] = json!({ "p": "2026-01-02T03:04:05Z" });
                let patched = t.merge(&budgets(t, "/a/status"), patch).await?.is(200)?;
                has(
                    &patched,
                    json!({
                        "metadata": { "generation": 1 }, "spec": { "minAvailable": 1 },
                        "status": { "disruptionsAllowed": 1, "disruptedPods": { "p": "2026-01-02T03:04:05Z" } },
                    }),
                )
            },
        ),
        case(
            "conditions_of_a_budget_are_checked",
            "A condition of a PodDisruptionBudget has a type, a status, a time and a reason of its form.",
            async |t| {
                t.make(&budgets(t, ""), budget("a", json!({ "minAvailable": 1 }))).await?;
                for (members, cause) in [
                    (json!({ "type": "a b" }), "FieldValueInvalid status.conditions[0].type"),
                    (
                        json!({ "status": "Odd" }),
                        "FieldValueNotSupported status.conditions[0].status",
                    ),
                    (json!({ "reason": "" }), "FieldValueRequired status.conditions[0].reason"),
                    (json!({ "reason": "a b" }), "FieldValueInvalid status.conditions[0].reason"),
                    (
                        json!({ "reason": "a,".to_owned() }),
                        "FieldValueInvalid status.conditions[0].reason",
                    ),
                    (
                        json!({ "lastTransitionTime": null }),
                        "FieldValueRequired status.conditions[0].lastTransitionTime",
                    ),
                    (
                        json!({ "observedGeneration": -1 }),
                        "FieldValueInvalid status.conditions[0].observedGeneration",
                    ),
                    (
                        json!({ "reason": "r".repeat(1025) }),
                        "FieldValueTooLong status.conditions[0].reason",
                    ),
                    (
                        json!({ "message": "m".repeat(32 * 1024 + 1) }),
                        "FieldValueTooLong status.conditions[0].message",
                    ),
                ] {
                    t.merge(&budgets(t, "/a/status"), condition(members))
                        .await?
                        .invalid(&[cause])?;
                }
                let patch = condition(json!({ "reason": "a_b,c:D1", "observedGeneration": 0 }));
                t.merge(&budgets(t, "/a/status"), patch).await?.is(200)?;
                let mut twice = condition(json!({}));
                let one = twice["status"]["conditions"][0].clone();
                twice["status"]["conditions"] = json!([one, one]);
                t.merge(&budgets(t, "/a/status"), twice)
                    .await?
                    .invalid(&["FieldValueDuplicate status.conditions[1].type"])?;
                Ok(())
            },
        ),
        case(
            "names_of_budgets_are_parts_of_a_path",
            "The name of a PodDisruptionBudget may have capitals and spaces, but no slash and no percent sign.",
            async |t| {
                t.make(&budgets(t, "?dryRun=All"), budget("A b", json!({}))).await?;
                for name in ["a/b", "a%b", ".."] {
                    t.post(&budgets(t, "?dryRun=All"), &budget(name, json!({})))
                        .await?
                        .invalid(&["FieldValueInvalid metadata.name"])?;
                }
                Ok(())
            },
        ),
        case(
            "the_metadata_of_a_budget_is_checked_last",
            "A new PodDisruptionBudget with a wrong spec is refused for that alone, whatever its name and finalizers.",
            async |t| {
                let mut object = budget("..", json!({ "minAvailable": -1 }));
                object["metadata"]["finalizers"] = json!(["a b"]);
                t.post(&budgets(t, ""), &object)
                    .await?
                    .invalid(&["FieldValueInvalid spec.minAvailable"])?;
                object["spec"]["minAvailable"] = 1.into();
                t.post(&budgets(t, ""), &object).await?.invalid(&[
                    "FieldValueInvalid metadata.name",
                    "FieldValueInvalid metadata.finalizers",
                ])?;
                Ok(())
            },
        ),
        case(
            "a_table_of_budgets",
            "A table of PodDisruptionBudgets says both limits and how many disruptions are allowed.",
            async |t| {
                t.make(&budgets(t, ""), budget("a", json!({ "minAvailable": "50%" }))).await?;
                t.make(&budgets(t, ""), budget("b", json!({ "maxUnavailable": 0 }))).await?;
                let table = t.get_as(&budgets(t, ""), TABLE).await?.is(200)?;
                let names: Vec<_> = items(&table, "/columnDefinitions")
                    .iter()
                    .map(|column| text(column, "/name").to_owned())
                    .collect();
                let expected = "Name,Min Available,Max Unavailable,Allowed Disruptions,Age";
                same("columns", names.join(","), expected)?;
                has(&table["rows"][0]["cells"], json!(["a", "50%", "N/A", 0, "*"]))?;
                has(&table["rows"][1]["cells"], json!(["b", "N/A", "0", 0, "*"]))
            },
        ),
    ]
}
