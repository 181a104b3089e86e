//! HorizontalPodAutoscalers of autoscaling/v2: bounds, metrics and behavior.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, Target, case};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

fn scalers(t: &Target, rest: &str) -> String {
    t.of_group("autoscaling/v2", "horizontalpodautoscalers", rest)
}

fn scaler(members: Value) -> Value {
    let target = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "name": "d" });
    let spec = json!({ "scaleTargetRef": target, "maxReplicas": 3 });
    with_spec(json!({ "metadata": { "name": "a" }, "spec": spec }), members)
}

fn with_metric(metric: Value) -> Value {
    scaler(json!({ "metrics": [metric] }))
}

fn cpu(target: Value) -> Value {
    json!({ "type": "Resource", "resource": { "name": "cpu", "target": target } })
}

/// Each spec with the cause of its refusal.
async fn refuses(t: &Target, cases: &[(Value, &str)]) -> Outcome {
    for (object, cause) in cases {
        t.post(&scalers(t, "?dryRun=All"), object).await?.invalid(&[cause])?;
    }
    Ok(())
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "an_autoscaler_has_defaults",
            "A HorizontalPodAutoscaler keeps one replica at least and 80 % of the processors busy; it has no generation.",
            async |t| {
                let mut object = scaler(json!({}));
                object["status"] = json!({ "currentReplicas": 7 });
                let made = t.make(&scalers(t, "?dryRun=All"), object).await?;
                let target = json!({ "type": "Utilization", "averageUtilization": 80 });
                has(
                    &made,
                    json!({
                        "metadata": { "generation": null },
                        "spec": { "minReplicas": 1, "metrics": [cpu(target)], "behavior": null },
                    }),
                )?;
                let status = json!({ "currentMetrics": null, "desiredReplicas": 0 });
                same("status", made["status"].clone(), status)
            },
        ),
        case(
            "a_behavior_is_completed",
            "A behavior says how fast to scale up and down, each with the defaults of its direction.",
            async |t| {
                let object =
                    scaler(json!({ "behavior": { "scaleDown": { "selectPolicy": "Min" } } }));
                let made = t.make(&scalers(t, "?dryRun=All"), object).await?;
                let pods = json!({ "type": "Pods", "value": 4, "periodSeconds": 15 });
                let percent = json!({ "type": "Percent", "value": 100, "periodSeconds": 15 });
                has(
                    &made["spec"]["behavior"],
                    json!({
                        "scaleUp": { "stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [pods, percent] },
                        "scaleDown": { "stabilizationWindowSeconds": null, "selectPolicy": "Min", "policies": [percent] },
                    }),
                )
            },
        ),
        case(
            "an_autoscaler_has_bounds",
            "minReplicas is at least one, and maxReplicas at least minReplicas.",
            async |t| {
                let none = scaler(json!({ "maxReplicas": null }));
                t.post(&scalers(t, "?dryRun=All"), &none).await?.says(
                    422,
                    "Invalid",
                    "spec.maxReplicas: Required value: must be set and greater than 0",
                )?;
                let less = scaler(json!({ "minReplicas": 4 }));
                t.post(&scalers(t, "?dryRun=All"), &less).await?.says(
                    422,
                    "Invalid",
                    "spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`",
                )?;
                let zero = scaler(json!({ "minReplicas": 0 }));
                let status = t.post(&scalers(t, "?dryRun=All"), &zero).await?.invalid(&[
                    "FieldValueInvalid spec.minReplicas",
                    "FieldValueForbidden spec.metrics",
                ])?;
                let why = "must specify at least one Object or External metric to support scaling to zero replicas";
                holds("it says what is needed", text(&status, "/message").contains(why))
            },
        ),
        case(
            "an_autoscaler_scales_something",
            "The target of an autoscaler has a kind, a name and a group, which only a ReplicationController lacks.",
            async |t| {
                let target = |members: Value| scaler(json!({ "scaleTargetRef": members }));
                let cases = [
                    (
                        target(json!({ "apiVersion": "apps/v1", "kind": "Deployment" })),
                        "FieldValueRequired spec.scaleTargetRef.name",
                    ),
                    (
                        target(
                            json!({ "apiVersion": "apps/v1", "kind": "Deployment", "name": "a/b" }),
                        ),
                        "FieldValueInvalid spec.scaleTargetRef.name",
                    ),
                    (
                        target(json!({ "kind": "Deployment", "name": "d" })),
                        "FieldValueInvalid spec.scaleTargetRef.apiVersion",
                    ),
                    (
                        target(json!({ "apiVersion": "a/b/c", "kind": "Deployment", "name": "d" })),
                        "FieldValueInvalid spec.scaleTargetRef.apiVersion",
                    ),
                ];
                refuses(t, &cases).await?;
                for version in ["v1", ""] {
                    let object = target(
                        json!({ "apiVersion": version, "kind": "ReplicationController", "name": "d" }),
                    );
                    t.make(&scalers(t, "?dryRun=All"), object).await?;
                }
                Ok(())
            },
        ),
        case(
            "a_metric_has_one_source",
            "A metric has a known type and the source of this type alone.",
            async |t| {
                let target = json!({ "type": "AverageValue", "averageValue": "1" });
                let mut two = cpu(target.clone());
                two["pods"] = json!({ "metric": { "name": "m" }, "target": target });
                let cases = [
                    (
                        with_metric(json!({ "type": "Resource" })),
                        "FieldValueRequired spec.metrics[0].resource",
                    ),
                    (
                        with_metric(json!({ "type": "Odd" })),
                        "FieldValueNotSupported spec.metrics[0].type",
                    ),
                    (with_metric(two), "FieldValueForbidden spec.metrics[0].pods"),
                ];
                refuses(t, &cases).await
            },
        ),
        case(
            "the_target_of_a_metric_is_positive",
            "A metric of a resource has a utilization or a value, which is positive.",
            async |t| {
                let path = "spec.metrics[0].resource.target";
                let of = |target: Value| with_metric(cpu(target));
                for (target, cause) in [
                    (
                        json!({ "type": "Utilization" }),
                        format!("FieldValueRequired {path}.averageUtilization"),
                    ),
                    (
                        json!({ "type": "Utilization", "averageUtilization": 1, "averageValue": "1" }),
                        format!("FieldValueForbidden {path}.averageValue"),
                    ),
                    (
                        json!({ "type": "Utilization", "averageUtilization": 0 }),
                        format!("FieldValueInvalid {path}.averageUtilization"),
                    ),
                    (
                        json!({ "type": "AverageValue", "averageValue": "0" }),
                        format!("FieldValueInvalid {path}.averageValue"),
                    ),
                    (
                        json!({ "type": "Odd", "averageValue": "1" }),
                        format!("FieldValueInvalid {path}.type"),
                    ),
                ] {
                    refuses(t, &[(of(target), cause.as_str())]).await?;
                }
                Ok(())
            },
        ),
        case(
            "metrics_of_other_sources_are_checked",
            "Metrics of Pods, of objects, of containers and from outside have a name and a target of their sort.",
            async |t| {
                let target = json!({ "type": "Value", "value": "1" });
                let both = json!({ "type": "Value", "value": "1", "averageValue": "1" });
                let name = json!({ "name": "m" });
                let described = json!({ "kind": "Service", "name": "s", "apiVersion": "v1" });
                let cases = [
                    (
                        with_metric(
                            json!({ "type": "Pods", "pods": { "metric": name, "target": target } }),
                        ),
                        "FieldValueRequired spec.metrics[0].pods.target.averageValue",
                    ),
                    (
                        with_metric(
                            json!({ "type": "External", "external": { "metric": name, "target": both } }),
                        ),
                        "FieldValueForbidden spec.metrics[0].external.target.value",
                    ),
                    (
                        with_metric(
                            json!({ "type": "External", "external": { "metric": {}, "target": target } }),
                        ),
                        "FieldValueRequired spec.metrics[0].external.metric.name",
                    ),
                    (
                        with_metric(
                            json!({ "type": "Object", "object": { "metric": name, "target": target, "describedObject": { "kind": "Service" } } }),
                        ),
                        "FieldValueRequired spec.metrics[0].object.describedObject.name",
                    ),
                    (
                        with_metric(
                            json!({ "type": "ContainerResource", "containerResource": { "name": "cpu", "target": { "type": "AverageValue", "averageValue": "1" } } }),
                        ),
                        "FieldValueRequired spec.metrics[0].containerResource.container",
                    ),
                ];
                refuses(t, &cases).await?;
                let object =
                    json!({ "metric": name, "target": target, "describedObject": described });
                t.make(
                    &scalers(t, "?dryRun=All"),
                    with_metric(json!({ "type": "Object", "object": object })),
                )
                .await?;
                Ok(())
            },
        ),
        case(
            "a_behavior_is_checked",
            "Windows, policies and periods of a behavior are within their bounds.",
            async |t| {
                let path = "spec.behavior.scaleUp";
                let policy = |of: &str, value: i32, period: i32| json!({ "policies": [{ "type": of, "value": value, "periodSeconds": period }] });
                for (rules, cause) in [
                    (
                        json!({ "stabilizationWindowSeconds": 3601 }),
                        format!("FieldValueInvalid {path}.stabilizationWindowSeconds"),
                    ),
                    (
                        json!({ "stabilizationWindowSeconds": -1 }),
                        format!("FieldValueInvalid {path}.stabilizationWindowSeconds"),
                    ),
                    (
                        json!({ "selectPolicy": "Odd" }),
                        format!("FieldValueNotSupported {path}.selectPolicy"),
                    ),
                    (
                        policy("Odd", 1, 15),
                        format!("FieldValueNotSupported {path}.policies[0].type"),
                    ),
                    (policy("Pods", 0, 15), format!("FieldValueInvalid {path}.policies[0].value")),
                    (
                        policy("Pods", 1, 1801),
                        format!("FieldValueInvalid {path}.policies[0].periodSeconds"),
                    ),
                    (json!({ "tolerance": "-1" }), format!("FieldValueInvalid {path}.tolerance")),
                ] {
                    let object = scaler(json!({ "behavior": { "scaleUp": rules } }));
                    refuses(t, &[(object, cause.as_str())]).await?;
                }
                Ok(())
            },
        ),
        case(
            "the_status_of_an_autoscaler_counts_from_zero",
            "Replicas in the status of an autoscaler are not negative.",
            async |t| {
                t.make(&scalers(t, ""), scaler(json!({}))).await?;
                let path = scalers(t, "/a/status");
                let wrong = json!({ "status": { "currentReplicas": -1, "desiredReplicas": -1 } });
                t.merge(&path, wrong).await?.invalid(&[
                    "FieldValueInvalid status.currentReplicas",
                    "FieldValueInvalid status.desiredReplicas",
                ])?;
                let current = json!({ "averageUtilization": 40, "averageValue": "100m" });
                let metrics = json!([{ "type": "Resource", "resource": { "name": "cpu", "current": current } }]);
                let status = json!({ "currentReplicas": 2, "desiredReplicas": 2, "currentMetrics": metrics });
                t.merge(&path, json!({ "status": status, "spec": { "maxReplicas": 9 } }))
                    .await?
                    .is(200)?;
                let table = t.get_as(&scalers(t, "/a"), TABLE).await?.is(200)?;
                has(
                    &table["rows"][0]["cells"],
                    json!(["a", "Deployment/d", "cpu: 40%/80%", "1", 3, 2, "*"]),
                )
            },
        ),
        case(
            "a_table_says_two_metrics",
            "A table of autoscalers says two metrics of each, and how many more there are.",
            async |t| {
                let target = json!({ "type": "AverageValue", "averageValue": "100m" });
                let pods = json!({ "type": "Pods", "pods": { "metric": { "name": "m" }, "target": target } });
                let external = json!({ "type": "External", "external": { "metric": { "name": "m" }, "target": target } });
                let object =
                    scaler(json!({ "metrics": [cpu(target.clone()), pods, external, external] }));
                let path = scalers(t, "?dryRun=All");
                let headers = [("content-type", "application/json"), ("accept", TABLE)];
                let answer = t.send(http::Method::POST, &path, &headers, object.to_string());
                let table = answer.await?.is(201)?;
                let cell = "cpu: <unknown>/100m, <unknown>/100m + 2 more...";
                has(&table["rows"][0]["cells"], json!(["a", "Deployment/d", cell, "1", 3, 0, "*"]))
            },
        ),
    ]
}
