//! What limits and orders Pods: budgets, quotas, limits, classes, scalers.

use fastrand::Rng;
use serde_json::{Value, json};

use crate::fuzz::kinds::{BASE, Kind};
use crate::fuzz::pick::one;

pub(super) const KINDS: &[Kind] = &[Kind {
    collection: "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets",
    api_version: "policy/v1",
    kind: "PodDisruptionBudget",
    subresources: &["status"],
    rest: budget,
    status: budget_status,
    ..BASE
}];

fn budget(rng: &mut Rng) -> Value {
    let mut spec = json!({});
    let limit = |rng: &mut Rng| {
        one(rng, &[json!(1), json!(0), json!("50%"), json!("101%"), json!("x"), json!(-1)])
    };
    match rng.u8(..6) {
        0 => {}
        1 => {
            spec["minAvailable"] = limit(rng);
            spec["maxUnavailable"] = limit(rng);
        }
        2 | 3 => spec["minAvailable"] = limit(rng),
        _ => spec["maxUnavailable"] = limit(rng),
    }
    match rng.u8(..6) {
        0 => {}
        1 => spec["selector"] = json!({}),
        2 => {
            spec["selector"] = json!({ "matchExpressions": [{ "key": "a", "operator": one(rng, &["Exists", "Odd", "In"]) }] })
        }
        _ => spec["selector"] = json!({ "matchLabels": { "app": one(rng, &["a", "b", "a b"]) } }),
    }
    if rng.u8(..6) == 0 {
        spec["unhealthyPodEvictionPolicy"] =
            one(rng, &["AlwaysAllow", "IfHealthyBudget", "Odd"]).into();
    }
    json!({ "spec": spec })
}

fn budget_status(rng: &mut Rng) -> Value {
    let mut status = json!({
        "disruptionsAllowed": one(rng, &[0, 1, -1]), "currentHealthy": one(rng, &[0, 2]),
        "expectedPods": one(rng, &[0, 2]), "observedGeneration": one(rng, &[1, 2]),
    });
    if rng.bool() {
        status["conditions"] = json!([{
            "type": "DisruptionAllowed", "status": one(rng, &["True", "False", "Odd"]), "reason": one(rng, &["R", "R", "", "a b"]),
            "message": "", "lastTransitionTime": "2026-01-02T03:04:05Z",
        }]);
    }
    if rng.u8(..4) == 0 {
        status["disruptedPods"] = json!({ "p": "2026-01-02T03:04:05Z" });
    }
    status
}
