//! Kinds of storage drivers, device drivers and flow control: what they fill in, refuse and keep.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::refused_members::refused;
use crate::conformance::{Case, Target, case};

fn storage(plural: &str, rest: &str) -> String {
    format!("/apis/storage.k8s.io/v1/{plural}{rest}")
}

fn flow(plural: &str) -> String {
    format!("/apis/flowcontrol.apiserver.k8s.io/v1/{plural}?dryRun=All")
}

fn claims(t: &Target, rest: &str) -> String {
    t.of_group("resource.k8s.io/v1", "resourceclaims", rest)
}

fn attachment(name: &str) -> Value {
    json!({ "metadata": { "name": name }, "spec": {
        "attacher": "example.com", "nodeName": "n", "source": { "persistentVolumeName": "v" },
    } })
}

fn level(t: &Target) -> Value {
    let queue = json!({ "type": "Queue", "queuing": {} });
    json!({
        "metadata": { "name": t.own("a") },
        "spec": { "type": "Limited", "limited": { "limitResponse": queue } },
    })
}

fn schema(t: &Target) -> Value {
    let resources = json!({
        "verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "namespaces": ["*"],
    });
    let subject = json!({ "kind": "User", "user": { "name": "u" } });
    json!({ "metadata": { "name": t.own("a") }, "spec": {
        "priorityLevelConfiguration": { "name": "global-default" },
        "rules": [{ "subjects": [subject], "resourceRules": [resources] }],
    } })
}

fn claim(name: &str) -> Value {
    let request = json!({ "name": "r", "exactly": { "deviceClassName": "c" } });
    json!({ "metadata": { "name": name }, "spec": { "devices": { "requests": [request] } } })
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "the_spec_of_an_attachment_stays",
            "A VolumeAttachment is made unattached; its spec never changes, its status leaves the metadata alone.",
            async |t| {
                let name = t.own("a");
                let path = storage("volumeattachments", &format!("/{name}"));
                let made = t.make(&storage("volumeattachments", ""), attachment(&name)).await?;
                same("status", made["status"].clone(), json!({ "attached": false }))?;
                t.merge(&path, json!({ "spec": { "nodeName": "m" } }))
                    .await?
                    .invalid(&["FieldValueInvalid spec"])?;
                let patch = json!({ "metadata": { "labels": { "a": "b" } }, "status": { "attached": true } });
                let patched = t.merge(&format!("{path}/status"), patch).await?.is(200)?;
                has(&patched, json!({ "status": { "attached": true } }))?;
                holds("no label", patched["metadata"].get("labels").is_none())?;
                refused(
                    t,
                    &storage("volumeattachments", "?dryRun=All"),
                    &attachment(&t.own("b")),
                    &[
                        ("/spec/attacher", json!(""), &["FieldValueRequired spec.attacher"]),
                        ("/spec/source", json!({}), &["FieldValueRequired spec.source"]),
                        (
                            "/spec/source/persistentVolumeName",
                            json!(""),
                            &[
                                "FieldValueRequired spec.source.persistentVolumeName",
                                "FieldValueInvalid spec.source.persistentVolumeName",
                            ],
                        ),
                    ],
                )
                .await
            },
        ),
        case(
            "a_driver_attaches_unless_it_says_no",
            "A CSIDriver is filled in; whether it attaches and which volumes it has never changes.",
            async |t| {
                let name = t.own("a");
                let object = |name: &str| json!({ "metadata": { "name": name }, "spec": {} });
                let made = t.make(&storage("csidrivers", ""), object(&name)).await?;
                same(
                    "spec",
                    made["spec"].clone(),
                    json!({
                        "attachRequired": true, "podInfoOnMount": false, "storageCapacity": false,
                        "fsGroupPolicy": "ReadWriteOnceWithFSType", "requiresRepublish": false,
                        "seLinuxMount": false, "volumeLifecycleModes": ["Persistent"],
                    }),
                )?;
                let path = storage("csidrivers", &format!("/{name}"));
                t.merge(&path, json!({ "spec": { "attachRequired": false } }))
                    .await?
                    .invalid(&["FieldValueInvalid spec.attachedRequired"])?;
                t.merge(&path, json!({ "spec": { "volumeLifecycleModes": ["Ephemeral"] } }))
                    .await?
                    .invalid(&["FieldValueInvalid spec.volumeLifecycleModes"])?;
                let changed =
                    t.merge(&path, json!({ "spec": { "podInfoOnMount": true } })).await?.is(200)?;
                // Its creation sets none.
                has(&changed, json!({ "metadata": { "generation": 1 } }))?;
                refused(
                    t,
                    &storage("csidrivers", "?dryRun=All"),
                    &object(&t.own("b")),
                    &[
                        (
                            "/spec/fsGroupPolicy",
                            json!("Odd"),
                            &["FieldValueNotSupported spec.fsGroupPolicy"],
                        ),
                        (
                            "/spec/tokenRequests",
                            json!([{ "audience": "a" }, { "audience": "a" }]),
                            &["FieldValueDuplicate spec.tokenRequests[1].audience"],
                        ),
                        (
                            "/spec/serviceAccountTokenInSecrets",
                            json!(true),
                            &["FieldValueInvalid spec.serviceAccountTokenInSecrets"],
                        ),
                    ],
                )
                .await
            },
        ),
        case(
            "a_node_has_each_driver_once",
            "A CSINode lists drivers with an id, each once; of a driver only the allocatable volumes change.",
            async |t| {
                let name = t.own("a");
                let driver = json!({ "name": "example.com", "nodeID": "i", "topologyKeys": null });
                let object = |name: &str| json!({ "metadata": { "name": name }, "spec": { "drivers": [driver] } });
                t.make(&storage("csinodes", ""), object(&name)).await?;
                let path = storage("csinodes", &format!("/{name}"));
                let mut changed = driver.clone();
                changed["allocatable"] = json!({ "count": 3 });
                t.merge(&path, json!({ "spec": { "drivers": [changed] } })).await?.is(200)?;
                changed["nodeID"] = "j".into();
                t.merge(&path, json!({ "spec": { "drivers": [changed] } }))
                    .await?
                    .invalid(&["FieldValueInvalid spec.drivers"])?;
                refused(
                    t,
                    &storage("csinodes", "?dryRun=All"),
                    &object(&t.own("b")),
                    &[
                        (
                            "/spec/drivers",
                            json!([driver, driver]),
                            &["FieldValueDuplicate spec.drivers[1].name"],
                        ),
                        (
                            "/spec/drivers/0/nodeID",
                            json!(""),
                            &["FieldValueRequired spec.drivers[0].nodeID"],
                        ),
                        (
                            "/spec/drivers/0/name",
                            json!("A b"),
                            &["FieldValueInvalid spec.drivers[0].name"],
                        ),
                    ],
                )
                .await
            },
        ),
        case(
            "attributes_and_capacities_keep_their_class",
            "A VolumeAttributesClass never changes, nor do the class and the topology of a CSIStorageCapacity.",
            async |t| {
                let name = t.own("a");
                let object = json!({ "metadata": { "name": name }, "driverName": "example.com", "parameters": { "a": "b" } });
                t.make(&storage("volumeattributesclasses", ""), object.clone()).await?;
                let path = storage("volumeattributesclasses", &format!("/{name}"));
                t.merge(&path, json!({ "driverName": "example.org", "parameters": { "a": "c" } }))
                    .await?
                    .invalid(&[
                        "FieldValueForbidden driverName",
                        "FieldValueForbidden parameters",
                    ])?;
                refused(
                    t,
                    &storage("volumeattributesclasses", "?dryRun=All"),
                    &object,
                    &[
                        ("/parameters", json!({}), &["FieldValueRequired parameters"]),
                        ("/driverName", json!(""), &["FieldValueRequired driverName"]),
                    ],
                )
                .await?;
                let capacities =
                    |rest: &str| t.of_group("storage.k8s.io/v1", "csistoragecapacities", rest);
                let capacity = json!({ "metadata": { "name": "a" }, "storageClassName": "c", "capacity": "1Gi" });
                t.make(&capacities(""), capacity).await?;
                t.merge(
                    &capacities("/a"),
                    json!({ "storageClassName": "d", "nodeTopology": {}, "capacity": "-1" }),
                )
                .await?
                .invalid(&[
                    "FieldValueInvalid capacity",
                    "FieldValueInvalid nodeTopology",
                    "FieldValueInvalid storageClassName",
                ])?;
                Ok(())
            },
        ),
        case(
            "a_flow_schema_comes_in_an_order",
            "A FlowSchema without a precedence has 1000; only the schema `exempt` has 1, and each names subjects and requests.",
            async |t| {
                let path = flow("flowschemas");
                let made = t.make(&path, schema(t)).await?;
                has(&made, json!({ "spec": { "matchingPrecedence": 1000 }, "status": {} }))?;
                let at = "spec.rules[0]";
                refused(
                    t,
                    &path,
                    &schema(t),
                    &[
                        (
                            "/spec/matchingPrecedence",
                            json!(1),
                            &["FieldValueInvalid spec.matchingPrecedence"],
                        ),
                        (
                            "/spec/matchingPrecedence",
                            json!(10001),
                            &["FieldValueInvalid spec.matchingPrecedence"],
                        ),
                        (
                            "/spec/priorityLevelConfiguration",
                            json!({ "name": "" }),
                            &["FieldValueRequired spec.priorityLevelConfiguration.name"],
                        ),
                        (
                            "/spec/rules/0/subjects",
                            json!([]),
                            &[&format!("FieldValueRequired {at}.subjects")],
                        ),
                        (
                            "/spec/rules/0/subjects/0",
                            json!({ "kind": "Group", "user": { "name": "u" } }),
                            &[
                                &format!("FieldValueRequired {at}.subjects[0].group"),
                                &format!("FieldValueForbidden {at}.subjects[0].user"),
                            ],
                        ),
                        (
                            "/spec/rules/0/resourceRules",
                            json!([]),
                            &[&format!("FieldValueRequired {at}")],
                        ),
                        (
                            "/spec/rules/0/resourceRules/0/verbs",
                            json!(["odd"]),
                            &[&format!("FieldValueNotSupported {at}.resourceRules[0].verbs")],
                        ),
                        (
                            "/spec/rules/0/resourceRules/0/namespaces",
                            json!([]),
                            &[&format!("FieldValueRequired {at}.resourceRules[0].namespaces")],
                        ),
                    ],
                )
                .await
            },
        ),
        case(
            "a_priority_level_is_limited",
            "A PriorityLevelConfiguration is limited, unless its name is `exempt`, and deals its flows to queues.",
            async |t| {
                let path = flow("prioritylevelconfigurations");
                let made = t.make(&path, level(t)).await?;
                has(
                    &made,
                    json!({ "spec": { "limited": {
                    "nominalConcurrencyShares": 30, "lendablePercent": 0,
                    "limitResponse": { "queuing": { "handSize": 8, "queues": 64, "queueLengthLimit": 50 } },
                } } }),
                )?;
                let response = "/spec/limited/limitResponse";
                let field = "spec.limited.limitResponse";
                refused(
                    t,
                    &path,
                    &level(t),
                    &[
                        (
                            "/spec/type",
                            json!("Exempt"),
                            &["FieldValueInvalid spec.type", "FieldValueForbidden spec.limited"],
                        ),
                        ("/spec/type", json!("Odd"), &["FieldValueNotSupported spec.type"]),
                        ("/spec/limited", Value::Null, &["FieldValueRequired spec.limited"]),
                        ("/spec/exempt", json!({}), &["FieldValueForbidden spec.exempt"]),
                        (
                            response,
                            json!({ "type": "Queue" }),
                            &[&format!("FieldValueRequired {field}.queuing")],
                        ),
                        (
                            response,
                            json!({ "type": "Reject", "queuing": {} }),
                            &[&format!("FieldValueForbidden {field}.queuing")],
                        ),
                        (
                            "/spec/limited/limitResponse/queuing",
                            json!({ "queues": 4, "handSize": 5 }),
                            &[&format!("FieldValueInvalid {field}.queuing.handSize")],
                        ),
                        (
                            "/spec/limited/lendablePercent",
                            json!(101),
                            &["FieldValueInvalid spec.limited.lendablePercent"],
                        ),
                    ],
                )
                .await
            },
        ),
        case(
            "a_claim_asks_for_devices_of_a_class",
            "A request of a ResourceClaim is for one device unless it says otherwise; the spec never changes.",
            async |t| {
                let made = t.make(&claims(t, ""), claim("a")).await?;
                let exactly = &made["spec"]["devices"]["requests"][0]["exactly"];
                same(
                    "exactly",
                    exactly.clone(),
                    json!({ "allocationMode": "ExactCount", "count": 1, "deviceClassName": "c" }),
                )?;
                t.merge(&claims(t, "/a"), json!({ "spec": { "devices": null } }))
                    .await?
                    .invalid(&["FieldValueInvalid spec"])?;
                let user = json!({ "resource": "pods", "name": "p", "uid": "u" });
                t.merge(&claims(t, "/a/status"), json!({ "status": { "reservedFor": [user] } }))
                    .await?
                    .invalid(&["FieldValueForbidden status.reservedFor"])?;
                let request = "spec.devices.requests[0]";
                refused(
                    t,
                    &claims(t, "?dryRun=All"),
                    &claim("b"),
                    &[
                        (
                            "/spec/devices/requests/0/exactly",
                            Value::Null,
                            &[&format!("FieldValueRequired {request}")],
                        ),
                        (
                            "/spec/devices/requests/0/name",
                            json!(""),
                            &[&format!("FieldValueInvalid {request}.name")],
                        ),
                        (
                            "/spec/devices/requests/0/exactly/count",
                            json!(-1),
                            &[&format!("FieldValueInvalid {request}.exactly.count")],
                        ),
                        (
                            "/spec/devices/requests/0/exactly/allocationMode",
                            json!("Odd"),
                            &[&format!("FieldValueNotSupported {request}.exactly.allocationMode")],
                        ),
                    ],
                )
                .await
            },
        ),
        case(
            "a_slice_is_of_a_driver_on_some_nodes",
            "A ResourceSlice says in one way on which nodes it is; its driver, pool and node never change.",
            async |t| {
                let path = |rest: &str| format!("/apis/resource.k8s.io/v1/resourceslices{rest}");
                let object = |name: &str| {
                    json!({ "metadata": { "name": name }, "spec": {
                    "driver": "example.com", "nodeName": "n", "pool": { "name": "p", "resourceSliceCount": 1 },
                } })
                };
                let name = t.own("a");
                t.make(&path(""), object(&name)).await?;
                t.merge(
                    &path(&format!("/{name}")),
                    json!({ "spec": { "driver": "example.org", "nodeName": "m" } }),
                )
                .await?
                .invalid(&["FieldValueInvalid spec.driver", "FieldValueInvalid spec.nodeName"])?;
                refused(
                    t,
                    &path("?dryRun=All"),
                    &object(&t.own("b")),
                    &[
                        ("/spec/nodeName", Value::Null, &["FieldValueRequired spec"]),
                        ("/spec/allNodes", json!(true), &["FieldValueInvalid spec"]),
                        (
                            "/spec/pool",
                            json!({ "name": "", "resourceSliceCount": 1 }),
                            &["FieldValueRequired spec.pool.name"],
                        ),
                        ("/spec/driver", json!(""), &["FieldValueRequired spec.driver"]),
                    ],
                )
                .await
            },
        ),
    ]
}
