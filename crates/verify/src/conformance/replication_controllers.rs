//! ReplicationControllers and PodTemplates of the core group.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, Target, case};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

fn controllers(t: &Target, rest: &str) -> String {
    t.core("replicationcontrollers", rest)
}

fn controller(members: Value) -> Value {
    let spec = json!({ "template": pod_template() });
    with_spec(json!({ "metadata": { "name": "a" }, "spec": spec }), members)
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "a_controller_has_the_labels_of_its_template",
            "A ReplicationController without a selector selects the labels of its template, which are its own, too.",
            async |t| {
                let made = t.make(&controllers(t, "?dryRun=All"), controller(json!({}))).await?;
                has(
                    &made,
                    json!({
                        "metadata": { "labels": { "app": "a" }, "generation": 1 },
                        "spec": { "replicas": 1, "selector": { "app": "a" } },
                    }),
                )?;
                same("status", made["status"].clone(), json!({ "replicas": 0 }))
            },
        ),
        case(
            "a_controller_selects_its_pods",
            "A ReplicationController has a template, whose labels its selector selects.",
            async |t| {
                let path = controllers(t, "?dryRun=All");
                t.post(&path, &controller(json!({ "selector": { "app": "b" } })))
                    .await?
                    .invalid(&["FieldValueInvalid spec.template.metadata.labels"])?;
                t.post(&path, &controller(json!({ "template": null }))).await?.invalid(&[
                    "FieldValueRequired spec.selector",
                    "FieldValueRequired spec.template",
                ])?;
                Ok(())
            },
        ),
        case(
            "numbers_of_a_controller_are_not_negative",
            "Replicas and seconds of a ReplicationController are not less than zero, and its Pods run always.",
            async |t| {
                let mut object = controller(json!({ "replicas": -1, "minReadySeconds": -1 }));
                object["spec"]["template"]["spec"]["activeDeadlineSeconds"] = 5.into();
                t.post(&controllers(t, "?dryRun=All"), &object).await?.invalid(&[
                    "FieldValueInvalid spec.minReadySeconds",
                    "FieldValueInvalid spec.replicas",
                    "FieldValueForbidden spec.template.spec.activeDeadlineSeconds",
                ])?;
                Ok(())
            },
        ),
        case(
            "the_selector_of_a_controller_can_be_changed",
            "Selector and template of a ReplicationController can be changed together, which counts a generation.",
            async |t| {
                t.make(&controllers(t, ""), controller(json!({ "replicas": 0 }))).await?;
                let labels = json!({ "app": "b" });
                let patch = json!({ "spec": { "selector": labels, "template": { "metadata": { "labels": labels } } } });
                let patched = t.merge(&controllers(t, "/a"), patch).await?.is(200)?;
                has(
                    &patched,
                    json!({ "metadata": { "generation": 2 }, "spec": { "selector": labels } }),
                )
            },
        ),
        case(
            "the_scale_of_a_controller_says_its_selector",
            "The Scale of a ReplicationController has its labels as selector.",
            async |t| {
                let mut object = controller(json!({ "replicas": 2 }));
                let labels = json!({ "app": "a", "tier": "b" });
                object["spec"]["template"]["metadata"]["labels"] = labels;
                t.make(&controllers(t, ""), object).await?;
                let scale = t.get(&controllers(t, "/a/scale")).await?.is(200)?;
                has(
                    &scale,
                    json!({ "spec": { "replicas": 2 }, "status": { "replicas": 0, "selector": "app=a,tier=b" } }),
                )
            },
        ),
        case(
            "the_status_of_a_controller_is_checked",
            "No count in the status of a ReplicationController is more than its replicas; it can be selected by them.",
            async |t| {
                t.make(&controllers(t, ""), controller(json!({ "replicas": 0 }))).await?;
                let path = controllers(t, "/a/status");
                t.merge(&path, json!({ "status": { "replicas": 1, "readyReplicas": 2 } }))
                    .await?
                    .invalid(&["FieldValueInvalid status.readyReplicas"])?;
                t.merge(&path, json!({ "status": { "replicas": 3 } })).await?.is(200)?;
                for (selector, found) in [("3", "a"), ("0", "")] {
                    let selector = format!("?fieldSelector=status.replicas%3D{selector}");
                    let list = t.get(&controllers(t, &selector)).await?.is(200)?;
                    same("names", names(&list), found.to_owned())?;
                }
                t.get(&controllers(t, "?fieldSelector=spec.replicas%3D0")).await?.says(
                    400,
                    "BadRequest",
                    "field label not supported: spec.replicas",
                )?;
                Ok(())
            },
        ),
        case(
            "the_pods_of_a_controller_are_left",
            "The delete of a ReplicationController without a policy leaves its Pods, without a Warning.",
            async |t| {
                t.make(&controllers(t, ""), controller(json!({ "replicas": 0 }))).await?;
                let answer = t.delete(&controllers(t, "/a")).await?;
                has(
                    &answer.is(200)?,
                    json!({ "kind": "ReplicationController", "metadata": { "finalizers": ["orphan"], "deletionTimestamp": "*" } }),
                )?;
                same("warnings", answer.warnings().len(), 0)
            },
        ),
        case(
            "a_table_of_controllers",
            "A table of ReplicationControllers says how many Pods are wanted, there and ready.",
            async |t| {
                t.make(&controllers(t, ""), controller(json!({ "replicas": 2 }))).await?;
                let table = t.get_as(&controllers(t, "/a"), TABLE).await?.is(200)?;
                has(&table["rows"][0]["cells"], json!(["a", 2, 0, 0, "*", "c", "i", "app=a"]))
            },
        ),
        case(
            "a_template_of_pods_is_completed",
            "A PodTemplate has the defaults of a template, counts its changes, and answers itself when it is deleted.",
            async |t| {
                let path = t.core("podtemplates", "");
                let object = json!({ "metadata": { "name": "a" }, "template": pod_template() });
                let made = t.make(&path, object).await?;
                has(
                    &made,
                    json!({ "metadata": { "generation": 1 }, "template": { "spec": { "dnsPolicy": "ClusterFirst" } } }),
                )?;
                let containers = json!([{ "name": "c", "image": "j" }]);
                let patch = json!({ "template": { "spec": { "containers": containers } } });
                let patched = t.merge(&t.core("podtemplates", "/a"), patch).await?.is(200)?;
                has(&patched, json!({ "metadata": { "generation": 2 } }))?;
                let table = t.get_as(&t.core("podtemplates", "/a"), TABLE).await?.is(200)?;
                has(&table["rows"][0]["cells"], json!(["a", "c", "j", "app=a"]))?;
                let ended = t.delete(&t.core("podtemplates", "/a")).await?.is(200)?;
                has(&ended, json!({ "kind": "PodTemplate" }))
            },
        ),
        case(
            "a_template_of_pods_has_containers",
            "A PodTemplate without containers answers 422 by the path of its template.",
            async |t| {
                let object = json!({ "metadata": { "name": "a" }, "template": { "spec": {} } });
                t.post(&t.core("podtemplates", "?dryRun=All"), &object)
                    .await?
                    .invalid(&["FieldValueRequired template.spec.containers"])?;
                Ok(())
            },
        ),
    ]
}
