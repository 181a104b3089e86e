//! Requests that try to crash the server or to get a wrong answer.

use embedded_apiserver::{EmbeddedApiServer, Kind};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::sizes::size;
use crate::wire::{self, JSON_PATCH, MERGE};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

/// A server with a widget `w`. The text is its spec.
async fn widget(spec: &str) -> EmbeddedApiServer {
    let server = EmbeddedApiServer::new();
    let kind = Kind::namespaced("example.com", "v1", "Widget", "widgets");
    server.register_kind(kind).expect("a fine kind");
    let text = format!(
        r#"{{"apiVersion":"example.com/v1","kind":"Widget","metadata":{{"name":"w"}},"spec":{spec}}}"#
    );
    let json = [("content-type", "application/json")];
    let answer = wire::send(&server, Method::POST, WIDGETS, &json, text).await;
    assert_eq!(answer.code, StatusCode::CREATED, "{}", answer.text);
    server
}

#[tokio::test(start_paused = true)]
async fn a_patch_that_copies_an_object_into_itself_is_refused() {
    let server = widget(r#"{"a":{}}"#).await;
    let copies: Vec<_> = (0..15)
        .map(|at| {
            json!({ "op": "copy", "from": "/spec/a", "path": format!("/spec{}", "/a".repeat((1 << at) + 1)) })
        })
        .collect();
    let path = format!("{WIDGETS}/w");
    let answer = wire::patch(&server, &path, JSON_PATCH, &copies.into()).await;
    assert_eq!(answer.code, StatusCode::NOT_IMPLEMENTED, "{}", answer.text);
    assert!(answer.text.contains("deeper than 127 levels"), "{}", answer.text);
    assert_eq!(wire::get(&server, &path).await.json()["spec"], json!({ "a": {} }));
}

#[tokio::test(start_paused = true)]
async fn a_write_to_one_member_changes_no_digit_of_another() {
    // A parser without exact rounding reads some of them as a neighbouring number.
    let mut seed = 7_u64;
    let numbers: Vec<String> = (0..2000)
        .map(|_| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let (digits, exponent) = (seed % 10_u64.pow(16), seed % 40);
            format!("1.{digits:016}e-{exponent}")
        })
        .collect();
    let server = widget(&format!(r#"{{"numbers":[{}]}}"#, numbers.join(","))).await;
    let path = format!("{WIDGETS}/w");
    let spec = |text: &str| text.split_once("\"spec\"").expect("a spec").1.to_owned();
    let before = spec(&wire::get(&server, &path).await.text);
    for label in ["a", "b"] {
        let patch = json!([{ "op": "add", "path": "/metadata/labels", "value": { "x": label } }]);
        let answer = wire::patch(&server, &path, JSON_PATCH, &patch).await;
        assert_eq!(answer.code, StatusCode::OK, "{}", answer.text);
        assert!(spec(&answer.text) == before, "the spec was changed by a label");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_has_no_more_warnings_than_clients_take() {
    let server = EmbeddedApiServer::new();
    let mut object = json!({ "metadata": { "name": "m" } });
    object["x".repeat(10_000)] = json!(1);
    for at in 0..10_000 {
        object[format!("unknown{at}")] = json!(1);
    }
    let answer = wire::post(&server, MAPS, &object).await;
    assert_eq!(answer.code, StatusCode::CREATED);
    let warnings: Vec<_> = answer.headers.get_all("warning").iter().collect();
    assert_eq!(warnings.len(), 64);
    assert!(warnings.iter().all(|warning| warning.len() < 300));
}

#[tokio::test(start_paused = true)]
async fn a_collection_of_which_one_object_may_not_be_deleted_is_deleted_up_to_there() {
    let server = EmbeddedApiServer::new();
    let first = wire::post(&server, MAPS, &json!({ "metadata": { "name": "a" } })).await.json();
    wire::post(&server, MAPS, &json!({ "metadata": { "name": "b" } })).await;
    let options = json!({ "preconditions": { "uid": first["metadata"]["uid"] } });
    let answer = wire::delete(&server, MAPS, &options).await;
    assert_eq!(answer.code, StatusCode::CONFLICT, "{}", answer.text);
    let left = wire::get(&server, MAPS).await.json();
    assert_eq!(
        left["items"].as_array().map(Vec::len),
        Some(1),
        "as on the real server, it is no one step"
    );
    assert_eq!(left["items"][0]["metadata"]["name"], "b");
}

#[tokio::test(start_paused = true)]
async fn a_nest_that_cannot_be_read_is_refused_in_every_body() {
    let server = widget("{}").await;
    let path = format!("{WIDGETS}/w");
    let (deep, deeper) = ("[".repeat(200), "[".repeat(100_000));
    for (method, path, media) in [
        (Method::POST, MAPS, "application/json"),
        (Method::PUT, &path, "application/json"),
        (Method::PATCH, &path, MERGE),
        (Method::PATCH, &path, JSON_PATCH),
        (Method::DELETE, &path, "application/json"),
    ] {
        for (body, code) in
            [(&deep, StatusCode::NOT_IMPLEMENTED), (&deeper, StatusCode::BAD_REQUEST)]
        {
            let headers = [("content-type", media)];
            let answer = wire::send(&server, method.clone(), path, &headers, body.clone()).await;
            assert_eq!(answer.code, code, "{}", answer.text);
        }
    }
    assert_eq!(wire::get(&server, &path).await.json()["spec"], Value::Object(Default::default()));
}

#[tokio::test(start_paused = true)]
async fn yaml_that_nests_deeper_than_can_be_read_is_refused_with_501() {
    let server = widget("{}").await;
    let body = format!("data: {}{}\n", "[".repeat(200), "]".repeat(200));
    let yaml = [("content-type", "application/yaml")];
    let answer = wire::send(&server, Method::POST, MAPS, &yaml, body).await;
    assert_eq!(answer.code, StatusCode::NOT_IMPLEMENTED, "{}", answer.text);
}

#[tokio::test]
async fn another_version_of_a_built_in_kind_cannot_be_registered_around_its_rules() {
    let server = EmbeddedApiServer::new();
    let refused = server.register_kind(Kind::namespaced("", "v2", "ConfigMap", "configmaps"));
    assert!(refused.unwrap_err().to_string().contains("built in"));
    let flows =
        Kind::cluster_scoped("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema", "flowschemas");
    server.register_kind(flows).unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_is_wrong_a_thousandfold_is_said_in_a_few_words() {
    let server = EmbeddedApiServer::new();
    // A tenth is still far more than a response may have.
    let tenth = size(1, 10);
    let count = 6_000 * tenth;
    let labels: serde_json::Map<_, _> =
        (0..count).map(|at| (format!("a b{at}"), json!("x y"))).collect();
    let data: serde_json::Map<_, _> =
        (0..count).map(|at| (format!("a b{at}"), json!(""))).collect();
    let finalizers: Vec<_> = (0..count).map(|at| format!("a b{at}")).collect();
    let controller =
        json!({ "apiVersion": "v1", "kind": "Event", "name": "", "uid": "", "controller": true });
    let namesake = |at: usize| json!({ "apiVersion": "v1", "kind": "K", "name": "n", "uid": at.to_string(), "controller": true });
    let namesakes: Vec<_> = (0..3_000 * tenth).map(namesake).collect();
    for (metadata, data) in [
        (json!({ "ownerReferences": vec![json!({}); 30_000 * tenth] }), json!({})),
        (json!({ "ownerReferences": namesakes }), json!({})),
        (json!({ "ownerReferences": vec![controller; 1_000 * tenth] }), json!({})),
        (json!({ "finalizers": finalizers }), json!({})),
        (json!({ "finalizers": ["\u{1}".repeat(50_000 * tenth)] }), json!({})),
        (json!({ "labels": labels }), json!({})),
        (json!({ "labels": { "k": "\"".repeat(size(100_000, 500_000)) } }), json!({})),
        (json!({ "annotations": labels }), json!({})),
        (json!({}), json!(data)),
    ] {
        let mut object = json!({ "metadata": metadata, "data": data, "binaryData": data });
        object["metadata"]["name"] = "m".into();
        let answer = wire::post(&server, MAPS, &object).await;
        assert_eq!(answer.code, StatusCode::UNPROCESSABLE_ENTITY, "{:.300}", answer.text);
        assert!(
            answer.text.len() < 128 * 1024,
            "{} bytes: {:.300}",
            answer.text.len(),
            answer.text
        );
        let causes = answer.json()["details"]["causes"].as_array().expect("causes").len();
        assert!((1..=64).contains(&causes), "{causes}");
    }
    let twice = json!({ "metadata": { "name": "m", "ownerReferences": [{}, {}] } });
    let answer = wire::post(&server, MAPS, &twice).await.json();
    assert_eq!(answer["details"]["causes"].as_array().expect("causes").len(), 4, "each once");
}

/// A stage of `--full` runs it. The stage `test` skips `long`.
mod long {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_patch_that_moves_a_large_value_to_and_fro_is_refused() {
        let large: Vec<_> = (0..20_000).collect();
        let server = widget(&json!({ "large": large, "deep": { "er": {} } }).to_string()).await;
        let moves = (0..5_000).flat_map(|_| {
            [
                json!({ "op": "move", "from": "/spec/large", "path": "/spec/deep/er/large" }),
                json!({ "op": "move", "from": "/spec/deep/er/large", "path": "/spec/large" }),
            ]
        });
        let patch = Value::Array(moves.collect());
        let answer = wire::patch(&server, &format!("{WIDGETS}/w"), JSON_PATCH, &patch).await;
        assert_eq!(answer.code, StatusCode::UNPROCESSABLE_ENTITY, "{}", answer.text);
        assert!(answer.text.contains("moves more than"), "{}", answer.text);
    }
}
