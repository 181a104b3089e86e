//! OpenAPI v3 documents: valid, complete, and at the URLs of the index.

use std::collections::BTreeSet;

use embedded_apiserver::{EmbeddedApiServer, Kind};
use http::StatusCode;
use serde_json::{Value, json};

use crate::wire;

fn references(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(to)) = members.get("$ref") {
                into.insert(to.strip_prefix("#/components/schemas/").expect("a schema").to_owned());
            }
            members.values().for_each(|value| references(value, into));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, into)),
        _ => {}
    }
}

#[tokio::test]
async fn every_served_kind_has_a_schema_whose_references_all_lead_somewhere() {
    let server = EmbeddedApiServer::new();
    server.register_kind(Kind::namespaced("example.com", "v1", "Widget", "widgets")).unwrap();
    let index = wire::get(&server, "/openapi/v3").await.json();
    let paths = index["paths"].as_object().unwrap();
    assert!(paths.contains_key("api/v1") && paths.contains_key("apis/example.com/v1"), "{paths:?}");
    for (path, entry) in paths {
        let document =
            wire::get(&server, entry["serverRelativeURL"].as_str().unwrap()).await.json();
        let schemas = document["components"]["schemas"].as_object().unwrap();
        let mut named = BTreeSet::new();
        references(&document, &mut named);
        assert!(named.iter().all(|name| schemas.contains_key(name)), "{path}: {named:?}");
        let described: BTreeSet<String> = schemas
            .values()
            .filter_map(|schema| schema["x-kubernetes-group-version-kind"].as_array())
            .flatten()
            .map(|names| names["kind"].as_str().unwrap().to_owned())
            .collect();
        let served = wire::get(&server, &format!("/{path}")).await.json();
        let is_kind = |resource: &&Value| !resource["name"].as_str().unwrap().contains('/');
        for resource in served["resources"].as_array().unwrap().iter().filter(is_kind) {
            assert!(described.contains(resource["kind"].as_str().unwrap()), "{path}: {resource}");
        }
    }
}

#[tokio::test]
async fn kubectl_learns_that_fields_are_checked_here_and_lists_how_they_merge() {
    let server = EmbeddedApiServer::new();
    let document = wire::get(&server, "/openapi/v3/api/v1").await.json();
    let patch = &document["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"];
    assert_eq!(
        patch["x-kubernetes-group-version-kind"],
        json!({ "group": "", "version": "v1", "kind": "Pod" })
    );
    let options = patch["parameters"].as_array().unwrap();
    assert!(options.iter().any(|option| option["name"] == "fieldValidation"), "{options:?}");
    let containers = &document["components"]["schemas"]["io.k8s.api.core.v1.PodSpec"]["properties"]
        ["containers"];
    assert_eq!(containers["x-kubernetes-patch-merge-key"], "name");
    assert_eq!(containers["x-kubernetes-list-map-keys"], json!(["name"]));
}

#[tokio::test]
async fn the_address_changes_with_the_content_and_what_is_not_served_is_not_found() {
    let server = EmbeddedApiServer::new();
    let address = async || {
        let index = wire::get(&server, "/openapi/v3").await.json();
        index["paths"]["apis/example.com/v1"]["serverRelativeURL"].as_str().map(str::to_owned)
    };
    assert_eq!(address().await, None);
    assert_eq!(
        wire::get(&server, "/openapi/v3/apis/example.com/v1").await.code,
        StatusCode::NOT_FOUND
    );
    server.register_kind(Kind::namespaced("example.com", "v1", "Widget", "widgets")).unwrap();
    let before = address().await;
    assert!(before.is_some());
    server.register_kind(Kind::namespaced("example.com", "v1", "Gadget", "gadgets")).unwrap();
    assert_ne!(before, address().await);
    assert_eq!(wire::get(&server, "/openapi/v2").await.code, StatusCode::NOT_IMPLEMENTED);
    let accept = ("accept", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf");
    let empty = wire::send(&server, http::Method::GET, "/openapi/v2", &[accept], "").await;
    assert_eq!((empty.code, empty.text.as_str()), (StatusCode::OK, "\n\u{3}2.0"));
}
