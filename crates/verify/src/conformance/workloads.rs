//! Pods, Services, Secrets and ConfigMaps: their own rules.

use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    vec![
        case("a_pod_is_made_pending", "A new Pod is Pending and has its defaults.", async |t| {
            let made = t.make(&t.core("pods", ""), pod("a")).await?;
            let spec = json!({ "restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler", "enableServiceLinks": true });
            has(&made, json!({ "spec": spec, "status": { "phase": "Pending" } }))
        }),
        case(
            "a_container_has_defaults",
            "A container gets its pull policy and termination message defaults.",
            async |t| {
                let made = t.make(&t.core("pods", ""), pod("a")).await?;
                has(
                    &made,
                    json!({ "spec": { "containers": [{ "imagePullPolicy": "Always", "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File", "resources": {} }] } }),
                )
            },
        ),
        case(
            "a_pod_gets_what_admission_adds",
            "A Pod gets priority, preemption policy, quality of service and the tolerations of unready nodes.",
            async |t| {
                let made = t.make(&t.core("pods", ""), pod("a")).await?;
                has(
                    &made,
                    json!({ "spec": { "priority": 0, "preemptionPolicy": "PreemptLowerPriority" }, "status": { "qosClass": "BestEffort" } }),
                )?;
                same("tolerations", items(&made, "/spec/tolerations").len(), 2)
            },
        ),
        case(
            "a_pod_needs_containers",
            "A Pod without containers, or a container without a name, answers 422.",
            async |t| {
                t.post(
                    &t.core("pods", ""),
                    &json!({ "metadata": { "name": "a" }, "spec": { "containers": [] } }),
                )
                .await?
                .invalid(&["FieldValueRequired spec.containers"])?;
                let object = json!({ "metadata": { "name": "a" }, "spec": { "containers": [{ "image": "i" }] } });
                t.post(&t.core("pods", ""), &object)
                    .await?
                    .invalid(&["FieldValueRequired spec.containers[0].name"])?;
                Ok(())
            },
        ),
        case(
            "a_pods_image_can_be_changed",
            "A Pod's image can be changed, which counts a generation.",
            async |t| {
                t.make(&t.core("pods", ""), pod("a")).await?;
                let patch =
                    json!([{ "op": "replace", "path": "/spec/containers/0/image", "value": "j" }]);
                let patched = t.json_patch(&t.core("pods", "/a"), patch).await?.is(200)?;
                has(
                    &patched,
                    json!({ "spec": { "containers": [{ "image": "j" }] }, "metadata": { "generation": 2 } }),
                )?;
                t.merge(&t.core("pods", "/a"), json!({ "spec": { "activeDeadlineSeconds": 7 } }))
                    .await?
                    .is(200)?;
                Ok(())
            },
        ),
        case(
            "the_rest_of_a_pods_spec_cannot_be_changed",
            "A change of a Pod's node, restart policy or volumes answers 422 Forbidden about spec.",
            async |t| {
                t.make(&t.core("pods", ""), pod("a")).await?;
                for spec in [
                    json!({ "nodeName": "n" }),
                    json!({ "restartPolicy": "Never" }),
                    json!({ "volumes": [{ "name": "v", "emptyDir": {} }] }),
                ] {
                    let status = t
                        .merge(&t.core("pods", "/a"), json!({ "spec": spec }))
                        .await?
                        .invalid(&["FieldValueForbidden spec"])?;
                    holds(
                        "the message says so",
                        text(&status, "/message")
                            .contains("pod updates may not change fields other than"),
                    )?;
                }
                Ok(())
            },
        ),
        case(
            "a_pod_on_no_node_is_gone_at_once",
            "The delete of a Pod that is on no node removes it.",
            async |t| {
                t.make(&t.core("pods", ""), pod("a")).await?;
                has(&t.delete(&t.core("pods", "/a")).await?.is(200)?, json!({ "kind": "Pod" }))?;
                t.get(&t.core("pods", "/a")).await?.is(404)?;
                Ok(())
            },
        ),
        case(
            "a_pod_on_a_node_is_given_grace",
            "The delete of a Pod on a node marks it with its grace period; with grace 0 it is gone.",
            async |t| {
                let mut object = pod("a");
                object["spec"]["nodeName"] = "n".into();
                t.make(&t.core("pods", ""), object).await?;
                let marked = t.delete(&t.core("pods", "/a")).await?.is(200)?;
                has(
                    &marked,
                    json!({ "metadata": { "deletionTimestamp": "*", "deletionGracePeriodSeconds": 30, "generation": 2 } }),
                )?;
                let shorter = t
                    .delete_with(&t.core("pods", "/a"), json!({ "gracePeriodSeconds": 5 }))
                    .await?
                    .is(200)?;
                has(&shorter, json!({ "metadata": { "deletionGracePeriodSeconds": 5 } }))?;
                t.delete_with(&t.core("pods", "/a"), json!({ "gracePeriodSeconds": 0 }))
                    .await?
                    .is(200)?;
                t.get(&t.core("pods", "/a")).await?.is(404)?;
                Ok(())
            },
        ),
        case(
            "a_pods_status_is_a_subresource",
            "A Pod's phase is written by its status subresource only.",
            async |t| {
                t.make(&t.core("pods", ""), pod("a")).await?;
                let patch = json!({ "status": { "phase": "Running" } });
                has(
                    &t.merge(&t.core("pods", "/a"), patch.clone()).await?.is(200)?,
                    json!({ "status": { "phase": "Pending" } }),
                )?;
                has(
                    &t.merge(&t.core("pods", "/a/status"), patch).await?.is(200)?,
                    json!({ "status": { "phase": "Running" } }),
                )
            },
        ),
        case(
            "a_service_has_defaults",
            "A Service's type is ClusterIP, its ports are TCP and target themselves.",
            async |t| {
                let made = t.make(&t.core("services", ""), service("a")).await?;
                has(
                    &made,
                    json!({ "spec": { "type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster", "ports": [{ "port": 80, "protocol": "TCP", "targetPort": 80 }] }, "status": { "loadBalancer": {} } }),
                )
            },
        ),
        case(
            "a_service_gets_an_address",
            "A Service is given a cluster IP and its address family.",
            async |t| {
                let made = t.make(&t.core("services", ""), service("a")).await?;
                has(
                    &made,
                    json!({ "spec": { "clusterIP": "*", "clusterIPs": ["*"], "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack" } }),
                )
            },
        ),
        case(
            "string_data_of_a_secret_becomes_data",
            "A Secret's stringData is written to data, in base64, and its type is Opaque.",
            async |t| {
                let made = t
                    .make(
                        &t.core("secrets", ""),
                        json!({ "metadata": { "name": "a" }, "stringData": { "k": "hello" } }),
                    )
                    .await?;
                has(
                    &made,
                    json!({ "type": "Opaque", "data": { "k": "aGVsbG8=" }, "stringData": null }),
                )
            },
        ),
        case(
            "a_secrets_type_cannot_be_changed",
            "A change of a Secret's type answers 422.",
            async |t| {
                t.make(&t.core("secrets", ""), named("a")).await?;
                t.merge(&t.core("secrets", "/a"), json!({ "type": "x" }))
                    .await?
                    .invalid(&["FieldValueInvalid type"])?;
                Ok(())
            },
        ),
        case(
            "an_immutable_map_stays",
            "Data of an immutable ConfigMap or Secret cannot be changed, nor can it be made mutable again; labels can be changed.",
            async |t| {
                for path in [t.maps(""), t.core("secrets", "")] {
                    t.make(&path, json!({ "metadata": { "name": "a" }, "immutable": true, "data": { "k": "aGVsbG8=" } })).await?;
                    let path = format!("{path}/a");
                    t.merge(&path, json!({ "data": { "k": "aGVsbA==" } }))
                        .await?
                        .invalid(&["FieldValueForbidden data"])?;
                    t.merge(&path, json!({ "immutable": false }))
                        .await?
                        .invalid(&["FieldValueForbidden immutable"])?;
                    t.merge(&path, json!({ "immutable": null }))
                        .await?
                        .invalid(&["FieldValueForbidden immutable"])?;
                    t.merge(&path, json!({ "metadata": { "labels": { "l": "1" } } }))
                        .await?
                        .is(200)?;
                }
                Ok(())
            },
        ),
        case("a_map_can_be_made_immutable", "A ConfigMap can be made immutable.", async |t| {
            t.map("a", "v").await?;
            has(
                &t.merge(&t.maps("/a"), json!({ "immutable": true })).await?.is(200)?,
                json!({ "immutable": true }),
            )
        }),
        case(
            "a_service_account_answers_itself",
            "The delete of a ServiceAccount answers the object.",
            async |t| {
                t.make(&t.core("serviceaccounts", ""), named("a")).await?;
                has(
                    &t.delete(&t.core("serviceaccounts", "/a")).await?.is(200)?,
                    json!({ "kind": "ServiceAccount" }),
                )
            },
        ),
        case(
            "empty_maps_and_lists_are_left_out",
            "Empty data of a ConfigMap, and empty lists of a ServiceAccount, are left out.",
            async |t| {
                let made =
                    t.make(&t.maps(""), json!({ "metadata": { "name": "a" }, "data": {} })).await?;
                has(&made, json!({ "data": null }))?;
                let object = json!({ "metadata": { "name": "a" }, "imagePullSecrets": [] });
                has(
                    &t.make(&t.core("serviceaccounts", ""), object).await?,
                    json!({ "imagePullSecrets": null }),
                )
            },
        ),
        case(
            "endpoints_warn_of_their_age",
            "Answers about Endpoints carry a Warning that they are deprecated.",
            async |t| {
                let answer = t.post(&t.core("endpoints", ""), &named("a")).await?;
                same("warnings", answer.warnings().len(), 1)
            },
        ),
        case(
            "endpoints_are_plain",
            "Endpoints can be created, changed without a version, and deleted to a Status.",
            async |t| {
                let path = t.core("endpoints", "");
                t.make(&path, named("a")).await?;
                t.put(&format!("{path}/a"), &named("a")).await?.is(200)?;
                has(&t.delete(&format!("{path}/a")).await?.is(200)?, json!({ "kind": "Status" }))
            },
        ),
    ]
}
