//! Definitions without a server.

use serde_json::{Value, json};

use super::{default, prepare_create, remember_storage};
use crate::api::metadata::Object;
use crate::api::recorded::types::TYPES;
use crate::strategy::shape::{Source, canonical};

fn object(of: Value) -> Object {
    let Value::Object(members) = of else { panic!("{of} is no object") };
    members
}

fn definition(versions: Value) -> Object {
    object(json!({
        "metadata": { "name": "widgets.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "kind": "Widget", "plural": "widgets" },
            "versions": versions,
        },
    }))
}

#[test]
fn names_and_conversion_are_filled_in_unless_they_are_said() {
    let mut filled = definition(json!([]));
    default(&mut filled);
    assert_eq!(filled["spec"]["names"]["singular"], "widget");
    assert_eq!(filled["spec"]["names"]["listKind"], "WidgetList");
    assert_eq!(filled["spec"]["conversion"], json!({ "strategy": "None" }));
    let once = filled.clone();
    default(&mut filled);
    assert_eq!(filled, once);
    let mut said = definition(json!([]));
    said["spec"]["names"]["singular"] = "thing".into();
    said["spec"]["names"]["listKind"] = "Things".into();
    default(&mut said);
    assert_eq!(
        (&said["spec"]["names"]["singular"], &said["spec"]["names"]["listKind"]),
        (&json!("thing"), &json!("Things"))
    );
    // Keeps a malformed definition.
    let mut odd = object(json!({ "spec": 1 }));
    default(&mut odd);
    assert_eq!(odd, object(json!({ "spec": 1 })));
}

#[test]
fn every_version_that_objects_were_stored_in_is_remembered_once() {
    let versions = |storage: &str| {
        json!([
            { "name": "v1", "served": true, "storage": storage == "v1" },
            { "name": "v2", "served": true, "storage": storage == "v2" },
        ])
    };
    let mut made = definition(versions("v1"));
    prepare_create(&mut made);
    assert_eq!(made["status"]["storedVersions"], json!(["v1"]));
    for (storage, stored) in
        [("v1", json!(["v1"])), ("v2", json!(["v1", "v2"])), ("v1", json!(["v1", "v2"]))]
    {
        made["spec"]["versions"] = versions(storage);
        remember_storage(&mut made);
        assert_eq!(made["status"]["storedVersions"], stored);
    }
}

#[test]
fn the_one_form_of_a_definition_is_its_own_and_names_what_it_does_not_know() {
    let within = |schema: Value| {
        definition(json!([{
            "name": "v1", "served": true, "storage": true, "frob": 1,
            "schema": { "openAPIV3Schema": { "type": "object", "properties": { "a": schema } } },
        }]))
    };
    let read = |object: Object| {
        let mut unknown = Vec::new();
        let message = TYPES.kind("apiextensions.k8s.io/v1", "CustomResourceDefinition");
        let message = message.expect("it was recorded");
        canonical(message, object, Source::Json, &mut unknown).map(|object| (object, unknown))
    };
    // The type of `items` has its own decoder, which reports no unknown fields.
    let (once, unknown) = read(within(
        json!({ "nope": {}, "minimum": 1.0, "items": { "nope": {} }, "default": [2.0, null] }),
    ))
    .expect("a definition");
    let place = "spec.versions[0]";
    let named =
        [format!("{place}.frob"), format!("{place}.schema.openAPIV3Schema.properties.a.nope")];
    assert_eq!(unknown, named.map(|path| format!("unknown field {path:?}")));
    let a = &once["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["a"];
    assert_eq!(*a, json!({ "minimum": 1, "items": {}, "default": [2, null] }));
    assert_eq!(read(once.clone()), Ok((once, Vec::new())));
    let place = "spec.versions[0].schema.openAPIV3Schema.properties.a";
    for (wrong, why) in [
        (json!({ "items": { "type": 1 } }), "items.type: expected string, got number"),
        (json!({ "items": [1] }), "items: expected object, got number"),
        (json!({ "dependencies": { "b": [1] } }), "dependencies.b: expected string, got number"),
        (json!({ "dependencies": 1 }), "dependencies: expected object, got number"),
        (
            json!({ "additionalProperties": 1 }),
            "additionalProperties: expected bool or schema, got number",
        ),
    ] {
        assert_eq!(read(within(wrong)), Err(format!("{place}.{why}")));
    }
}
