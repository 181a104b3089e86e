//! Objects of kinds with a schema, and definitions of such kinds.

use fastrand::Rng;
use serde_json::{Value, json};

use crate::fuzz::pick::{odd, one};

/// Sets some members of an object: each of those named is there or not.
fn some(rng: &mut Rng, of: usize, members: &[(&str, &[Value])]) -> Value {
    let mut object = json!({});
    for (name, values) in members {
        if rng.usize(..of) == 0 {
            object[*name] = one(rng, values);
        }
    }
    object
}

pub(super) fn tracker(rng: &mut Rng) -> Value {
    let port = |port: u16, protocol: &str| json!({ "port": port, "protocol": protocol });
    let mut spec = some(
        rng,
        3,
        &[
            ("set", &[json!(["a"]), json!(["a", "b"]), json!(["b", "c"]), json!([])]),
            (
                "ports",
                &[
                    json!([port(1, "TCP")]),
                    json!([port(1, "UDP"), port(1, "TCP")]),
                    json!([{ "port": 1, "name": "x" }]),
                    json!([{ "port": 2, "name": "y" }, { "port": 1 }]),
                ],
            ),
            ("atomicList", &[json!(["a"]), json!(["a", "b"]), json!([])]),
            ("plainList", &[json!([{ "a": "1" }]), json!([{ "a": "2" }, { "a": "3" }])]),
            ("atomicMap", &[json!({ "a": "1" }), json!({ "a": "2", "b": "1" })]),
            ("map", &[json!({ "a": "1" }), json!({ "b": "1" }), json!({ "a": "2", "b": "2" })]),
            (
                "members",
                &[json!({ "a": "1" }), json!({ "b": "1" }), json!({ "b": "2" }), json!({})],
            ),
            ("open", &[json!({ "x": { "y": [1] } }), json!({ "x": 1 }), json!({})]),
            ("either", &[json!(1), json!("x")]),
            ("inner", &[json!({ "apiVersion": "v1", "kind": "X", "y": 1 })]),
        ],
    );
    // One mistake at most: of several, an apply names the one that Go's map happens to come to
    // first.
    if rng.u8(..8) == 0 {
        let mistakes = [
            ("unknown", json!(1)),
            ("set", json!(["a", "a"])),
            ("ports", json!([{ "name": "x" }])),
            ("ports", json!([port(1, "TCP"), { "port": 1 }])),
            ("plainList", json!([{ "b": "x" }])),
            ("map", json!({ "a": 1 })),
            ("members", json!({ "c": "1" })),
            ("either", json!(true)),
            ("inner", json!({ "kind": "X" })),
        ];
        let (member, value) = one(rng, &mistakes);
        spec[member] = value;
    }
    json!({ "spec": spec })
}

pub(super) fn tracker_status(rng: &mut Rng) -> Value {
    some(
        rng,
        2,
        &[
            (
                "conditions",
                &[
                    json!([{ "type": "A", "status": "True" }]),
                    json!([{ "type": "A", "status": "False" }, { "type": "B" }]),
                    json!([{ "type": "B", "status": "True" }, { "type": "A" }]),
                    json!([{ "status": "True" }]),
                    json!([{ "type": "A" }, { "type": "A" }]),
                ],
            ),
            ("phase", &[json!("a"), json!("b"), json!(1)]),
        ],
    )
}

pub(super) fn gear(rng: &mut Rng) -> Value {
    let pairs =
        [json!({ "a": "x" }), json!({ "b": "x" }), json!({ "a": "x", "b": "y" }), json!({})];
    let mut spec = some(
        rng,
        8,
        &[
            ("name", &[json!("abc"), json!("a"), json!("abcdef"), json!("A1")]),
            ("word", &[json!("abc"), json!("abcdef"), json!("ééééé")]),
            ("digit", &[json!("7"), json!("x"), json!("77")]),
            (
                "size",
                &[json!(1), json!(10), json!(0), json!(11), json!(1.5), json!("1"), json!(2.0)],
            ),
            ("small", &[json!(1), json!(2_147_483_648_i64)]),
            ("ratio", &[json!(0.25), json!(0.3), json!(1), json!(0.5)]),
            ("mode", &[json!("fast"), json!("slow"), json!("odd")]),
            ("level", &[json!(3), json!(4), json!(null)]),
            ("nested", &[json!({}), json!({ "depth": 1 }), json!({ "depth": null }), json!(null)]),
            ("port", &[json!(80), json!("http"), json!(true)]),
            ("maybe", &[json!(null), json!("x")]),
            ("when", &[json!("2026-01-02T03:04:05Z"), json!("x"), json!("2026-01-02")]),
            ("odd", &[json!("red")]),
            (
                "formats",
                &[
                    json!({ "ip": "1.2.3.4" }),
                    json!({ "ip": "x", "cidr": "10.0.0.0/8" }),
                    json!({ "uuid": "x" }),
                ],
            ),
            ("pair", &[json!({ "left": "x" }), json!({ "right": "x" })]),
            ("labels", &[json!({ "a": "1" }), json!({ "a": "1", "b": "2", "c": "3" })]),
            ("few", &[json!(["a"]), json!([]), json!(["a", "b", "c"])]),
            ("tags", &[json!(["a", "b"]), json!(["a", "a"])]),
            (
                "parts",
                &[
                    json!([{ "name": "a", "n": 1 }]),
                    json!([{ "name": "a" }, { "name": "a" }]),
                    json!([{ "n": 1 }]),
                ],
            ),
            ("steps", &[json!([{}]), json!([{ "times": 2 }, {}])]),
            (
                "open",
                &[
                    json!({ "n": 1, "x": 2 }),
                    json!({ "n": "x" }),
                    json!({ "inner": { "a": "x", "b": "y" } }),
                ],
            ),
            (
                "embedded",
                &[json!({ "apiVersion": "v1", "kind": "X" }), json!({ "kind": "X" }), json!({})],
            ),
            ("one", &pairs),
            ("some", &pairs),
            ("all", &pairs),
            ("none", &pairs),
        ],
    );
    if rng.u8(..12) == 0 {
        spec["size"] = odd(rng);
    }
    json!({ "spec": spec })
}

pub(super) fn definition(rng: &mut Rng) -> Value {
    let schema = one(
        rng,
        &[
            json!({ "type": "object" }),
            json!({ "type": "object", "properties": { "spec": { "type": "string" } } }),
            json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true }),
            json!({ "type": "string" }),
            json!({ "properties": { "spec": { "type": "integer" } } }),
            json!({ "type": "object", "properties": { "spec": { "type": "array" } } }),
            json!({ "type": "object", "properties": { "spec": { "type": "integer", "default": "x" } } }),
        ],
    );
    let mut version = json!({ "name": one(rng, &["v1", "v1", "v1beta1", "V1"]), "served": true, "storage": rng.u8(..8) > 0 });
    version["schema"] = json!({ "openAPIV3Schema": schema });
    match rng.u8(..8) {
        0 => version["subresources"] = json!({ "status": {} }),
        1 => {
            version["subresources"] = json!({ "scale": {
                "specReplicasPath": one(rng, &[".spec.replicas", "spec.replicas", ".x"]),
                "statusReplicasPath": one(rng, &[".status.replicas", ".spec.replicas"]),
            } });
        }
        2 => {
            version["additionalPrinterColumns"] = json!([{ "name": "C", "type": one(rng, &["string", "odd"]), "jsonPath": one(rng, &[".spec", "spec", ""]) }]);
        }
        _ => {}
    }
    let names = one(
        rng,
        &[
            json!({ "kind": "Thing", "plural": "things" }),
            json!({ "kind": "Thing", "plural": "things", "singular": "thing", "shortNames": ["tg"] }),
            json!({ "kind": "thing s", "plural": "Things" }),
            json!({ "plural": "things" }),
        ],
    );
    json!({ "spec": {
        "group": one(rng, &["{own}.example.com", "{own}.example.com", "x", ""]),
        "scope": one(rng, &["Namespaced", "Cluster", "Odd"]), "names": names, "versions": [version],
    } })
}
