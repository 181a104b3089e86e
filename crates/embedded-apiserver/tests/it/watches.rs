//! Watches on the wire: start, events, end.

use std::time::Duration;

use embedded_apiserver::EmbeddedApiServer;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::wire::{self, Lines, MERGE};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn create(server: &EmbeddedApiServer, name: &str, labels: Value) -> String {
    let object = json!({ "metadata": { "name": name, "labels": labels } });
    let answer = wire::post(server, MAPS, &object).await;
    assert_eq!(answer.code, StatusCode::CREATED, "{}", answer.text);
    answer.json()["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
}

async fn label(server: &EmbeddedApiServer, name: &str, labels: Value) -> String {
    let patch = json!({ "metadata": { "labels": labels } });
    let answer = wire::patch(server, &format!("{MAPS}/{name}"), MERGE, &patch).await;
    answer.json()["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
}

fn version(event: &Value) -> String {
    event["object"]["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_watch_resumes_from_a_version_and_follows() {
    let server = EmbeddedApiServer::new();
    let first = create(&server, "a", json!({})).await;
    create(&server, "b", json!({})).await;
    let mut watch =
        Lines::open(&server, &format!("{MAPS}?watch=true&resourceVersion={first}")).await;
    assert_eq!(watch.event().await, "ADDED b");
    assert!(watch.is_silent());
    let changed = label(&server, "a", json!({ "x": "y" })).await;
    let event = watch.next().await.unwrap();
    assert_eq!((event["type"].as_str(), version(&event)), (Some("MODIFIED"), changed));
    assert_eq!(event["object"]["apiVersion"], "v1");
    assert_eq!(event["object"]["kind"], "ConfigMap");
    wire::delete(&server, &format!("{MAPS}/b"), &json!({})).await;
    let event = watch.next().await.unwrap();
    assert_eq!(event["type"], "DELETED");
    assert_eq!(version(&event), server.revision().to_string(), "the deletion's own revision");
}

#[tokio::test(start_paused = true)]
async fn a_watch_from_anywhere_begins_with_what_is_there() {
    let server = EmbeddedApiServer::new();
    create(&server, "b", json!({})).await;
    create(&server, "a", json!({})).await;
    for query in
        ["watch=1", "watch=true&resourceVersion=0", "watch=yes&resourceVersion=", "watch=True"]
    {
        let mut watch = Lines::open(&server, &format!("{MAPS}?{query}")).await;
        assert_eq!(watch.event().await, "ADDED a", "{query}");
        assert_eq!(watch.event().await, "ADDED b");
        assert!(watch.is_silent());
    }
    let other =
        Lines::open(&server, "/api/v1/namespaces/kube-system/configmaps?watch=1").await.is_silent();
    assert!(other, "another namespace");
    let mut all = Lines::open(&server, "/api/v1/configmaps?watch=1").await;
    assert_eq!(all.event().await, "ADDED a");
}

/// Fact 12.
#[tokio::test(start_paused = true)]
async fn objects_that_begin_or_cease_to_match_appear_and_disappear() {
    let server = EmbeddedApiServer::new();
    let begin = create(&server, "a", json!({ "color": "red", "n": "1" })).await;
    let path = format!("{MAPS}?watch=1&resourceVersion={begin}&labelSelector=color%3Dblue");
    let mut blue = Lines::open(&server, &path).await;
    label(&server, "a", json!({ "n": "2" })).await;
    assert!(blue.is_silent(), "it matches neither before nor after");
    label(&server, "a", json!({ "color": "blue", "n": "3" })).await;
    assert_eq!(blue.event().await, "ADDED a");
    label(&server, "a", json!({ "n": "4" })).await;
    assert_eq!(blue.event().await, "MODIFIED a");
    let left = label(&server, "a", json!({ "color": "red", "n": "5" })).await;
    let event = blue.next().await.unwrap();
    assert_eq!(event["type"], "DELETED");
    assert_eq!(version(&event), left, "the new revision");
    assert_eq!(event["object"]["metadata"]["labels"]["n"], "4", "with what the watcher knew");
    wire::delete(&server, &format!("{MAPS}/a"), &json!({})).await;
    assert!(blue.is_silent(), "it was gone already");
    let mut named = Lines::open(
        &server,
        &format!("{MAPS}?watch=1&resourceVersion={begin}&fieldSelector=metadata.name%3Db"),
    )
    .await;
    create(&server, "c", json!({})).await;
    create(&server, "b", json!({})).await;
    assert_eq!(named.event().await, "ADDED b");
}

/// Fact 13.
#[tokio::test(start_paused = true)]
async fn a_watch_from_before_the_history_gets_410_as_an_event_and_ends() {
    let server = EmbeddedApiServer::new();
    let old = create(&server, "a", json!({})).await;
    let mut following =
        Lines::open(&server, &format!("{MAPS}?watch=1&resourceVersion={old}")).await;
    assert!(following.is_silent());
    create(&server, "b", json!({})).await;
    assert_eq!(following.event().await, "ADDED b");
    server.compact();
    let mut late = Lines::open(&server, &format!("{MAPS}?watch=1&resourceVersion={old}")).await;
    let event = late.next().await.unwrap();
    assert_eq!(event["type"], "ERROR");
    assert_eq!(
        (event["object"]["code"].as_i64(), event["object"]["reason"].as_str()),
        (Some(410), Some("Expired"))
    );
    assert!(late.next().await.is_none());
    create(&server, "c", json!({})).await;
    assert_eq!(following.event().await, "ADDED c", "who has seen everything goes on");
    let fresh = server.revision().to_string();
    server.compact();
    let mut fresh = Lines::open(&server, &format!("{MAPS}?watch=1&resourceVersion={fresh}")).await;
    assert!(fresh.is_silent(), "the newest revision can always be resumed from");
}

#[tokio::test(start_paused = true)]
async fn an_idle_watch_survives_a_compaction_at_a_revision_of_another_kind() {
    let server = EmbeddedApiServer::new();
    let begin = create(&server, "a", json!({})).await;
    let mut fresh = Lines::open(&server, &format!("{MAPS}?watch=1")).await;
    assert_eq!(fresh.event().await, "ADDED a");
    assert!(fresh.is_silent());
    let mut unread = Lines::open(&server, &format!("{MAPS}?watch=1&resourceVersion={begin}")).await;
    let mut behind = Lines::open(&server, &format!("{MAPS}?watch=1&resourceVersion=1")).await;
    wire::post(
        &server,
        "/api/v1/namespaces/default/secrets",
        &json!({ "metadata": { "name": "s" } }),
    )
    .await;
    server.compact();
    create(&server, "b", json!({})).await;
    assert_eq!(fresh.event().await, "ADDED b", "it had seen all there was of its kind");
    assert_eq!(unread.event().await, "ADDED b");
    assert_eq!(behind.next().await.unwrap()["type"], "ERROR", "it had not");
    let mut late = Lines::open(&server, &format!("{MAPS}?watch=1&resourceVersion={begin}")).await;
    assert_eq!(late.next().await.unwrap()["type"], "ERROR", "nobody begins before the compaction");
}

#[tokio::test(start_paused = true)]
async fn the_shortest_history_is_enough_to_follow_live() {
    let server = EmbeddedApiServer::builder().history(0).build();
    let mut watch = Lines::open(&server, &format!("{MAPS}?watch=1")).await;
    assert!(watch.is_silent());
    for name in ["a", "b"] {
        create(&server, name, json!({})).await;
        assert_eq!(watch.event().await, format!("ADDED {name}"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_watcher_that_falls_behind_the_window_gets_410() {
    let server = EmbeddedApiServer::builder().history(3).build();
    let begin = create(&server, "a", json!({})).await;
    let mut slow = Lines::open(&server, &format!("{MAPS}?watch=1&resourceVersion={begin}")).await;
    for name in ["b", "c", "d"] {
        create(&server, name, json!({})).await;
    }
    assert_eq!(slow.event().await, "ADDED b", "three changes are kept");
    for name in ["e", "f", "g", "h"] {
        create(&server, name, json!({})).await;
    }
    assert_eq!(slow.event().await, "ADDED c", "what was read is sent");
    assert_eq!(slow.event().await, "ADDED d");
    assert_eq!(slow.next().await.unwrap()["object"]["code"], 410);
    assert!(slow.next().await.is_none());
}

/// Fact 14.
#[tokio::test(start_paused = true)]
async fn a_watch_from_the_future_is_silent_until_then() {
    let server = EmbeddedApiServer::builder().bookmark_interval(Duration::from_secs(1)).build();
    let now = server.revision();
    let path = format!(
        "{MAPS}?watch=1&allowWatchBookmarks=true&timeoutSeconds=30&resourceVersion={}",
        now + 2
    );
    let mut watch = Lines::open(&server, &path).await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(watch.is_silent());
    for name in ["a", "b", "c"] {
        create(&server, name, json!({})).await;
    }
    assert_eq!(watch.event().await, "ADDED c");
}

#[tokio::test(start_paused = true)]
async fn initial_events_end_with_a_marked_bookmark() {
    let server = EmbeddedApiServer::new();
    create(&server, "a", json!({})).await;
    create(&server, "b", json!({})).await;
    let streaming = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    let mut watch =
        Lines::open(&server, &format!("{MAPS}?{streaming}&allowWatchBookmarks=true")).await;
    assert_eq!(watch.event().await, "ADDED a");
    assert_eq!(watch.event().await, "ADDED b");
    let mark = watch.next().await.unwrap();
    assert_eq!(mark["type"], "BOOKMARK");
    assert_eq!(mark["object"]["kind"], "ConfigMap");
    assert_eq!(mark["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    assert_eq!(version(&mark), server.revision().to_string());
    create(&server, "c", json!({})).await;
    assert_eq!(watch.event().await, "ADDED c");
    // Fact 15: no bookmarks, no bookmark after the initial events. Only `true` is true.
    let mut unmarked = Lines::open(&server, &format!("{MAPS}?{streaming}")).await;
    for expected in ["ADDED a", "ADDED b", "ADDED c"] {
        assert_eq!(unmarked.event().await, expected);
    }
    assert!(unmarked.is_silent());
    for no in ["false", "maybe"] {
        let path = format!(
            "{MAPS}?watch=1&allowWatchBookmarks=true&sendInitialEvents={no}&resourceVersionMatch=NotOlderThan"
        );
        assert!(Lines::open(&server, &path).await.is_silent(), "{no}");
    }
    for wrong in [
        "watch=1&sendInitialEvents=true",
        "watch=1&resourceVersionMatch=NotOlderThan&resourceVersion=1",
    ] {
        let answer = wire::get(&server, &format!("{MAPS}?{wrong}")).await;
        assert_eq!(answer.code, StatusCode::UNPROCESSABLE_ENTITY, "{}", answer.text);
    }
}

#[tokio::test(start_paused = true)]
async fn bookmarks_carry_the_revision_of_the_whole_store() {
    let server = EmbeddedApiServer::builder().bookmark_interval(Duration::from_secs(10)).build();
    let begin = server.revision();
    let path = format!(
        "{MAPS}?watch=1&allowWatchBookmarks=true&resourceVersion={begin}&timeoutSeconds=25"
    );
    let mut watch = Lines::open(&server, &path).await;
    let secret = json!({ "metadata": { "name": "s" } });
    wire::post(&server, "/api/v1/namespaces/default/secrets", &secret).await;
    let event = watch.next().await.unwrap();
    assert_eq!(event["type"], "BOOKMARK");
    assert_eq!(version(&event), (begin + 1).to_string(), "a write to another kind counts");
    server.compact();
    let resumed =
        Lines::open(&server, &format!("{MAPS}?watch=1&resourceVersion={}", version(&event))).await;
    assert!({ resumed }.is_silent(), "a bookmark can be resumed from after a compaction");
    assert_eq!(watch.next().await.unwrap()["type"], "BOOKMARK");
    assert_eq!(watch.next().await.unwrap()["type"], "BOOKMARK", "one before the end");
    assert!(watch.next().await.is_none());
    let mut plain = Lines::open(&server, &format!("{MAPS}?watch=1&resourceVersion={begin}")).await;
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert_eq!(plain.next().await.unwrap()["type"], "ERROR", "from before the compaction");
}

/// Fact 17.
#[tokio::test(start_paused = true)]
async fn a_watch_ends_after_its_time_out() {
    let server = EmbeddedApiServer::new();
    let begin = server.revision();
    let started = tokio::time::Instant::now();
    let path = format!("{MAPS}?watch=1&resourceVersion={begin}&timeoutSeconds=7");
    assert!(Lines::open(&server, &path).await.next().await.is_none());
    assert_eq!(started.elapsed().as_secs(), 7);
    let path = format!("{MAPS}?watch=1&resourceVersion={begin}&timeoutSeconds=-1");
    assert!(Lines::open(&server, &path).await.next().await.is_none());
    assert_eq!(started.elapsed().as_secs(), 7, "at once");
    let path = format!("{MAPS}?watch=1&resourceVersion={begin}&timeoutSeconds=0");
    let mut long = Lines::open(&server, &path).await;
    assert!(long.next().await.is_none());
    assert!(started.elapsed().as_secs() >= 30 * 60, "the server's own choice");
}

#[tokio::test(start_paused = true)]
async fn a_watch_of_metadata_shows_nothing_else() {
    let server = EmbeddedApiServer::new();
    let object = json!({ "metadata": { "name": "a" }, "data": { "key": "secret" } });
    wire::post(&server, MAPS, &object).await;
    let accept = [("accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")];
    let path = format!(
        "{MAPS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1"
    );
    let lines = wire::send(&server, Method::GET, &path, &accept, "").await.lines();
    assert_eq!(lines[0]["object"]["kind"], "PartialObjectMetadata");
    assert_eq!(lines[0]["object"]["apiVersion"], "meta.k8s.io/v1");
    assert_eq!(lines[0]["object"]["metadata"]["name"], "a");
    assert_eq!(lines[0]["object"].get("data"), None);
    assert_eq!(lines[1]["object"]["kind"], "PartialObjectMetadata", "the bookmark too");
}

#[tokio::test(start_paused = true)]
async fn the_event_of_a_released_object_shows_it_as_it_was() {
    let server = EmbeddedApiServer::new();
    let held = json!({ "metadata": { "name": "a", "finalizers": ["x.io/f"] } });
    wire::post(&server, MAPS, &held).await;
    let begin = server.revision();
    let mut watch = Lines::open(&server, &format!("{MAPS}?watch=1&resourceVersion={begin}")).await;
    wire::delete(&server, &format!("{MAPS}/a"), &json!({})).await;
    let marked = watch.next().await.unwrap();
    assert_eq!(marked["type"], "MODIFIED");
    assert!(marked["object"]["metadata"]["deletionTimestamp"].is_string());
    wire::patch(&server, &format!("{MAPS}/a"), MERGE, &json!({ "metadata": { "finalizers": [] } }))
        .await;
    let gone = watch.next().await.unwrap();
    assert_eq!(gone["type"], "DELETED");
    assert_eq!(gone["object"]["metadata"]["finalizers"][0], "x.io/f");
    assert!(watch.is_silent());
}

#[tokio::test(start_paused = true)]
async fn bookmarks_that_never_come_are_no_reason_to_fail() {
    for never in [Duration::MAX, Duration::from_secs(u64::MAX / 3), Duration::from_secs(1 << 40)] {
        let server = EmbeddedApiServer::builder().bookmark_interval(never).build();
        let mut watch =
            Lines::open(&server, "/api/v1/configmaps?watch=1&allowWatchBookmarks=true").await;
        assert_eq!(watch.event().await, "BOOKMARK ", "that of the initial events");
        assert!(watch.is_silent());
        let made = json!({ "metadata": { "name": "a" } });
        wire::post(&server, "/api/v1/namespaces/default/configmaps", &made).await;
        assert_eq!(watch.event().await, "ADDED a");
        assert!(watch.is_silent());
    }
}
