//! Canonical forms: dropped members, defaults, errors.

use serde_json::{Map, Value, json};

use crate::api::recorded::types::TYPES;
use crate::strategy::shape::{MOST_UNKNOWN, Source, canonical};

fn shaped(version: &str, kind: &str, object: Value) -> Result<(Value, Vec<String>), String> {
    let message = TYPES.kind(version, kind).expect("it was recorded");
    let Value::Object(object) = object else { return Err("no object".to_owned()) };
    let mut unknown = Vec::new();
    canonical(message, object, Source::Json, &mut unknown)
        .map(|object| (Value::Object(object), unknown))
}

#[test]
fn what_go_leaves_out_falls_out_and_what_it_always_writes_is_there() {
    let sent = json!({
        "metadata": { "name": "a", "labels": {}, "finalizers": [], "generation": 0, "namespace": "" },
        "spec": { "replicas": 0, "paused": false, "template": null, "revisionHistoryLimit": null },
    });
    let (object, unknown) = shaped("apps/v1", "Deployment", sent).unwrap();
    let template = json!({ "metadata": {}, "spec": { "containers": null } });
    let expected = json!({
        "metadata": { "name": "a" },
        "spec": { "replicas": 0, "selector": null, "strategy": {}, "template": template },
        "status": {},
    });
    assert_eq!((object, unknown), (expected, Vec::<String>::new()));
}

#[test]
fn what_is_unknown_falls_out_and_is_named_with_its_path() {
    let sent = json!({ "metadata": { "zip": 1 }, "spec": { "containers": [{ "name": "a", "zop": 1 }], "zap": 1 }, "abc": 1 });
    let (object, unknown) = shaped("v1", "Pod", sent).unwrap();
    assert_eq!(object["spec"]["containers"][0], json!({ "name": "a", "resources": {} }));
    let named = ["abc", "metadata.zip", "spec.containers[0].zop", "spec.zap"];
    assert_eq!(unknown, named.map(|path| format!("unknown field {path:?}")));
}

#[test]
fn members_of_embedded_structs_are_the_objects_own() {
    let sent = json!({ "spec": { "volumes": [{ "name": "v", "configMap": { "name": "m" } }], "containers": [] } });
    let (object, unknown) = shaped("v1", "Pod", sent).unwrap();
    assert_eq!(object["spec"]["volumes"], json!([{ "name": "v", "configMap": { "name": "m" } }]));
    assert!(unknown.is_empty());
    let wrong =
        shaped("v1", "Pod", json!({ "spec": { "volumes": [{ "configMap": { "name": 1 } }] } }));
    let why = "spec.volumes[0].configMap.name: expected string, got number";
    assert_eq!(wrong, Err(why.to_owned()));
}

#[test]
fn the_one_form_of_an_object_is_its_own_one_form() {
    let sent = json!({
        "metadata": { "name": "a", "creationTimestamp": "2026-01-02T03:04:05+01:00" },
        "spec": { "capacity": { "storage": "1024Mi" }, "iscsi": { "targetPortal": "p", "iqn": "i", "lun": 0 } },
    });
    let (once, _) = shaped("v1", "PersistentVolume", sent).unwrap();
    assert_eq!(once["spec"]["capacity"]["storage"], "1Gi");
    assert_eq!(
        once["spec"]["iscsi"]["iscsiInterface"], "default",
        "a default of the recorded schema"
    );
    assert_eq!(once["metadata"]["creationTimestamp"], "2026-01-02T02:04:05Z");
    assert_eq!(shaped("v1", "PersistentVolume", once.clone()), Ok((once, Vec::new())));
}

#[test]
fn numbers_out_of_range_and_fractions_are_refused() {
    for (number, of) in [
        (json!(2_147_483_648_u64), "2147483648"),
        (json!(1.5), "1.5"),
        (json!(-2_147_483_649_i64), "-2147483649"),
    ] {
        let wrong = shaped("apps/v1", "Deployment", json!({ "spec": { "replicas": number } }));
        let why = format!("spec.replicas: {of} is no int32");
        assert_eq!(wrong, Err(why));
    }
}

#[test]
fn unknown_members_without_end_are_named_up_to_a_bound() {
    let many: Map<String, Value> = (0..10_000).map(|at| (format!("m{at}"), Value::Null)).collect();
    let (_, unknown) = shaped("v1", "ConfigMap", Value::Object(many)).unwrap();
    assert_eq!(unknown.len(), MOST_UNKNOWN);
}
