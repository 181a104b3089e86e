//! Tables for kubectl: of one object, of lists in pages, of watches.

use embedded_apiserver::{EmbeddedApiServer, Kind};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::wire;

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn table(server: &EmbeddedApiServer, path: &str) -> Value {
    let answer = wire::send(server, Method::GET, path, &[("accept", TABLE)], "").await;
    assert_eq!(answer.code, StatusCode::OK, "{}", answer.text);
    answer.json()
}

async fn with_maps() -> EmbeddedApiServer {
    let server = EmbeddedApiServer::new();
    for name in ["a", "b", "c"] {
        wire::post(
            &server,
            MAPS,
            &json!({ "metadata": { "name": name }, "data": { "k": "1", "l": "2" } }),
        )
        .await;
    }
    server
}

#[tokio::test(start_paused = true)]
async fn an_object_and_a_page_of_a_list_are_tables_with_metadata_of_each_row() {
    let server = with_maps().await;
    let one = table(&server, &format!("{MAPS}/a")).await;
    assert_eq!((&one["kind"], &one["apiVersion"]), (&json!("Table"), &json!("meta.k8s.io/v1")));
    let heads: Vec<_> =
        one["columnDefinitions"].as_array().unwrap().iter().map(|c| &c["name"]).collect();
    assert_eq!(heads, ["Name", "Data", "Age"]);
    assert_eq!(one["rows"][0]["cells"], json!(["a", 2, "0s"]));
    let object = &one["rows"][0]["object"];
    assert_eq!(
        (&object["kind"], &object["metadata"]["name"]),
        (&json!("PartialObjectMetadata"), &json!("a"))
    );
    let page = table(&server, &format!("{MAPS}?limit=2")).await;
    assert_eq!(page["rows"].as_array().unwrap().len(), 2);
    assert_eq!(page["metadata"]["remainingItemCount"], 1);
    let next = page["metadata"]["continue"].as_str().unwrap();
    let page = table(&server, &format!("{MAPS}?limit=2&continue={next}")).await;
    assert_eq!(page["rows"][0]["cells"][0], "c");
    let whole = table(&server, &format!("{MAPS}?includeObject=Object")).await;
    let object = &whole["rows"][0]["object"];
    assert_eq!((&object["kind"], &object["data"]["k"]), (&json!("ConfigMap"), &json!("1")));
    let none = table(&server, &format!("{MAPS}?includeObject=None")).await;
    assert_eq!(none["rows"][0]["object"], Value::Null);
    let wrong = wire::send(
        &server,
        Method::GET,
        &format!("{MAPS}?includeObject=x"),
        &[("accept", TABLE)],
        "",
    )
    .await;
    assert_eq!(wrong.code, StatusCode::BAD_REQUEST);
}

#[tokio::test(start_paused = true)]
async fn a_watch_tells_the_columns_once_and_errors_stay_what_they_are() {
    let server = with_maps().await;
    let path = format!("{MAPS}?watch=1&resourceVersion=0&timeoutSeconds=1&allowWatchBookmarks=1");
    let answer = wire::send(&server, Method::GET, &path, &[("accept", TABLE)], "").await;
    let lines = answer.lines();
    assert!(lines[0]["object"]["columnDefinitions"].is_array());
    assert!(lines[1]["object"]["columnDefinitions"].is_null());
    assert_eq!(lines[2]["object"]["rows"][0]["cells"][0], "c");
    let cells = json!(["", 0, "<unknown>"]);
    assert_eq!(
        (&lines[3]["type"], &lines[3]["object"]["rows"][0]["cells"]),
        (&json!("BOOKMARK"), &cells)
    );
    let missing =
        wire::send(&server, Method::GET, &format!("{MAPS}/x"), &[("accept", TABLE)], "").await;
    assert_eq!((missing.code, &missing.json()["kind"]), (StatusCode::NOT_FOUND, &json!("Status")));
    server.compact();
    let path = format!("{MAPS}?watch=1&resourceVersion=1");
    let answer = wire::send(&server, Method::GET, &path, &[("accept", TABLE)], "").await;
    assert_eq!(
        (&answer.lines()[0]["type"], &answer.lines()[0]["object"]["code"]),
        (&json!("ERROR"), &json!(410))
    );
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_initial_events_is_a_row_that_says_so() {
    let server = with_maps().await;
    let watch =
        "watch=1&sendInitialEvents=1&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1";
    for include in ["Metadata", "None", "Object"] {
        let path = format!("{MAPS}?{watch}&timeoutSeconds=1&includeObject={include}");
        let answer = wire::send(&server, Method::GET, &path, &[("accept", TABLE)], "").await;
        let rows = &answer.lines()[3]["object"]["rows"];
        assert_eq!(rows.as_array().map(Vec::len), Some(1), "{include}");
        let annotations = &rows[0]["object"]["metadata"]["annotations"];
        assert_eq!(annotations, &json!({ "k8s.io/initial-events-end": "true" }), "{include}");
    }
}

#[tokio::test]
async fn a_watch_over_websocket_is_not_implemented_and_says_so() {
    let server = with_maps().await;
    let headers = [("connection", "keep-alive, Upgrade"), ("upgrade", "websocket")];
    let answer = wire::send(&server, Method::GET, &format!("{MAPS}?watch=1"), &headers, "").await;
    assert_eq!(answer.code, StatusCode::NOT_IMPLEMENTED);
    let message = answer.json()["message"].clone();
    assert_eq!(message, "embedded-apiserver does not implement a watch over websocket");
    let answer = wire::send(&server, Method::GET, MAPS, &headers, "").await;
    assert_eq!(answer.code, StatusCode::OK, "what is no watch is answered as it is there");
}

#[tokio::test]
async fn custom_kinds_have_a_name_and_an_age_that_the_client_computes() {
    let server = EmbeddedApiServer::new();
    server.register_kind(Kind::cluster_scoped("example.com", "v1", "Widget", "widgets")).unwrap();
    let widget =
        json!({ "apiVersion": "example.com/v1", "kind": "Widget", "metadata": { "name": "w" } });
    wire::post(&server, "/apis/example.com/v1/widgets", &widget).await;
    let table = table(&server, "/apis/example.com/v1/widgets").await;
    assert_eq!(table["columnDefinitions"][1]["type"], "date");
    assert!(table["rows"][0]["cells"][1].as_str().unwrap().ends_with('Z'));
}
