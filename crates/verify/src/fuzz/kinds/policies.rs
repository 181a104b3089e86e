//! What limits and orders Pods: budgets, quotas, limits, classes.

use fastrand::Rng;
use serde_json::{Value, json};

use crate::fuzz::kind::{BASE, Kind};
use crate::fuzz::pick::one;

pub(super) const KINDS: &[Kind] = &[
    Kind {
        collection: "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets",
        api_version: "policy/v1",
        kind: "PodDisruptionBudget",
        subresources: &["status"],
        rest: budget,
        status: budget_status,
        ..BASE
    },
    Kind {
        collection: "/apis/scheduling.k8s.io/v1/priorityclasses",
        api_version: "scheduling.k8s.io/v1",
        kind: "PriorityClass",
        cluster: true,
        rest: priority,
        ..BASE
    },
    Kind {
        collection: "/apis/node.k8s.io/v1/runtimeclasses",
        api_version: "node.k8s.io/v1",
        kind: "RuntimeClass",
        cluster: true,
        rest: runtime,
        ..BASE
    },
    Kind {
        collection: "/api/v1/namespaces/{ns}/resourcequotas",
        kind: "ResourceQuota",
        subresources: &["status"],
        rest: quota,
        // What is counted concerns no other kind: the real server enforces it.
        status: |rng| {
            let amounts =
                |rng: &mut Rng| json!({ "count/things.example.com": one(rng, &["1", "5", "-1"]) });
            json!({ "hard": amounts(rng), "used": amounts(rng) })
        },
        ..BASE
    },
    Kind {
        collection: "/api/v1/namespaces/{ns}/limitranges",
        kind: "LimitRange",
        rest: limits,
        // The real server applies stored ones to Pods and claims.
        dry: true,
        ..BASE
    },
];

/// None is the default: all Pods would have it.
fn priority(rng: &mut Rng) -> Value {
    let mut object = json!({ "value": one(rng, &[1, 1, 5, -7, 1_000_000_000, 1_000_000_001, 0]) });
    match rng.u8(..5) {
        0 => object["description"] = one(rng, &["d", "e"]).into(),
        1 => {
            object["preemptionPolicy"] = one(rng, &["Never", "PreemptLowerPriority", "Odd"]).into();
        }
        2 => object["globalDefault"] = false.into(),
        _ => {}
    }
    object
}

fn runtime(rng: &mut Rng) -> Value {
    let mut object = json!({ "handler": one(rng, &["h", "h", "i", "", "a b"]) });
    match rng.u8(..6) {
        0 => {
            let resource = one(rng, &["cpu", "memory", "odd", "example.com/x", "a b"]);
            object["overhead"] =
                json!({ "podFixed": { resource: one(rng, &["1", "100m", "-1"]) } });
        }
        1 => {
            object["scheduling"] = json!({ "nodeSelector": { "a": one(rng, &["b", "c d"]) } });
        }
        2 => {
            let toleration = json!({ "key": one(rng, &["k", "a b"]), "operator": one(rng, &["Exists", "Equal", "Odd"]) });
            object["scheduling"] =
                json!({ "tolerations": [toleration, { "key": "k", "operator": "Exists" }] });
        }
        _ => {}
    }
    object
}

fn quota(rng: &mut Rng) -> Value {
    let mut hard = json!({});
    for _ in 0..rng.u8(..3) {
        let name = one(
            rng,
            &[
                "pods",
                "requests.cpu",
                "limits.cpu",
                "cpu",
                "count/x.example.com",
                "storage",
                "odd",
                "a b",
                "requests.storage",
            ],
        );
        hard[name] = one(rng, &["1", "2", "500m", "-1"]).into();
    }
    let mut spec = json!({ "hard": hard });
    match rng.u8(..5) {
        0 => {
            spec["scopes"] = one(
                rng,
                &[
                    json!(["BestEffort"]),
                    json!(["Terminating", "NotTerminating"]),
                    json!(["Odd"]),
                    json!(["NotBestEffort"]),
                ],
            );
        }
        1 => {
            let mut requirement = json!({
                "scopeName": one(rng, &["PriorityClass", "BestEffort", "Terminating", "Odd"]),
                "operator": one(rng, &["In", "Exists", "NotIn", "Odd"]),
            });
            if rng.bool() {
                requirement["values"] = json!(["v"]);
            }
            spec["scopeSelector"] = json!({ "matchExpressions": [requirement] });
        }
        _ => {}
    }
    json!({ "spec": spec })
}

fn limits(rng: &mut Rng) -> Value {
    let of = one(
        rng,
        &["Container", "Container", "Pod", "PersistentVolumeClaim", "Odd", "example.com/x"],
    );
    let mut limit = json!({ "type": of });
    let resource = one(rng, &["cpu", "memory", "storage", "example.com/x", "odd"]);
    for list in ["max", "min", "default", "defaultRequest"] {
        if rng.u8(..3) == 0 {
            limit[list] = json!({ resource: one(rng, &["1", "2", "500m", "3"]) });
        }
    }
    if rng.u8(..4) == 0 {
        limit["maxLimitRequestRatio"] = json!({ resource: one(rng, &["1", "2", "500m", "1500m"]) });
    }
    let all = if rng.u8(..5) == 0 { json!([limit, limit]) } else { json!([limit]) };
    json!({ "spec": { "limits": all } })
}

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
