//! The conversion both ways, and what it loses.

use serde_json::{Value, json};

use super::{ScalerV1, to_v1, to_v2};
use crate::api::kind::Codec as _;
use crate::api::metadata::Object;
use crate::strategy::Strategy as _;

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";

fn object(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        other => panic!("{other} is no object"),
    }
}

fn v1(value: Value) -> Value {
    to_v1(object(value)).into()
}

fn v2(value: Value) -> Value {
    to_v2(object(value)).into()
}

/// An object of v1 with an annotation.
fn noted(name: &str, text: &str) -> Value {
    json!({ "metadata": { "annotations": { name: text } }, "spec": {} })
}

fn cpu(percent: i32) -> Value {
    let target = json!({ "type": "Utilization", "averageUtilization": percent });
    json!({ "type": "Resource", "resource": { "name": "cpu", "target": target } })
}

fn memory() -> Value {
    let target = json!({ "type": "AverageValue", "averageValue": "1Gi" });
    json!({ "type": "Resource", "resource": { "name": "memory", "target": target } })
}

#[test]
fn the_first_utilization_of_the_processor_is_the_target() {
    let shown = v1(json!({ "spec": { "metrics": [cpu(50), cpu(60)] } }));
    assert_eq!(shown, json!({ "spec": { "targetCPUUtilizationPercentage": 50 } }));
    assert_eq!(v2(shown), json!({ "spec": { "metrics": [cpu(50)] } }));
}

#[test]
fn without_any_metric_the_processor_is_the_target() {
    assert_eq!(v2(json!({})), json!({ "spec": { "metrics": [cpu(80)] } }));
    // What an apply has emptied is null.
    assert_eq!(v2(json!({ "spec": null })), json!({ "spec": { "metrics": [cpu(80)] } }));
    let read = v2(noted(METRICS, "[]"));
    assert_eq!(read, json!({ "metadata": {}, "spec": { "metrics": [cpu(80)] } }));
}

#[test]
fn other_metrics_come_first_after_a_round_trip() {
    let shown = v1(json!({ "spec": { "metrics": [cpu(50), memory()] } }));
    let text = r#"[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Gi"}}]"#;
    assert_eq!(shown["metadata"]["annotations"], json!({ METRICS: text }));
    assert_eq!(v2(shown)["spec"]["metrics"], json!([memory(), cpu(50)]));
}

#[test]
fn a_second_round_trip_changes_nothing() {
    let current = json!([{ "type": "Resource", "resource": { "name": "cpu", "current": { "averageUtilization": 4 } } }]);
    let whole = json!({
        "metadata": { "annotations": { "a": "b" } },
        "spec": { "metrics": [cpu(50), memory()], "behavior": { "scaleUp": { "selectPolicy": "Min" } } },
        "status": { "currentMetrics": current, "desiredReplicas": 1 },
    });
    let first = v1(whole);
    assert_eq!(first["status"]["currentCPUUtilizationPercentage"], 4);
    assert_eq!(first["status"]["currentReplicas"], 0);
    assert_eq!(v1(v2(first.clone())), first);
}

#[test]
fn annotations_that_cannot_be_read_are_dropped() {
    for text in ["", "odd", "7", "{}", r#"[{"type":7}]"#, r#"[{"pods":7}]"#, "[7]"] {
        let read = v2(noted(METRICS, text));
        assert_eq!(read, json!({ "metadata": {}, "spec": { "metrics": [cpu(80)] } }), "{text}");
    }
    for name in [BEHAVIOR, CURRENT, CONDITIONS] {
        for text in ["odd", "7", r#"[{"type":7}]"#] {
            let read = v2(noted(name, text));
            let expected = json!({ "metadata": {}, "spec": { "metrics": [cpu(80)] } });
            assert_eq!(read, expected, "{name} {text}");
        }
    }
}

#[test]
fn a_null_metric_is_an_empty_one() {
    assert_eq!(v2(noted(METRICS, "[null]"))["spec"]["metrics"], json!([{ "type": "" }]));
}

#[test]
fn an_object_metric_without_an_average_has_a_value() {
    let text = r#"[{"type":"Object","object":{"METRICNAME":"m","targetvalue":null}}]"#;
    let read = v2(noted(METRICS, text));
    let target = &read["spec"]["metrics"][0]["object"]["target"];
    assert_eq!(*target, json!({ "type": "Value", "value": "0" }));
    let text = r#"[{"type":"Object","object":{"targetValue":"0","averageValue":"1"}}]"#;
    let read = v2(noted(METRICS, text));
    let target = &read["spec"]["metrics"][0]["object"]["target"];
    assert_eq!(*target, json!({ "type": "AverageValue", "averageValue": "1" }));
    let text = r#"[{"type":"Object","object":{"targetValue":2,"averageValue":"1"}}]"#;
    let read = v2(noted(METRICS, text));
    let target = &read["spec"]["metrics"][0]["object"]["target"];
    assert_eq!(*target, json!({ "type": "AverageValue", "value": "2", "averageValue": "1" }));
}

#[test]
fn a_behavior_has_the_names_of_go() {
    let rules = json!({ "policies": [{ "type": "Pods", "value": 1, "periodSeconds": 2 }] });
    let shown = v1(json!({ "spec": { "metrics": [cpu(50)], "behavior": { "scaleDown": rules } } }));
    let text = concat!(
        r#"{"ScaleUp":null,"ScaleDown":{"StabilizationWindowSeconds":null,"SelectPolicy":null,"#,
        r#""Policies":[{"Type":"Pods","Value":1,"PeriodSeconds":2}],"Tolerance":null}}"#,
    );
    assert_eq!(shown["metadata"]["annotations"], json!({ BEHAVIOR: text }));
    assert_eq!(v2(shown)["spec"]["behavior"], json!({ "scaleDown": rules }));
}

#[test]
fn a_stored_behavior_is_complete() {
    let text = r#"{"scaleDown":{"selectPolicy":"Min"}}"#;
    let stored = Value::from(ScalerV1.to_storage(object(noted(BEHAVIOR, text))));
    let behavior = &stored["spec"]["behavior"];
    assert_eq!(behavior["scaleDown"]["selectPolicy"], "Min");
    assert_eq!(behavior["scaleUp"]["selectPolicy"], "Max");
    assert_eq!(v2(noted(BEHAVIOR, "{}"))["spec"].get("behavior"), None);
}

#[test]
fn current_metrics_of_the_annotation_win_and_an_unreadable_one_does_not() {
    let mut status = noted(CURRENT, r#"[{"type":"Pods","pods":{"metricName":"m"}}]"#);
    status["status"] = json!({ "currentCPUUtilizationPercentage": 40, "desiredReplicas": 0 });
    let current = v2(status.clone())["status"]["currentMetrics"].clone();
    let pods = json!({ "metric": { "name": "m" }, "current": { "averageValue": "0" } });
    assert_eq!(current, json!([{ "type": "Pods", "pods": pods }]));
    status["metadata"]["annotations"][CURRENT] = "odd".into();
    let current = v2(status)["status"]["currentMetrics"].clone();
    let resource = json!({ "name": "cpu", "current": { "averageUtilization": 40 } });
    assert_eq!(current, json!([{ "type": "Resource", "resource": resource }]));
}

#[test]
fn conditions_are_written_as_go_writes_them() {
    let condition = json!({
        "type": "a", "status": "True", "lastTransitionTime": null, "message": "<&>",
    });
    let shown = v1(json!({ "status": { "conditions": [condition], "currentMetrics": null } }));
    let text = r#"[{"type":"a","status":"True","lastTransitionTime":null,"message":"\u003c\u0026\u003e"}]"#;
    assert_eq!(shown["metadata"]["annotations"], json!({ CONDITIONS: text }));
    assert_eq!(v2(shown)["status"]["conditions"], json!([condition]));
}

#[test]
fn other_annotations_stay() {
    let mut whole = noted("a", "b");
    whole["metadata"]["annotations"]["autoscaling.alpha.kubernetes.io/scale-up-tolerance"] =
        "1".into();
    assert_eq!(v2(whole.clone())["metadata"]["annotations"], json!({ "a": "b" }));
    assert_eq!(v1(whole)["metadata"]["annotations"], json!({ "a": "b" }));
}

#[test]
fn defaults_add_no_value_to_a_percentage_and_keep_conditions() {
    let mut sent = object(noted(CONDITIONS, r#"[{"type":"a","status":"True"}]"#));
    sent.insert("status".to_owned(), json!({ "currentCPUUtilizationPercentage": 40 }));
    ScalerV1.default(&mut sent);
    let read = Value::from(to_v2(sent));
    let resource = json!({ "name": "cpu", "current": { "averageUtilization": 40 } });
    let current = json!([{ "type": "Resource", "resource": resource }]);
    assert_eq!(read["status"]["currentMetrics"], current);
    assert_eq!(read["status"]["conditions"][0]["type"], "a");
}
