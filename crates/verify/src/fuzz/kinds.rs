//! The kinds that calls are about: where they are, what an object of each looks like, and what may be changed of it.

use fastrand::Rng;
use serde_json::{Value, json};

/// One kind.
pub(super) struct Kind {
    pub(super) collection: &'static str,
    pub(super) api_version: &'static str,
    pub(super) kind: &'static str,
    /// Its names begin with what nobody else's do.
    pub(super) cluster: bool,
    pub(super) subresources: &'static [&'static str],
    pub(super) custom: bool,
    /// How often it is drawn.
    pub(super) weight: u32,
    /// Fields that can be selected by, beside name and namespace.
    pub(super) fields: &'static [&'static str],
    /// Everything of an object but metadata, kind and version.
    pub(super) rest: fn(&mut Rng) -> Value,
}

const BASE: Kind = Kind {
    collection: "",
    api_version: "v1",
    kind: "",
    cluster: false,
    subresources: &[],
    custom: false,
    weight: 1,
    fields: &[],
    rest: |_| json!({}),
};

pub(super) const KINDS: &[Kind] = &[
    Kind {
        collection: "/api/v1/namespaces/{ns}/configmaps",
        kind: "ConfigMap",
        weight: 8,
        rest: map,
        ..BASE
    },
    Kind {
        collection: "/apis/conformance.example.com/v1/namespaces/{ns}/widgets",
        api_version: "conformance.example.com/v1",
        kind: "Widget",
        subresources: &["status"],
        custom: true,
        weight: 7,
        fields: &["spec.color"],
        rest: widget,
        ..BASE
    },
    Kind {
        collection: "/apis/conformance.example.com/v2/namespaces/{ns}/widgets",
        api_version: "conformance.example.com/v2",
        kind: "Widget",
        subresources: &["status"],
        custom: true,
        weight: 2,
        fields: &["spec.color"],
        rest: widget,
        ..BASE
    },
    Kind {
        collection: "/apis/conformance.example.com/v1/gadgets",
        api_version: "conformance.example.com/v1",
        kind: "Gadget",
        cluster: true,
        custom: true,
        weight: 2,
        rest: widget,
        ..BASE
    },
    Kind {
        collection: "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases",
        api_version: "coordination.k8s.io/v1",
        kind: "Lease",
        weight: 5,
        rest: lease,
        ..BASE
    },
    Kind {
        collection: "/api/v1/namespaces/{ns}/secrets",
        kind: "Secret",
        weight: 2,
        fields: &["type"],
        rest: secret,
        ..BASE
    },
    Kind {
        collection: "/api/v1/namespaces/{ns}/pods",
        kind: "Pod",
        subresources: &["status"],
        weight: 0,
        fields: &["spec.nodeName", "status.phase", "spec.restartPolicy"],
        rest: pod,
        ..BASE
    },
    Kind {
        collection: "/api/v1/namespaces/{ns}/persistentvolumeclaims",
        kind: "PersistentVolumeClaim",
        subresources: &["status"],
        weight: 0,
        rest: claim,
        ..BASE
    },
    Kind {
        collection: "/api/v1/namespaces/{ns}/services",
        kind: "Service",
        subresources: &["status"],
        fields: &["spec.type", "spec.clusterIP"],
        rest: service,
        ..BASE
    },
    Kind {
        collection: "/api/v1/namespaces/{ns}/serviceaccounts",
        kind: "ServiceAccount",
        rest: account,
        ..BASE
    },
    Kind {
        collection: "/api/v1/namespaces/{ns}/events",
        kind: "Event",
        fields: &["involvedObject.name", "reason", "type"],
        rest: event,
        ..BASE
    },
    Kind {
        collection: "/api/v1/persistentvolumes",
        kind: "PersistentVolume",
        cluster: true,
        subresources: &["status"],
        rest: volume,
        ..BASE
    },
    Kind {
        collection: "/apis/storage.k8s.io/v1/storageclasses",
        api_version: "storage.k8s.io/v1",
        kind: "StorageClass",
        cluster: true,
        rest: class,
        ..BASE
    },
];

/// One of a few.
pub(super) fn one<T: Clone>(rng: &mut Rng, of: &[T]) -> T {
    of[rng.usize(..of.len())].clone()
}

/// Something of the JSON that nobody expects there.
pub(super) fn odd(rng: &mut Rng) -> Value {
    one(
        rng,
        &[
            json!(null),
            json!(0),
            json!(-1),
            json!(1.5),
            json!(true),
            json!(""),
            json!("x"),
            json!([]),
            json!({}),
            json!(["x"]),
            json!({ "a": 1 }),
            json!([null]),
            json!(4_294_967_296_i64),
            json!("é\n"),
        ],
    )
}

fn map(rng: &mut Rng) -> Value {
    let mut data = json!({});
    for key in ["k", "l", "m"] {
        if rng.u8(..3) > 0 {
            data[key] = one(rng, &["v", "w", ""]).into();
        }
    }
    let mut object = json!({ "data": data });
    if rng.u8(..10) == 0 {
        object["binaryData"] = json!({ "b": one(rng, &["eA==", "", "!"]) });
    }
    if rng.u8(..20) == 0 {
        object["immutable"] = rng.bool().into();
    }
    object
}

fn widget(rng: &mut Rng) -> Value {
    let mut spec = json!({});
    if rng.u8(..4) > 0 {
        spec["color"] = one(rng, &["red", "blue"]).into();
    }
    if rng.bool() {
        spec["size"] = one(rng, &[json!(1), json!(2), json!(2.0), json!(1.5), json!(null)]);
    }
    if rng.u8(..3) == 0 {
        spec["list"] = one(rng, &[json!(["a", "b"]), json!([]), json!([{ "name": "a", "x": 1 }])]);
    }
    let mut object = json!({ "spec": spec });
    if rng.u8(..3) == 0 {
        object["status"] = json!({ "ready": rng.bool() });
    }
    if rng.u8(..10) == 0 {
        object["beside"] = one(rng, &[json!(1), json!({ "a": null })]);
    }
    object
}

fn lease(rng: &mut Rng) -> Value {
    let mut spec = json!({});
    if rng.u8(..5) > 0 {
        spec["holderIdentity"] = one(rng, &["x", "y", ""]).into();
    }
    if rng.u8(..4) > 0 {
        spec["leaseDurationSeconds"] = one(rng, &[15, 15, 1, 0, -1]).into();
    }
    if rng.u8(..3) > 0 {
        let times = [
            "2026-01-02T03:04:05.000006Z",
            "2026-01-02T03:04:06.000000Z",
            "2026-01-02T03:04:05.000006+01:00",
            "2026-01-02T03:04:05Z",
        ];
        let weighted = if rng.u8(..12) == 0 { &times[2..] } else { &times[..2] };
        spec["renewTime"] = one(rng, weighted).into();
    }
    if rng.bool() {
        spec["leaseTransitions"] = one(rng, &[0, 1, 2]).into();
    }
    json!({ "spec": spec })
}

fn secret(rng: &mut Rng) -> Value {
    let mut object = json!({ "data": { "k": one(rng, &["dg==", "", "dg"]) } });
    if rng.u8(..3) == 0 {
        object["stringData"] = json!({ "s": one(rng, &["v", ""]) });
    }
    if rng.u8(..5) == 0 {
        object["type"] = one(rng, &["Opaque", "example.com/t", "kubernetes.io/tls"]).into();
    }
    object
}

fn pod(rng: &mut Rng) -> Value {
    let mut spec = json!({ "containers": [{ "name": "c", "image": one(rng, &["i", "j", "i:1"]) }] });
    match rng.u8(..12) {
        0 => spec["nodeName"] = "n".into(),
        1 => spec["restartPolicy"] = one(rng, &["Never", "OnFailure", "Odd"]).into(),
        2 => spec["terminationGracePeriodSeconds"] = one(rng, &[0, 5, -1]).into(),
        3 => spec["containers"] = json!([]),
        4 => spec["volumes"] = json!([{ "name": "v", "emptyDir": {} }]),
        5 => spec["containers"][0]["env"] = json!([{ "name": "E", "value": "1" }]),
        6 => spec["containers"][0]["ports"] = json!([{ "containerPort": 80 }]),
        _ => {}
    }
    json!({ "spec": spec })
}

fn claim(rng: &mut Rng) -> Value {
    let mut spec = json!({
        "accessModes": [one(rng, &["ReadWriteOnce", "ReadWriteOnce", "ReadWriteMany", "Odd"])],
        "resources": { "requests": { "storage": one(rng, &["1Gi", "1024Mi", "2Gi", "1.5Gi", "0", "x"]) } },
    });
    match rng.u8(..8) {
        0 => spec["storageClassName"] = "".into(),
        1 => spec["volumeName"] = "v".into(),
        2 => spec["volumeMode"] = one(rng, &["Block", "Filesystem", "Odd"]).into(),
        _ => spec["storageClassName"] = "none".into(),
    }
    json!({ "spec": spec })
}

fn service(rng: &mut Rng) -> Value {
    let mut spec = json!({ "ports": [{ "port": one(rng, &[80, 81, 0]) }] });
    match rng.u8(..8) {
        0 => spec["clusterIP"] = "None".into(),
        1 => spec["type"] = one(rng, &["ExternalName", "Odd", "NodePort"]).into(),
        2 => spec["selector"] = json!({ "app": "a" }),
        3 => {
            spec["ports"] =
                json!([{ "port": 80, "name": "a" }, { "port": 81, "name": one(rng, &["a", "b"]) }])
        }
        _ => {}
    }
    json!({ "spec": spec })
}

fn account(rng: &mut Rng) -> Value {
    if rng.bool() { json!({}) } else { json!({ "automountServiceAccountToken": rng.bool() }) }
}

fn event(rng: &mut Rng) -> Value {
    json!({
        "involvedObject": { "kind": "Pod", "namespace": one(rng, &["{ns}", "{ns}", "other"]), "name": "p", "apiVersion": "v1" },
        "reason": one(rng, &["Seen", "Lost"]), "message": "it was seen", "type": one(rng, &["Normal", "Warning", "Odd"]),
        "source": { "component": "c" }, "count": rng.u8(..3),
    })
}

fn volume(rng: &mut Rng) -> Value {
    let mut spec = json!({
        "accessModes": [one(rng, &["ReadWriteOnce", "ReadWriteMany"])], "storageClassName": "none",
        "capacity": { "storage": one(rng, &["1Gi", "1024Mi", "2Gi", "0"]) }, "hostPath": { "path": one(rng, &["/tmp/a", "/tmp/b"]) },
    });
    match rng.u8(..8) {
        0 => spec["persistentVolumeReclaimPolicy"] = one(rng, &["Delete", "Retain", "Odd"]).into(),
        1 => spec["claimRef"] = json!({ "namespace": "{ns}", "name": "a" }),
        _ => {}
    }
    json!({ "spec": spec })
}

fn class(rng: &mut Rng) -> Value {
    let mut object = json!({ "provisioner": one(rng, &["example.com/p", "example.com/q", ""]) });
    match rng.u8(..6) {
        0 => object["reclaimPolicy"] = one(rng, &["Delete", "Retain", "Odd"]).into(),
        1 => object["allowVolumeExpansion"] = rng.bool().into(),
        2 => object["parameters"] = json!({ "a": one(rng, &["b", "c"]) }),
        _ => {}
    }
    object
}
