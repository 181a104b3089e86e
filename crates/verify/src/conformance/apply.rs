//! Server-side apply: what it writes, takes, keeps and refuses.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::target::APPLY;
use crate::conformance::{Case, Target, case};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = basics();
    cases.extend(conflicts());
    cases
}

/// A configuration of a ConfigMap.
fn map(data: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": data })
}

/// Applies to the ConfigMap `a`.
async fn apply(t: &Target, manager: &str, object: &Value) -> Result<Answer, String> {
    t.patch(&t.maps(&format!("/a?fieldManager={manager}")), APPLY, object).await
}

async fn force(t: &Target, manager: &str, object: &Value) -> Result<Answer, String> {
    t.patch(&t.maps(&format!("/a?fieldManager={manager}&force=true")), APPLY, object).await
}

fn basics() -> Vec<Case> {
    vec![
        case("apply_creates", "An apply of a missing object creates it: 201.", async |t| {
            let made = apply(t, "m", &map(json!({ "k": "v" }))).await?.is(201)?;
            has(&made, json!({ "data": { "k": "v" } }))
        }),
        case(
            "apply_without_a_manager_is_422",
            "An apply without a fieldManager answers 422 with the required option as its cause.",
            async |t| {
                let answer = t.patch(&t.maps("/a"), APPLY, &map(json!({}))).await?;
                let status = answer.invalid(&["FieldValueRequired fieldManager"])?;
                has(&status, json!({ "details": { "group": "meta.k8s.io", "kind": "PatchOptions" } }))
            },
        ),
        case(
            "apply_removes_what_it_no_longer_says",
            "A second apply that leaves a field out removes it if nobody else has it.",
            async |t| {
                apply(t, "m", &map(json!({ "k": "v", "l": "v" }))).await?.is(201)?;
                let applied = apply(t, "m", &map(json!({ "k": "v" }))).await?.is(200)?;
                same("data", applied["data"].clone(), json!({ "k": "v" }))
            },
        ),
    ]
}

fn conflicts() -> Vec<Case> {
    vec![case(
        "apply_conflicts_with_another_manager",
        "An apply of a field that another manager has set to another value answers 409 with the conflict as a cause.",
        async |t| {
            apply(t, "m", &map(json!({ "k": "v" }))).await?.is(201)?;
            let status = apply(t, "n", &map(json!({ "k": "w" }))).await?.refused(409, "Conflict")?;
            has(
                &status,
                json!({
                    "message": "Apply failed with 1 conflict: conflict with \"m\": .data.k",
                    "details": { "causes": [{
                        "reason": "FieldManagerConflict", "message": "conflict with \"m\"", "field": ".data.k",
                    }] },
                }),
            )?;
            force(t, "n", &map(json!({ "k": "w" }))).await?.is(200)?;
            Ok(())
        },
    )]
}
