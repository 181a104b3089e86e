//! PriorityClasses and RuntimeClasses.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::pod;
use crate::conformance::waiting::eventually;
use crate::conformance::{Case, Target, case};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const PRIORITIES: &str = "/apis/scheduling.k8s.io/v1/priorityclasses";
const RUNTIMES: &str = "/apis/node.k8s.io/v1/runtimeclasses";

fn class(t: &Target, members: Value) -> Value {
    let mut object = json!({ "metadata": { "name": t.own("a") } });
    for (member, value) in members.as_object().into_iter().flatten() {
        object[member] = value.clone();
    }
    object
}

/// The path of the case's own class.
fn own(t: &Target, collection: &str) -> String {
    format!("{collection}/{}", t.own("a"))
}

/// A class that goes at the end of the case.
async fn made_and_gone(t: &Target, collection: &str) -> Outcome {
    let ended = t.delete(&own(t, collection)).await?.is(200)?;
    has(&ended, json!({ "kind": "Status" }))
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "a_priority_class_has_defaults",
            "A PriorityClass lets its Pods preempt others, and has generation 1 whatever changes.",
            async |t| {
                let object = class(t, json!({ "value": 7 }));
                let made = t.make(PRIORITIES, object).await?;
                has(
                    &made,
                    json!({ "value": 7, "preemptionPolicy": "PreemptLowerPriority", "globalDefault": null, "metadata": { "generation": 1 } }),
                )?;
                let patch = json!({ "description": "d" });
                let patched = t.merge(&own(t, PRIORITIES), patch).await?.is(200)?;
                has(&patched, json!({ "description": "d", "metadata": { "generation": 1 } }))?;
                let table = t.get_as(&own(t, PRIORITIES), TABLE).await?.is(200)?;
                has(
                    &table["rows"][0]["cells"],
                    json!(["*", 7, false, "*", "PreemptLowerPriority"]),
                )?;
                has(
                    &table["columnDefinitions"][2],
                    json!({ "name": "Global-Default", "type": "boolean" }),
                )?;
                made_and_gone(t, PRIORITIES).await
            },
        ),
        case(
            "a_priority_has_an_upper_bound",
            "The value of a PriorityClass is at most a billion, and may be negative.",
            async |t| {
                let path = format!("{PRIORITIES}?dryRun=All");
                let status = t
                    .post(&path, &class(t, json!({ "value": 1_000_000_001 })))
                    .await?
                    .invalid(&["FieldValueForbidden value"])?;
                let why =
                    "Forbidden: maximum allowed value of a user defined priority is 1000000000";
                same("message", text(&status, "/details/causes/0/message"), why)?;
                for value in [1_000_000_000, 0, -2_000_000_000] {
                    let made = t.make(&path, class(t, json!({ "value": value }))).await?;
                    has(&made, json!({ "value": value }))?;
                }
                t.post(&path, &class(t, json!({ "value": 1, "preemptionPolicy": "Odd" })))
                    .await?
                    .invalid(&["FieldValueNotSupported preemptionPolicy"])?;
                Ok(())
            },
        ),
        case(
            "names_of_the_system_are_its_own",
            "A PriorityClass whose name begins with `system-` answers 422, unless it is one of the system's.",
            async |t| {
                let path = format!("{PRIORITIES}?dryRun=All");
                for (name, value, why) in [
                    ("system-x", 1, "system-x is not a known system priority class"),
                    (
                        "system-node-critical",
                        1,
                        "value of system-node-critical PriorityClass must be 2000001000",
                    ),
                ] {
                    let object = json!({ "metadata": { "name": name }, "value": value });
                    let status = t
                        .post(&path, &object)
                        .await?
                        .invalid(&["FieldValueForbidden metadata.name"])?;
                    let why = format!(
                        "Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: {why}"
                    );
                    same("message", text(&status, "/details/causes/0/message"), why)?;
                }
                Ok(())
            },
        ),
        case(
            "a_priority_stays",
            "Value and preemptionPolicy of a PriorityClass cannot be changed; its description can.",
            async |t| {
                t.make(PRIORITIES, class(t, json!({ "value": 7 }))).await?;
                let path = own(t, PRIORITIES);
                let status = t
                    .merge(&path, json!({ "value": 8 }))
                    .await?
                    .invalid(&["FieldValueForbidden value"])?;
                let why = "Forbidden: may not be changed in an update.";
                same("message", text(&status, "/details/causes/0/message"), why)?;
                let status = t
                    .merge(&path, json!({ "preemptionPolicy": "Never" }))
                    .await?
                    .invalid(&["FieldValueInvalid preemptionPolicy"])?;
                let why = "Invalid value: \"Never\": field is immutable";
                same("message", text(&status, "/details/causes/0/message"), why)?;
                made_and_gone(t, PRIORITIES).await
            },
        ),
        case(
            "a_class_gives_its_pods_a_priority",
            "A Pod has the value and the preemptionPolicy of the PriorityClass that it names.",
            async |t| {
                t.make(PRIORITIES, class(t, json!({ "value": 7, "preemptionPolicy": "Never" })))
                    .await?;
                let mut object = pod("a");
                object["spec"]["priorityClassName"] = t.own("a").into();
                let path = t.core("pods", "?dryRun=All");
                // The real server's plugin learns of the class in its own time.
                let made = eventually(async || Ok(t.post(&path, &object).await?.is(201))).await?;
                has(&made, json!({ "spec": { "priority": 7, "preemptionPolicy": "Never" } }))?;
                object["spec"]["priority"] = 8.into();
                t.post(&path, &object).await?.says(
                    403,
                    "Forbidden",
                    "the integer value of priority (8) must not be provided in pod spec; priority admission controller computed 7 from the given PriorityClass name",
                )?;
                made_and_gone(t, PRIORITIES).await
            },
        ),
        case(
            "a_runtime_class_names_its_handler",
            "A RuntimeClass has a handler, which is a DNS label and cannot be changed.",
            async |t| {
                t.post(RUNTIMES, &class(t, json!({})))
                    .await?
                    .invalid(&["FieldValueRequired handler"])?;
                t.post(RUNTIMES, &class(t, json!({ "handler": "a.b" })))
                    .await?
                    .invalid(&["FieldValueInvalid handler"])?;
                let made = t.make(RUNTIMES, class(t, json!({ "handler": "h" }))).await?;
                has(&made, json!({ "handler": "h", "metadata": { "generation": null } }))?;
                let status = t
                    .merge(&own(t, RUNTIMES), json!({ "handler": "i" }))
                    .await?
                    .invalid(&["FieldValueInvalid handler"])?;
                let why = "Invalid value: \"i\": field is immutable";
                same("message", text(&status, "/details/causes/0/message"), why)?;
                let table = t.get_as(&own(t, RUNTIMES), TABLE).await?.is(200)?;
                has(&table["rows"][0]["cells"], json!(["*", "h", "*"]))?;
                made_and_gone(t, RUNTIMES).await
            },
        ),
        case(
            "a_runtime_class_is_created_by_put",
            "PUT of a missing RuntimeClass creates it; of one that is there it needs a resourceVersion.",
            async |t| {
                let object = class(t, json!({ "handler": "h" }));
                t.put(&own(t, RUNTIMES), &object).await?.is(201)?;
                t.put(&own(t, RUNTIMES), &object)
                    .await?
                    .invalid(&["FieldValueInvalid metadata.resourceVersion"])?;
                made_and_gone(t, RUNTIMES).await
            },
        ),
        case(
            "the_overhead_of_a_runtime_is_checked",
            "The overhead of a RuntimeClass has resources of containers, and its tolerations come once.",
            async |t| {
                let path = format!("{RUNTIMES}?dryRun=All");
                let toleration = json!({ "key": "k", "operator": "Exists" });
                for (members, cause) in [
                    (
                        json!({ "overhead": { "podFixed": { "pods": "1" } } }),
                        "FieldValueInvalid overhead.limits[pods]",
                    ),
                    (
                        json!({ "overhead": { "podFixed": { "cpu": "-1" } } }),
                        "FieldValueInvalid overhead.limits[cpu]",
                    ),
                    (
                        json!({ "scheduling": { "tolerations": [toleration, toleration] } }),
                        "FieldValueDuplicate scheduling.tolerations[1]",
                    ),
                    (
                        json!({ "scheduling": { "nodeSelector": { "a": "b c" } } }),
                        "FieldValueInvalid scheduling.nodeSelector",
                    ),
                ] {
                    let mut object = class(t, members);
                    object["handler"] = "h".into();
                    t.post(&path, &object).await?.invalid(&[cause])?;
                }
                Ok(())
            },
        ),
    ]
}
