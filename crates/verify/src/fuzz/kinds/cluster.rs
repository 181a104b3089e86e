//! What a cluster is made of, and who may do what in it: nodes, addresses, roles.

use fastrand::Rng;
use serde_json::{Value, json};

use crate::fuzz::pick::one;

pub(super) fn endpoints(rng: &mut Rng) -> Value {
    let addresses = json!([{ "ip": one(rng, &["1.2.3.4", "1.2.3.5", "127.0.0.1", "x"]) }]);
    let mut subset = json!({ "addresses": addresses });
    if rng.u8(..3) > 0 {
        subset["ports"] = one(
            rng,
            &[
                json!([{ "port": 80 }]),
                json!([{ "port": 80, "name": "a" }, { "port": 81, "name": "b" }]),
                json!([{ "port": 0 }]),
                json!([{ "port": 80, "protocol": "Odd" }]),
            ],
        );
    }
    if rng.u8(..4) == 0 {
        subset["notReadyAddresses"] = json!([{ "ip": "1.2.3.6" }]);
    }
    one(rng, &[json!({ "subsets": [subset] }), json!({})])
}

pub(super) fn slice(rng: &mut Rng) -> Value {
    let mut slice = json!({
        "addressType": one(rng, &["IPv4", "IPv4", "FQDN", "Odd"]),
        "endpoints": [{ "addresses": one(rng, &[json!(["1.2.3.4"]), json!(["x"]), json!([])]) }],
    });
    if rng.bool() {
        slice["ports"] = one(
            rng,
            &[
                json!([{ "port": 80 }]),
                json!([{ "port": 80, "name": "a" }, { "port": 81, "name": "a" }]),
                json!([{ "name": "A" }]),
            ],
        );
    }
    if rng.u8(..4) == 0 {
        slice["endpoints"][0]["conditions"] = json!({ "ready": rng.bool() });
    }
    slice
}

pub(super) fn role(rng: &mut Rng) -> Value {
    let mut rules = json!([{
        "apiGroups": one(rng, &[json!([""]), json!(["apps"]), json!([])]),
        "resources": one(rng, &[json!(["pods"]), json!(["pods", "pods/status"]), json!([])]),
        "verbs": one(rng, &[json!(["get"]), json!(["get", "list"]), json!(["*"]), json!([])]),
    }]);
    match rng.u8(..8) {
        1 => rules = json!([{ "nonResourceURLs": ["/metrics"], "verbs": ["get"] }]),
        2 => rules[0]["resourceNames"] = json!(["a"]),
        _ => {}
    }
    json!({ "rules": rules })
}

pub(super) fn binding(rng: &mut Rng) -> Value {
    let subject = one(
        rng,
        &[
            json!({ "kind": "User", "name": "u" }),
            json!({ "kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io" }),
            json!({ "kind": "ServiceAccount", "name": "s", "namespace": "{ns}" }),
            json!({ "kind": "ServiceAccount", "name": "s" }),
            json!({ "kind": "Odd", "name": "u" }),
            json!({ "kind": "Group" }),
        ],
    );
    let role = one(
        rng,
        &[
            json!({ "kind": "ClusterRole", "name": "view" }),
            json!({ "kind": "ClusterRole", "name": "view", "apiGroup": "rbac.authorization.k8s.io" }),
            json!({ "kind": "Role", "name": "r", "apiGroup": "rbac.authorization.k8s.io" }),
            json!({ "kind": "Odd", "name": "r", "apiGroup": "x" }),
            json!({ "kind": "ClusterRole", "name": "" }),
        ],
    );
    let mut object = json!({ "roleRef": role });
    if rng.u8(..5) > 0 {
        object["subjects"] = json!([subject]);
    }
    object
}

pub(super) fn node(rng: &mut Rng) -> Value {
    let mut spec = json!({});
    match rng.u8(..6) {
        0 => spec["unschedulable"] = rng.bool().into(),
        1 => spec["podCIDR"] = one(rng, &["10.1.0.0/24", "x"]).into(),
        2 => {
            let effect = one(rng, &["NoSchedule", "NoExecute", "Odd"]);
            spec["taints"] = json!([{ "key": one(rng, &["k", "a b"]), "effect": effect }]);
        }
        3 => spec["providerID"] = one(rng, &["p://1", "p://2"]).into(),
        _ => {}
    }
    json!({ "spec": spec })
}

pub(super) fn node_status(rng: &mut Rng) -> Value {
    let mut status =
        json!({ "capacity": { "cpu": one(rng, &["1", "1000m", "-1"]), "pods": "10" } });
    if rng.bool() {
        let ready = json!({ "type": "Ready", "status": one(rng, &["True", "Unknown"]) });
        status["conditions"] = json!([ready]);
    }
    if rng.u8(..4) == 0 {
        status["addresses"] = json!([{ "type": "InternalIP", "address": "1.2.3.4" }]);
    }
    status
}
