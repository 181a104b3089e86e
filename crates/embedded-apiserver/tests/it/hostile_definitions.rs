//! Definitions and owners that try to cost too much, or to replace others.

use embedded_apiserver::EmbeddedApiServer;
use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::wire;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

fn definition(group: &str, plural: &str, kind: &str, schema: Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{group}") },
        "spec": {
            "group": group, "scope": "Namespaced", "names": { "kind": kind, "plural": plural },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
        },
    })
}

fn widgets(spec: Value) -> Value {
    definition(
        "example.com",
        "widgets",
        "Widget",
        json!({ "type": "object", "properties": { "spec": spec } }),
    )
}

fn widget(spec: Value) -> Value {
    json!({ "apiVersion": "example.com/v1", "kind": "Widget", "metadata": { "name": "w" }, "spec": spec })
}

async fn others_are_served(server: &EmbeddedApiServer) {
    let maps = "/api/v1/namespaces/default/configmaps";
    let made = wire::post(server, maps, &json!({ "metadata": { "generateName": "m-" } })).await;
    assert_eq!(made.code, StatusCode::CREATED, "{}", made.text);
}

#[tokio::test(start_paused = true)]
async fn a_schema_is_as_deep_as_it_can_be_read_and_no_deeper() {
    let nested = |levels: usize, leaf: Value| {
        (0..levels).fold(leaf, |inner, _| json!({ "type": "object", "properties": { "a": inner } }))
    };
    let server = EmbeddedApiServer::new();
    let too_deep =
        wire::post(&server, DEFINITIONS, &widgets(nested(200, json!({ "type": "string" })))).await;
    assert_eq!(too_deep.code, StatusCode::NOT_IMPLEMENTED, "{:.300}", too_deep.text);
    let made =
        wire::post(&server, DEFINITIONS, &widgets(nested(50, json!({ "type": "string" })))).await;
    assert_eq!(made.code, StatusCode::CREATED, "{:.300}", made.text);
    let object = (0..50).fold(json!("x"), |inner, _| json!({ "a": inner }));
    let made = wire::post(&server, WIDGETS, &widget(object)).await;
    assert_eq!(made.code, StatusCode::CREATED, "{:.300}", made.text);
    let object = (0..50).fold(json!(1), |inner, _| json!({ "a": inner }));
    let refused = wire::post(&server, WIDGETS, &widget(object)).await;
    assert_eq!(refused.code, StatusCode::UNPROCESSABLE_ENTITY, "{:.300}", refused.text);
    others_are_served(&server).await;
}

#[tokio::test(start_paused = true)]
async fn a_pattern_that_explodes_elsewhere_is_linear_or_refused() {
    let repeats =
        |times: usize| (0..times).fold("a".to_owned(), |inner, _| format!("({inner}{{1000}})"));
    for (pattern, value) in [
        ("^(a+)+$".to_owned(), format!("{}b", "a".repeat(200_000))),
        ("(a|aa|a?)*b".to_owned(), "a".repeat(200_000)),
        (format!("^{}{}$", "a?".repeat(500), "a".repeat(500)), "a".repeat(499)),
        (repeats(1), "a".to_owned()),
        (repeats(3), "a".to_owned()),
        ("\\p{L}{1000}".to_owned(), "é".to_owned()),
    ] {
        let server = EmbeddedApiServer::new();
        let spec = json!({ "type": "object", "properties": { "text": { "type": "string", "pattern": pattern } } });
        let made = wire::post(&server, DEFINITIONS, &widgets(spec)).await;
        if made.code == StatusCode::CREATED {
            let refused = wire::post(&server, WIDGETS, &widget(json!({ "text": value }))).await;
            assert_eq!(
                refused.code,
                StatusCode::UNPROCESSABLE_ENTITY,
                "{pattern:.60}: {:.300}",
                refused.text
            );
        } else {
            assert_eq!(
                made.code,
                StatusCode::UNPROCESSABLE_ENTITY,
                "{pattern:.60}: {:.300}",
                made.text
            );
        }
        others_are_served(&server).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_definition_takes_no_place_that_is_taken() {
    let server = EmbeddedApiServer::new();
    let schema = || json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    // Of a built-in kind, with and without the API approval.
    for annotated in [false, true] {
        let mut deployments = definition("apps", "deployments", "Deployment", schema());
        if annotated {
            deployments["metadata"]["annotations"] =
                json!({ "api-approved.kubernetes.io": "unapproved, x" });
        }
        let _ = wire::post(&server, DEFINITIONS, &deployments).await;
        let path = "/apis/apps/v1/namespaces/default/deployments";
        let refused =
            wire::post(&server, path, &json!({ "metadata": { "name": "d" }, "spec": {} })).await;
        assert_eq!(
            refused.code,
            StatusCode::UNPROCESSABLE_ENTITY,
            "it has the built-in rules: {}",
            refused.text
        );
        let _ =
            wire::delete(&server, &format!("{DEFINITIONS}/deployments.apps"), &Value::Null).await;
        assert_eq!(wire::get(&server, path).await.code, StatusCode::OK, "it is still there");
    }
    // Of another definition: the second one waits.
    let first = definition("example.com", "widgets", "Widget", schema());
    assert_eq!(wire::post(&server, DEFINITIONS, &first).await.code, StatusCode::CREATED);
    let second = definition("example.com", "gadgets", "Widget", schema());
    assert_eq!(wire::post(&server, DEFINITIONS, &second).await.code, StatusCode::CREATED);
    assert_eq!(wire::post(&server, WIDGETS, &widget(json!({}))).await.code, StatusCode::CREATED);
    let status =
        wire::get(&server, &format!("{DEFINITIONS}/gadgets.example.com")).await.json()["status"]
            .clone();
    let accepted = status["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|one| one["type"] == "NamesAccepted");
    assert_eq!(accepted.map(|one| &one["status"]), Some(&json!("False")), "{status}");
    others_are_served(&server).await;
}

/// A stage of `--full` runs it. The stage `test` skips `long`.
mod long {
    use super::*;

    /// A cycle of two owners, an object that owns itself, and a chain of a thousand.
    #[cfg(feature = "actors")]
    #[tokio::test(start_paused = true)]
    async fn owners_in_a_circle_and_long_chains_keep_nobody_busy() {
        use std::time::Duration;

        let maps = "/api/v1/namespaces/default/configmaps";
        let server = EmbeddedApiServer::builder().garbage_collector(true).build();
        let owned_by = |name: &str, uid: &Value| {
            json!({ "metadata": { "ownerReferences": [
                { "apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid, "blockOwnerDeletion": true },
            ] } })
        };
        let make = async |name: &str| {
            let made = wire::post(&server, maps, &json!({ "metadata": { "name": name } })).await;
            made.json()["metadata"]["uid"].clone()
        };
        let (a, b, own) = (make("a").await, make("b").await, make("own").await);
        for (name, owner, uid) in [("a", "b", &b), ("b", "a", &a), ("own", "own", &own)] {
            let patched =
                wire::patch(&server, &format!("{maps}/{name}"), wire::MERGE, &owned_by(owner, uid))
                    .await;
            assert_eq!(patched.code, StatusCode::OK, "{}", patched.text);
        }
        let mut last = make("chain-0").await;
        for at in 1..1000 {
            let next = make(&format!("chain-{at}")).await;
            let path = format!("{maps}/chain-{at}");
            wire::patch(
                &server,
                &path,
                wire::MERGE,
                &owned_by(&format!("chain-{}", at - 1), &last),
            )
            .await;
            last = next;
        }
        let foreground = json!({ "propagationPolicy": "Foreground" });
        for name in ["a", "own", "chain-0"] {
            let deleted = wire::delete(&server, &format!("{maps}/{name}"), &foreground).await;
            assert!(deleted.code.is_success(), "{}", deleted.text);
        }
        tokio::time::sleep(Duration::from_secs(3600)).await;
        let left = wire::get(&server, maps).await.json();
        let names: Vec<&Value> = left["items"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|item| &item["metadata"]["name"])
            .collect();
        assert_eq!(names, ["own"], "which waits for itself, as on the real server");
        let before = server.requests().all().writes().count();
        tokio::time::sleep(Duration::from_secs(3600)).await;
        assert_eq!(server.requests().all().writes().count(), before, "it is at rest");
    }

    #[tokio::test(start_paused = true)]
    async fn ten_thousand_properties_are_kept_filled_in_and_pruned() {
        let property = |at: usize| (format!("p{at}"), json!({ "type": "integer", "default": at }));
        let properties: Map<String, Value> = (0..10_000).map(property).collect();
        let server = EmbeddedApiServer::new();
        let spec = json!({ "type": "object", "properties": properties });
        let made = wire::post(&server, DEFINITIONS, &widgets(spec)).await;
        assert_eq!(made.code, StatusCode::CREATED, "{:.300}", made.text);
        let mut sent: Map<String, Value> =
            (0..10_000).map(|at| (format!("q{at}"), json!(1))).collect();
        sent.insert("p0".to_owned(), json!(7));
        let made = wire::post(&server, WIDGETS, &widget(sent.into())).await;
        assert_eq!(made.code, StatusCode::CREATED, "{:.300}", made.text);
        let spec = made.json()["spec"].as_object().cloned().unwrap_or_default();
        assert_eq!((spec.len(), &spec["p0"], &spec["p9999"]), (10_000, &json!(7), &json!(9999)));
        others_are_served(&server).await;
    }
}
