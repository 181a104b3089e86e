//! Objects whose content is little but what they are: maps, leases, claims, events and their like.

use fastrand::Rng;
use serde_json::{Value, json};

use crate::fuzz::pick::one;

pub(super) fn map(rng: &mut Rng) -> Value {
    let mut data = json!({});
    for key in ["k", "l", "m"] {
        if rng.u8(..3) > 0 {
            data[key] = one(rng, &["v", "w", "", "a<b&\u{2028}é"]).into();
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

pub(super) fn widget(rng: &mut Rng) -> Value {
    let mut spec = json!({});
    if rng.u8(..4) > 0 {
        spec["color"] = one(rng, &["red", "blue"]).into();
    }
    if rng.bool() {
        let sizes = [
            json!(1),
            json!(2),
            json!(2.0),
            json!(1.5),
            json!(null),
            json!(1e20),
            json!(1.5e-7),
            json!(u64::MAX),
            json!(i64::MAX),
            json!(-0.0),
        ];
        spec["size"] = one(rng, &sizes);
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

pub(super) fn lease(rng: &mut Rng) -> Value {
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
            "0001-01-01T00:00:00.000000Z",
            "0001-01-01T01:00:00.000000+01:00",
            "2026-01-02T3:04:05,000006Z",
            "2026-01-02T03:04:05.+00006Z",
            "9999-12-31T23:59:59.000000-01:00",
            "2026-01-02t03:04:05.000000z",
        ];
        let weighted = if rng.u8(..6) == 0 { &times[2..] } else { &times[..2] };
        spec["renewTime"] = one(rng, weighted).into();
    }
    if rng.bool() {
        spec["leaseTransitions"] = one(rng, &[0, 1, 2]).into();
    }
    json!({ "spec": spec })
}

pub(super) fn candidate(rng: &mut Rng) -> Value {
    let mut spec = json!({
        "leaseName": one(rng, &["l", "l", "m", ""]),
        "binaryVersion": one(rng, &["1.36.0", "1.36.0", "1.36", "v1", "01.2.3", ""]),
        "strategy": one(rng, &["OldestEmulationVersion", "OldestEmulationVersion", "example.com/s", "Odd", "a b/c", ""]),
    });
    if rng.u8(..4) > 0 {
        spec["emulationVersion"] =
            one(rng, &["1.35.0", "1.35.0", "1.37.0", "1.36.0-alpha.1", "x", "0.0.0"]).into();
    }
    if rng.u8(..4) == 0 {
        spec["renewTime"] = one(rng, &["2026-01-02T03:04:05.000006Z", "x"]).into();
    }
    json!({ "spec": spec })
}

pub(super) fn secret(rng: &mut Rng) -> Value {
    let mut object = json!({ "data": { "k": one(rng, &["dg==", "", "dg"]) } });
    if rng.u8(..3) == 0 {
        object["stringData"] = json!({ "s": one(rng, &["v", ""]) });
    }
    if rng.u8(..5) == 0 {
        object["type"] = one(rng, &["Opaque", "example.com/t", "kubernetes.io/tls"]).into();
    }
    object
}

pub(super) fn claim(rng: &mut Rng) -> Value {
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

pub(super) fn service(rng: &mut Rng) -> Value {
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

pub(super) fn account(rng: &mut Rng) -> Value {
    if rng.bool() { json!({}) } else { json!({ "automountServiceAccountToken": rng.bool() }) }
}

pub(super) fn event(rng: &mut Rng) -> Value {
    json!({
        "involvedObject": { "kind": "Pod", "namespace": one(rng, &["{ns}", "{ns}", "other"]), "name": "p", "apiVersion": "v1" },
        "reason": one(rng, &["Seen", "Lost"]), "message": "it was seen", "type": one(rng, &["Normal", "Warning", "Odd"]),
        "source": { "component": "c" }, "count": rng.u8(..3),
    })
}

pub(super) fn volume(rng: &mut Rng) -> Value {
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

pub(super) fn class(rng: &mut Rng) -> Value {
    let mut object = json!({ "provisioner": one(rng, &["example.com/p", "example.com/q", ""]) });
    match rng.u8(..6) {
        0 => object["reclaimPolicy"] = one(rng, &["Delete", "Retain", "Odd"]).into(),
        1 => object["allowVolumeExpansion"] = rng.bool().into(),
        2 => object["parameters"] = json!({ "a": one(rng, &["b", "c"]) }),
        _ => {}
    }
    object
}

pub(super) fn widget_status(rng: &mut Rng) -> Value {
    one(rng, &[json!({ "ready": true }), json!({ "ready": false, "n": 1 }), json!({}), json!(null)])
}

pub(super) fn claim_status(rng: &mut Rng) -> Value {
    json!({
        "phase": one(rng, &["Pending", "Bound", "Lost", "Odd"]), "accessModes": ["ReadWriteOnce"],
        "capacity": { "storage": one(rng, &["1Gi", "2Gi", "-1"]) },
    })
}

pub(super) fn new_event(rng: &mut Rng) -> Value {
    let mut event = json!({
        "eventTime": one(rng, &["2026-01-02T03:04:05.000006Z", "2026-01-02T03:04:05.000006Z", "x"]),
        "action": one(rng, &["See", "See", ""]), "reason": one(rng, &["Seen", "Lost", ""]),
        "type": one(rng, &["Normal", "Warning", "Odd"]), "note": one(rng, &["it was seen", ""]),
        "reportingController": one(rng, &["example.com/c", "c", "a b"]), "reportingInstance": one(rng, &["i", "i", ""]),
        "regarding": { "kind": "Pod", "namespace": one(rng, &["{ns}", "{ns}", "other"]), "name": "p", "apiVersion": "v1" },
    });
    if rng.u8(..4) == 0 {
        event["series"] = json!({
            "count": one(rng, &[2, 1, 0]), "lastObservedTime": "2026-01-02T03:04:06.000006Z",
        });
    }
    event
}
