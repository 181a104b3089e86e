//! Jobs: their defaults, the selector that is made for them, what they refuse, and how they are
//! deleted.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::{Case, Target, case};

fn job(name: &str, spec: Value) -> Value {
    let mut object = json!({
        "metadata": { "name": name },
        "spec": {
            "suspend": true,
            "template": { "spec": { "restartPolicy": "Never", "containers": [{ "name": "c", "image": "i" }] } },
        },
    });
    for (member, value) in spec.as_object().into_iter().flatten() {
        object["spec"][member] = value.clone();
    }
    object
}

fn jobs(t: &Target, rest: &str) -> String {
    t.of_group("batch/v1", "jobs", rest)
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "a_job_has_defaults",
            "A Job runs one pod once, tries six times more, is not suspended and not indexed.",
            async |t| {
                let mut object = job("a", json!({}));
                object["spec"].as_object_mut().ok_or("a spec")?.remove("suspend");
                let made = t.make(&jobs(t, "?dryRun=All"), object).await?;
                has(
                    &made,
                    json!({ "spec": { "parallelism": 1, "completions": 1, "backoffLimit": 6, "completionMode": "NonIndexed", "suspend": false, "podReplacementPolicy": "TerminatingOrFailed", "manualSelector": false }, "metadata": { "generation": 1 } }),
                )?;
                same("status", made["status"].clone(), json!({}))
            },
        ),
        case(
            "parallelism_alone_makes_a_work_queue",
            "A Job that says its parallelism alone has no completions.",
            async |t| {
                let made =
                    t.make(&jobs(t, "?dryRun=All"), job("a", json!({ "parallelism": 3 }))).await?;
                has(&made, json!({ "spec": { "parallelism": 3, "completions": null } }))
            },
        ),
        case(
            "a_job_selects_by_its_own_uid",
            "A new Job selects its pods by its uid, and its template carries uid and name under old and new labels.",
            async |t| {
                let made = t.make(&jobs(t, "?dryRun=All"), job("a", json!({}))).await?;
                let uid = made["metadata"]["uid"].clone();
                same(
                    "selector",
                    made["spec"]["selector"].clone(),
                    json!({ "matchLabels": { "batch.kubernetes.io/controller-uid": uid } }),
                )?;
                let labels = json!({ "controller-uid": uid, "batch.kubernetes.io/controller-uid": uid, "job-name": "a", "batch.kubernetes.io/job-name": "a" });
                same("labels", made["spec"]["template"]["metadata"]["labels"].clone(), labels)
            },
        ),
        case(
            "a_job_without_labels_has_its_templates",
            "A Job without labels gets those of its template; one with labels keeps them.",
            async |t| {
                let mut object = job("a", json!({}));
                object["spec"]["template"]["metadata"] = json!({ "labels": { "x": "y" } });
                let made = t.make(&jobs(t, "?dryRun=All"), object.clone()).await?;
                has(&made["metadata"]["labels"], json!({ "x": "y", "job-name": "a" }))?;
                object["metadata"]["labels"] = json!({ "own": "1" });
                let made = t.make(&jobs(t, "?dryRun=All"), object).await?;
                same("labels", made["metadata"]["labels"].clone(), json!({ "own": "1" }))
            },
        ),
        case(
            "a_selector_of_ones_own_needs_to_be_announced",
            "A Job with a selector of its own and no manualSelector answers 422.",
            async |t| {
                let mut object = job("a", json!({ "selector": { "matchLabels": { "x": "y" } } }));
                object["spec"]["template"]["metadata"] = json!({ "labels": { "x": "y" } });
                let status = t
                    .post(&jobs(t, "?dryRun=All"), &object)
                    .await?
                    .invalid(&["FieldValueInvalid spec.selector"])?;
                holds(
                    "it is said why",
                    text(&status, "/message").contains("`selector` not auto-generated"),
                )?;
                object["spec"]["manualSelector"] = true.into();
                let made = t.make(&jobs(t, "?dryRun=All"), object).await?;
                same(
                    "selector",
                    made["spec"]["selector"].clone(),
                    json!({ "matchLabels": { "x": "y" } }),
                )
            },
        ),
        case(
            "a_manual_selector_is_needed_then",
            "A Job with manualSelector and no selector answers 422.",
            async |t| {
                let object = job("a", json!({ "manualSelector": true }));
                t.post(&jobs(t, "?dryRun=All"), &object).await?.invalid(&[
                    "FieldValueRequired spec.selector",
                    "FieldValueInvalid spec.template.metadata.labels",
                ])?;
                Ok(())
            },
        ),
        case(
            "labels_of_a_job_cannot_be_taken",
            "A template with another job's name in its labels answers 422.",
            async |t| {
                let mut object = job("a", json!({}));
                object["spec"]["template"]["metadata"] = json!({ "labels": { "job-name": "b" } });
                t.post(&jobs(t, "?dryRun=All"), &object)
                    .await?
                    .invalid(&["FieldValueInvalid spec.template.metadata.labels[job-name]"])?;
                Ok(())
            },
        ),
        case(
            "a_jobs_pods_end",
            "A Job whose pods are to run always, or as goes without saying, answers 422.",
            async |t| {
                for policy in [json!("Always"), Value::Null] {
                    let mut object = job("a", json!({}));
                    object["spec"]["template"]["spec"]["restartPolicy"] = policy;
                    let status = t
                        .post(&jobs(t, "?dryRun=All"), &object)
                        .await?
                        .invalid(&["FieldValueRequired spec.template.spec.restartPolicy"])?;
                    holds(
                        "it is said what may be",
                        text(&status, "/message")
                            .contains("valid values: \"OnFailure\", \"Never\""),
                    )?;
                }
                Ok(())
            },
        ),
        case(
            "negative_counts_are_refused",
            "Counts and seconds of a Job below zero are refused, each by its path.",
            async |t| {
                let object = job(
                    "a",
                    json!({ "parallelism": -1, "completions": -1, "activeDeadlineSeconds": -1, "backoffLimit": -1, "ttlSecondsAfterFinished": -1 }),
                );
                let fields = [
                    "parallelism",
                    "completions",
                    "activeDeadlineSeconds",
                    "backoffLimit",
                    "ttlSecondsAfterFinished",
                ];
                let causes: Vec<String> =
                    fields.iter().map(|field| format!("FieldValueInvalid spec.{field}")).collect();
                t.post(&jobs(t, "?dryRun=All"), &object)
                    .await?
                    .invalid(&causes.iter().map(String::as_str).collect::<Vec<_>>())?;
                Ok(())
            },
        ),
        case(
            "limits_by_index_need_an_index",
            "backoffLimitPerIndex of a Job that is not indexed answers 422.",
            async |t| {
                let object = job("a", json!({ "backoffLimitPerIndex": 1 }));
                t.post(&jobs(t, "?dryRun=All"), &object)
                    .await?
                    .invalid(&["FieldValueInvalid spec.backoffLimitPerIndex"])?;
                let object = job(
                    "a",
                    json!({ "backoffLimitPerIndex": 1, "completionMode": "Indexed", "completions": 2 }),
                );
                has(
                    &t.make(&jobs(t, "?dryRun=All"), object).await?,
                    json!({ "spec": { "backoffLimit": 2_147_483_647 } }),
                )
            },
        ),
        case(
            "an_unknown_mode_is_refused",
            "A completion mode that does not exist answers 422.",
            async |t| {
                let object = job("a", json!({ "completionMode": "Sorted" }));
                t.post(&jobs(t, "?dryRun=All"), &object)
                    .await?
                    .invalid(&["FieldValueNotSupported spec.completionMode"])?;
                Ok(())
            },
        ),
        case(
            "what_a_job_runs_is_immutable",
            "Completions, selector, mode and, unless it is suspended, template of a Job cannot be changed.",
            async |t| {
                t.make(
                    &jobs(t, ""),
                    job("a", json!({ "suspend": false, "parallelism": 0, "completions": 1 })),
                )
                .await?;
                for (patch, field) in [
                    (json!({ "completions": 2 }), "spec.completions"),
                    (json!({ "completionMode": "Indexed" }), "spec.completionMode"),
                    (
                        json!({ "template": { "spec": { "priorityClassName": "x" } } }),
                        "spec.template",
                    ),
                ] {
                    t.merge(&jobs(t, "/a"), json!({ "spec": patch }))
                        .await?
                        .invalid(&[&format!("FieldValueInvalid {field}")])?;
                }
                has(
                    &t.merge(&jobs(t, "/a"), json!({ "spec": { "backoffLimit": 1 } }))
                        .await?
                        .is(200)?,
                    json!({ "metadata": { "generation": 2 } }),
                )
            },
        ),
        case(
            "a_jobs_pods_are_left_by_default",
            "The delete of a Job without a policy leaves its pods: it is held by the finalizer `orphan`, with a Warning.",
            async |t| {
                t.make(&jobs(t, ""), job("a", json!({}))).await?;
                let answer = t.delete(&jobs(t, "/a")).await?;
                has(
                    &answer.is(200)?,
                    json!({ "kind": "Job", "metadata": { "finalizers": ["orphan"], "deletionTimestamp": "*" } }),
                )?;
                holds(
                    "it is warned of",
                    answer.warnings().iter().any(|warning| {
                        warning
                            .contains("child pods are preserved by default when jobs are deleted")
                    }),
                )
            },
        ),
        case(
            "a_policy_is_enough_of_a_word",
            "The delete of a Job with a policy carries no Warning, and in the background it is gone at once.",
            async |t| {
                t.make(&jobs(t, ""), job("a", json!({}))).await?;
                let answer = t
                    .delete_with(&jobs(t, "/a"), json!({ "propagationPolicy": "Background" }))
                    .await?;
                has(&answer.is(200)?, json!({ "kind": "Status" }))?;
                same("warnings", answer.warnings().len(), 0)?;
                t.get(&jobs(t, "/a")).await?.is(404)?;
                Ok(())
            },
        ),
        case(
            "jobs_are_selected_by_success",
            "Jobs can be selected by how often they have succeeded; other fields are not known.",
            async |t| {
                t.make(&jobs(t, ""), job("a", json!({}))).await?;
                same(
                    "none",
                    names(&t.get(&jobs(t, "?fieldSelector=status.successful%3D0")).await?.is(200)?),
                    "a".to_owned(),
                )?;
                same(
                    "one",
                    names(&t.get(&jobs(t, "?fieldSelector=status.successful%3D1")).await?.is(200)?),
                    String::new(),
                )?;
                t.get(&jobs(t, "?fieldSelector=status.succeeded%3D1"))
                    .await?
                    .refused(400, "BadRequest")?;
                Ok(())
            },
        ),
        case(
            "a_table_of_jobs",
            "A table of Jobs says status, completions and duration.",
            async |t| {
                t.make(&jobs(t, ""), job("a", json!({}))).await?;
                let table = t
                    .get_as(&jobs(t, "/a"), "application/json;as=Table;v=v1;g=meta.k8s.io")
                    .await?
                    .is(200)?;
                let names: Vec<_> = items(&table, "/columnDefinitions")
                    .iter()
                    .map(|column| text(column, "/name").to_owned())
                    .collect();
                same(
                    "columns",
                    names.join(" "),
                    "Name Status Completions Duration Age Containers Images Selector".to_owned(),
                )?;
                has(
                    &table["rows"][0]["cells"],
                    json!(["a", "Running", "0/1", "", "*", "c", "i", "*"]),
                )
            },
        ),
    ]
}
