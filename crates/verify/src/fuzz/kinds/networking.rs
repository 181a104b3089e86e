//! What reaches a cluster, and what is reached in it: Ingresses, policies, addresses, API services.

use fastrand::Rng;
use serde_json::{Value, json};

use crate::conformance::certificates::{CERTIFICATE, REQUEST};
use crate::fuzz::kind::{BASE, Kind};
use crate::fuzz::pick::one;

pub(super) const KINDS: &[Kind] = &[
    Kind {
        collection: "/apis/networking.k8s.io/v1/namespaces/{ns}/ingresses",
        kind: "Ingress",
        cluster: false,
        subresources: &["status"],
        rest: ingress,
        status: ingress_status,
        ..GROUP
    },
    Kind {
        collection: "/apis/networking.k8s.io/v1/ingressclasses",
        kind: "IngressClass",
        rest: ingress_class,
        ..GROUP
    },
    Kind {
        collection: "/apis/networking.k8s.io/v1/namespaces/{ns}/networkpolicies",
        kind: "NetworkPolicy",
        cluster: false,
        rest: network_policy,
        ..GROUP
    },
    Kind {
        collection: "/apis/networking.k8s.io/v1/ipaddresses",
        kind: "IPAddress",
        rest: ip_address,
        // All sequences have the same addresses.
        dry: true,
        ..GROUP
    },
    Kind {
        collection: "/apis/networking.k8s.io/v1/servicecidrs",
        kind: "ServiceCIDR",
        subresources: &["status"],
        rest: service_cidr,
        ..GROUP
    },
    Kind {
        collection: "/apis/apiregistration.k8s.io/v1/apiservices",
        api_version: "apiregistration.k8s.io/v1",
        kind: "APIService",
        subresources: &["status"],
        rest: api_service,
        // The real server forwards requests by them.
        dry: true,
        ..GROUP
    },
    Kind {
        collection: "/apis/certificates.k8s.io/v1/certificatesigningrequests",
        api_version: "certificates.k8s.io/v1",
        kind: "CertificateSigningRequest",
        subresources: &["status", "approval"],
        fields: &["spec.signerName"],
        rest: signing_request,
        status: signing_status,
        ..GROUP
    },
];

const GROUP: Kind = Kind { api_version: "networking.k8s.io/v1", cluster: true, ..BASE };

fn backend(rng: &mut Rng) -> Value {
    let service = |name: &str, port: Value| json!({ "service": { "name": name, "port": port } });
    let port =
        one(rng, &[json!({ "number": 80 }), json!({ "number": 80 }), json!({ "name": "http" })]);
    let odd = one(
        rng,
        &[
            json!({}),
            json!({ "number": 0 }),
            json!({ "number": 70000 }),
            json!({ "name": "Http--x" }),
            json!({ "name": "http", "number": 80 }),
        ],
    );
    match rng.u8(..10) {
        0 => service(one(rng, &["", "S", "0s", "a.b"]), port),
        1 => service("s", odd),
        2 => json!({}),
        3 => one(
            rng,
            &[
                json!({ "resource": { "kind": "K", "name": "n" } }),
                json!({ "resource": { "apiGroup": "A", "kind": "", "name": "a/b" } }),
                json!({ "resource": { "kind": "K", "name": "n" }, "service": { "name": "s" } }),
            ],
        ),
        _ => service("s", port),
    }
}

fn path(rng: &mut Rng) -> Value {
    let texts = ["/", "/a", "/a/b", "a", "", "/a//b", "/a/../b", "/a/..", "/%2f", "/./"];
    let mut path = json!({ "path": one(rng, &texts), "backend": backend(rng) });
    if rng.u8(..10) > 0 {
        path["pathType"] =
            one(rng, &["Prefix", "Exact", "ImplementationSpecific", "Prefix", "Odd"]).into();
    }
    path
}

fn ingress(rng: &mut Rng) -> Value {
    let hosts = ["", "h.example.com", "*.example.com", "H", "1.2.3.4", "*", "a.*.b"];
    let mut rule = json!({ "host": one(rng, &hosts), "http": { "paths": [path(rng)] } });
    let mut spec = json!({});
    match rng.u8(..8) {
        0 => spec["defaultBackend"] = backend(rng),
        1 => {}
        2 => {
            let other = json!({ "host": one(rng, &["a", "b"]) });
            spec["rules"] = json!([rule, other, other, { "host": "c" }, other]);
        }
        3 => {
            rule["http"]["paths"] = json!([]);
            spec["rules"] = json!([rule]);
        }
        _ => spec["rules"] = json!([rule]),
    }
    match rng.u8(..6) {
        0 => spec["ingressClassName"] = one(rng, &["c", "C", ""]).into(),
        1 => {
            spec["tls"] = one(
                rng,
                &[
                    json!([{ "hosts": ["h.example.com"], "secretName": "s" }]),
                    json!([{ "hosts": ["*.a", "X", "*x"], "secretName": "S" }]),
                    json!([{}]),
                ],
            );
        }
        _ => {}
    }
    json!({ "spec": spec })
}

fn ingress_status(rng: &mut Rng) -> Value {
    let addresses = [
        json!([{ "ip": "1.2.3.4" }]),
        json!([{ "ip": "2001:DB8::1" }]),
        json!([{ "ip": "1.2.3.4" }, { "hostname": "h.example.com" }]),
        json!([{ "ip": "x", "hostname": "1.2.3.4" }]),
        json!([{ "ip": "010.2.3.4" }, { "hostname": "H" }]),
        json!([{ "hostname": "a-rather-long-name.example.com", "ports": [{ "port": 80, "protocol": "TCP" }] }]),
    ];
    json!({ "loadBalancer": { "ingress": one(rng, &addresses) } })
}

fn ingress_class(rng: &mut Rng) -> Value {
    let controllers =
        ["a.example.com/c", "a.example.com/c", "b.example.com/c", "", "x", "A/b", "a/é"];
    let mut spec = json!({ "controller": one(rng, &controllers) });
    if rng.u8(..3) == 0 {
        spec["parameters"] = one(
            rng,
            &[
                json!({ "kind": "K", "name": "n" }),
                json!({ "apiGroup": "a.b", "kind": "K", "name": "n", "scope": "Cluster" }),
                json!({ "kind": "K", "name": "n", "scope": "Namespace", "namespace": "x" }),
                json!({ "kind": "K", "name": "n", "scope": "Namespace" }),
                json!({ "kind": "K", "name": "n", "namespace": "x" }),
                json!({ "apiGroup": "A", "kind": "a/b", "name": "", "scope": "Odd" }),
            ],
        );
    }
    json!({ "spec": spec })
}

fn network_policy(rng: &mut Rng) -> Value {
    let selectors = [
        json!({}),
        json!({ "matchLabels": { "a": "b" } }),
        json!({ "matchExpressions": [{ "key": "a", "operator": "In", "values": ["c", "b"] }] }),
        json!({ "matchExpressions": [{ "key": "a", "operator": "Odd" }] }),
    ];
    let mut spec = json!({ "podSelector": one(rng, &selectors) });
    let port = one(
        rng,
        &[
            json!({ "port": 80 }),
            json!({ "port": "http", "protocol": "UDP" }),
            json!({ "port": 80, "endPort": 90 }),
            json!({ "port": 80, "endPort": 70 }),
            json!({ "port": "http", "endPort": 70 }),
            json!({ "endPort": 70 }),
            json!({ "port": 0, "protocol": "Odd" }),
            json!({ "port": "H--" }),
        ],
    );
    let peer = one(
        rng,
        &[
            json!({ "podSelector": { "matchLabels": { "a": "b" } } }),
            json!({ "namespaceSelector": {}, "podSelector": {} }),
            json!({ "ipBlock": { "cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"] } }),
            json!({ "ipBlock": { "cidr": "10.0.0.1/8", "except": ["11.0.0.0/16", "x"] } }),
            json!({ "ipBlock": { "cidr": "2001:DB8::/32" } }),
            json!({ "ipBlock": { "cidr": "010.0.0.0/8" }, "podSelector": {} }),
            json!({ "ipBlock": { "cidr": "" } }),
            json!({ "ipBlock": { "cidr": "x" } }),
            json!({}),
        ],
    );
    match rng.u8(..5) {
        0 => spec["ingress"] = json!([{ "ports": [port] }]),
        1 => spec["ingress"] = json!([{ "from": [peer] }]),
        2 => spec["egress"] = json!([{ "to": [peer], "ports": [port] }]),
        _ => {}
    }
    if rng.u8(..4) == 0 {
        spec["policyTypes"] = one(
            rng,
            &[
                json!(["Ingress", "Egress"]),
                json!(["Egress"]),
                json!(["Odd"]),
                json!(["Ingress", "Egress", "Egress"]),
            ],
        );
    }
    json!({ "spec": spec })
}

fn ip_address(rng: &mut Rng) -> Value {
    let parent = one(
        rng,
        &[
            json!({ "resource": "services", "namespace": "n", "name": "s" }),
            json!({ "group": "A", "resource": "", "name": "a/b" }),
            json!({ "group": "a.b", "resource": "things", "name": "n" }),
            Value::Null,
        ],
    );
    json!({ "spec": { "parentRef": parent } })
}

/// Of the family that Services do not get addresses of.
fn service_cidr(rng: &mut Rng) -> Value {
    let ranges = [
        json!(["2001:db8:1::/112"]),
        json!(["2001:db8:1::/112"]),
        json!(["2001:db8:2::/112"]),
        json!(["2001:db8:1::/112", "2001:db8:2::/112"]),
        json!(["2001:DB8:1::/112"]),
        json!(["2001:db8:1::1/112"]),
        json!(["x"]),
        json!(["a", "b", "c"]),
    ];
    json!({ "spec": { "cidrs": one(rng, &ranges) } })
}

fn api_service(rng: &mut Rng) -> Value {
    let mut spec = json!({
        "group": one(rng, &["{own}.example.com", "{own}.example.com", "A", ""]),
        "version": one(rng, &["v1", "v1", "V1"]),
        "groupPriorityMinimum": one(rng, &[1000, 1000, 0, 30000]),
        "versionPriority": one(rng, &[10, 10, 0, 2000]),
    });
    match rng.u8(..6) {
        0 => spec["caBundle"] = "eA==".into(),
        1 => spec["insecureSkipTLSVerify"] = true.into(),
        2 => spec["service"] = json!({ "namespace": "n", "name": "s" }),
        3 => {
            spec["service"] = json!({ "port": one(rng, &[0, 443]) });
            spec["insecureSkipTLSVerify"] = true.into();
            spec["caBundle"] = "eA==".into();
        }
        _ => {}
    }
    json!({ "spec": spec })
}

fn signing_request(rng: &mut Rng) -> Value {
    let mut spec = json!({
        "request": one(rng, &[REQUEST, REQUEST, REQUEST, CERTIFICATE, "eA=="]),
        "signerName": one(rng, &["example.com/s", "example.com/s", "example.com/t", "", "x", "x/s", "A.b/S"]),
        "usages": one(rng, &[
            json!(["client auth"]), json!(["client auth"]), json!(["odd"]), json!(["any", "any"]), json!([]),
        ]),
    });
    match rng.u8(..5) {
        0 => spec["expirationSeconds"] = one(rng, &[600, 3600, 100]).into(),
        1 => spec["username"] = "somebody".into(),
        _ => {}
    }
    json!({ "spec": spec })
}

fn signing_status(rng: &mut Rng) -> Value {
    let condition = |kind: &str| json!({ "type": kind, "status": "True", "reason": "r" });
    let mut status = json!({ "conditions": one(rng, &[
        json!([condition("Approved")]),
        json!([condition("Denied")]),
        json!([condition("Approved"), condition("Denied")]),
        json!([condition("Failed")]),
        json!([condition("A"), condition("A")]),
        json!([{ "type": "Failed", "status": "False" }, { "type": "", "status": "" }]),
        json!([]),
    ]) });
    if rng.u8(..4) == 0 {
        status["certificate"] = one(rng, &[CERTIFICATE, CERTIFICATE, REQUEST, "eA=="]).into();
    }
    status
}
