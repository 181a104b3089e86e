//! Deployments and ReplicaSets: what they fill in, refuse and count.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::{Case, Target, case};

fn template() -> Value {
    json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "containers": [{ "name": "c", "image": "i" }] } })
}

fn deployment(name: &str, spec: Value) -> Value {
    let mut object = json!({
        "metadata": { "name": name },
        "spec": { "selector": { "matchLabels": { "a": "b" } }, "template": template() },
    });
    for (member, value) in spec.as_object().into_iter().flatten() {
        object["spec"][member] = value.clone();
    }
    object
}

fn deployments(t: &Target, rest: &str) -> String {
    t.of_group("apps/v1", "deployments", rest)
}

fn sets(t: &Target, rest: &str) -> String {
    t.of_group("apps/v1", "replicasets", rest)
}

/// What a Deployment with these members in its spec is refused for.
async fn refused(t: &Target, spec: Value) -> Result<Vec<String>, String> {
    let answer = t.post(&deployments(t, "?dryRun=All"), &deployment("a", spec)).await?;
    let status = answer.refused(422, "Invalid")?;
    Ok(items(&status, "/details/causes")
        .iter()
        .map(|cause| {
            format!(
                "{} {}: {}",
                text(cause, "/reason"),
                text(cause, "/field"),
                text(cause, "/message")
            )
        })
        .collect())
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "a_deployment_has_defaults",
            "A Deployment gets one replica, a rolling update by quarters, ten revisions and ten minutes.",
            async |t| {
                let made =
                    t.make(&deployments(t, "?dryRun=All"), deployment("a", json!({}))).await?;
                let strategy = json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": "25%", "maxUnavailable": "25%" } });
                has(
                    &made,
                    json!({ "spec": { "replicas": 1, "strategy": strategy, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600 }, "metadata": { "generation": 1 } }),
                )?;
                same("status", made["status"].clone(), json!({}))
            },
        ),
        case(
            "a_template_has_a_pods_defaults",
            "A Deployment's template gets a pod's defaults, without those that only a Pod gets.",
            async |t| {
                let made =
                    t.make(&deployments(t, "?dryRun=All"), deployment("a", json!({}))).await?;
                let spec = &made["spec"]["template"]["spec"];
                has(
                    spec,
                    json!({ "restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler", "securityContext": {}, "enableServiceLinks": null, "priority": null, "tolerations": null }),
                )?;
                has(
                    spec,
                    json!({ "containers": [{ "resources": {}, "imagePullPolicy": "Always", "terminationMessagePolicy": "File" }] }),
                )
            },
        ),
        case(
            "a_recreated_deployment_has_no_rolling_update",
            "A Deployment with strategy Recreate gets no rolling update.",
            async |t| {
                let made = t
                    .make(
                        &deployments(t, "?dryRun=All"),
                        deployment("a", json!({ "strategy": { "type": "Recreate" } })),
                    )
                    .await?;
                same("strategy", made["spec"]["strategy"].clone(), json!({ "type": "Recreate" }))
            },
        ),
        case(
            "a_deployment_needs_selector_and_template",
            "A Deployment without a spec is refused for its selector, its labels and its containers.",
            async |t| {
                let answer = t
                    .post(&deployments(t, "?dryRun=All"), &json!({ "metadata": { "name": "a" } }))
                    .await?;
                answer.invalid(&[
                    "FieldValueRequired spec.selector",
                    "FieldValueInvalid spec.template.metadata.labels",
                    "FieldValueRequired spec.template.spec.containers",
                ])?;
                Ok(())
            },
        ),
        case(
            "a_selector_matches_its_template",
            "A Deployment whose selector does not select its template's labels is refused, and the labels are said.",
            async |t| {
                let found =
                    refused(t, json!({ "selector": { "matchLabels": { "a": "c" } } })).await?;
                same(
                    "causes",
                    found,
                    vec![
                        r#"FieldValueInvalid spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template `labels`"#,
                    ],
                )
            },
        ),
        case(
            "an_empty_selector_is_refused",
            "A Deployment with an empty selector is refused.",
            async |t| {
                let found = refused(t, json!({ "selector": {} })).await?;
                same(
                    "causes",
                    found,
                    vec![
                        "FieldValueInvalid spec.selector: Invalid value: {}: empty selector is invalid for deployment",
                    ],
                )
            },
        ),
        case(
            "expressions_select_too",
            "matchExpressions with In, NotIn, Exists and DoesNotExist select the template's labels.",
            async |t| {
                for (operator, values, fits) in [
                    ("In", json!(["b", "x"]), true),
                    ("NotIn", json!(["x"]), true),
                    ("Exists", Value::Null, true),
                    ("DoesNotExist", Value::Null, false),
                    ("In", json!(["x"]), false),
                ] {
                    let mut expression = json!({ "key": "a", "operator": operator });
                    if !values.is_null() {
                        expression["values"] = values;
                    }
                    let object = deployment(
                        "a",
                        json!({ "selector": { "matchExpressions": [expression] } }),
                    );
                    let answer = t.post(&deployments(t, "?dryRun=All"), &object).await?;
                    same(operator, answer.code, if fits { 201 } else { 422 })?;
                }
                Ok(())
            },
        ),
        case(
            "an_expression_needs_its_values",
            "In without values, Exists with values and an unknown operator are refused.",
            async |t| {
                for (expression, cause) in [
                    (
                        json!({ "key": "a", "operator": "In" }),
                        "FieldValueRequired spec.selector.matchExpressions[0].values",
                    ),
                    (
                        json!({ "key": "a", "operator": "Exists", "values": ["b"] }),
                        "FieldValueForbidden spec.selector.matchExpressions[0].values",
                    ),
                    (
                        json!({ "key": "a", "operator": "Near" }),
                        "FieldValueInvalid spec.selector.matchExpressions[0].operator",
                    ),
                ] {
                    let found =
                        refused(t, json!({ "selector": { "matchExpressions": [expression] } }))
                            .await?;
                    holds(
                        &format!("{cause} is first of {found:?}"),
                        found.first().is_some_and(|first| first.starts_with(cause)),
                    )?;
                }
                Ok(())
            },
        ),
        case(
            "negative_replicas_are_refused",
            "Replicas, seconds and limits below zero are refused.",
            async |t| {
                let found = refused(
                    t,
                    json!({ "replicas": -1, "revisionHistoryLimit": -1, "minReadySeconds": -2 }),
                )
                .await?;
                let why = "Invalid value: -1: must be greater than or equal to 0";
                same("causes", found, vec![
                format!("FieldValueInvalid spec.replicas: {why}"),
                "FieldValueInvalid spec.minReadySeconds: Invalid value: -2: must be greater than or equal to 0".to_owned(),
                format!("FieldValueInvalid spec.revisionHistoryLimit: {why}"),
            ])
            },
        ),
        case(
            "a_deadline_is_longer_than_the_readiness",
            "A progress deadline that is not above minReadySeconds is refused.",
            async |t| {
                let found =
                    refused(t, json!({ "minReadySeconds": 5, "progressDeadlineSeconds": 5 }))
                        .await?;
                same(
                    "causes",
                    found,
                    vec![
                        "FieldValueInvalid spec.progressDeadlineSeconds: Invalid value: 5: must be greater than minReadySeconds",
                    ],
                )
            },
        ),
        case(
            "a_rolling_update_moves",
            "A rolling update that may neither add nor take a pod is refused, so is one by words or by more than all.",
            async |t| {
                let rolling = |surge: Value, unavailable: Value| json!({ "strategy": { "rollingUpdate": { "maxSurge": surge, "maxUnavailable": unavailable } } });
                let found = refused(t, rolling(json!(0), json!("0%"))).await?;
                same(
                    "none",
                    found,
                    vec![
                        r#"FieldValueInvalid spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "0%": may not be 0 when `maxSurge` is 0"#,
                    ],
                )?;
                let found = refused(t, rolling(json!("x"), json!("200%"))).await?;
                same("words", found.len(), 2)?;
                holds(
                    "it says how a percentage looks",
                    found.iter().any(|cause| {
                        cause.contains("a valid percent string must be a numeric string")
                    }),
                )?;
                let found = refused(t, rolling(json!(-1), json!(1))).await?;
                same(
                    "negative",
                    found,
                    vec![
                        "FieldValueInvalid spec.strategy.rollingUpdate.maxSurge: Invalid value: -1: must be greater than or equal to 0",
                    ],
                )
            },
        ),
        case(
            "a_recreated_deployment_cannot_roll",
            "Strategy Recreate with a rolling update is refused.",
            async |t| {
                let found = refused(
                    t,
                    json!({ "strategy": { "type": "Recreate", "rollingUpdate": { "maxSurge": 1 } } }),
                )
                .await?;
                same(
                    "causes",
                    found,
                    vec![
                        "FieldValueForbidden spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
                    ],
                )
            },
        ),
        case(
            "a_templates_pods_run_always",
            "A Deployment's template with another restart policy or with a deadline is refused.",
            async |t| {
                let mut object = deployment("a", json!({}));
                object["spec"]["template"]["spec"]["restartPolicy"] = "Never".into();
                object["spec"]["template"]["spec"]["activeDeadlineSeconds"] = 5.into();
                let answer = t.post(&deployments(t, "?dryRun=All"), &object).await?;
                answer.invalid(&[
                    "FieldValueNotSupported spec.template.spec.restartPolicy",
                    "FieldValueForbidden spec.template.spec.activeDeadlineSeconds",
                ])?;
                Ok(())
            },
        ),
        case(
            "a_containers_mistakes_are_all_said",
            "A template's containers are refused for doubled names, missing images, wrong ports, policies and mounts of no volume, each by its path.",
            async |t| {
                let mut object = deployment("a", json!({}));
                object["spec"]["template"]["spec"]["containers"] = json!([
                    { "name": "c", "image": "i", "imagePullPolicy": "Often", "ports": [{ "containerPort": 70000 }, { "containerPort": 80, "name": "not--one" }], "volumeMounts": [{ "name": "v", "mountPath": "/v" }] },
                    { "name": "c" },
                ]);
                let path = "spec.template.spec.containers";
                let answer = t.post(&deployments(t, "?dryRun=All"), &object).await?;
                answer.invalid(&[
                    &format!("FieldValueInvalid {path}[0].ports[0].containerPort"),
                    &format!("FieldValueInvalid {path}[0].ports[1].name"),
                    &format!("FieldValueNotFound {path}[0].volumeMounts[0].name"),
                    &format!("FieldValueNotSupported {path}[0].imagePullPolicy"),
                    &format!("FieldValueRequired {path}[1].image"),
                    &format!("FieldValueDuplicate {path}[1].name"),
                ])?;
                Ok(())
            },
        ),
        case(
            "a_selector_is_immutable",
            "A change of a Deployment's or a ReplicaSet's selector answers 422.",
            async |t| {
                for path in [deployments(t, ""), sets(t, "")] {
                    t.make(&path, deployment("a", json!({ "replicas": 0 }))).await?;
                    let patch = json!({ "spec": { "selector": { "matchLabels": { "a": "b", "c": "d" } }, "template": { "metadata": { "labels": { "c": "d" } } } } });
                    let status = t
                        .merge(&format!("{path}/a"), patch)
                        .await?
                        .invalid(&["FieldValueInvalid spec.selector"])?;
                    holds(
                        "it is said why",
                        text(&status, "/message").contains("field is immutable"),
                    )?;
                }
                Ok(())
            },
        ),
        case(
            "annotations_of_a_deployment_count",
            "A Deployment's generation counts changes of its spec and of its annotations, not of its labels.",
            async |t| {
                let path = deployments(t, "/a");
                t.make(&deployments(t, ""), deployment("a", json!({ "replicas": 0 }))).await?;
                for (patch, generation) in [
                    (json!({ "metadata": { "labels": { "l": "1" } } }), 1),
                    (json!({ "metadata": { "annotations": { "n": "1" } } }), 2),
                    (json!({ "spec": { "paused": true } }), 3),
                    (json!({ "spec": { "paused": true } }), 3),
                ] {
                    let patched = t.merge(&path, patch.clone()).await?.is(200)?;
                    same(
                        &patch.to_string(),
                        patched["metadata"]["generation"].clone(),
                        json!(generation),
                    )?;
                }
                Ok(())
            },
        ),
        case(
            "annotations_of_a_replica_set_do_not_count",
            "A ReplicaSet's generation counts changes of its spec only.",
            async |t| {
                let path = sets(t, "/a");
                t.make(&sets(t, ""), deployment("a", json!({ "replicas": 0 }))).await?;
                let patched = t
                    .merge(&path, json!({ "metadata": { "annotations": { "n": "1" } } }))
                    .await?
                    .is(200)?;
                same("generation", patched["metadata"]["generation"].clone(), json!(1))?;
                let patched =
                    t.merge(&path, json!({ "spec": { "minReadySeconds": 1 } })).await?.is(200)?;
                same("generation", patched["metadata"]["generation"].clone(), json!(2))
            },
        ),
        case(
            "a_new_status_is_the_servers",
            "The status of a new Deployment or ReplicaSet is dropped; that of a ReplicaSet always has its replicas.",
            async |t| {
                let mut object = deployment("a", json!({ "replicas": 0 }));
                object["status"] = json!({ "replicas": 7 });
                let made = t.make(&deployments(t, "?dryRun=All"), object.clone()).await?;
                same("Deployment", made["status"].clone(), json!({}))?;
                let made = t.make(&sets(t, "?dryRun=All"), object).await?;
                same("ReplicaSet", made["status"].clone(), json!({ "replicas": 0 }))
            },
        ),
        case(
            "a_status_is_a_subresource",
            "A Deployment's status is written by its subresource alone, which leaves spec, labels and generation.",
            async |t| {
                let path = deployments(t, "/a");
                t.make(&deployments(t, ""), deployment("a", json!({ "replicas": 0 }))).await?;
                let patch = json!({ "status": { "observedGeneration": 1, "replicas": 2, "readyReplicas": 1 }, "spec": { "replicas": 5 }, "metadata": { "labels": { "l": "1" } } });
                let patched = t.merge(&format!("{path}/status"), patch).await?.is(200)?;
                has(
                    &patched,
                    json!({ "status": { "observedGeneration": 1, "replicas": 2, "readyReplicas": 1 }, "spec": { "replicas": 0 }, "metadata": { "generation": 1, "labels": null } }),
                )
            },
        ),
        case(
            "counts_in_a_status_agree",
            "A Deployment's status with more ready than there are, or with counts below zero, answers 422.",
            async |t| {
                let path = deployments(t, "/a/status");
                t.make(&deployments(t, ""), deployment("a", json!({ "replicas": 0 }))).await?;
                let patch = json!({ "status": { "replicas": 1, "readyReplicas": 2 } });
                t.merge(&path, patch)
                    .await?
                    .invalid(&["FieldValueInvalid status.readyReplicas"])?;
                let patch = json!({ "status": { "replicas": -1 } });
                t.merge(&path, patch).await?.invalid(&[
                    "FieldValueInvalid status.replicas",
                    "FieldValueInvalid status.updatedReplicas",
                    "FieldValueInvalid status.readyReplicas",
                    "FieldValueInvalid status.availableReplicas",
                ])?;
                Ok(())
            },
        ),
        case(
            "a_long_name_is_warned_of",
            "A Deployment whose name is no DNS label is made, with a Warning.",
            async |t| {
                let answer =
                    t.post(&deployments(t, "?dryRun=All"), &deployment("a.b", json!({}))).await?;
                answer.is(201)?;
                holds(
                    "it is warned of",
                    answer
                        .warnings()
                        .iter()
                        .any(|warning| warning.contains("a DNS label is recommended")),
                )
            },
        ),
        case(
            "a_replica_set_has_defaults",
            "A ReplicaSet gets one replica; its labels are its own.",
            async |t| {
                let made = t.make(&sets(t, "?dryRun=All"), deployment("a", json!({}))).await?;
                has(
                    &made,
                    json!({ "spec": { "replicas": 1, "minReadySeconds": null }, "metadata": { "labels": null, "generation": 1 } }),
                )
            },
        ),
        case(
            "deletes_of_workloads_answer_a_status",
            "The delete of a Deployment or a ReplicaSet answers a Status with the uid.",
            async |t| {
                for path in [deployments(t, ""), sets(t, "")] {
                    let made = t.make(&path, deployment("a", json!({ "replicas": 0 }))).await?;
                    let answer = t.delete(&format!("{path}/a")).await?.is(200)?;
                    has(
                        &answer,
                        json!({ "kind": "Status", "status": "Success", "details": { "group": "apps", "uid": made["metadata"]["uid"] } }),
                    )?;
                }
                Ok(())
            },
        ),
        case(
            "replica_sets_cannot_be_selected_by_status",
            "A field selector of a ReplicaSet's status answers 400.",
            async |t| {
                t.get(&sets(t, "?fieldSelector=status.replicas%3D1"))
                    .await?
                    .refused(400, "BadRequest")?;
                Ok(())
            },
        ),
        case(
            "a_table_of_deployments",
            "A table of Deployments counts what is ready, up to date and available.",
            async |t| {
                t.make(&deployments(t, ""), deployment("a", json!({ "replicas": 0 }))).await?;
                let table = t
                    .get_as(&deployments(t, "/a"), "application/json;as=Table;v=v1;g=meta.k8s.io")
                    .await?
                    .is(200)?;
                let names: Vec<_> = items(&table, "/columnDefinitions")
                    .iter()
                    .map(|column| text(column, "/name").to_owned())
                    .collect();
                same(
                    "columns",
                    names.join(" "),
                    "Name Ready Up-to-date Available Age Containers Images Selector".to_owned(),
                )?;
                has(&table["rows"][0]["cells"], json!(["a", "0/0", 0, 0, "*", "c", "i", "a=b"]))
            },
        ),
        case("a_table_of_replica_sets", "A table of ReplicaSets counts in integers.", async |t| {
            t.make(&sets(t, ""), deployment("a", json!({ "replicas": 0 }))).await?;
            let table = t
                .get_as(&sets(t, "/a"), "application/json;as=Table;v=v1;g=meta.k8s.io")
                .await?
                .is(200)?;
            has(&table["columnDefinitions"][1], json!({ "name": "Desired", "type": "integer" }))?;
            has(&table["rows"][0]["cells"], json!(["a", 0, 0, 0, "*", "c", "i", "a=b"]))
        }),
        case("wrong_types_are_400", "A member of a wrong type is 400.", async |t| {
            for spec in [
                json!({ "replicas": "x" }),
                json!({ "replicas": 3_000_000_000_u32 }),
                json!({ "template": { "spec": { "containers": "x" } } }),
                json!({ "template": { "spec": { "volumes": [{ "emptyDir": 1 }] } } }),
                json!({ "strategy": { "rollingUpdate": { "maxSurge": [] } } }),
            ] {
                let wrong = json!({ "metadata": { "name": "a" }, "spec": spec });
                let answer = t.post(&deployments(t, "?dryRun=All"), &wrong).await?;
                answer.refused(400, "BadRequest")?;
            }
            Ok(())
        }),
    ]
}
