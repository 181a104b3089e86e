//! What drivers write, and what a cluster shares out: storage, devices, the server's own time.

use fastrand::Rng;
use serde_json::{Value, json};

use crate::fuzz::kinds::{BASE, Kind};
use crate::fuzz::pick::one;

pub(super) const KINDS: &[Kind] = &[
    Kind {
        collection: "/apis/storage.k8s.io/v1/volumeattachments",
        kind: "VolumeAttachment",
        subresources: &["status"],
        rest: attachment,
        status: attachment_status,
        ..STORAGE
    },
    Kind {
        collection: "/apis/storage.k8s.io/v1/csidrivers",
        kind: "CSIDriver",
        rest: driver,
        ..STORAGE
    },
    Kind {
        collection: "/apis/storage.k8s.io/v1/csinodes",
        kind: "CSINode",
        rest: csi_node,
        ..STORAGE
    },
    Kind {
        collection: "/apis/storage.k8s.io/v1/namespaces/{ns}/csistoragecapacities",
        kind: "CSIStorageCapacity",
        cluster: false,
        rest: capacity,
        ..STORAGE
    },
    Kind {
        collection: "/apis/storage.k8s.io/v1/volumeattributesclasses",
        kind: "VolumeAttributesClass",
        rest: attributes_class,
        ..STORAGE
    },
    Kind {
        collection: "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
        kind: "FlowSchema",
        subresources: &["status"],
        rest: flow_schema,
        status: conditions,
        // The real server writes its status.
        dry: true,
        ..FLOW
    },
    Kind {
        collection: "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
        kind: "PriorityLevelConfiguration",
        subresources: &["status"],
        rest: priority_level,
        status: conditions,
        ..FLOW
    },
    Kind {
        collection: "/apis/resource.k8s.io/v1/deviceclasses",
        kind: "DeviceClass",
        cluster: true,
        ..DEVICES
    },
    Kind {
        collection: "/apis/resource.k8s.io/v1/namespaces/{ns}/resourceclaims",
        kind: "ResourceClaim",
        subresources: &["status"],
        rest: claim,
        status: claim_status,
        ..DEVICES
    },
    Kind {
        collection: "/apis/resource.k8s.io/v1/namespaces/{ns}/resourceclaimtemplates",
        kind: "ResourceClaimTemplate",
        rest: |rng| json!({ "spec": claim(rng) }),
        ..DEVICES
    },
    Kind {
        collection: "/apis/resource.k8s.io/v1/resourceslices",
        kind: "ResourceSlice",
        cluster: true,
        fields: &["spec.driver", "spec.nodeName"],
        rest: slice,
        ..DEVICES
    },
];

const STORAGE: Kind = Kind { api_version: "storage.k8s.io/v1", cluster: true, ..BASE };
const FLOW: Kind = Kind { api_version: "flowcontrol.apiserver.k8s.io/v1", cluster: true, ..BASE };
const DEVICES: Kind = Kind { api_version: "resource.k8s.io/v1", ..BASE };

fn attachment(rng: &mut Rng) -> Value {
    let source = one(
        rng,
        &[
            json!({ "persistentVolumeName": "v" }),
            json!({ "persistentVolumeName": "v" }),
            json!({ "persistentVolumeName": "" }),
            json!({ "persistentVolumeName": "V" }),
            json!({}),
        ],
    );
    json!({ "spec": {
        "attacher": one(rng, &["a.example.com", "a.example.com", "A.b", "", "a b"]),
        "nodeName": one(rng, &["n", "n", "m", "N"]), "source": source,
    } })
}

fn attachment_status(rng: &mut Rng) -> Value {
    let mut status = json!({ "attached": rng.bool() });
    match rng.u8(..4) {
        0 => status["attachmentMetadata"] = json!({ "a": "b" }),
        1 => status["attachError"] = json!({ "message": "m", "errorCode": one(rng, &[1, -1]) }),
        2 => status["detachError"] = json!({ "time": "2026-01-02T03:04:05Z" }),
        _ => {}
    }
    status
}

fn driver(rng: &mut Rng) -> Value {
    let mut spec = json!({});
    match rng.u8(..9) {
        0 => spec["attachRequired"] = rng.bool().into(),
        1 => spec["fsGroupPolicy"] = one(rng, &["File", "None", "Odd"]).into(),
        2 => {
            spec["volumeLifecycleModes"] = one(
                rng,
                &[json!(["Ephemeral"]), json!(["Persistent", "Ephemeral"]), json!(["Odd"])],
            );
        }
        3 => {
            spec["tokenRequests"] = one(
                rng,
                &[
                    json!([{ "audience": "a" }]),
                    json!([{ "audience": "a" }, { "audience": "a" }]),
                    json!([{ "audience": "", "expirationSeconds": 10 }, { "audience": "b" }]),
                ],
            );
        }
        4 => spec["nodeAllocatableUpdatePeriodSeconds"] = one(rng, &[9, 10]).into(),
        5 => spec["serviceAccountTokenInSecrets"] = rng.bool().into(),
        6 => spec["seLinuxMount"] = rng.bool().into(),
        7 => spec["storageCapacity"] = rng.bool().into(),
        _ => {}
    }
    json!({ "spec": spec })
}

fn csi_node(rng: &mut Rng) -> Value {
    let mut driver = json!({
        "name": one(rng, &["d.example.com", "d.example.com", "D", ""]),
        "nodeID": one(rng, &["i", "i", "j", ""]),
    });
    if rng.u8(..3) == 0 {
        driver["topologyKeys"] =
            one(rng, &[json!(["a"]), json!(["a", "a"]), json!([""]), json!(["a b"])]);
    }
    if rng.u8(..4) == 0 {
        driver["allocatable"] = json!({ "count": one(rng, &[0, 3, -1]) });
    }
    let other = json!({ "name": "d.example.com", "nodeID": "k" });
    let drivers = one(rng, &[json!([driver]), json!([driver]), json!([driver, other]), json!([])]);
    json!({ "spec": { "drivers": drivers } })
}

fn capacity(rng: &mut Rng) -> Value {
    let mut object = json!({ "storageClassName": one(rng, &["c", "c", "d", "C", ""]) });
    if rng.bool() {
        object["capacity"] = one(rng, &["1Gi", "1024Mi", "-1", "0"]).into();
    }
    if rng.u8(..3) == 0 {
        object["nodeTopology"] = one(
            rng,
            &[
                json!({}),
                json!({ "matchLabels": { "a": "b" } }),
                json!({ "matchLabels": { "a b": "c" } }),
            ],
        );
    }
    object
}

fn attributes_class(rng: &mut Rng) -> Value {
    let parameters = [json!({ "a": "b" }), json!({ "a": "b" }), json!({ "a": "c" }), json!({})];
    let mut object =
        json!({ "driverName": one(rng, &["d.example.com", "d.example.com", "D", "a b", ""]) });
    if rng.u8(..8) > 0 {
        object["parameters"] = one(rng, &parameters);
    }
    object
}

fn subject(rng: &mut Rng) -> Value {
    one(
        rng,
        &[
            json!({ "kind": "User", "user": { "name": "u" } }),
            json!({ "kind": "User", "user": { "name": "u" } }),
            json!({ "kind": "Group", "group": { "name": "" } }),
            json!({ "kind": "Group", "user": { "name": "u" } }),
            json!({ "kind": "ServiceAccount", "serviceAccount": { "name": "*", "namespace": "n" } }),
            json!({ "kind": "ServiceAccount", "serviceAccount": { "name": "A", "namespace": "" } }),
            json!({ "kind": "Odd" }),
        ],
    )
}

fn flow_schema(rng: &mut Rng) -> Value {
    let resources = json!({
        "verbs": one(rng, &[json!(["get"]), json!(["*"]), json!(["*", "get"]), json!(["odd"]), json!([])]),
        "apiGroups": one(rng, &[json!([""]), json!(["*", ""]), json!([])]),
        "resources": one(rng, &[json!(["pods"]), json!(["*", "pods"]), json!([])]),
        "namespaces": one(rng, &[json!(["*"]), json!(["n"]), json!(["*", "n"]), json!(["N"]), json!([])]),
        "clusterScope": rng.bool(),
    });
    let urls = json!({
        "verbs": ["get"],
        "nonResourceURLs": one(rng, &[json!(["/a/*"]), json!(["*"]), json!(["*", "/"]), json!(["a", "/a b", "/a//", "/*/a", ""]), json!([])]),
    });
    let mut rule = json!({ "subjects": [subject(rng)] });
    match rng.u8(..5) {
        0 => {}
        1 => rule["nonResourceRules"] = json!([urls]),
        2 => rule["subjects"] = json!([]),
        _ => rule["resourceRules"] = json!([resources]),
    }
    let mut spec = json!({
        "priorityLevelConfiguration": { "name": one(rng, &["global-default", "global-default", "P", ""]) },
        "rules": [rule],
    });
    if rng.bool() {
        spec["matchingPrecedence"] = one(rng, &[500, 500, 1, -1, 0, 20000]).into();
    }
    if rng.u8(..4) == 0 {
        spec["distinguisherMethod"] =
            json!({ "type": one(rng, &["ByUser", "ByNamespace", "Odd"]) });
    }
    json!({ "spec": spec })
}

fn conditions(rng: &mut Rng) -> Value {
    let condition = |kind: &str| json!({ "type": kind, "status": "True", "reason": "r" });
    let all = [
        json!([condition("Dangling")]),
        json!([condition("A"), condition("A")]),
        json!([condition("")]),
    ];
    json!({ "conditions": one(rng, &all) })
}

fn priority_level(rng: &mut Rng) -> Value {
    let queuing = one(
        rng,
        &[
            json!({}),
            json!({ "queues": 16, "handSize": 4, "queueLengthLimit": 10 }),
            json!({ "queues": 4, "handSize": 5 }),
            json!({ "queues": -1, "handSize": -1, "queueLengthLimit": -1 }),
            json!({ "queues": 1_000_000, "handSize": 8 }),
        ],
    );
    let response = match rng.u8(..6) {
        0 => json!({ "type": "Reject" }),
        1 => json!({ "type": "Reject", "queuing": queuing }),
        2 => json!({ "type": one(rng, &["Queue", "Odd", ""]) }),
        _ => json!({ "type": "Queue", "queuing": queuing }),
    };
    let mut limited = json!({ "limitResponse": response });
    match rng.u8(..5) {
        0 => limited["nominalConcurrencyShares"] = one(rng, &[0, 5, -1]).into(),
        1 => limited["lendablePercent"] = one(rng, &[0, 100, 101]).into(),
        2 => limited["borrowingLimitPercent"] = one(rng, &[0, -1]).into(),
        _ => {}
    }
    let spec = match rng.u8(..8) {
        0 => json!({ "type": "Exempt" }),
        1 => json!({ "type": "Limited" }),
        2 => json!({ "type": one(rng, &["Odd", ""]) }),
        3 => json!({ "type": "Limited", "limited": limited, "exempt": {} }),
        4 => json!({ "type": "Exempt", "limited": limited, "exempt": { "lendablePercent": 101 } }),
        _ => json!({ "type": "Limited", "limited": limited }),
    };
    json!({ "spec": spec })
}

fn claim(rng: &mut Rng) -> Value {
    let exactly = one(
        rng,
        &[
            json!({ "deviceClassName": "c" }),
            json!({ "deviceClassName": "c" }),
            json!({ "deviceClassName": "c", "count": 2 }),
            json!({ "deviceClassName": "c", "allocationMode": "All" }),
            json!({ "deviceClassName": "c", "count": -1 }),
        ],
    );
    let request = |name: &str| json!({ "name": name, "exactly": exactly });
    let requests = one(
        rng,
        &[
            json!([request("r")]),
            json!([request("r")]),
            json!([request("r"), request("s")]),
            json!([{ "name": "r", "firstAvailable": [{ "name": "a", "deviceClassName": "c" }] }]),
        ],
    );
    json!({ "spec": { "devices": { "requests": requests } } })
}

fn claim_status(rng: &mut Rng) -> Value {
    let user = json!({ "resource": "pods", "name": "p", "uid": "u" });
    one(rng, &[json!({}), json!({ "reservedFor": [user] }), json!({ "allocation": {} })])
}

fn slice(rng: &mut Rng) -> Value {
    let mut spec = json!({
        "driver": one(rng, &["d.example.com", "d.example.com", "D.b", "", "a b"]),
        "pool": one(
            rng,
            &[
                json!({ "name": "p", "resourceSliceCount": 1 }),
                json!({ "name": "p", "resourceSliceCount": 1 }),
                json!({ "name": "p/q", "resourceSliceCount": 1, "generation": 2 }),
                json!({ "name": "P", "generation": -1 }),
                json!({}),
            ],
        ),
    });
    match rng.u8(..6) {
        0 => spec["allNodes"] = rng.bool().into(),
        1 => spec["nodeName"] = one(rng, &["", "N", "m"]).into(),
        2 => {
            spec["allNodes"] = true.into();
            spec["nodeName"] = "n".into();
        }
        3 => {}
        _ => spec["nodeName"] = "n".into(),
    }
    json!({ "spec": spec })
}
