//! A replica with a lagging cache: stale reads, fresh reads, reproducibility.

use std::time::Duration;

use embedded_apiserver::{EmbeddedApiServer, Replica};
use futures::StreamExt;
use http::StatusCode;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams, VersionMatch};
use kube::runtime::WatchStreamExt;
use kube::runtime::{reflector, watcher};
use kube::{Client, ResourceExt};
use serde_json::json;
use tokio::time::{Instant, advance, sleep, timeout};

fn maps(client: Client) -> Api<ConfigMap> {
    Api::default_namespaced(client)
}

fn map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({ "metadata": { "name": name } })).expect("a ConfigMap")
}

/// A list at any version, from the cache.
async fn cached(replica: &Replica) -> Vec<String> {
    let any = ListParams::default().match_any();
    let list = maps(replica.client()).list(&any).await.expect("a list");
    list.items.iter().map(ResourceExt::name_any).collect()
}

async fn newest(replica: &Replica) -> Vec<String> {
    let list = maps(replica.client()).list(&ListParams::default()).await.expect("a list");
    list.items.iter().map(ResourceExt::name_any).collect()
}

/// Lets the cache take all due writes.
async fn settle() {
    sleep(Duration::from_millis(1)).await;
}

#[tokio::test(start_paused = true)]
async fn without_a_lag_the_cache_follows_at_once() {
    let server = EmbeddedApiServer::new();
    maps(server.client()).create(&PostParams::default(), &map("before")).await.unwrap();
    let replica = server.replica();
    assert_eq!(cached(&replica).await, ["before"]);
    maps(server.client()).create(&PostParams::default(), &map("after")).await.unwrap();
    settle().await;
    assert_eq!(cached(&replica).await, ["after", "before"]);
    assert_eq!(replica.revision(), server.revision());
}

#[tokio::test(start_paused = true)]
async fn a_cache_behind_by_time_shows_the_past_and_quorum_reads_do_not() {
    let server = EmbeddedApiServer::new();
    let replica = server.replica().behind(Duration::from_secs(5));
    maps(server.client()).create(&PostParams::default(), &map("a")).await.unwrap();
    sleep(Duration::from_secs(2)).await;
    maps(replica.client())
        .create(&PostParams::default(), &map("b"))
        .await
        .expect("writes go through");
    assert_eq!(cached(&replica).await, Vec::<String>::new());
    assert_eq!(newest(&replica).await, ["a", "b"]);
    assert_eq!(maps(replica.client()).get("b").await.unwrap().name_any(), "b");
    sleep(Duration::from_secs(3)).await;
    settle().await;
    assert_eq!(cached(&replica).await, ["a"]);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(cached(&replica).await, ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_cache_behind_by_revisions_waits_for_more_writes() {
    let server = EmbeddedApiServer::new();
    let replica = server.replica().behind_revisions(2);
    for name in ["a", "b", "c"] {
        maps(server.client()).create(&PostParams::default(), &map(name)).await.unwrap();
    }
    sleep(Duration::from_secs(3600)).await;
    assert_eq!(cached(&replica).await, ["a"]);
    assert_eq!(replica.revision() + 2, server.revision());
    replica.behind_revisions(0);
    settle().await;
    assert_eq!(cached(&replica).await, ["a", "b", "c"]);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_not_older_than_a_version_waits_for_it_or_says_504() {
    let server = EmbeddedApiServer::new();
    let replica = server.replica().behind(Duration::from_secs(2));
    let made = maps(server.client()).create(&PostParams::default(), &map("a")).await.unwrap();
    let version = made.resource_version().unwrap();
    let not_older = ListParams::default().at(&version).matching(VersionMatch::NotOlderThan);
    let start = Instant::now();
    let list = maps(replica.client()).list(&not_older).await.unwrap();
    assert_eq!((list.items.len(), start.elapsed().as_secs()), (1, 2));

    replica.behind(Duration::MAX);
    let made = maps(server.client()).create(&PostParams::default(), &map("b")).await.unwrap();
    let not_older = ListParams::default()
        .at(&made.resource_version().unwrap())
        .matching(VersionMatch::NotOlderThan);
    let start = Instant::now();
    let late = maps(replica.client()).list(&not_older).await.unwrap_err();
    assert!(matches!(&late, kube::Error::Api(status) if status.code == 504), "{late}");
    assert_eq!(start.elapsed().as_secs(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_write_of_a_stale_version_conflicts_as_anywhere() {
    let server = EmbeddedApiServer::new();
    maps(server.client()).create(&PostParams::default(), &map("a")).await.unwrap();
    let replica = server.replica().behind(Duration::from_secs(60));
    let patch = Patch::Merge(json!({ "data": { "k": "v" } }));
    maps(server.client()).patch("a", &PatchParams::default(), &patch).await.unwrap();
    let old = maps(replica.client())
        .list(&ListParams::default().match_any())
        .await
        .unwrap()
        .items
        .remove(0);
    assert_eq!(old.data, None, "from before the patch");
    let refused =
        maps(replica.client()).replace("a", &PostParams::default(), &old).await.unwrap_err();
    assert!(matches!(&refused, kube::Error::Api(status) if status.code == 409), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn a_reflector_on_it_sees_everything_once_and_late() {
    let server = EmbeddedApiServer::new();
    let replica = server.replica().behind(Duration::from_secs(10));
    let (store, writer) = reflector::store();
    let stream = watcher(maps(replica.client()), watcher::Config::default()).default_backoff();
    let mut events = reflector(writer, stream).applied_objects().boxed();
    let start = Instant::now();
    let writing = async {
        for name in ["a", "b", "c"] {
            maps(server.client()).create(&PostParams::default(), &map(name)).await.unwrap();
            sleep(Duration::from_secs(1)).await;
        }
    };
    let mut seen = Vec::new();
    let reading = async {
        while seen.len() < 3 {
            let object = timeout(Duration::from_secs(60), events.next())
                .await
                .expect("an event")
                .unwrap()
                .unwrap();
            seen.push((object.name_any(), start.elapsed().as_secs()));
        }
    };
    tokio::join!(writing, reading);
    let late = [("a", 10), ("b", 11), ("c", 12)].map(|(name, at)| (name.to_owned(), at));
    assert_eq!(seen, late);
    assert_eq!(store.state().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_cache_that_fell_too_far_behind_begins_anew_and_watches_get_410() {
    let server = EmbeddedApiServer::builder().history(4).build();
    let replica = server.replica().behind(Duration::from_secs(5));
    let from = replica.revision();
    for number in 0..9 {
        maps(server.client())
            .create(&PostParams::default(), &map(&format!("m{number}")))
            .await
            .unwrap();
    }
    sleep(Duration::from_secs(6)).await;
    assert_eq!(cached(&replica).await.len(), 9);
    let path = format!("/api/v1/configmaps?watch=true&resourceVersion={from}");
    let request =
        http::Request::get(path).body(http_body_util::Empty::<bytes::Bytes>::new()).unwrap();
    let response = tower::ServiceExt::oneshot(replica.service(), request).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let mut lines = response.into_body().into_stream();
    let line: serde_json::Value =
        serde_json::from_slice(&lines.next().await.unwrap().unwrap()).unwrap();
    assert_eq!((&line["type"], &line["object"]["code"]), (&json!("ERROR"), &json!(410)));
}

#[tokio::test(start_paused = true)]
async fn the_same_requests_get_the_same_answers() {
    let run = async || {
        let server = EmbeddedApiServer::builder().seed(7).start_time(std::time::UNIX_EPOCH).build();
        let replica = server.replica().behind(Duration::from_millis(150));
        let mut seen = Vec::new();
        for number in 0..20 {
            maps(server.client())
                .create(&PostParams::default(), &map(&format!("m{number}")))
                .await
                .unwrap();
            if number == 10 {
                replica.behind_revisions(3);
            }
            advance(Duration::from_millis(40)).await;
            seen.push((cached(&replica).await, replica.revision()));
        }
        seen
    };
    let once = run().await;
    assert_eq!(once, run().await);
    assert!(once.iter().any(|(names, _)| names.len() > 3));
}

#[tokio::test]
async fn its_log_and_its_kinds() {
    let server = EmbeddedApiServer::new();
    let replica = server.replica();
    maps(replica.client()).create(&PostParams::default(), &map("a")).await.unwrap();
    assert_eq!(replica.requests().all().writes().count(), 1);
    assert_eq!(server.requests().all().writes().count(), 0);
    server
        .register_kind(embedded_apiserver::Kind::namespaced(
            "example.com",
            "v1",
            "Widget",
            "widgets",
        ))
        .unwrap();
    let discovered = replica.client().list_api_group_resources("example.com/v1").await.unwrap();
    assert_eq!(discovered.resources[0].name, "widgets");
}

/// Writes a ConfigMap every 100 ms for this time. Returns the largest lag of the cache.
async fn steady_writes(server: &EmbeddedApiServer, replica: &Replica, seconds: u64) -> u64 {
    let writer = maps(server.client());
    let mut behind = 0;
    for number in 0..seconds * 10 {
        let patch = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": format!("m{}", number % 3) }, "data": { "n": number.to_string() } });
        let params = PatchParams::apply("writer");
        writer
            .patch(&format!("m{}", number % 3), &params, &Patch::Apply(patch))
            .await
            .expect("a write");
        sleep(Duration::from_millis(100)).await;
        behind = behind.max(server.revision() - replica.revision());
    }
    behind
}

#[tokio::test(start_paused = true)]
async fn a_compaction_planned_at_a_replica_is_one_of_the_objects_too() {
    use embedded_apiserver::{Fault, FaultPlan, Match, Rule, Verb};
    let server = EmbeddedApiServer::new();
    for name in ["a", "b", "c"] {
        maps(server.client()).create(&PostParams::default(), &map(name)).await.unwrap();
    }
    let replica = server.replica();
    // Pages come from the store, on every API server.
    let page = maps(replica.client()).list(&ListParams::default().limit(1)).await.unwrap();
    let token = page.metadata.continue_.unwrap();
    maps(server.client()).create(&PostParams::default(), &map("d")).await.unwrap();
    let rule = Rule::new(Match::any().verb(Verb::List), Fault::Compact).calls(1..=1);
    replica.faults().set_plan(FaultPlan::none().rule(rule));
    let next =
        maps(replica.client()).list(&ListParams::default().limit(1).continue_token(&token)).await;
    assert_eq!(crate::objects::code(next.unwrap_err()), (410, "Expired".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn events_do_not_lag_because_no_api_server_caches_them() {
    use crate::wire;
    let server = EmbeddedApiServer::new();
    let replica = server.replica().behind(Duration::from_secs(3600));
    let event = json!({
        "metadata": { "name": "e", "namespace": "default" },
        "involvedObject": { "namespace": "default" },
    });
    let made = wire::post(&server, "/api/v1/namespaces/default/events", &event).await;
    assert_eq!(made.code, StatusCode::CREATED, "{}", made.text);
    let events: Api<k8s_openapi::api::core::v1::Event> = Api::default_namespaced(replica.client());
    assert_eq!(events.list(&ListParams::default().match_any()).await.unwrap().items.len(), 1);
    let newer: Api<k8s_openapi::api::events::v1::Event> = Api::default_namespaced(replica.client());
    assert_eq!(newer.list(&ListParams::default().match_any()).await.unwrap().items.len(), 1);
    let mut watch = events.watch(&Default::default(), "0").await.unwrap().boxed();
    let first = timeout(Duration::from_secs(1), watch.next()).await.expect("at once");
    assert!(first.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_watch_hears_410_of_what_came_and_went_in_a_leap() {
    let server = EmbeddedApiServer::builder().history(4).build();
    let replica = server.replica().behind(Duration::from_secs(5));
    let path = "/api/v1/namespaces/default/configmaps?watch=1&resourceVersion=";
    let open = async |selector: &str| {
        let request =
            http::Request::builder().uri(format!("{path}{}{selector}", replica.revision()));
        let request = request.body(http_body_util::Full::<bytes::Bytes>::default()).unwrap();
        let response = tower::ServiceExt::oneshot(replica.service(), request).await.unwrap();
        response.into_body().into_stream()
    };
    // Of all objects, and of one name.
    let watches = [open("").await, open("&fieldSelector=metadata.name%3Dm3").await];
    for name in ["m0", "m1", "m2", "m3", "m4"] {
        maps(server.client()).create(&PostParams::default(), &map(name)).await.unwrap();
        maps(server.client()).delete(name, &kube::api::DeleteParams::default()).await.unwrap();
    }
    sleep(Duration::from_secs(6)).await;
    for mut watch in watches {
        let mut events = Vec::new();
        while let Ok(Some(line)) = timeout(Duration::from_secs(1), watch.next()).await {
            let event: serde_json::Value = serde_json::from_slice(&line.unwrap()).unwrap();
            events.push((
                event["type"].as_str().unwrap().to_owned(),
                event["object"]["code"].as_u64(),
            ));
        }
        assert_eq!(events.last(), Some(&("ERROR".to_owned(), Some(410))), "{events:?}");
    }
}

/// A stage of `--full` runs it. The stage `test` skips `long`.
mod long {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_cache_behind_steady_writes_advances_however_short_the_history() {
        for history in [1, 4, 16, 1024] {
            // Ten writes a second: the lag exceeds the history by far.
            let server = EmbeddedApiServer::builder().history(history).build();
            let replica = server.replica().behind(Duration::from_secs(5));
            let behind = steady_writes(&server, &replica, 60).await;
            assert!((49..=105).contains(&behind), "history {history}: {behind} revisions behind");

            let server = EmbeddedApiServer::builder().history(history).build();
            let replica = server.replica().behind_revisions(50);
            let behind = steady_writes(&server, &replica, 60).await;
            assert!((49..=105).contains(&behind), "history {history}: {behind} revisions behind");
            replica.behind(Duration::ZERO);
            settle().await;
            assert_eq!(replica.revision(), server.revision());
            assert_eq!(cached(&replica).await, ["m0", "m1", "m2"]);
        }
    }
}
