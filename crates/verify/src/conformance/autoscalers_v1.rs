//! HorizontalPodAutoscalers of autoscaling/v1, which are stored as autoscaling/v2.

use http::Method;
use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::target::APPLY;
use crate::conformance::{Case, Target, case};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
const MEMORY: &str =
    r#"[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Gi"}}]"#;

fn v1(t: &Target, rest: &str) -> String {
    t.of_group("autoscaling/v1", "horizontalpodautoscalers", rest)
}

fn v2(t: &Target, rest: &str) -> String {
    t.of_group("autoscaling/v2", "horizontalpodautoscalers", rest)
}

fn scaler(members: Value) -> Value {
    let target = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "name": "d" });
    let spec = json!({ "scaleTargetRef": target, "maxReplicas": 3 });
    with_spec(json!({ "metadata": { "name": "a" }, "spec": spec }), members)
}

/// A new object of v1 with an annotation.
fn noted(annotation: &str, text: &str) -> Value {
    let mut object = scaler(json!({}));
    object["metadata"]["annotations"] = json!({ annotation: text });
    object
}

fn cpu(percent: i32) -> Value {
    let target = json!({ "type": "Utilization", "averageUtilization": percent });
    json!({ "type": "Resource", "resource": { "name": "cpu", "target": target } })
}

fn memory() -> Value {
    let target = json!({ "type": "AverageValue", "averageValue": "1Gi" });
    json!({ "type": "Resource", "resource": { "name": "memory", "target": target } })
}

async fn metrics(t: &Target, name: &str) -> Result<Value, String> {
    Ok(t.get(&v2(t, name)).await?.is(200)?["spec"]["metrics"].take())
}

fn annotation<'a>(object: &'a Value, name: &str) -> &'a str {
    object["metadata"]["annotations"][name].as_str().unwrap_or_default()
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = objects();
    all.extend(annotations());
    all.extend(writes());
    all
}

fn objects() -> Vec<Case> {
    vec![
        case(
            "an_old_autoscaler_follows_the_processor",
            "A HorizontalPodAutoscaler of autoscaling/v1 without a target gets 80 % and one replica at least; autoscaling/v2 shows a metric.",
            async |t| {
                let mut object = scaler(json!({}));
                object["status"] = json!({ "currentReplicas": 7, "desiredReplicas": 7 });
                let made = t.make(&v1(t, ""), object).await?;
                let expected = json!({
                    "apiVersion": "autoscaling/v1",
                    "metadata": { "generation": null, "annotations": null },
                    "spec": { "minReplicas": 1, "targetCPUUtilizationPercentage": 80, "metrics": null },
                });
                has(&made, expected)?;
                let status = json!({ "currentReplicas": 0, "desiredReplicas": 0 });
                same("status", made["status"].clone(), status)?;
                let other = t.get(&v2(t, "/a")).await?.is(200)?;
                same("metrics", other["spec"]["metrics"].clone(), json!([cpu(80)]))?;
                has(&other, json!({ "spec": { "targetCPUUtilizationPercentage": null } }))?;
                same("uid", text(&made, "/metadata/uid"), text(&other, "/metadata/uid"))?;
                t.merge(&v1(t, "/a"), json!({ "spec": { "targetCPUUtilizationPercentage": 50 } }))
                    .await?
                    .is(200)?;
                same("metrics", metrics(t, "/a").await?, json!([cpu(50)]))
            },
        ),
        case(
            "an_old_autoscaler_is_checked_as_a_new_one",
            "What is wrong with a HorizontalPodAutoscaler of autoscaling/v1 is named by the members of autoscaling/v2.",
            async |t| {
                let path = v1(t, "?dryRun=All");
                let target = "spec.metrics[0].resource.target.averageUtilization";
                let cause = format!("FieldValueInvalid {target}");
                let object = scaler(json!({ "targetCPUUtilizationPercentage": 0 }));
                t.post(&path, &object).await?.invalid(&[&cause])?;
                let object = scaler(json!({ "maxReplicas": null }));
                t.post(&path, &object).await?.invalid(&[
                    "FieldValueRequired spec.maxReplicas",
                    "FieldValueInvalid spec.maxReplicas",
                ])?;
                let object = noted(METRICS, r#"[{"type":"Pods","pods":{"metricName":"m"}}]"#);
                let path_of_value = "spec.metrics[0].pods.target.averageValue";
                t.post(&path, &object)
                    .await?
                    .invalid(&[&format!("FieldValueInvalid {path_of_value}")])?;
                let object = noted(METRICS, "[null]");
                t.post(&path, &object).await?.invalid(&[
                    "FieldValueRequired spec.metrics[0].type",
                    "FieldValueNotSupported spec.metrics[0].type",
                ])?;
                let object = noted(BEHAVIOR, r#"{"ScaleUp":{"SelectPolicy":"Odd"}}"#);
                t.post(&path, &object).await?.invalid(&[
                    "FieldValueNotSupported spec.behavior.scaleUp.selectPolicy",
                    "FieldValueRequired spec.behavior.scaleUp.policies",
                ])?;
                Ok(())
            },
        ),
        case(
            "both_versions_of_an_autoscaler_are_one_object",
            "A HorizontalPodAutoscaler is listed, watched and deleted through either version, each in its own form.",
            async |t| {
                let list = t.get(&v1(t, "")).await?.is(200)?;
                let from = v1(t, &format!("?resourceVersion={}", version(&list)));
                let mut watch = t.watch(&from).await?;
                let object = scaler(json!({ "metrics": [memory()] }));
                t.make(&v2(t, ""), object).await?;
                let seen = watch.event("ADDED", "a").await?;
                has(&seen, json!({ "apiVersion": "autoscaling/v1", "spec": { "metrics": null } }))?;
                same("annotation", annotation(&seen, METRICS), MEMORY)?;
                let list = t.get(&v1(t, "")).await?.is(200)?;
                same("annotation", annotation(&list["items"][0], METRICS), MEMORY)?;
                t.delete(&v1(t, "/a")).await?.is(200)?;
                let gone = watch.event("DELETED", "a").await?;
                same("annotation", annotation(&gone, METRICS), MEMORY)?;
                t.get(&v2(t, "/a")).await?.is(404)?;
                Ok(())
            },
        ),
        case(
            "metadata_of_an_old_autoscaler_have_no_round_trip",
            "The metadata alone of a HorizontalPodAutoscaler of autoscaling/v1 have none of the annotations that hold its metrics.",
            async |t| {
                t.make(&v2(t, ""), scaler(json!({ "metrics": [memory()] }))).await?;
                let accept = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
                let metadata = t.get_as(&v1(t, "/a"), accept).await?.is(200)?;
                has(
                    &metadata,
                    json!({ "kind": "PartialObjectMetadata", "metadata": { "annotations": null } }),
                )
            },
        ),
        case(
            "a_table_of_old_autoscalers_is_that_of_new_ones",
            "A table of autoscaling/v1 has the columns and the cells of autoscaling/v2; its objects are those of autoscaling/v1 if asked for.",
            async |t| {
                t.make(&v2(t, ""), scaler(json!({ "metrics": [cpu(50), memory()] }))).await?;
                let table = t.get_as(&v1(t, "/a?includeObject=Object"), TABLE).await?.is(200)?;
                let columns = items(&table, "/columnDefinitions");
                let columns: Vec<_> = columns.iter().map(|column| text(column, "/name")).collect();
                let expected =
                    ["Name", "Reference", "Targets", "MinPods", "MaxPods", "Replicas", "Age"];
                same("columns", columns, expected)?;
                let targets = "cpu: <unknown>/50%, memory: <unknown>/1Gi";
                let cells = json!(["a", "Deployment/d", targets, "1", 3, 0, "*"]);
                has(&table["rows"][0]["cells"], cells)?;
                let object = &table["rows"][0]["object"];
                has(
                    object,
                    json!({ "apiVersion": "autoscaling/v1", "spec": { "targetCPUUtilizationPercentage": 50 } }),
                )?;
                let table = t.get_as(&v1(t, ""), TABLE).await?.is(200)?;
                let metadata = &table["rows"][0]["object"];
                has(
                    metadata,
                    json!({ "kind": "PartialObjectMetadata", "metadata": { "annotations": null } }),
                )
            },
        ),
        case(
            "both_versions_of_a_kind_have_one_storage_version",
            "Discovery gives both versions of HorizontalPodAutoscaler and both groups of Event the hash of what is stored, and prefers autoscaling/v2.",
            async |t| {
                for (path, plural, hash) in [
                    ("/apis/autoscaling/v1", "horizontalpodautoscalers", "qwQve8ut294="),
                    ("/apis/autoscaling/v2", "horizontalpodautoscalers", "qwQve8ut294="),
                    ("/api/v1", "events", "r2yiGXH7wu8="),
                    ("/apis/events.k8s.io/v1", "events", "r2yiGXH7wu8="),
                ] {
                    let list = t.get(path).await?.is(200)?;
                    let mut all = items(&list, "/resources").iter();
                    let resource = all.find(|resource| resource["name"] == plural);
                    let resource = resource.ok_or_else(|| format!("{path} has no {plural}"))?;
                    has(resource, json!({ "storageVersionHash": hash }))?;
                }
                let group = t.get("/apis/autoscaling").await?.is(200)?;
                has(
                    &group,
                    json!({
                        "preferredVersion": { "version": "v2" },
                        "versions": [{ "version": "v2" }, { "version": "v1" }],
                    }),
                )
            },
        ),
    ]
}

/// One metric of each source, as v1 writes them.
const EACH: &str = concat!(
    r#"[{"type":"Object","object":{"target":{"kind":"Service","name":"s","apiVersion":"v1"},"metricName":"m","targetValue":"2"}},"#,
    r#"{"type":"Object","object":{"target":{"kind":"Service","name":"s"},"metricName":"m","targetValue":"0","averageValue":"3"}},"#,
    r#"{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"1k","selector":{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"k","operator":"In","values":["v"]}]}}},"#,
    r#"{"type":"Resource","resource":{"name":"memory","targetAverageUtilization":60}},"#,
    r#"{"type":"ContainerResource","containerResource":{"name":"cpu","targetAverageValue":"100m","container":"c"}},"#,
    r#"{"type":"External","external":{"metricName":"m","metricSelector":{"matchLabels":{"a":"b"}},"targetValue":"5"}},"#,
    r#"{"type":"External","external":{"metricName":"m","targetAverageValue":"6"}}]"#,
);

fn annotations() -> Vec<Case> {
    vec![
        case(
            "metrics_of_every_source_are_an_annotation_in_v1",
            "autoscaling/v1 takes and shows all metrics but the processor's utilization in an annotation, which autoscaling/v2 lacks.",
            async |t| {
                let mut object = noted(METRICS, EACH);
                object["metadata"]["annotations"]["note"] = "kept".into();
                object["spec"]["targetCPUUtilizationPercentage"] = 70.into();
                let made = t.make(&v1(t, ""), object).await?;
                same("annotation", annotation(&made, METRICS), EACH)?;
                has(&made, json!({ "spec": { "targetCPUUtilizationPercentage": 70 } }))?;
                let other = t.get(&v2(t, "/a")).await?.is(200)?;
                let notes = other["metadata"]["annotations"].clone();
                same("annotations of v2", notes, json!({ "note": "kept" }))?;
                let named = json!({ "name": "m" });
                let service = json!({ "kind": "Service", "name": "s" });
                let of_v1 = json!({ "kind": "Service", "name": "s", "apiVersion": "v1" });
                let expressions = json!([{ "key": "k", "operator": "In", "values": ["v"] }]);
                let selector =
                    json!({ "matchLabels": { "a": "b" }, "matchExpressions": expressions });
                let labels = json!({ "matchLabels": { "a": "b" } });
                let value = |value: &str| json!({ "type": "Value", "value": value });
                let average =
                    |value: &str| json!({ "type": "AverageValue", "averageValue": value });
                let expected = json!([
                    { "type": "Object", "object": { "describedObject": of_v1, "metric": named, "target": value("2") } },
                    { "type": "Object", "object": { "describedObject": service, "metric": named, "target": average("3") } },
                    { "type": "Pods", "pods": { "metric": { "name": "m", "selector": selector }, "target": average("1k") } },
                    { "type": "Resource", "resource": {
                        "name": "memory", "target": { "type": "Utilization", "averageUtilization": 60 },
                    } },
                    { "type": "ContainerResource", "containerResource": {
                        "name": "cpu", "container": "c", "target": average("100m"),
                    } },
                    { "type": "External", "external": { "metric": { "name": "m", "selector": labels }, "target": value("5") } },
                    { "type": "External", "external": { "metric": named, "target": average("6") } },
                    cpu(70),
                ]);
                same("metrics", other["spec"]["metrics"].clone(), expected)
            },
        ),
        case(
            "a_metric_of_memory_is_an_annotation_in_v1",
            "An autoscaler of memory alone has no target of the processor in autoscaling/v1.",
            async |t| {
                t.make(&v2(t, ""), scaler(json!({ "metrics": [memory()] }))).await?;
                let other = t.get(&v1(t, "/a")).await?.is(200)?;
                same("annotation", annotation(&other, METRICS), MEMORY)?;
                has(&other, json!({ "spec": { "targetCPUUtilizationPercentage": null } }))?;
                t.replace(&v1(t, "/a"), |whole| whole["spec"]["maxReplicas"] = 4.into())
                    .await?
                    .is(200)?;
                same("metrics", metrics(t, "/a").await?, json!([memory()]))?;
                let none = json!({ "metadata": { "annotations": { METRICS: null } } });
                t.merge(&v1(t, "/a"), none).await?.is(200)?;
                same("metrics", metrics(t, "/a").await?, json!([cpu(80)]))
            },
        ),
        case(
            "a_behavior_is_an_annotation_in_v1",
            "autoscaling/v1 takes a behavior by names of any case, completes it as it is stored, and shows Go's names.",
            async |t| {
                let sent = r#"{"scaleUp":{"POLICIES":[{"type":"Pods","value":2,"periodSeconds":30}],"Tolerance":"0.1"}}"#;
                let made = t.make(&v1(t, ""), noted(BEHAVIOR, sent)).await?;
                let shown = concat!(
                    r#"{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":"Max","#,
                    r#""Policies":[{"Type":"Pods","Value":2,"PeriodSeconds":30}],"Tolerance":"100m"},"#,
                    r#""ScaleDown":{"StabilizationWindowSeconds":null,"SelectPolicy":"Max","#,
                    r#""Policies":[{"Type":"Percent","Value":100,"PeriodSeconds":15}],"Tolerance":null}}"#,
                );
                same("annotation", annotation(&made, BEHAVIOR), shown)?;
                let other = t.get(&v2(t, "/a")).await?.is(200)?;
                let pods = json!({ "type": "Pods", "value": 2, "periodSeconds": 30 });
                let percent = json!({ "type": "Percent", "value": 100, "periodSeconds": 15 });
                let behavior = json!({
                    "scaleUp": {
                        "stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [pods], "tolerance": "100m",
                    },
                    "scaleDown": { "selectPolicy": "Max", "policies": [percent] },
                });
                same("behavior", other["spec"]["behavior"].clone(), behavior.clone())?;
                // Only a read completes the stored object, so the same object again is a write.
                let again = t.put(&v1(t, "/a"), &made).await?.is(200)?;
                holds("it is a write", version(&again) != version(&made))?;
                let last = t.put(&v1(t, "/a"), &again).await?.is(200)?;
                same("version", version(&last), version(&again))?;
                let other = t.get(&v2(t, "/a")).await?.is(200)?;
                same("behavior", other["spec"]["behavior"].clone(), behavior)?;
                let empty = json!({ "metadata": { "annotations": { BEHAVIOR: "{}" } } });
                let without = t.merge(&v1(t, "/a"), empty).await?.is(200)?;
                has(&without, json!({ "metadata": { "annotations": null } }))
            },
        ),
        case(
            "an_unreadable_annotation_of_an_autoscaler_is_dropped",
            "Annotations of autoscaling/v1 that are no JSON, or of a wrong type, count as absent and are not stored.",
            async |t| {
                let wrong = [
                    "",
                    "odd",
                    "{}",
                    "7",
                    r#"[{"type":7}]"#,
                    r#"[{"type":"Pods","pods":{"targetAverageValue":"odd"}}]"#,
                    r#"[{"type":"Resource","resource":{"targetAverageUtilization":"7"}}]"#,
                    "null",
                    "[]",
                ];
                for text in wrong {
                    let object = noted(METRICS, text);
                    let made = t.make(&v1(t, "?dryRun=All"), object).await?;
                    has(
                        &made,
                        json!({
                            "metadata": { "annotations": null }, "spec": { "targetCPUUtilizationPercentage": 80 },
                        }),
                    )?;
                }
                let others = [
                    (BEHAVIOR, "odd"),
                    (BEHAVIOR, "[]"),
                    (BEHAVIOR, r#"{"ScaleUp":{"SelectPolicy":7}}"#),
                    (CURRENT, "odd"),
                    (CONDITIONS, "odd"),
                    ("autoscaling.alpha.kubernetes.io/scale-up-tolerance", "1"),
                    ("autoscaling.alpha.kubernetes.io/scale-down-tolerance", "1"),
                ];
                for (name, text) in others {
                    let made = t.make(&v1(t, "?dryRun=All"), noted(name, text)).await?;
                    has(&made, json!({ "metadata": { "annotations": null } }))?;
                }
                let object = noted(
                    METRICS,
                    r#"[{"type":"External","odd":1,"external":{"METRICNAME":"m","targetValue":2}}]"#,
                );
                let made = t.make(&v1(t, "?dryRun=All"), object).await?;
                let shown =
                    r#"[{"type":"External","external":{"metricName":"m","targetValue":"2"}}]"#;
                same("annotation", annotation(&made, METRICS), shown)
            },
        ),
        case(
            "a_new_autoscaler_drops_the_annotations_of_v1",
            "Through autoscaling/v2 the annotations of autoscaling/v1 are dropped, whatever they hold; others stay.",
            async |t| {
                let mut object = noted(METRICS, MEMORY);
                object["metadata"]["annotations"]["note"] = "kept".into();
                let made = t.make(&v2(t, ""), object).await?;
                let notes = made["metadata"]["annotations"].clone();
                same("annotations", notes, json!({ "note": "kept" }))?;
                same("metrics", made["spec"]["metrics"].clone(), json!([cpu(80)]))?;
                let noted = json!({ "metadata": { "annotations": { BEHAVIOR: "{}" } } });
                let after = t.merge(&v2(t, "/a"), noted).await?.is(200)?;
                same("version", version(&after), version(&made))
            },
        ),
    ]
}

fn writes() -> Vec<Case> {
    vec![
        case(
            "a_write_through_v1_puts_the_processor_last",
            "A write of the object through autoscaling/v1 puts the metric of the processor last, even if it changes nothing else; a write of the status keeps the order.",
            async |t| {
                let made =
                    t.make(&v2(t, ""), scaler(json!({ "metrics": [cpu(50), memory()] }))).await?;
                let status = json!({ "status": { "currentReplicas": 1, "desiredReplicas": 2 } });
                t.merge(&v1(t, "/a/status"), status).await?.is(200)?;
                same("metrics", metrics(t, "/a").await?, json!([cpu(50), memory()]))?;
                let whole = t.get(&v1(t, "/a")).await?.is(200)?;
                let after = t.put(&v1(t, "/a"), &whole).await?.is(200)?;
                holds("it is a write", version(&after) != version(&whole))?;
                same("uid", text(&after, "/metadata/uid"), text(&made, "/metadata/uid"))?;
                same("metrics", metrics(t, "/a").await?, json!([memory(), cpu(50)]))?;
                let again = t.put(&v1(t, "/a"), &after).await?.is(200)?;
                same("version", version(&again), version(&after))
            },
        ),
        case(
            "a_delete_through_v1_keeps_what_v1_cannot_say",
            "A HorizontalPodAutoscaler that a finalizer holds keeps the order of its metrics when it is deleted through autoscaling/v1.",
            async |t| {
                let mut object = scaler(json!({ "metrics": [cpu(50), memory()] }));
                object["metadata"]["finalizers"] = json!(["example.com/f"]);
                t.make(&v2(t, ""), object).await?;
                t.delete(&v1(t, "/a")).await?.is(200)?;
                same("metrics", metrics(t, "/a").await?, json!([cpu(50), memory()]))?;
                let none = json!({ "metadata": { "finalizers": null } });
                t.merge(&v1(t, "/a"), none).await?.is(200)?;
                t.get(&v1(t, "/a")).await?.is(404)?;
                Ok(())
            },
        ),
        case(
            "the_status_of_an_old_autoscaler_has_annotations",
            "The status of autoscaling/v1 holds the utilization of the processor; other metrics and the conditions are annotations.",
            async |t| {
                t.make(&v1(t, ""), scaler(json!({}))).await?;
                let path = v1(t, "/a/status");
                let percent = json!({ "currentReplicas": 2, "desiredReplicas": 3, "currentCPUUtilizationPercentage": 40 });
                let written =
                    t.merge(&path, json!({ "status": percent.clone() })).await?.is(200)?;
                same("status", written["status"].clone(), percent)?;
                let shown = r#"[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":40,"currentAverageValue":"0"}}]"#;
                same("annotation", annotation(&written, CURRENT), shown)?;
                let other = t.get(&v2(t, "/a")).await?.is(200)?;
                let current = json!({ "averageUtilization": 40 });
                let metric = json!({ "type": "Resource", "resource": { "name": "cpu", "current": current } });
                same("current", other["status"]["currentMetrics"].clone(), json!([metric]))?;

                let each = concat!(
                    r#"[{"type":"Object","object":{"target":{"kind":"Service","name":"s"},"metricName":"m","currentValue":"2","averageValue":"1"}},"#,
                    r#"{"type":"Pods","pods":{"metricName":"m","currentAverageValue":"0"}},"#,
                    r#"{"type":"ContainerResource","containerResource":{"name":"cpu","currentAverageUtilization":1,"currentAverageValue":"0","container":"c"}},"#,
                    r#"{"type":"External","external":{"metricName":"m","currentValue":"0"}}]"#,
                );
                let condition = r#"[{"type":"AbleToScale","status":"True","lastTransitionTime":"2026-01-02T03:04:05Z","reason":"r","message":"\u003cm\u003e"}]"#;
                let notes = json!({ CURRENT: each, CONDITIONS: condition });
                let written = t
                    .merge(&path, json!({ "metadata": { "annotations": notes } }))
                    .await?
                    .is(200)?;
                same("current", annotation(&written, CURRENT), each)?;
                same("conditions", annotation(&written, CONDITIONS), condition)?;
                has(&written, json!({ "status": { "currentCPUUtilizationPercentage": null } }))?;
                let other = t.get(&v2(t, "/a")).await?.is(200)?;
                let named = json!({ "name": "m" });
                let service = json!({ "kind": "Service", "name": "s" });
                let expected = json!([
                    { "type": "Object", "object": {
                        "describedObject": service, "metric": named, "current": { "value": "2", "averageValue": "1" },
                    } },
                    { "type": "Pods", "pods": { "metric": named, "current": { "averageValue": "0" } } },
                    { "type": "ContainerResource", "containerResource": {
                        "name": "cpu", "container": "c", "current": { "averageUtilization": 1, "averageValue": "0" },
                    } },
                    { "type": "External", "external": { "metric": named, "current": { "value": "0" } } },
                ]);
                same("current", other["status"]["currentMetrics"].clone(), expected)?;
                let condition = json!({
                    "type": "AbleToScale", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z",
                    "reason": "r", "message": "<m>",
                });
                same("conditions", other["status"]["conditions"].clone(), json!([condition]))?;
                let patch = json!({
                    "metadata": { "annotations": { CURRENT: null } }, "status": { "currentCPUUtilizationPercentage": 41 },
                });
                let written = t.merge(&path, patch).await?.is(200)?;
                holds("conditions stay", annotation(&written, CONDITIONS).contains("AbleToScale"))?;
                holds("the percentage is shown", annotation(&written, CURRENT).contains("41"))?;
                let wrong = json!({ "status": { "currentReplicas": -1 } });
                let cause = "FieldValueInvalid status.currentReplicas";
                t.merge(&path, wrong).await?.invalid(&[cause]).map(drop)
            },
        ),
        case(
            "annotations_of_the_other_part_are_put_back",
            "A write of the object leaves the annotations of the status, and a write of the status those of the spec.",
            async |t| {
                t.make(&v2(t, ""), scaler(json!({ "metrics": [memory()] }))).await?;
                let percent = json!({ "currentReplicas": 2, "desiredReplicas": 3, "currentCPUUtilizationPercentage": 40 });
                let status =
                    t.merge(&v1(t, "/a/status"), json!({ "status": percent })).await?.is(200)?;
                let notes = status["metadata"]["annotations"].clone();
                let changed = json!({ "metadata": { "annotations": { CURRENT: null, CONDITIONS: r#"[{"type":"a"}]"#, "note": "object" } } });
                let written = t.merge(&v1(t, "/a"), changed).await?.is(200)?;
                let mut expected = notes.clone();
                // The value that autoscaling/v1 cannot leave out.
                expected["note"] = "object".into();
                same("annotations", written["metadata"]["annotations"].clone(), expected.clone())?;
                let changed = json!({ "metadata": { "annotations": { METRICS: "[]", BEHAVIOR: "{}", "note": "status" } } });
                let written = t.merge(&v1(t, "/a/status"), changed).await?.is(200)?;
                expected["note"] = "status".into();
                same("annotations", written["metadata"]["annotations"].clone(), expected)?;
                same("metrics", metrics(t, "/a").await?, json!([memory()]))
            },
        ),
        case(
            "the_owner_of_a_status_keeps_it_without_its_annotation",
            "A write of the object through autoscaling/v1 without the annotation of the status leaves the status to its owner in autoscaling/v2.",
            async |t| {
                t.make(&v2(t, "?fieldManager=m"), scaler(json!({}))).await?;
                let current = json!({ "averageUtilization": 40, "averageValue": "1" });
                let metric = json!({ "type": "Resource", "resource": { "name": "cpu", "current": current } });
                let status = json!({ "currentReplicas": 2, "desiredReplicas": 2, "currentMetrics": [metric] });
                let path = v2(t, "/a/status?fieldManager=scaler");
                t.merge(&path, json!({ "status": status })).await?.is(200)?;
                let patch = json!({
                    "metadata": { "annotations": { CURRENT: null } },
                    "spec": { "maxReplicas": 4 }, "status": { "currentCPUUtilizationPercentage": null },
                });
                let after = t.merge(&v1(t, "/a?fieldManager=old"), patch).await?.is(200)?;
                let entries = items(&after, "/metadata/managedFields").iter();
                let entries = entries.map(|entry| {
                    let (manager, of) = (text(entry, "/manager"), text(entry, "/apiVersion"));
                    format!("{manager} {of} {}", entry["fieldsV1"]["f:status"])
                });
                let mut entries: Vec<_> = entries.collect();
                entries.sort();
                let fields =
                    r#"{"f:currentMetrics":{},"f:currentReplicas":{},"f:desiredReplicas":{}}"#;
                let scaler = format!("scaler autoscaling/v2 {fields}");
                same(
                    "owners",
                    entries,
                    ["m autoscaling/v2 null", "old autoscaling/v1 null", &scaler],
                )
            },
        ),
        case(
            "fields_of_an_autoscaler_are_owned_in_the_version_of_the_write",
            "Each manager owns the fields of its version, and a change through the other version takes them away.",
            async |t| {
                let owned = |object: &Value| {
                    let entries = items(object, "/metadata/managedFields").iter();
                    let all = entries.map(|entry| {
                        let (manager, of) = (text(entry, "/manager"), text(entry, "/apiVersion"));
                        let fields = entry["fieldsV1"]["f:spec"].as_object().into_iter().flatten();
                        let fields: Vec<_> = fields.map(|(name, _)| name.as_str()).collect();
                        format!("{manager} {of} {}", fields.join(" "))
                    });
                    let mut all: Vec<_> = all.collect();
                    all.sort();
                    all
                };
                let made = t.make(&v1(t, "?fieldManager=old"), scaler(json!({}))).await?;
                let of_old = "old autoscaling/v1 f:maxReplicas f:minReplicas f:scaleTargetRef f:targetCPUUtilizationPercentage";
                same("owners", owned(&made), [of_old])?;
                let metrics = json!({ "spec": { "metrics": [cpu(50), memory()] } });
                let patched = t.merge(&v2(t, "/a?fieldManager=new"), metrics).await?.is(200)?;
                let of_old = "old autoscaling/v1 f:maxReplicas f:minReplicas f:scaleTargetRef";
                same("owners", owned(&patched), ["new autoscaling/v2 f:metrics", of_old])?;
                let percent = json!({ "spec": { "targetCPUUtilizationPercentage": 60 } });
                let patched = t.merge(&v1(t, "/a?fieldManager=third"), percent).await?.is(200)?;
                let third = "third autoscaling/v1 f:targetCPUUtilizationPercentage";
                same("owners", owned(&patched), [of_old, third])
            },
        ),
        case(
            "an_old_autoscaler_is_applied",
            "Apply through autoscaling/v1 owns fields of its version, conflicts with owners of autoscaling/v2, and creates.",
            async |t| {
                let config = |version: &str, spec: Value| {
                    json!({
                        "apiVersion": version, "kind": "HorizontalPodAutoscaler", "metadata": { "name": "a" },
                        "spec": spec,
                    })
                };
                let mut new = scaler(json!({ "metrics": [cpu(50)] }));
                new["apiVersion"] = "autoscaling/v2".into();
                new["kind"] = "HorizontalPodAutoscaler".into();
                t.patch(&v2(t, "/a?fieldManager=new"), APPLY, &new).await?.is(201)?;
                let percent =
                    config("autoscaling/v1", json!({ "targetCPUUtilizationPercentage": 60 }));
                let path = v1(t, "/a?fieldManager=old");
                let conflict = t.patch(&path, APPLY, &percent).await?;
                conflict.says(409, "Conflict", "conflict with \"new\": .spec.metrics")?;
                let forced = t
                    .patch(&v1(t, "/a?fieldManager=old&force=true"), APPLY, &percent)
                    .await?
                    .is(200)?;
                has(&forced, json!({ "spec": { "targetCPUUtilizationPercentage": 60 } }))?;
                same("metrics", metrics(t, "/a").await?, json!([cpu(60)]))?;
                // It stays: the default of autoscaling/v2 has the same path.
                let less = config("autoscaling/v1", json!({}));
                let after = t.patch(&path, APPLY, &less).await?.is(200)?;
                has(&after, json!({ "spec": { "targetCPUUtilizationPercentage": 60 } }))?;
                let note = json!({
                    "apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler",
                    "metadata": { "name": "a", "annotations": { METRICS: MEMORY, CURRENT: "odd" } },
                });
                let after = t.patch(&path, APPLY, &note).await?.is(200)?;
                same("annotation", annotation(&after, METRICS), MEMORY)?;
                has(&after, json!({ "metadata": { "annotations": { CURRENT: null } } }))?;
                let entry = items(&after, "/metadata/managedFields")
                    .iter()
                    .find(|entry| entry["manager"] == "old")
                    .cloned()
                    .unwrap_or_default();
                let fields = json!({ format!("f:{CURRENT}"): {}, format!("f:{METRICS}"): {} });
                has(&entry, json!({ "fieldsV1": { "f:metadata": { "f:annotations": fields } } }))
            },
        ),
        case(
            "an_old_autoscaler_is_made_by_apply_and_not_by_put",
            "Apply through autoscaling/v1 creates a HorizontalPodAutoscaler; PUT of a missing one answers 404.",
            async |t| {
                let mut object = scaler(json!({ "targetCPUUtilizationPercentage": 60 }));
                t.put(&v1(t, "/a"), &object).await?.is(404)?;
                object["apiVersion"] = "autoscaling/v1".into();
                object["kind"] = "HorizontalPodAutoscaler".into();
                let made = t.patch(&v1(t, "/a?fieldManager=m"), APPLY, &object).await?.is(201)?;
                has(
                    &made,
                    json!({ "spec": { "minReplicas": 1, "targetCPUUtilizationPercentage": 60 } }),
                )?;
                // An object of the other version is refused.
                object["apiVersion"] = "autoscaling/v2".into();
                let headers = [("content-type", "application/json")];
                let answer = t.send(Method::POST, &v1(t, ""), &headers, object.to_string()).await?;
                answer.refused(400, "BadRequest").map(drop)
            },
        ),
    ]
}
