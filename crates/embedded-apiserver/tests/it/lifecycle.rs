//! The namespace lifecycle, through the API alone. Time is paused, and the controller needs none.

use std::time::Duration;

use embedded_apiserver::{EmbeddedApiServer, Kind};
use http::StatusCode;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::wire;

const NAMESPACES: &str = "/api/v1/namespaces";

fn server() -> EmbeddedApiServer {
    EmbeddedApiServer::builder().namespace_lifecycle(true).namespace("n").build()
}

async fn create(server: &EmbeddedApiServer, path: &str, object: Value) {
    let made = wire::post(server, path, &object).await;
    assert_eq!(made.code, StatusCode::CREATED, "{}", made.text);
}

async fn settle() {
    sleep(Duration::from_millis(500)).await;
}

fn condition(namespace: &Value, kind: &str) -> (String, String) {
    let all = namespace["status"]["conditions"].as_array().expect("conditions");
    let found = all.iter().find(|condition| condition["type"] == kind).expect("the condition");
    let text = |member: &str| found[member].as_str().expect("a text").to_owned();
    (text("status"), text("message"))
}

#[tokio::test(start_paused = true)]
async fn a_deleted_namespace_goes_with_all_that_is_in_it() {
    let server = server();
    server.register_kind(Kind::namespaced("example.com", "v1", "Widget", "widgets")).unwrap();
    create(&server, "/api/v1/namespaces/n/configmaps", json!({ "metadata": { "name": "a" } }))
        .await;
    create(
        &server,
        "/api/v1/namespaces/default/configmaps",
        json!({ "metadata": { "name": "a" } }),
    )
    .await;
    let widget =
        json!({ "apiVersion": "example.com/v1", "kind": "Widget", "metadata": { "name": "w" } });
    create(&server, "/apis/example.com/v1/namespaces/n/widgets", widget).await;
    wire::delete(&server, "/api/v1/namespaces/n", &json!({})).await;
    settle().await;
    assert_eq!(wire::get(&server, "/api/v1/namespaces/n").await.code, StatusCode::NOT_FOUND);
    assert_eq!(
        wire::get(&server, "/api/v1/namespaces/n/configmaps/a").await.code,
        StatusCode::NOT_FOUND
    );
    let widgets = wire::get(&server, "/apis/example.com/v1/widgets").await.json();
    assert_eq!(widgets["items"], json!([]));
    assert_eq!(
        wire::get(&server, "/api/v1/namespaces/default/configmaps/a").await.code,
        StatusCode::OK
    );
}

#[tokio::test(start_paused = true)]
async fn what_holds_a_namespace_is_said_and_when_it_goes_so_does_the_namespace() {
    let server = server();
    let maps = "/api/v1/namespaces/n/configmaps";
    create(
        &server,
        maps,
        json!({ "metadata": { "name": "held", "finalizers": ["example.com/f"] } }),
    )
    .await;
    create(&server, maps, json!({ "metadata": { "name": "free" } })).await;
    wire::delete(&server, "/api/v1/namespaces/n", &json!({})).await;
    settle().await;
    let namespace = wire::get(&server, "/api/v1/namespaces/n").await.json();
    assert_eq!(namespace["status"]["phase"], "Terminating");
    let remaining = condition(&namespace, "NamespaceContentRemaining");
    assert_eq!(
        remaining,
        (
            "True".to_owned(),
            "Some resources are remaining: configmaps. has 1 resource instances".to_owned()
        )
    );
    let held = condition(&namespace, "NamespaceFinalizersRemaining");
    assert_eq!(
        held.1,
        "Some content in the namespace has finalizers remaining: example.com/f in 1 resource instances"
    );
    let before = server.requests().all().count();
    sleep(Duration::from_secs(200)).await;
    assert_eq!(server.requests().all().count(), before, "it waits without asking");
    let free = json!({ "metadata": { "finalizers": null } });
    wire::patch(&server, &format!("{maps}/held"), wire::MERGE, &free).await;
    settle().await;
    assert_eq!(wire::get(&server, "/api/v1/namespaces/n").await.code, StatusCode::NOT_FOUND);
}

#[tokio::test(start_paused = true)]
async fn pods_go_first() {
    let server = server();
    let pod = json!({
        "metadata": { "name": "p", "finalizers": ["example.com/f"] },
        "spec": { "containers": [{ "name": "c", "image": "i" }] },
    });
    create(&server, "/api/v1/namespaces/n/pods", pod).await;
    create(&server, "/api/v1/namespaces/n/secrets", json!({ "metadata": { "name": "s" } })).await;
    wire::delete(&server, "/api/v1/namespaces/n", &json!({})).await;
    settle().await;
    assert_eq!(wire::get(&server, "/api/v1/namespaces/n/secrets/s").await.code, StatusCode::OK);
    let free = json!({ "metadata": { "finalizers": null } });
    wire::patch(&server, "/api/v1/namespaces/n/pods/p", wire::MERGE, &free).await;
    settle().await;
    assert_eq!(wire::get(&server, "/api/v1/namespaces/n").await.code, StatusCode::NOT_FOUND);
}

#[tokio::test(start_paused = true)]
async fn another_finalizer_of_the_namespace_is_left_to_its_owner() {
    let server = server();
    let mut namespace = wire::get(&server, "/api/v1/namespaces/n").await.json();
    namespace["spec"]["finalizers"] = json!(["kubernetes", "example.com/f"]);
    wire::put(&server, "/api/v1/namespaces/n/finalize", &namespace).await;
    wire::delete(&server, "/api/v1/namespaces/n", &json!({})).await;
    settle().await;
    let mut namespace = wire::get(&server, "/api/v1/namespaces/n").await.json();
    assert_eq!(namespace["spec"]["finalizers"], json!(["example.com/f"]));
    namespace["spec"]["finalizers"] = json!([]);
    wire::put(&server, "/api/v1/namespaces/n/finalize", &namespace).await;
    assert_eq!(wire::get(&server, &format!("{NAMESPACES}/n")).await.code, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn another_delete_of_a_held_namespace_takes_no_revision() {
    let server = EmbeddedApiServer::builder().namespace("n").build();
    let path = format!("{NAMESPACES}/n");
    let marked = wire::delete(&server, &path, &json!({})).await.json();
    let revision = server.revision();
    let again = wire::delete(&server, &path, &json!({ "propagationPolicy": "Foreground" })).await;
    assert_eq!((again.code, again.json()), (StatusCode::OK, marked));
    assert_eq!(server.revision(), revision);
}
