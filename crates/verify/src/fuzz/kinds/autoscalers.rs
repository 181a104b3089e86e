//! HorizontalPodAutoscalers of both versions, which share their objects.

use fastrand::Rng;
use serde_json::{Value, json};

use crate::fuzz::kind::{BASE, Kind};
use crate::fuzz::pick::one;

pub(super) const KINDS: &[Kind] = &[
    Kind {
        collection: "/apis/autoscaling/v2/namespaces/{ns}/horizontalpodautoscalers",
        api_version: "autoscaling/v2",
        kind: "HorizontalPodAutoscaler",
        subresources: &["status"],
        rest: scaler,
        status: scaler_status,
        ..BASE
    },
    Kind {
        collection: "/apis/autoscaling/v1/namespaces/{ns}/horizontalpodautoscalers",
        api_version: "autoscaling/v1",
        kind: "HorizontalPodAutoscaler",
        subresources: &["status"],
        rest: old_scaler,
        annotations: notes,
        status: old_status,
        ..BASE
    },
];

fn metric(rng: &mut Rng) -> Value {
    let mut target = json!({ "type": one(rng, &["Utilization", "Value", "AverageValue", "AverageValue", "Odd", ""]) });
    if rng.bool() {
        target["averageUtilization"] = one(rng, &[50, 80, 0]).into();
    }
    if rng.bool() {
        target["averageValue"] = one(rng, &["1", "100m", "0", "-1"]).into();
    }
    if rng.u8(..3) == 0 {
        target["value"] = one(rng, &["1", "1k", "0"]).into();
    }
    let name = json!({ "name": one(rng, &["m", "m", "", "a/b"]) });
    let described = json!({ "kind": "Pod", "name": one(rng, &["p", ""]), "apiVersion": one(rng, &["v1", "a/b/c"]) });
    let mut metric = match rng.u8(..6) {
        0 => {
            json!({ "type": "Object", "object": { "describedObject": described, "metric": name, "target": target } })
        }
        1 => json!({ "type": "External", "external": { "metric": name, "target": target } }),
        2 => json!({ "type": "Pods", "pods": { "metric": name, "target": target } }),
        3 => {
            json!({ "type": "ContainerResource", "containerResource": {
            "name": one(rng, &["cpu", "odd", "example.com/x"]), "container": one(rng, &["c", ""]), "target": target,
        } })
        }
        _ => {
            json!({ "type": "Resource", "resource": { "name": one(rng, &["cpu", "memory", ""]), "target": target } })
        }
    };
    match rng.u8(..12) {
        0 => metric["type"] = one(rng, &["Odd", "Pods", ""]).into(),
        1 => {
            metric["pods"] = json!({ "metric": { "name": "m" }, "target": { "type": "AverageValue", "averageValue": "1" } })
        }
        _ => {}
    }
    metric
}

fn scaler(rng: &mut Rng) -> Value {
    let mut target = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "name": "d" });
    match rng.u8(..8) {
        0 => target["apiVersion"] = one(rng, &["v1", "a/b/c", "/v1"]).into(),
        1 => target = json!({ "kind": "ReplicationController", "name": "d" }),
        2 => target["name"] = one(rng, &["", "a/b", ".."]).into(),
        _ => {}
    }
    let mut spec =
        json!({ "scaleTargetRef": target, "maxReplicas": one(rng, &[3, 3, 5, 1, 0, -1]) });
    if rng.bool() {
        spec["minReplicas"] = one(rng, &[1, 2, 0, -1]).into();
    }
    if rng.bool() {
        spec["metrics"] = (0..rng.u8(1..4)).map(|_| metric(rng)).collect();
    }
    if rng.u8(..3) == 0 {
        let mut rules = json!({});
        match rng.u8(..5) {
            0 => rules["selectPolicy"] = one(rng, &["Min", "Disabled", "Odd"]).into(),
            1 => rules["stabilizationWindowSeconds"] = one(rng, &[0, 60, 3601, -1]).into(),
            2 => {
                let value = one(rng, &[1, 0]);
                rules["policies"] = json!([{ "type": one(rng, &["Pods", "Percent", "Odd"]), "value": value, "periodSeconds": one(rng, &[15, 0, 1801]) }]);
            }
            3 => rules["tolerance"] = one(rng, &["0.1", "100m", "-1"]).into(),
            _ => {}
        }
        spec["behavior"] =
            one(rng, &[json!({ "scaleUp": rules }), json!({ "scaleDown": rules }), json!({})]);
    }
    json!({ "spec": spec })
}

fn scaler_status(rng: &mut Rng) -> Value {
    let mut status = json!({ "currentReplicas": one(rng, &[0, 1, -1]), "desiredReplicas": one(rng, &[0, 1, -1]) });
    if rng.bool() {
        let current = one(
            rng,
            &[
                json!({ "averageUtilization": 40, "averageValue": "1" }),
                json!({ "averageValue": "2" }),
                json!({ "value": "3" }),
            ],
        );
        status["currentMetrics"] =
            json!([{ "type": "Resource", "resource": { "name": "cpu", "current": current } }]);
    }
    if rng.u8(..3) == 0 {
        status["conditions"] = json!([{ "type": "AbleToScale", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z" }]);
    }
    status
}

fn old_scaler(rng: &mut Rng) -> Value {
    let mut object = scaler(rng);
    if let Some(spec) = object["spec"].as_object_mut() {
        spec.remove("metrics");
        spec.remove("behavior");
        if rng.bool() {
            let percent = one(rng, &[50, 80, 80, 0, -1]);
            spec.insert("targetCPUUtilizationPercentage".to_owned(), percent.into());
        }
    }
    object
}

fn old_status(rng: &mut Rng) -> Value {
    let mut status = json!({ "currentReplicas": one(rng, &[0, 1, -1]), "desiredReplicas": one(rng, &[0, 1, -1]) });
    if rng.bool() {
        status["currentCPUUtilizationPercentage"] = one(rng, &[40, 0]).into();
    }
    status
}

/// Contents of the annotations that hold what autoscaling/v1 has no members for.
fn notes(rng: &mut Rng) -> Value {
    if rng.bool() {
        return Value::Null;
    }
    let mut notes = json!({});
    let mut add = |name: &str, texts: &[&str]| {
        if rng.u8(..3) == 0 {
            let name = format!("autoscaling.alpha.kubernetes.io/{name}");
            notes[name] = one(rng, texts).into();
        }
    };
    add(
        "metrics",
        &[
            r#"[{"type":"Resource","resource":{"name":"memory","targetAverageUtilization":50}}]"#,
            r#"[{"type":"Resource","resource":{"name":"cpu","targetAverageUtilization":60}},{"type":"Pods","pods":{"metricName":"m","targetAverageValue":1}}]"#,
            r#"[{"type":"Object","object":{"target":{"kind":"Pod","name":"p"},"metricName":"m","targetValue":"0","averageValue":"1"}}]"#,
            r#"[{"TYPE":"External","external":{"metricName":"m","metricSelector":{"matchLabels":{"a":"<b>"}},"targetValue":"1k"}}]"#,
            r#"[{"type":"ContainerResource","containerResource":{"name":"cpu","container":"c","targetAverageValue":"0.1"}}]"#,
            r#"[{"type":"Resource","resource":{}}]"#,
            r#"[{"type":"Odd"}]"#,
            r#"[{"type":7}]"#,
            "[null]",
            "null",
            "odd",
        ],
    );
    add(
        "behavior",
        &[
            r#"{"ScaleUp":{"Policies":[{"Type":"Pods","Value":1,"PeriodSeconds":15}]}}"#,
            r#"{"scaleDown":{"selectPolicy":"Min","policies":[{"type":"Percent","value":1,"periodSeconds":15}],"tolerance":"0.1"}}"#,
            r#"{"ScaleUp":{"SelectPolicy":"Odd"}}"#,
            r#"{"ScaleUp":null}"#,
            "{}",
            "[]",
            "odd",
        ],
    );
    add(
        "current-metrics",
        &[
            r#"[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":7}}]"#,
            r#"[{"type":"External","external":{"metricName":"m","currentAverageValue":"1"}}]"#,
            "[]",
            "odd",
        ],
    );
    add(
        "conditions",
        &[
            r#"[{"type":"AbleToScale","status":"True","lastTransitionTime":"2026-01-02T03:04:05Z"}]"#,
            r#"[{"type":"AbleToScale","reason":"","message":"<m>"}]"#,
            r#"[{"lastTransitionTime":"odd"}]"#,
            "odd",
        ],
    );
    add("scale-up-tolerance", &["0.1"]);
    notes
}
