//! Which changes of a Pod are refused: its deadline, its tolerations, and the gates before the
//! scheduler.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, Target, case};

/// A Pod whose spec has other members, too.
fn with(members: Value) -> Value {
    let mut pod = pod("a");
    for (member, value) in members.as_object().into_iter().flatten() {
        pod["spec"][member] = value.clone();
    }
    pod
}

fn gated(members: Value) -> Value {
    let mut pod = with(members);
    pod["spec"]["schedulingGates"] = json!([{ "name": "example.com/a" }, { "name": "b" }]);
    pod
}

/// Node affinity that requires one term.
fn required(expressions: Value) -> Value {
    json!({ "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{ "matchExpressions": expressions }],
    } } })
}

async fn changed(t: &Target, spec: Value) -> Result<Answer, String> {
    t.merge(&t.core("pods", "/a"), json!({ "spec": spec })).await
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "a_deadline_only_falls",
            "The activeDeadlineSeconds of a Pod can be set and shortened, but neither prolonged nor removed.",
            async |t| {
                t.make(&t.core("pods", ""), pod("a")).await?;
                for seconds in [7, 7, 5] {
                    changed(t, json!({ "activeDeadlineSeconds": seconds })).await?.is(200)?;
                }
                for (seconds, why) in [
                    (json!(6), "Invalid value: 6: must be less than or equal to previous value"),
                    (
                        json!(null),
                        "Invalid value: null: must not update from a positive integer to nil value",
                    ),
                ] {
                    let status = changed(t, json!({ "activeDeadlineSeconds": seconds }))
                        .await?
                        .invalid(&["FieldValueInvalid spec.activeDeadlineSeconds"])?;
                    same("message", text(&status, "/details/causes/0/message"), why)?;
                }
                Ok(())
            },
        ),
        case(
            "a_deadline_that_rises_is_all_that_is_said",
            "A change that prolongs a Pod's deadline is refused for that, whatever else it changes; one that removes it, for the rest too.",
            async |t| {
                t.make(&t.core("pods", ""), with(json!({ "activeDeadlineSeconds": 5 }))).await?;
                changed(t, json!({ "activeDeadlineSeconds": 6, "restartPolicy": "Never" }))
                    .await?
                    .invalid(&["FieldValueInvalid spec.activeDeadlineSeconds"])?;
                changed(t, json!({ "activeDeadlineSeconds": null, "restartPolicy": "Never" }))
                    .await?
                    .invalid(&[
                        "FieldValueInvalid spec.activeDeadlineSeconds",
                        "FieldValueForbidden spec",
                    ])?;
                Ok(())
            },
        ),
        case(
            "tolerations_of_a_pod_are_added",
            "Tolerations of a Pod can be added and their seconds be changed, but none can be removed or replaced.",
            async |t| {
                let own = json!({ "key": "k", "operator": "Exists", "effect": "NoExecute" });
                let made =
                    t.make(&t.core("pods", ""), with(json!({ "tolerations": [own] }))).await?;
                let mut tolerations = made["spec"]["tolerations"].clone();
                tolerations[0]["tolerationSeconds"] = 5.into();
                let more = json!({ "key": "l", "operator": "Exists" });
                tolerations.as_array_mut().ok_or("no list")?.push(more);
                changed(t, json!({ "tolerations": tolerations })).await?.is(200)?;
                tolerations[0]["key"] = "other".into();
                let status = changed(t, json!({ "tolerations": tolerations }))
                    .await?
                    .invalid(&["FieldValueForbidden spec.tolerations"])?;
                let why = "existing toleration can not be modified except its tolerationSeconds";
                same(
                    "message",
                    text(&status, "/details/causes/0/message"),
                    format!("Forbidden: {why}"),
                )
            },
        ),
        case(
            "containers_of_a_pod_stay",
            "A container of a Pod can be neither added nor removed, which is all that is said then.",
            async |t| {
                t.make(&t.core("pods", ""), pod("a")).await?;
                let container = |name: &str| json!({ "name": name, "image": "i" });
                let spec = json!({ "containers": [container("c"), container("d")], "initContainers": [container("e")], "restartPolicy": "Never" });
                changed(t, spec).await?.invalid(&["FieldValueForbidden spec.containers"])?;
                changed(t, json!({ "initContainers": [container("e")] }))
                    .await?
                    .invalid(&["FieldValueForbidden spec.initContainers"])?;
                Ok(())
            },
        ),
        case(
            "a_gated_pod_is_not_scheduled",
            "A new Pod with scheduling gates has the condition that it is not scheduled, with the reason SchedulingGated.",
            async |t| {
                let made = t.make(&t.core("pods", ""), gated(json!({}))).await?;
                let condition = &made["status"]["conditions"][0];
                has(
                    condition,
                    json!({
                        "type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "lastTransitionTime": "*",
                        "message": "Scheduling is blocked due to non-empty scheduling gates",
                    }),
                )?;
                holds(
                    "it was never probed",
                    condition.get("lastProbeTime").is_some_and(Value::is_null),
                )
            },
        ),
        case(
            "gates_have_names",
            "Names of scheduling gates are qualified and differ, and a gated Pod has no node.",
            async |t| {
                let path = t.core("pods", "?dryRun=All");
                for (gates, cause) in [
                    (json!([{ "name": "a b" }]), "FieldValueInvalid spec.schedulingGates[0]"),
                    (
                        json!([{ "name": "a" }, { "name": "a" }]),
                        "FieldValueDuplicate spec.schedulingGates[1]",
                    ),
                ] {
                    t.post(&path, &with(json!({ "schedulingGates": gates })))
                        .await?
                        .invalid(&[cause])?;
                }
                t.post(&path, &gated(json!({ "nodeName": "n" })))
                    .await?
                    .invalid(&["FieldValueForbidden spec.nodeName"])?;
                Ok(())
            },
        ),
        case(
            "gates_are_removed",
            "Scheduling gates of a Pod can be removed, one or all, which counts a generation.",
            async |t| {
                t.make(&t.core("pods", ""), gated(json!({}))).await?;
                let one = json!({ "schedulingGates": [{ "name": "b" }] });
                has(&changed(t, one).await?.is(200)?, json!({ "metadata": { "generation": 2 } }))?;
                let none = json!({ "schedulingGates": null });
                has(
                    &changed(t, none).await?.is(200)?,
                    json!({ "metadata": { "generation": 3 }, "spec": { "schedulingGates": null } }),
                )
            },
        ),
        case(
            "gates_are_not_added",
            "A scheduling gate that is added to a Pod, or put in the place of another, answers 422 by its name.",
            async |t| {
                t.make(&t.core("pods", ""), gated(json!({}))).await?;
                for (gates, at) in [
                    (json!([{ "name": "c" }, { "name": "b" }]), 0),
                    (json!([{ "name": "example.com/a" }, { "name": "b" }, { "name": "c" }]), 2),
                ] {
                    let status =
                        changed(t, json!({ "schedulingGates": gates })).await?.invalid(&[
                            &format!("FieldValueForbidden spec.schedulingGates[{at}].name"),
                        ])?;
                    same(
                        "message",
                        text(&status, "/details/causes/0/message"),
                        "Forbidden: only deletion is allowed, but found new scheduling gate 'c'",
                    )?;
                }
                Ok(())
            },
        ),
        case(
            "the_nodes_of_a_gated_pod_become_fewer",
            "Labels can be added to the node selector of a gated Pod, but none changed or removed; other Pods keep theirs.",
            async |t| {
                t.make(&t.core("pods", ""), gated(json!({ "nodeSelector": { "a": "1" } }))).await?;
                changed(t, json!({ "nodeSelector": { "b": "2" } })).await?.is(200)?;
                for selector in [json!({ "a": "2" }), json!({ "a": null }), json!(null)] {
                    changed(t, json!({ "nodeSelector": selector }))
                        .await?
                        .invalid(&["FieldValueInvalid spec.nodeSelector"])?;
                }
                changed(t, json!({ "schedulingGates": null })).await?.is(200)?;
                changed(t, json!({ "nodeSelector": { "c": "3" } }))
                    .await?
                    .invalid(&["FieldValueForbidden spec"])?;
                Ok(())
            },
        ),
        case(
            "the_affinity_of_a_gated_pod_becomes_narrower",
            "Node affinity can be set for a gated Pod, and its terms be narrowed, but not widened; affinity to Pods stays.",
            async |t| {
                t.make(&t.core("pods", ""), gated(json!({}))).await?;
                let first = json!({ "key": "k", "operator": "In", "values": ["v"] });
                let second = json!({ "key": "l", "operator": "Exists" });
                let affinity = |expressions: Value| json!({ "affinity": required(expressions) });
                changed(t, affinity(json!([first]))).await?.is(200)?;
                changed(t, affinity(json!([first, second]))).await?.is(200)?;
                let terms = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
                let status = changed(t, affinity(json!([second])))
                    .await?
                    .invalid(&[&format!("FieldValueInvalid {terms}[0]")])?;
                let why = "only additions are allowed (no mutations or deletions)";
                let shown = r#"{"MatchExpressions":[{"Key":"l","Operator":"Exists","Values":null}],"MatchFields":null}"#;
                same(
                    "message",
                    text(&status, "/details/causes/0/message"),
                    format!("Invalid value: {shown}: {why}"),
                )?;
                let none = json!({ "affinity": null });
                let status =
                    changed(t, none).await?.invalid(&[&format!("FieldValueInvalid {terms}")])?;
                same(
                    "message",
                    text(&status, "/details/causes/0/message"),
                    "Invalid value: null: no additions/deletions to non-empty NodeSelectorTerms list are allowed",
                )?;
                let spread = json!([{ "topologyKey": "t", "labelSelector": {} }]);
                let pods = json!({ "requiredDuringSchedulingIgnoredDuringExecution": spread });
                changed(t, json!({ "affinity": { "podAntiAffinity": pods } }))
                    .await?
                    .invalid(&["FieldValueForbidden spec"])?;
                Ok(())
            },
        ),
        case(
            "a_grace_period_below_zero_becomes_one",
            "The grace period of a Pod stays as it was made, and one below zero was made one second.",
            async |t| {
                let made = t
                    .make(&t.core("pods", ""), with(json!({ "terminationGracePeriodSeconds": -1 })))
                    .await?;
                has(&made, json!({ "spec": { "terminationGracePeriodSeconds": 1 } }))?;
                changed(t, json!({ "terminationGracePeriodSeconds": 2 }))
                    .await?
                    .invalid(&["FieldValueForbidden spec"])?;
                Ok(())
            },
        ),
    ]
}
