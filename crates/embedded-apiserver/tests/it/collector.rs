//! The garbage collector, through the API alone. Time is paused, and the collector needs none.

use std::time::Duration;

use embedded_apiserver::{EmbeddedApiServer, Fault, FaultPlan, Kind, Match, Rule, Verb};
use http::StatusCode;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::wire;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const COLLECTOR: &str = "system:embedded:garbage-collector";

fn server() -> EmbeddedApiServer {
    EmbeddedApiServer::builder().garbage_collector(true).build()
}

/// An owner reference. `block`: the owner in foreground deletion waits for the dependent.
fn reference(owner: &Value, block: bool) -> Value {
    json!({
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "blockOwnerDeletion": block,
    })
}

async fn create_in(server: &EmbeddedApiServer, path: &str, name: &str, metadata: Value) -> Value {
    let mut object = json!({ "metadata": metadata });
    object["metadata"]["name"] = name.into();
    let made = wire::post(server, path, &object).await;
    assert_eq!(made.code, StatusCode::CREATED, "{}", made.text);
    made.json()
}

async fn create(server: &EmbeddedApiServer, name: &str, owners: &[Value]) -> Value {
    create_in(server, MAPS, name, json!({ "ownerReferences": owners })).await
}

async fn delete(server: &EmbeddedApiServer, name: &str, policy: &str) {
    let options = json!({ "propagationPolicy": policy });
    assert_eq!(
        wire::delete(server, &format!("{MAPS}/{name}"), &options).await.code,
        StatusCode::OK
    );
}

async fn names(server: &EmbeddedApiServer, path: &str) -> Vec<String> {
    let list = wire::get(server, path).await.json();
    let items = list["items"].as_array().expect("a list").iter();
    items.map(|item| item["metadata"]["name"].as_str().expect("a name").to_owned()).collect()
}

/// Lets the collector run. It needs no time, except for retries.
async fn settle() {
    sleep(Duration::from_millis(500)).await;
}

#[tokio::test(start_paused = true)]
async fn dependents_of_a_deleted_owner_go_and_their_dependents_too() {
    let server = server();
    let owner = create(&server, "owner", &[]).await;
    let child = create(&server, "child", &[reference(&owner, false)]).await;
    create(&server, "grandchild", &[reference(&child, true)]).await;
    create(&server, "stranger", &[]).await;
    settle().await;
    assert_eq!(names(&server, MAPS).await.len(), 4);
    delete(&server, "owner", "Background").await;
    settle().await;
    assert_eq!(names(&server, MAPS).await, ["stranger"]);
}

#[tokio::test(start_paused = true)]
async fn an_object_whose_owner_never_was_goes() {
    let server = server();
    let missing =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "nobody" });
    create(&server, "orphan", std::slice::from_ref(&missing)).await;
    let owner = create(&server, "owner", &[]).await;
    create(&server, "of-an-earlier-owner", std::slice::from_ref(&missing)).await;
    create(&server, "of-both", &[missing, reference(&owner, false)]).await;
    settle().await;
    assert_eq!(names(&server, MAPS).await, ["of-both", "owner"]);
    let kept = wire::get(&server, &format!("{MAPS}/of-both")).await.json();
    let owners = kept["metadata"]["ownerReferences"].as_array().unwrap().clone();
    assert_eq!(owners.len(), 1, "the one that never was is taken out");
    assert_eq!(owners[0]["uid"], owner["metadata"]["uid"]);
}

#[tokio::test(start_paused = true)]
async fn a_foreground_deletion_ends_after_what_blocks_it() {
    let server = server();
    let owner = create(&server, "owner", &[]).await;
    let held =
        json!({ "ownerReferences": [reference(&owner, true)], "finalizers": ["example.com/f"] });
    create_in(&server, MAPS, "blocking", held).await;
    create(&server, "other", &[reference(&owner, false)]).await;
    delete(&server, "owner", "Foreground").await;
    settle().await;
    assert_eq!(names(&server, MAPS).await, ["blocking", "owner"]);
    let blocking = wire::get(&server, &format!("{MAPS}/blocking")).await.json();
    assert!(blocking["metadata"]["deletionTimestamp"].is_string());
    let free = json!({ "metadata": { "finalizers": null } });
    wire::patch(&server, &format!("{MAPS}/blocking"), wire::MERGE, &free).await;
    settle().await;
    assert_eq!(names(&server, MAPS).await, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_foreground_deletion_does_not_wait_for_who_stops_blocking_it() {
    let server = server();
    let owner = create(&server, "owner", &[]).await;
    let held =
        json!({ "ownerReferences": [reference(&owner, true)], "finalizers": ["example.com/f"] });
    create_in(&server, MAPS, "blocking", held).await;
    delete(&server, "owner", "Foreground").await;
    settle().await;
    let unblocked = json!({ "metadata": { "ownerReferences": [reference(&owner, false)] } });
    wire::patch(&server, &format!("{MAPS}/blocking"), wire::MERGE, &unblocked).await;
    settle().await;
    assert_eq!(names(&server, MAPS).await, ["blocking"]);
}

#[tokio::test(start_paused = true)]
async fn a_circle_in_the_foreground_ends() {
    let server = server();
    let first = create(&server, "a", &[]).await;
    let second = create(&server, "b", &[reference(&first, true)]).await;
    let back = json!({ "metadata": { "ownerReferences": [reference(&second, true)] } });
    wire::patch(&server, &format!("{MAPS}/a"), wire::MERGE, &back).await;
    delete(&server, "a", "Foreground").await;
    settle().await;
    assert_eq!(names(&server, MAPS).await, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn orphans_stay_and_forget_their_owner() {
    let server = server();
    let owner = create(&server, "owner", &[]).await;
    create(&server, "a", &[reference(&owner, true)]).await;
    delete(&server, "owner", "Orphan").await;
    settle().await;
    assert_eq!(names(&server, MAPS).await, ["a"]);
    let orphan = wire::get(&server, &format!("{MAPS}/a")).await.json();
    assert_eq!(orphan["metadata"]["ownerReferences"], Value::Null);
}

#[tokio::test(start_paused = true)]
async fn owners_are_looked_for_in_the_dependents_namespace() {
    let server = EmbeddedApiServer::builder().garbage_collector(true).namespace("other").build();
    let owner = create(&server, "owner", &[]).await;
    let path = "/api/v1/namespaces/other/configmaps";
    create_in(&server, path, "elsewhere", json!({ "ownerReferences": [reference(&owner, false)] }))
        .await;
    let volume = json!({
        "metadata": { "name": "v", "ownerReferences": [reference(&owner, false)] },
        "spec": { "accessModes": ["ReadWriteOnce"], "capacity": { "storage": "1Gi" }, "hostPath": { "path": "/x" } },
    });
    let made = wire::post(&server, "/api/v1/persistentvolumes", &volume).await;
    assert_eq!(made.code, StatusCode::CREATED, "{}", made.text);
    settle().await;
    assert_eq!(names(&server, path).await, Vec::<String>::new(), "no such owner in that namespace");
    assert_eq!(
        names(&server, "/api/v1/persistentvolumes").await,
        ["v"],
        "never valid, never collected"
    );
    assert_eq!(names(&server, MAPS).await, ["owner"]);
}

#[tokio::test(start_paused = true)]
async fn an_owner_of_a_kind_that_comes_later_is_waited_for() {
    let server = server();
    let widgets = "/apis/example.com/v1/namespaces/default/widgets";
    let missing =
        json!({ "apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "uid": "nobody" });
    create(&server, "a", &[missing]).await;
    settle().await;
    assert_eq!(names(&server, MAPS).await, ["a"], "nobody knows whether that owner is there");
    server.register_kind(Kind::namespaced("example.com", "v1", "Widget", "widgets")).unwrap();
    settle().await;
    assert_eq!(names(&server, MAPS).await, Vec::<String>::new());
    let widget =
        json!({ "apiVersion": "example.com/v1", "kind": "Widget", "metadata": { "name": "w" } });
    let owner = wire::post(&server, widgets, &widget).await.json();
    create(&server, "b", &[reference(&owner, false)]).await;
    settle().await;
    wire::delete(&server, &format!("{widgets}/w"), &json!({})).await;
    settle().await;
    assert_eq!(names(&server, MAPS).await, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn refusals_are_tried_again() {
    let refuse = Rule::new(Match::any().user(COLLECTOR).verb(Verb::Delete), Fault::InternalError)
        .calls(1..=2);
    let server = EmbeddedApiServer::builder()
        .garbage_collector(true)
        .faults(FaultPlan::none().rule(refuse))
        .build();
    let owner = create(&server, "owner", &[]).await;
    create(&server, "a", &[reference(&owner, false)]).await;
    delete(&server, "owner", "Background").await;
    settle().await;
    assert_eq!(names(&server, MAPS).await, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_asked_while_nothing_happens() {
    let server = server();
    let owner = create(&server, "owner", &[]).await;
    create(&server, "a", &[reference(&owner, false)]).await;
    settle().await;
    let before = server.requests().by(COLLECTOR).count();
    sleep(Duration::from_secs(200)).await;
    assert_eq!(server.requests().by(COLLECTOR).count(), before);
}

#[tokio::test(start_paused = true)]
async fn without_it_nothing_is_collected() {
    let server = EmbeddedApiServer::new();
    let owner = create(&server, "owner", &[]).await;
    create(&server, "a", &[reference(&owner, false)]).await;
    delete(&server, "owner", "Background").await;
    settle().await;
    assert_eq!(names(&server, MAPS).await, ["a"]);
}

#[tokio::test(start_paused = true)]
async fn an_event_tells_of_an_owner_in_another_namespace() {
    let start = std::time::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    let server = EmbeddedApiServer::builder()
        .garbage_collector(true)
        .namespace("other")
        .start_time(start)
        .build();
    let owner = create_in(&server, "/api/v1/namespaces/other/configmaps", "owner", json!({})).await;
    let owners = json!({ "ownerReferences": [reference(&owner, false)] });
    create_in(&server, MAPS, "a", owners.clone()).await;
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    create_in(&server, roles, "r", owners).await;
    settle().await;
    assert_eq!(names(&server, MAPS).await, Vec::<String>::new(), "such an owner is none");
    assert!(
        names(&server, roles).await.contains(&"r".to_owned()),
        "in no namespace none is looked for"
    );
    let events = wire::get(&server, "/api/v1/events").await.json();
    let events = events["items"].as_array().unwrap();
    assert_eq!(events.len(), 2, "{events:?}");
    let uid = owner["metadata"]["uid"].as_str().unwrap();
    for (event, kind, name, namespace) in
        [(&events[0], "ConfigMap", "a", "default"), (&events[1], "ClusterRole", "r", "")]
    {
        assert_eq!(event["metadata"]["namespace"], "default");
        assert_eq!(
            (&event["involvedObject"]["kind"], &event["involvedObject"]["name"]),
            (&json!(kind), &json!(name))
        );
        assert_eq!(
            (&event["reason"], &event["type"]),
            (&json!("OwnerRefInvalidNamespace"), &json!("Warning"))
        );
        assert_eq!(event["firstTimestamp"], "2027-01-15T08:00:00Z");
        let message = format!(
            "ownerRef [v1/ConfigMap, namespace: {namespace}, name: owner, uid: {uid}] does not exist in namespace {namespace:?}"
        );
        assert_eq!(event["message"], message);
    }
}
