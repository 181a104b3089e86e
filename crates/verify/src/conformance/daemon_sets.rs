//! DaemonSets, the generation of their template, and the ControllerRevisions of such sets.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, Target, case};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const GENERATION: &str = "deprecated.daemonset.template.generation";

fn sets(t: &Target, rest: &str) -> String {
    t.of_group("apps/v1", "daemonsets", rest)
}

fn revisions(t: &Target, rest: &str) -> String {
    t.of_group("apps/v1", "controllerrevisions", rest)
}

fn set(members: Value) -> Value {
    let selector = json!({ "matchLabels": { "app": "a" } });
    let spec = json!({ "selector": selector, "template": pod_template() });
    with_spec(json!({ "metadata": { "name": "a" }, "spec": spec }), members)
}

fn revision(name: &str, data: Value) -> Value {
    json!({ "metadata": { "name": name }, "revision": 1, "data": data })
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "a_daemon_set_has_defaults",
            "A DaemonSet rolls its updates one node at a time and keeps ten revisions.",
            async |t| {
                let made = t.make(&sets(t, "?dryRun=All"), set(json!({}))).await?;
                let rolling = json!({ "maxUnavailable": 1, "maxSurge": 0 });
                let strategy = json!({ "type": "RollingUpdate", "rollingUpdate": rolling });
                has(
                    &made,
                    json!({
                        "metadata": { "generation": 1 },
                        "spec": { "revisionHistoryLimit": 10, "updateStrategy": strategy },
                    }),
                )?;
                let zeros = json!({ "currentNumberScheduled": 0, "numberMisscheduled": 0, "desiredNumberScheduled": 0, "numberReady": 0 });
                same("status", made["status"].clone(), zeros)
            },
        ),
        case(
            "changes_of_the_template_are_counted",
            "An annotation of a DaemonSet counts the changes of its template alone; no client sets it.",
            async |t| {
                let made = t.make(&sets(t, ""), set(json!({}))).await?;
                same("first", text(&made, &format!("/metadata/annotations/{GENERATION}")), "1")?;
                let image = json!({ "spec": { "containers": [{ "name": "c", "image": "j" }] } });
                for (patch, generation, of_template) in [
                    (json!({ "spec": { "minReadySeconds": 1 } }), 2, "1"),
                    (json!({ "spec": { "template": image } }), 3, "2"),
                    (json!({ "metadata": { "annotations": { GENERATION: "7" } } }), 3, "2"),
                    (json!({ "metadata": { "annotations": null } }), 3, "2"),
                ] {
                    let patched = t.merge(&sets(t, "/a"), patch).await?.is(200)?;
                    has(
                        &patched["metadata"],
                        json!({ "generation": generation, "annotations": { GENERATION: of_template } }),
                    )?;
                }
                let status = json!({ "metadata": { "annotations": { GENERATION: "9" } } });
                let patched = t.merge(&sets(t, "/a/status"), status).await?.is(200)?;
                has(&patched["metadata"], json!({ "annotations": { GENERATION: "2" } }))
            },
        ),
        case(
            "a_daemon_set_is_warned_of_when_its_template_changes",
            "An update of a DaemonSet warns of its Pods only if it changes the template.",
            async |t| {
                let mut template = pod_template();
                template["spec"]["terminationGracePeriodSeconds"] = (-1).into();
                let made = t.post(&sets(t, ""), &set(json!({ "template": template }))).await?;
                same("of the create", made.warnings().len(), 1)?;
                let labelled = json!({ "metadata": { "labels": { "l": "x" } } });
                let answer = t.merge(&sets(t, "/a"), labelled).await?;
                answer.is(200)?;
                same("of a label", answer.warnings().len(), 0)?;
                let hosted = json!({ "spec": { "template": { "spec": { "hostname": "h" } } } });
                let answer = t.merge(&sets(t, "/a"), hosted).await?;
                answer.is(200)?;
                same("of the template", answer.warnings().len(), 1)
            },
        ),
        case(
            "a_new_daemon_set_may_bring_its_count",
            "The annotation of a new DaemonSet keeps a count above one.",
            async |t| {
                for (said, kept) in [("5", "5"), ("0", "1"), ("-3", "1")] {
                    let mut object = set(json!({}));
                    object["metadata"]["annotations"] = json!({ GENERATION: said });
                    let made = t.make(&sets(t, "?dryRun=All"), object).await?;
                    has(&made["metadata"]["annotations"], json!({ GENERATION: kept }))?;
                }
                Ok(())
            },
        ),
        case(
            "the_count_is_a_member_to_the_server",
            "Answers about the metadata of a DaemonSet, and rows of tables, do not have the annotation.",
            async |t| {
                t.make(&sets(t, ""), set(json!({}))).await?;
                let form = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
                let metadata = t.get_as(&sets(t, "/a"), form).await?.is(200)?;
                has(&metadata, json!({ "metadata": { "name": "a", "annotations": null } }))?;
                let table = t.get_as(&sets(t, "/a"), TABLE).await?.is(200)?;
                let row = &table["rows"][0];
                has(
                    row,
                    json!({ "object": { "metadata": { "name": "a", "annotations": null } } }),
                )?;
                has(&row["cells"], json!(["a", 0, 0, 0, 0, 0, "<none>", "*", "c", "i", "app=a"]))
            },
        ),
        case(
            "the_selector_of_a_daemon_set_stays",
            "The selector of a DaemonSet selects its Pods, is not empty, and cannot be changed.",
            async |t| {
                let cause = "FieldValueInvalid spec.template.metadata.labels";
                for selector in [json!(null), json!({ "matchLabels": { "app": "b" } })] {
                    t.post(&sets(t, "?dryRun=All"), &set(json!({ "selector": selector })))
                        .await?
                        .invalid(&[cause])?;
                }
                t.post(&sets(t, "?dryRun=All"), &set(json!({ "selector": {} }))).await?.says(
                    422,
                    "Invalid",
                    "spec.selector: Invalid value: {}: empty selector is invalid for daemonset",
                )?;
                t.make(&sets(t, ""), set(json!({}))).await?;
                let labels = json!({ "app": "a", "more": "1" });
                let patch = json!({ "spec": {
                    "selector": { "matchLabels": labels }, "template": { "metadata": { "labels": labels } },
                } });
                t.merge(&sets(t, "/a"), patch)
                    .await?
                    .invalid(&["FieldValueInvalid spec.selector"])?;
                Ok(())
            },
        ),
        case(
            "one_limit_of_a_rolling_update_is_not_zero",
            "Either maxUnavailable or maxSurge of a DaemonSet is zero, and not both.",
            async |t| {
                let path = "spec.updateStrategy.rollingUpdate";
                for (unavailable, surge, cause) in [
                    (json!(1), json!(1), format!("FieldValueInvalid {path}.maxSurge")),
                    (json!(0), json!("0%"), format!("FieldValueRequired {path}.maxUnavailable")),
                    (json!("101%"), json!(0), format!("FieldValueInvalid {path}.maxUnavailable")),
                    (json!(0), json!("101%"), format!("FieldValueInvalid {path}.maxSurge")),
                ] {
                    let rolling = json!({ "maxUnavailable": unavailable, "maxSurge": surge });
                    let strategy = json!({ "type": "RollingUpdate", "rollingUpdate": rolling });
                    t.post(&sets(t, "?dryRun=All"), &set(json!({ "updateStrategy": strategy })))
                        .await?
                        .invalid(&[&cause])?;
                }
                t.post(&sets(t, "?dryRun=All"), &set(json!({ "updateStrategy": { "type": "Odd" } })))
                    .await?
                    .says(
                        422,
                        "Invalid",
                        "spec.updateStrategy: Unsupported value: {\"Type\":\"Odd\",\"RollingUpdate\":null}: supported values: \"RollingUpdate\", \"OnDelete\"",
                    )?;
                Ok(())
            },
        ),
        case(
            "the_status_of_a_daemon_set_counts_from_zero",
            "No count in the status of a DaemonSet is negative, and collisions do not become fewer.",
            async |t| {
                t.make(&sets(t, ""), set(json!({}))).await?;
                let path = sets(t, "/a/status");
                let counts = [
                    "currentNumberScheduled",
                    "numberMisscheduled",
                    "desiredNumberScheduled",
                    "numberReady",
                    "observedGeneration",
                    "updatedNumberScheduled",
                    "numberAvailable",
                    "numberUnavailable",
                    "collisionCount",
                ];
                for count in counts {
                    t.merge(&path, json!({ "status": { count: -1 } }))
                        .await?
                        .invalid(&[&format!("FieldValueInvalid status.{count}")])?;
                }
                t.merge(&path, json!({ "status": { "numberReady": 3, "collisionCount": 1 } }))
                    .await?
                    .is(200)?;
                t.merge(&path, json!({ "status": { "collisionCount": null } }))
                    .await?
                    .invalid(&["FieldValueInvalid status.collisionCount"])?;
                Ok(())
            },
        ),
        case(
            "a_revision_has_data",
            "The data of a new ControllerRevision are a JSON object.",
            async |t| {
                for (data, why) in [
                    (json!(null), "data is mandatory"),
                    (json!("x"), "data must be a valid JSON object"),
                    (json!([1]), "data must be a valid JSON object"),
                ] {
                    let status = t
                        .post(&revisions(t, "?dryRun=All"), &revision("a", data))
                        .await?
                        .invalid(&["FieldValueRequired data"])?;
                    same(
                        "message",
                        text(&status, "/details/causes/0/message"),
                        format!("Required value: {why}"),
                    )?;
                }
                let mut object = revision("a", json!({ "a": [1, null] }));
                object["revision"] = (-1).into();
                t.post(&revisions(t, "?dryRun=All"), &object)
                    .await?
                    .invalid(&["FieldValueInvalid revision"])?;
                object["revision"] = 0.into();
                let made = t.make(&revisions(t, "?dryRun=All"), object).await?;
                has(&made, json!({ "revision": 0, "data": { "a": [1, null] } }))?;
                has(&made, json!({ "metadata": { "generation": null } }))
            },
        ),
        case(
            "the_data_of_a_revision_stay",
            "The data of a ControllerRevision cannot be changed; its number can.",
            async |t| {
                t.make(&revisions(t, ""), revision("a", json!({ "a": 1 }))).await?;
                let status = t
                    .merge(&revisions(t, "/a"), json!({ "data": { "a": 2 } }))
                    .await?
                    .invalid(&["FieldValueInvalid data"])?;
                let why = "Invalid value: {\"a\":2}: field is immutable";
                same("message", text(&status, "/details/causes/0/message"), why)?;
                let patched = t.merge(&revisions(t, "/a"), json!({ "revision": 2 })).await?;
                has(&patched.is(200)?, json!({ "revision": 2, "data": { "a": 1 } }))
            },
        ),
        case(
            "a_table_of_revisions",
            "A table of ControllerRevisions says whose they are and their number.",
            async |t| {
                let mut object = revision("a", json!({}));
                object["metadata"]["ownerReferences"] = json!([{
                    "apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "u", "controller": true,
                }]);
                let path = revisions(t, "?dryRun=All");
                let headers = [("content-type", "application/json"), ("accept", TABLE)];
                let answer = t.send(http::Method::POST, &path, &headers, object.to_string());
                let table = answer.await?.is(201)?;
                has(&table["rows"][0]["cells"], json!(["a", "statefulset.apps/web", 1, "*"]))?;
                has(&table["columnDefinitions"][2], json!({ "name": "Revision", "type": "string" }))
            },
        ),
    ]
}
