//! StatefulSets: their defaults, what of them can be changed, their claims and their status.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, STRATEGIC, Target, case};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

fn sets(t: &Target, rest: &str) -> String {
    t.of_group("apps/v1", "statefulsets", rest)
}

fn set(members: Value) -> Value {
    let selector = json!({ "matchLabels": { "app": "a" } });
    let spec = json!({ "serviceName": "s", "selector": selector, "template": pod_template() });
    with_spec(json!({ "metadata": { "name": "a" }, "spec": spec }), members)
}

fn claim_template(name: &str) -> Value {
    json!({ "metadata": { "name": name }, "spec": claim("", "none")["spec"] })
}

/// Each change of a spec with the cause of its refusal.
async fn refuses(t: &Target, cases: &[(Value, &str)]) -> Outcome {
    for (members, cause) in cases {
        t.post(&sets(t, "?dryRun=All"), &set(members.clone())).await?.invalid(&[cause])?;
    }
    Ok(())
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "a_template_of_a_claim_says_what_it_is",
            "A StatefulSet is written back as it was read, its claims' kind and apiVersion included.",
            async |t| {
                let path = |rest: &str| t.of_group("apps/v1", "statefulsets", rest);
                let claim = json!({
                    "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": { "name": "data" },
                    "spec": {
                        "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } },
                    },
                });
                let spec = json!({
                    "serviceName": "s", "selector": { "matchLabels": { "app": "a" } },
                    "template": pod_template(), "volumeClaimTemplates": [claim],
                });
                let object = json!({ "metadata": { "name": "a" }, "spec": spec });
                t.post(&path("?fieldValidation=Strict"), &object).await?.is(201)?;
                let read = t.get(&path("/a")).await?.is(200)?;
                has(
                    &read["spec"]["volumeClaimTemplates"][0],
                    json!({ "kind": "PersistentVolumeClaim" }),
                )?;
                let answer = t.put(&path("/a?fieldValidation=Strict"), &read).await?;
                answer.is(200)?;
                same("the warnings", answer.warnings().len(), 0)?;
                let label = json!({ "metadata": { "labels": { "l": "x" } } });
                t.merge(&path("/a?fieldValidation=Strict"), label).await?.is(200)?;
                let template = json!({ "spec": { "template": { "metadata": { "annotations": { "n": "x" } } } } });
                t.patch(&path("/a?fieldValidation=Strict"), STRATEGIC, &template)
                    .await?
                    .is(200)
                    .map(drop)
            },
        ),
        case(
            "a_stateful_set_has_defaults",
            "A StatefulSet has one replica, in order, rolls its updates, keeps its claims and ten revisions.",
            async |t| {
                let made = t.make(&sets(t, "?dryRun=All"), set(json!({}))).await?;
                let retained = json!({ "whenDeleted": "Retain", "whenScaled": "Retain" });
                has(
                    &made,
                    json!({
                        "metadata": { "generation": 1 },
                        "spec": {
                            "replicas": 1, "podManagementPolicy": "OrderedReady", "revisionHistoryLimit": 10,
                            "updateStrategy": { "type": "RollingUpdate", "rollingUpdate": { "partition": 0 } },
                            "persistentVolumeClaimRetentionPolicy": retained,
                        },
                    }),
                )?;
                same(
                    "status",
                    made["status"].clone(),
                    json!({ "replicas": 0, "availableReplicas": 0 }),
                )
            },
        ),
        case(
            "templates_of_claims_have_defaults",
            "A template of claims says its kind, its mode and that it is pending.",
            async |t| {
                let object = set(json!({ "volumeClaimTemplates": [claim_template("d")] }));
                let made = t.make(&sets(t, "?dryRun=All"), object).await?;
                has(
                    &made["spec"]["volumeClaimTemplates"],
                    json!([{
                        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": { "name": "d" },
                        "spec": { "volumeMode": "Filesystem" }, "status": { "phase": "Pending" },
                    }]),
                )
            },
        ),
        case(
            "claims_are_volumes_of_the_template",
            "Containers of a StatefulSet mount its claims by name, as they do volumes of the template; others answer 422.",
            async |t| {
                let mut object = set(json!({ "volumeClaimTemplates": [claim_template("d")] }));
                let container = "/spec/template/spec/containers/0";
                let mounts = |name: &str| json!([{ "name": name, "mountPath": "/d" }]);
                object.pointer_mut(container).ok_or("a container")?["volumeMounts"] = mounts("d");
                t.make(&sets(t, "?dryRun=All"), object.clone()).await?;
                object.pointer_mut(container).ok_or("a container")?["volumeMounts"] = mounts("e");
                t.post(&sets(t, "?dryRun=All"), &object).await?.invalid(&[
                    "FieldValueNotFound spec.template.spec.containers[0].volumeMounts[0].name",
                ])?;
                Ok(())
            },
        ),
        case(
            "templates_of_claims_are_checked",
            "A template of claims without access modes and size answers 422 by its path.",
            async |t| {
                let bare = json!({ "metadata": { "name": "d" }, "spec": {} });
                t.post(&sets(t, "?dryRun=All"), &set(json!({ "volumeClaimTemplates": [bare] })))
                    .await?
                    .invalid(&[
                        "FieldValueRequired spec.volumeClaimTemplates[0].spec.accessModes",
                        "FieldValueRequired spec.volumeClaimTemplates[0].spec.resources[storage]",
                    ])?;
                Ok(())
            },
        ),
        case(
            "a_stateful_set_is_named_as_its_pods",
            "The name of a StatefulSet is a DNS label, as is that of its service.",
            async |t| {
                let mut object = set(json!({}));
                object["metadata"]["name"] = "a.b".into();
                t.post(&sets(t, "?dryRun=All"), &object)
                    .await?
                    .invalid(&["FieldValueInvalid metadata.name"])?;
                refuses(
                    t,
                    &[(json!({ "serviceName": "a.b" }), "FieldValueInvalid spec.serviceName")],
                )
                .await?;
                t.make(&sets(t, "?dryRun=All"), set(json!({ "serviceName": null }))).await?;
                Ok(())
            },
        ),
        case(
            "the_selector_of_a_stateful_set_selects_its_pods",
            "A StatefulSet without a selector, with an empty one, or with one that selects other labels, answers 422.",
            async |t| {
                let none = set(json!({ "selector": null }));
                t.post(&sets(t, "?dryRun=All"), &none).await?.invalid(&[
                    "FieldValueRequired spec.selector",
                    "FieldValueInvalid spec.template.metadata.labels",
                ])?;
                let empty =
                    t.post(&sets(t, "?dryRun=All"), &set(json!({ "selector": {} }))).await?;
                empty.says(
                    422,
                    "Invalid",
                    "spec.selector: Invalid value: {}: empty selector is invalid for statefulset",
                )?;
                let other = json!({ "selector": { "matchLabels": { "app": "b" } } });
                let cause = "FieldValueInvalid spec.template.metadata.labels";
                refuses(t, &[(other, cause)]).await
            },
        ),
        case(
            "numbers_of_a_stateful_set_are_not_negative",
            "Replicas, seconds, the first ordinal and the partition of a StatefulSet are not less than zero.",
            async |t| {
                let rolling =
                    json!({ "type": "RollingUpdate", "rollingUpdate": { "partition": -1 } });
                let cases = [
                    (json!({ "replicas": -1 }), "FieldValueInvalid spec.replicas"),
                    (json!({ "minReadySeconds": -1 }), "FieldValueInvalid spec.minReadySeconds"),
                    (
                        json!({ "ordinals": { "start": -1 } }),
                        "FieldValueInvalid spec.ordinals.start",
                    ),
                    (
                        json!({ "updateStrategy": rolling }),
                        "FieldValueInvalid spec.updateStrategy.rollingUpdate.partition",
                    ),
                ];
                refuses(t, &cases).await
            },
        ),
        case(
            "policies_of_a_stateful_set_are_known",
            "Strategies and policies of a StatefulSet that do not exist answer 422.",
            async |t| {
                let cases = [
                    (
                        json!({ "podManagementPolicy": "Odd" }),
                        "FieldValueInvalid spec.podManagementPolicy",
                    ),
                    (
                        json!({ "updateStrategy": { "type": "Odd" } }),
                        "FieldValueInvalid spec.updateStrategy",
                    ),
                    (
                        json!({ "updateStrategy": { "type": "OnDelete", "rollingUpdate": { "partition": 1 } } }),
                        "FieldValueInvalid spec.updateStrategy.rollingUpdate",
                    ),
                    (
                        json!({ "persistentVolumeClaimRetentionPolicy": { "whenScaled": "Odd" } }),
                        "FieldValueNotSupported spec.persistentVolumeClaimRetentionPolicy.whenScaled",
                    ),
                ];
                refuses(t, &cases).await?;
                let wrong = set(json!({ "updateStrategy": { "type": "Odd" } }));
                t.post(&sets(t, "?dryRun=All"), &wrong).await?.says(
                    422,
                    "Invalid",
                    "spec.updateStrategy: Invalid value: {\"Type\":\"Odd\",\"RollingUpdate\":null}: must be 'RollingUpdate' or 'OnDelete'",
                )?;
                Ok(())
            },
        ),
        case(
            "a_stateful_set_has_no_deadline",
            "The Pods of a StatefulSet run always and have no deadline.",
            async |t| {
                let mut object = set(json!({}));
                object["spec"]["template"]["spec"]["restartPolicy"] = "Never".into();
                object["spec"]["template"]["spec"]["activeDeadlineSeconds"] = 5.into();
                let status = t.post(&sets(t, "?dryRun=All"), &object).await?.invalid(&[
                    "FieldValueNotSupported spec.template.spec.restartPolicy",
                    "FieldValueForbidden spec.template.spec.activeDeadlineSeconds",
                ])?;
                let why = "activeDeadlineSeconds in StatefulSet is not Supported";
                holds("it names the kind", text(&status, "/message").contains(why))
            },
        ),
        case(
            "little_of_a_stateful_set_can_be_changed",
            "Service, selector, order and claims of a StatefulSet stay as they were made.",
            async |t| {
                t.make(&sets(t, ""), set(json!({ "replicas": 0 }))).await?;
                for spec in [
                    json!({ "serviceName": "t" }),
                    json!({ "podManagementPolicy": "Parallel" }),
                    json!({ "volumeClaimTemplates": [claim_template("d")] }),
                ] {
                    let status = t
                        .merge(&sets(t, "/a"), json!({ "spec": spec }))
                        .await?
                        .invalid(&["FieldValueForbidden spec"])?;
                    let why = "Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
                    same("message", text(&status, "/details/causes/0/message"), why)?;
                }
                Ok(())
            },
        ),
        case(
            "the_rest_of_a_stateful_set_can_be_changed",
            "Each change of the spec of a StatefulSet that is allowed counts a generation.",
            async |t| {
                t.make(&sets(t, ""), set(json!({ "replicas": 0 }))).await?;
                let image = json!({ "spec": { "containers": [{ "name": "c", "image": "j" }] } });
                for (generation, spec) in [
                    (2, json!({ "replicas": 2 })),
                    (3, json!({ "ordinals": { "start": 1 } })),
                    (4, json!({ "template": image })),
                    (5, json!({ "updateStrategy": { "type": "OnDelete", "rollingUpdate": null } })),
                    (6, json!({ "revisionHistoryLimit": 1 })),
                    (
                        7,
                        json!({ "persistentVolumeClaimRetentionPolicy": { "whenScaled": "Delete" } }),
                    ),
                    (8, json!({ "minReadySeconds": 1 })),
                    (8, json!({ "minReadySeconds": 1 })),
                ] {
                    let patched =
                        t.merge(&sets(t, "/a"), json!({ "spec": spec })).await?.is(200)?;
                    has(&patched, json!({ "metadata": { "generation": generation } }))?;
                }
                Ok(())
            },
        ),
        case(
            "one_pod_of_a_stateful_set_at_a_time",
            "The maxUnavailable of a StatefulSet is dropped: its feature gate is off.",
            async |t| {
                let rolling =
                    json!({ "type": "RollingUpdate", "rollingUpdate": { "maxUnavailable": 2 } });
                let object = set(json!({ "updateStrategy": rolling }));
                let made = t.make(&sets(t, "?dryRun=All"), object).await?;
                let strategy =
                    json!({ "type": "RollingUpdate", "rollingUpdate": { "partition": 0 } });
                same("strategy", made["spec"]["updateStrategy"].clone(), strategy)
            },
        ),
        case(
            "the_status_of_a_stateful_set_is_checked",
            "No count in the status of a StatefulSet is negative or more than its replicas, and collisions do not become fewer.",
            async |t| {
                t.make(&sets(t, ""), set(json!({ "replicas": 0 }))).await?;
                let path = sets(t, "/a/status");
                let wrong = json!({ "status": { "replicas": 1, "readyReplicas": 2, "currentReplicas": 2, "updatedReplicas": 2, "availableReplicas": -1 } });
                t.merge(&path, wrong).await?.invalid(&[
                    "FieldValueInvalid status.availableReplicas",
                    "FieldValueInvalid status.readyReplicas",
                    "FieldValueInvalid status.currentReplicas",
                    "FieldValueInvalid status.updatedReplicas",
                ])?;
                let fine = json!({ "status": { "replicas": 2, "readyReplicas": 1, "availableReplicas": 1, "collisionCount": 2 }, "spec": { "replicas": 7 } });
                has(
                    &t.merge(&path, fine).await?.is(200)?,
                    json!({ "metadata": { "generation": 1 }, "spec": { "replicas": 0 }, "status": { "replicas": 2 } }),
                )?;
                t.merge(&path, json!({ "status": { "availableReplicas": 2 } })).await?.says(
                    422,
                    "Invalid",
                    "status.availableReplicas: Invalid value: 2: cannot be greater than status.readyReplicas",
                )?;
                for fewer in [json!(1), json!(null)] {
                    t.merge(&path, json!({ "status": { "collisionCount": fewer } })).await?.says(
                        422,
                        "Invalid",
                        "cannot be decremented",
                    )?;
                }
                Ok(())
            },
        ),
        case(
            "a_stateful_set_scales",
            "The Scale of a StatefulSet shows its replicas and its selector, and sets the replicas.",
            async |t| {
                t.make(&sets(t, ""), set(json!({ "replicas": 1 }))).await?;
                let scale = t.get(&sets(t, "/a/scale")).await?.is(200)?;
                has(
                    &scale,
                    json!({ "kind": "Scale", "spec": { "replicas": 1 }, "status": { "selector": "app=a" } }),
                )?;
                let patch = json!({ "spec": { "replicas": 3 } });
                t.merge(&sets(t, "/a/scale"), patch.clone()).await?.is(200)?;
                let whole = t.get(&sets(t, "/a")).await?.is(200)?;
                has(&whole, json!({ "metadata": { "generation": 2 }, "spec": { "replicas": 3 } }))
            },
        ),
        case(
            "endless_histories_are_warned_of",
            "A StatefulSet with a negative revisionHistoryLimit is accepted with a Warning, which writes to its status do not have.",
            async |t| {
                let answer =
                    t.post(&sets(t, ""), &set(json!({ "revisionHistoryLimit": -1 }))).await?;
                answer.is(201)?;
                let warning = "299 - \"spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended\"";
                same("warnings", answer.warnings(), vec![warning.to_owned()])?;
                let patch = json!({ "metadata": { "annotations": { "a": "b" } } });
                for (path, count) in [("/a", 1), ("/a/status", 0)] {
                    let answer = t.merge(&sets(t, path), patch.clone()).await?;
                    answer.is(200)?;
                    same("warnings", answer.warnings().len(), count)?;
                }
                Ok(())
            },
        ),
        case(
            "a_table_of_stateful_sets",
            "A table of StatefulSets says how many Pods are ready.",
            async |t| {
                t.make(&sets(t, ""), set(json!({ "replicas": 2 }))).await?;
                let table = t.get_as(&sets(t, "/a"), TABLE).await?.is(200)?;
                has(&table["rows"][0]["cells"], json!(["a", "0/2", "*", "c", "i"]))
            },
        ),
    ]
}
