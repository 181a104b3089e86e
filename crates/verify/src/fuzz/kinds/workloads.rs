//! Pods, and what makes them.

use fastrand::Rng;
use serde_json::{Value, json};

use crate::fuzz::pick::one;

pub(super) fn pod(rng: &mut Rng) -> Value {
    let mut spec =
        json!({ "containers": [{ "name": "c", "image": one(rng, &["i", "j", "i:1"]) }] });
    match rng.u8(..15) {
        0 => spec["nodeName"] = "n".into(),
        1 => spec["restartPolicy"] = one(rng, &["Never", "OnFailure", "Odd"]).into(),
        2 => spec["terminationGracePeriodSeconds"] = one(rng, &[0, 5, -1]).into(),
        3 => spec["containers"] = json!([]),
        4 => spec["volumes"] = json!([{ "name": "v", "emptyDir": {} }]),
        5 => spec["containers"][0]["env"] = json!([{ "name": "E", "value": "1" }]),
        6 => spec["containers"][0]["ports"] = json!([{ "containerPort": 80 }]),
        7 => spec["activeDeadlineSeconds"] = one(rng, &[5, 7, 0]).into(),
        8..11 => {
            spec["schedulingGates"] =
                one(rng, &[json!([{ "name": "a" }]), json!([{ "name": "a" }, { "name": "b" }])]);
            if rng.bool() {
                spec["nodeSelector"] =
                    one(rng, &[json!({ "k": "1" }), json!({ "k": "1", "l": "2" })]);
            }
        }
        _ => {}
    }
    json!({ "spec": spec })
}

pub(super) fn pod_status(rng: &mut Rng) -> Value {
    let mut status = json!({ "phase": one(rng, &["Running", "Pending", "Succeeded"]) });
    if rng.bool() {
        let condition = |kind: &str, state: &str| json!({ "type": kind, "status": state });
        status["conditions"] = json!([
            condition("Ready", one(rng, &["True", "False"])),
            condition("example.com/c", "True")
        ]);
    }
    if rng.u8(..3) == 0 {
        status["podIP"] = one(rng, &["1.2.3.4", "x"]).into();
    }
    status
}

pub(super) fn template(rng: &mut Rng) -> Value {
    let mut template = pod(rng);
    template["metadata"] = json!({ "labels": { "app": one(rng, &["a", "a", "a", "b"]) } });
    template
}

/// What selects the pods of a template: mostly those.
pub(super) fn selector(rng: &mut Rng) -> Value {
    match rng.u8(..10) {
        0 => json!({ "matchExpressions": [{ "key": "app", "operator": "Exists" }] }),
        1 => json!({}),
        _ => json!({ "matchLabels": { "app": "a" } }),
    }
}

pub(super) fn deployment(rng: &mut Rng) -> Value {
    let mut spec = json!({ "selector": selector(rng), "template": template(rng) });
    if rng.u8(..3) > 0 {
        spec["replicas"] = one(rng, &[0, 1, 2, 3, -1]).into();
    }
    match rng.u8(..10) {
        0 => spec["strategy"] = json!({ "type": one(rng, &["Recreate", "RollingUpdate"]) }),
        1 => {
            let surge = one(rng, &[json!(1), json!("25%"), json!("x"), json!(0), json!(-1)]);
            let unavailable = one(rng, &[json!(0), json!("50%"), json!("101%")]);
            let rolling = json!({ "maxSurge": surge, "maxUnavailable": unavailable });
            spec["strategy"] = json!({ "type": "RollingUpdate", "rollingUpdate": rolling });
        }
        2 => spec["minReadySeconds"] = one(rng, &[0, 5, -1]).into(),
        3 => spec["paused"] = rng.bool().into(),
        4 => spec["revisionHistoryLimit"] = one(rng, &[0, 3, -1]).into(),
        5 => spec["progressDeadlineSeconds"] = one(rng, &[0, 3, 600]).into(),
        _ => {}
    }
    json!({ "spec": spec })
}

pub(super) fn deployment_status(rng: &mut Rng) -> Value {
    let mut status = json!({
        "observedGeneration": one(rng, &[1, 2]), "replicas": one(rng, &[0, 1, 2]),
        "readyReplicas": one(rng, &[0, 1, 3]),
    });
    if rng.bool() {
        status["conditions"] = json!([{
            "type": "Available", "status": one(rng, &["True", "False"]), "reason": "r", "message": "m",
            "lastUpdateTime": "2026-01-02T03:04:05Z", "lastTransitionTime": "2026-01-02T03:04:05Z",
        }]);
    }
    status
}

pub(super) fn replica_set(rng: &mut Rng) -> Value {
    let mut spec = json!({ "selector": selector(rng), "template": template(rng) });
    if rng.bool() {
        spec["replicas"] = one(rng, &[0, 1, 2, -1]).into();
    }
    if rng.u8(..8) == 0 {
        spec["minReadySeconds"] = one(rng, &[1, -1]).into();
    }
    json!({ "spec": spec })
}

pub(super) fn job(rng: &mut Rng) -> Value {
    let mut template = pod(rng);
    if rng.u8(..8) > 0 {
        template["spec"]["restartPolicy"] = one(rng, &["Never", "OnFailure"]).into();
    }
    let mut spec = json!({ "template": template });
    match rng.u8(..10) {
        0 => spec["parallelism"] = one(rng, &[0, 2, -1]).into(),
        1 => spec["completions"] = one(rng, &[0, 2, -1]).into(),
        2 => spec["backoffLimit"] = one(rng, &[0, 2, -1]).into(),
        3 => spec["suspend"] = rng.bool().into(),
        4 => spec["ttlSecondsAfterFinished"] = one(rng, &[0, 9, -1]).into(),
        5 => spec["completionMode"] = one(rng, &["Indexed", "NonIndexed", "Odd"]).into(),
        6 => spec["activeDeadlineSeconds"] = one(rng, &[5, -1]).into(),
        _ => {}
    }
    json!({ "spec": spec })
}
