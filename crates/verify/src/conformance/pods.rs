//! Pods in depth: what probes, volumes, resources and references get, and what is refused.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, Target, case};

async fn made(t: &Target, spec: Value) -> Result<Value, String> {
    t.make(&t.core("pods", "?dryRun=All"), json!({ "metadata": { "name": "a" }, "spec": spec }))
        .await
}

async fn of_container(t: &Target, container: Value) -> Result<Value, String> {
    let mut object = json!({ "name": "c", "image": "i" });
    for (member, value) in container.as_object().into_iter().flatten() {
        object[member] = value.clone();
    }
    Ok(made(t, json!({ "containers": [object] })).await?["spec"]["containers"][0].take())
}

async fn refused(t: &Target, container: Value, causes: &[&str]) -> Result<Value, String> {
    let mut object = json!({ "name": "c", "image": "i" });
    for (member, value) in container.as_object().into_iter().flatten() {
        object[member] = value.clone();
    }
    let pod = json!({ "metadata": { "name": "a" }, "spec": { "containers": [object] } });
    t.post(&t.core("pods", "?dryRun=All"), &pod).await?.invalid(causes)
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "probes_have_defaults",
            "Probes get their periods and thresholds, HTTP ones path and scheme, gRPC ones an empty service.",
            async |t| {
                let container = of_container(t, json!({ "livenessProbe": { "httpGet": { "port": 80 } }, "readinessProbe": { "grpc": { "port": 81 } } })).await?;
                let times = json!({ "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3 });
                has(&container["livenessProbe"], times.clone())?;
                has(&container["readinessProbe"], times)?;
                has(
                    &container,
                    json!({ "livenessProbe": { "httpGet": { "path": "/", "scheme": "HTTP" } }, "readinessProbe": { "grpc": { "service": "" } } }),
                )
            },
        ),
        case(
            "a_probe_needs_a_handler",
            "A probe without a handler, with two, or with a wrong port or threshold is refused.",
            async |t| {
                refused(
                    t,
                    json!({ "livenessProbe": {} }),
                    &["FieldValueRequired spec.containers[0].livenessProbe"],
                )
                .await?;
                refused(
                    t,
                    json!({ "livenessProbe": { "httpGet": { "port": 0 } } }),
                    &["FieldValueInvalid spec.containers[0].livenessProbe.httpGet.port"],
                )
                .await?;
                refused(
                    t,
                    json!({ "livenessProbe": { "exec": { "command": ["a"] }, "successThreshold": 2 } }),
                    &["FieldValueInvalid spec.containers[0].livenessProbe.successThreshold"],
                )
                .await?;
                Ok(())
            },
        ),
        case(
            "volumes_have_defaults",
            "Volumes of keys are readable by all, a volume of nothing is an empty folder, a token lasts an hour.",
            async |t| {
                let volumes = json!([
                    { "name": "a" }, { "name": "b", "configMap": { "name": "x" } }, { "name": "c", "secret": { "secretName": "x" } },
                    { "name": "d", "downwardAPI": { "items": [{ "path": "x", "fieldRef": { "fieldPath": "metadata.name" } }] } },
                    { "name": "e", "projected": { "sources": [{ "serviceAccountToken": { "path": "x" } }] } },
                    { "name": "f", "hostPath": { "path": "/x" } },
                ]);
                let pod =
                    made(t, json!({ "serviceAccountName": "s", "containers": [{ "name": "c", "image": "i" }], "volumes": volumes }))
                        .await?;
                has(
                    &pod["spec"]["volumes"],
                    json!([
                        { "emptyDir": {} }, { "configMap": { "defaultMode": 420 } }, { "secret": { "defaultMode": 420 } },
                        { "downwardAPI": { "defaultMode": 420, "items": [{ "fieldRef": { "apiVersion": "v1" } }] } },
                        { "projected": { "defaultMode": 420, "sources": [{ "serviceAccountToken": { "expirationSeconds": 3600 } }] } },
                        { "hostPath": { "type": "" } },
                    ]),
                )
            },
        ),
        case(
            "a_volume_has_one_source",
            "A volume of two sources, of no name, or that comes twice is refused.",
            async |t| {
                let spec = |volumes: Value| json!({ "metadata": { "name": "a" }, "spec": { "containers": [{ "name": "c", "image": "i" }], "volumes": volumes } });
                let path = t.core("pods", "?dryRun=All");
                t.post(
                    &path,
                    &spec(json!([{ "name": "v", "emptyDir": {}, "hostPath": { "path": "/x" } }])),
                )
                .await?
                .invalid(&["FieldValueForbidden spec.volumes[0].hostPath"])?;
                t.post(&path, &spec(json!([{ "emptyDir": {} }])))
                    .await?
                    .invalid(&["FieldValueRequired spec.volumes[0].name"])?;
                t.post(&path, &spec(json!([{ "name": "v" }, { "name": "v" }])))
                    .await?
                    .invalid(&["FieldValueDuplicate spec.volumes[1].name"])?;
                t.post(&path, &spec(json!([{ "name": "v", "secret": {} }])))
                    .await?
                    .invalid(&["FieldValueRequired spec.volumes[0].secret.secretName"])?;
                Ok(())
            },
        ),
        case(
            "a_mount_needs_its_volume",
            "A mount of no volume, or two at one path, are refused.",
            async |t| {
                let status = refused(
                    t,
                    json!({ "volumeMounts": [{ "name": "v", "mountPath": "/v" }] }),
                    &["FieldValueNotFound spec.containers[0].volumeMounts[0].name"],
                )
                .await?;
                same(
                    "message",
                    text(&status, "/details/causes/0/message").to_owned(),
                    "Not found: \"v\"".to_owned(),
                )
            },
        ),
        case(
            "limits_are_requests",
            "What is limited and not requested is requested as limited, and decides the quality of service.",
            async |t| {
                let pod = made(t, json!({ "containers": [{ "name": "c", "image": "i", "resources": { "limits": { "cpu": "1", "memory": "1Gi" } } }] })).await?;
                has(
                    &pod,
                    json!({ "spec": { "containers": [{ "resources": { "requests": { "cpu": "1", "memory": "1Gi" } } }] }, "status": { "qosClass": "Guaranteed" } }),
                )?;
                let pod = made(t, json!({ "containers": [{ "name": "c", "image": "i", "resources": { "requests": { "cpu": "1" } } }] })).await?;
                has(&pod, json!({ "status": { "qosClass": "Burstable" } }))
            },
        ),
        case(
            "amounts_have_one_form",
            "Amounts of resources come back in their one form, and no finer than thousandths.",
            async |t| {
                for (sent, expected) in [
                    ("1000m", "1"),
                    ("0.5", "500m"),
                    ("2048Mi", "2Gi"),
                    ("1n", "1m"),
                    ("12e4", "120e3"),
                    ("1E3", "1E3"),
                    ("1.5Gi", "1536Mi"),
                ] {
                    let container =
                        of_container(t, json!({ "resources": { "limits": { "cpu": sent } } }))
                            .await?;
                    same(sent, container["resources"]["limits"]["cpu"].clone(), json!(expected))?;
                }
                Ok(())
            },
        ),
        case(
            "what_is_no_amount_is_400",
            "An amount that is no quantity answers 400, and says whether digits or suffix are wrong.",
            async |t| {
                for (amount, part) in [
                    ("x", "quantities must match the regular expression"),
                    ("1ii", "unable to parse quantity's suffix"),
                ] {
                    let pod = json!({ "metadata": { "name": "a" }, "spec": { "containers": [{ "name": "c", "image": "i", "resources": { "limits": { "cpu": amount } } }] } });
                    t.post(&t.core("pods", "?dryRun=All"), &pod).await?.says(
                        400,
                        "BadRequest",
                        part,
                    )?;
                }
                Ok(())
            },
        ),
        case(
            "a_request_is_within_its_limit",
            "A request above its limit, an amount below zero and a fraction of what is whole are refused.",
            async |t| {
                let status = refused(
                    t,
                    json!({ "resources": { "requests": { "cpu": "2" }, "limits": { "cpu": "1" } } }),
                    &["FieldValueInvalid spec.containers[0].resources.requests"],
                )
                .await?;
                holds(
                    "the limit is said",
                    text(&status, "/message")
                        .contains("must be less than or equal to cpu limit of 1"),
                )?;
                refused(
                    t,
                    json!({ "resources": { "requests": { "cpu": "-1" } } }),
                    &["FieldValueInvalid spec.containers[0].resources.requests[cpu]"],
                )
                .await?;
                Ok(())
            },
        ),
        case(
            "a_fraction_of_a_byte_is_warned_of",
            "Memory that is no whole number of bytes is taken, with a Warning.",
            async |t| {
                let pod = json!({ "metadata": { "name": "a" }, "spec": { "containers": [{ "name": "c", "image": "i", "resources": { "requests": { "memory": "0.5" } } }] } });
                let answer = t.post(&t.core("pods", "?dryRun=All"), &pod).await?;
                answer.is(201)?;
                holds(
                    "it is warned of",
                    answer
                        .warnings()
                        .iter()
                        .any(|warning| warning.contains("fractional byte value")),
                )
            },
        ),
        case(
            "the_account_has_two_names",
            "serviceAccount and serviceAccountName are one.",
            async |t| {
                let pod =
                made(t, json!({ "containers": [{ "name": "c", "image": "i" }], "serviceAccountName": "s" }))
                    .await?;
                has(&pod, json!({ "spec": { "serviceAccount": "s", "serviceAccountName": "s" } }))?;
                let pod = made(
                    t,
                    json!({ "containers": [{ "name": "c", "image": "i" }], "serviceAccount": "s" }),
                )
                .await?;
                has(&pod, json!({ "spec": { "serviceAccount": "s", "serviceAccountName": "s" } }))
            },
        ),
        case(
            "on_the_hosts_network_ports_are_the_hosts",
            "A Pod on its host's network has its containers' ports there.",
            async |t| {
                let pod = made(t, json!({ "hostNetwork": true, "containers": [{ "name": "c", "image": "i", "ports": [{ "containerPort": 80 }] }] })).await?;
                has(
                    &pod,
                    json!({ "spec": { "containers": [{ "ports": [{ "containerPort": 80, "hostPort": 80, "protocol": "TCP" }] }] } }),
                )
            },
        ),
        case(
            "a_class_gives_a_priority",
            "The two classes of the system have priorities of their own; an unknown one, and a priority without one, answer 403.",
            async |t| {
                let spec = |members: Value| {
                    let mut spec = json!({ "containers": [{ "name": "c", "image": "i" }] });
                    for (member, value) in members.as_object().into_iter().flatten() {
                        spec[member] = value.clone();
                    }
                    json!({ "metadata": { "name": "a" }, "spec": spec })
                };
                let path = t.core("pods", "?dryRun=All");
                let pod = t
                    .make(&path, spec(json!({ "priorityClassName": "system-node-critical" })))
                    .await?;
                has(&pod, json!({ "spec": { "priority": 2_000_001_000 } }))?;
                t.post(&path, &spec(json!({ "priorityClassName": "none" }))).await?.says(
                    403,
                    "Forbidden",
                    "no PriorityClass with name none was found",
                )?;
                t.post(&path, &spec(json!({ "priority": 5 }))).await?.says(
                    403,
                    "Forbidden",
                    "the integer value of priority (5) must not be provided in pod spec",
                )?;
                Ok(())
            },
        ),
        case(
            "tolerations_of_ones_own_stay",
            "A Pod that tolerates unready nodes itself is given the other toleration alone.",
            async |t| {
                let own = json!([{ "key": "node.kubernetes.io/not-ready", "operator": "Exists" }]);
                let pod = made(
                    t,
                    json!({ "containers": [{ "name": "c", "image": "i" }], "tolerations": own }),
                )
                .await?;
                has(
                    &pod["spec"]["tolerations"],
                    json!([{ "key": "node.kubernetes.io/not-ready", "effect": null }, { "key": "node.kubernetes.io/unreachable", "tolerationSeconds": 300 }]),
                )
            },
        ),
        case(
            "a_manifest_can_be_put_again",
            "A PUT of a Pod as it was written, without what admission added, changes nothing.",
            async |t| {
                let made = t.make(&t.core("pods", ""), pod("a")).await?;
                let put = t.put(&t.core("pods", "/a"), &pod("a")).await?.is(200)?;
                same("version", version(&put), version(&made))
            },
        ),
        case(
            "one_address_is_the_list_of_all",
            "A status with podIP gets podIPs, and the other way round.",
            async |t| {
                t.make(&t.core("pods", ""), pod("a")).await?;
                let patched = t
                    .merge(
                        &t.core("pods", "/a/status"),
                        json!({ "status": { "podIP": "192.0.2.1" } }),
                    )
                    .await?
                    .is(200)?;
                has(&patched, json!({ "status": { "podIPs": [{ "ip": "192.0.2.1" }] } }))
            },
        ),
        case(
            "doubled_names_are_warned_of",
            "An environment variable that comes twice, and a port that comes twice, are warned of.",
            async |t| {
                let container = json!({ "name": "c", "image": "i", "env": [{ "name": "A", "value": "1" }, { "name": "A", "value": "2" }], "ports": [{ "containerPort": 80 }, { "containerPort": 80 }] });
                let pod =
                    json!({ "metadata": { "name": "a" }, "spec": { "containers": [container] } });
                let answer = t.post(&t.core("pods", "?dryRun=All"), &pod).await?;
                answer.is(201)?;
                same("warnings", answer.warnings(), vec![
                "299 - \"spec.containers[0].env[1]: hides previous definition of \\\"A\\\", which may be dropped when using apply\"".to_owned(),
                "299 - \"spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]\"".to_owned(),
            ])
            },
        ),
        case(
            "times_are_refused_as_go_refuses_them",
            "A time that is none is refused with the layout and the part that does not fit.",
            async |t| {
                let mut object = lease("a", "h");
                object["spec"]["renewTime"] = "2026-01-01T00:00:00Z".into();
                let part = "parsing time \"2026-01-01T00:00:00Z\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"Z\" as \".000000\"";
                t.post(&t.leases(""), &object).await?.says(400, "BadRequest", part)?;
                object["spec"]["renewTime"] = "9999-12-31T23:59:59.000000Z".into();
                has(
                    &t.make(&t.leases(""), object).await?,
                    json!({ "spec": { "renewTime": "9999-12-31T23:59:59.000000Z" } }),
                )
            },
        ),
        case(
            "structs_are_always_written",
            "A Lease without a spec has an empty one; an Event without times says null.",
            async |t| {
                let made = t.make(&t.leases(""), named("a")).await?;
                same("spec", made["spec"].clone(), json!({}))?;
                let made = t.make(&t.core("events", ""), old_event("a", &t.namespace)).await?;
                holds(
                    "firstTimestamp is null",
                    made.get("firstTimestamp").is_some_and(Value::is_null),
                )?;
                has(
                    &made,
                    json!({ "source": { "component": "c" }, "reportingComponent": "", "reportingInstance": "" }),
                )
            },
        ),
        case(
            "a_claims_source_has_two_names",
            "dataSource and dataSourceRef of a claim are one.",
            async |t| {
                let source = json!({ "kind": "PersistentVolumeClaim", "name": "other" });
                for member in ["dataSource", "dataSourceRef"] {
                    let mut object = claim("a", &t.class);
                    object["spec"][member] = source.clone();
                    let made = t.make(&t.claims("?dryRun=All"), object).await?;
                    has(
                        &made,
                        json!({ "spec": { "dataSource": { "apiGroup": null, "name": "other" }, "dataSourceRef": { "name": "other" } } }),
                    )?;
                }
                Ok(())
            },
        ),
    ]
}
