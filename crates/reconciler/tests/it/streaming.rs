//! Streaming lists: caches that fill from the start of their watch, and the fall-back to pages.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use embedded_apiserver::{Fault, FaultPlan, Match, Rule, Verb};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::client::Body;
use kube::{Api, Client, ResourceExt as _};
use reconciler::{
    Action, Cache, CacheConfig, ChangeKind, Controller, Manager, ManagerError, ObjectKey, Request,
    reconcile_fn,
};
use tokio::time::{Instant, sleep};

use crate::bench::{Bench, Log, Running, bench, key, manager, never, settle, start, until};

/// A client of the controller, and its requests for config maps: `list`, `stream` and `watch`.
/// `answer` may answer a request in place of the server.
fn front(
    bench: &Bench,
    answer: impl Fn(&str) -> Option<http::Response<Body>> + Send + Sync + 'static,
) -> (Client, Log<&'static str>) {
    let log = Log::new();
    let (inner, seen, answer) = (bench.client.clone(), log.clone(), Arc::new(answer));
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let query = request.uri().query().unwrap_or_default();
        let kind = match (query.contains("watch="), query.contains("sendInitialEvents=true")) {
            (true, true) => "stream",
            (true, false) => "watch",
            _ => "list",
        };
        seen.push(kind);
        let (inner, answer) = (inner.clone(), answer(kind));
        async move {
            match answer {
                Some(answer) => Ok(answer),
                None => inner.send(request).await,
            }
        }
    });
    (Client::new(service, "default"), log)
}

fn refusal(code: u16) -> http::Response<Body> {
    let status = serde_json::json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Invalid",
        "message": "sendInitialEvents is forbidden for watch", "code": code,
    });
    let body = Body::from(status.to_string().into_bytes());
    http::Response::builder().status(code).body(body).unwrap()
}

/// A running cache of config maps that asks for streaming lists.
struct Streaming {
    running: Running,
    maps: Cache<ConfigMap>,
    requests: Log<&'static str>,
    /// The changes that subscribers see, as `+name`, `name` and `-name`.
    changes: Log<String>,
}

fn controller(
    maps: &Cache<ConfigMap>,
    changes: &Log<String>,
) -> Controller<impl reconciler::Reconciler<Key = ObjectKey> + use<>> {
    let changes = changes.clone();
    let idle = reconcile_fn(|_: Request<ObjectKey>| async { Ok(Action::await_change()) });
    Controller::keyed("maps", idle).source(maps.trigger(move |change| {
        let name = change.key().map(|key| key.name().to_owned()).unwrap_or_default();
        changes.push(match change.kind() {
            ChangeKind::Appeared => format!("+{name}"),
            ChangeKind::Changed => name,
            _ => format!("-{name}"),
        });
        change.key()
    }))
}

fn streaming((client, requests): (Client, Log<&'static str>)) -> Streaming {
    let mut manager = manager();
    let config = CacheConfig::new().streaming_list(true).page_size(2);
    let maps = manager.cache_with(Api::all(client), config);
    let changes = Log::new();
    manager.add(controller(&maps, &changes));
    Streaming { running: start(manager), maps, requests, changes }
}

/// As [`streaming`], at the server itself, after its first list.
async fn synced(bench: &Bench) -> Streaming {
    let cache = streaming(front(bench, |_| None));
    until("the cache", || cache.maps.is_synced()).await;
    cache
}

impl Streaming {
    fn names(&self) -> Vec<String> {
        self.maps.list().iter().map(|map| map.name_any()).collect()
    }

    /// How often the cache sent a request of this kind.
    fn sent(&self, kind: &str) -> usize {
        self.requests.all().iter().filter(|it| **it == kind).count()
    }

    /// Ends the faults, and waits for a watch that runs.
    async fn heal(&self, bench: &Bench) {
        bench.server.faults().clear();
        until("the watch", || self.maps.status().degraded.is_none()).await;
    }

    /// Cuts the watch, and lets its version be too old. `plan` says what else goes wrong.
    async fn relist(&self, bench: &Bench, plan: FaultPlan) {
        let lists = self.maps.status().lists;
        let expired = Rule::new(watches(), Fault::Expired).calls(1..=1);
        bench.server.faults().set_plan(plan.rule(expired));
        bench.server.faults().cut_watches(&watches());
        until("the list", || self.maps.status().lists > lists).await;
    }
}

fn watches() -> Match {
    Match::any().user("controller").verb(Verb::Watch).resource("configmaps")
}

/// Breaks these of the watches, of which streams are some.
fn broken(fault: Fault, calls: std::ops::RangeInclusive<u64>) -> FaultPlan {
    FaultPlan::none().rule(Rule::new(watches(), fault).calls(calls))
}

/// What a stream of config maps says, line by line: the type, the name and the version. An object
/// of the type `BAD` does not decode.
fn events(lines: &[(&str, &str, u64)]) -> http::Response<Body> {
    let line = |&(kind, name, version): &(&str, &str, u64)| {
        let mut object = serde_json::json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {
                "name": name, "namespace": "default", "uid": name,
                "resourceVersion": version.to_string(),
            },
        });
        if kind == "BOOKMARK" {
            object["metadata"]["annotations"] =
                serde_json::json!({"k8s.io/initial-events-end": "true"});
        }
        let kind = if kind == "BAD" {
            object["data"] = 5.into();
            "MODIFIED"
        } else {
            kind
        };
        format!("{}\n", serde_json::json!({"type": kind, "object": object}))
    };
    let text: String = lines.iter().map(line).collect();
    http::Response::new(Body::from(text.into_bytes()))
}

#[tokio::test(start_paused = true)]
async fn a_cache_fills_from_its_watch_and_follows_it_on_the_same_connection() {
    let bench = bench();
    bench.create("a").await;
    bench.create("b").await;
    let cache = synced(&bench).await;
    assert_eq!(cache.names(), ["a", "b"]);
    bench.touch("a", "1").await;
    bench.create("c").await;
    bench.delete("b").await;
    until("the events", || cache.changes.len() == 5).await;
    assert_eq!(cache.changes.all(), ["+a", "+b", "a", "+c", "-b"]);
    assert_eq!(cache.names(), ["a", "c"]);
    assert_eq!(cache.requests.all(), ["stream"]);
    let status = cache.maps.status();
    assert_eq!((status.lists, status.failures), (1, 0));
    cache.running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_happens_before_the_end_of_the_stream_belongs_to_the_list() {
    let bench = bench();
    let lines = [
        ("ADDED", "a", 1),
        ("ADDED", "b", 2),
        ("ADDED", "c", 3),
        ("MODIFIED", "b", 4),
        ("DELETED", "a", 5),
        ("ADDED", "d", 6),
        ("DELETED", "d", 7),
        ("BOOKMARK", "", 7),
    ];
    let cache = streaming(front(&bench, move |kind| (kind == "stream").then(|| events(&lines))));
    until("the objects", || cache.changes.len() == 2).await;
    assert_eq!(cache.changes.all(), ["+b", "+c"]);
    let b = cache.maps.get(&key("b")).unwrap();
    assert_eq!(b.metadata.resource_version.as_deref(), Some("4"));
    cache.running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_object_of_the_stream_that_does_not_decode_keeps_its_stored_version() {
    let bench = bench();
    let first = [("ADDED", "a", 1), ("ADDED", "b", 2), ("BOOKMARK", "", 2)];
    let later = [("BAD", "a", 3), ("BAD", "d", 4), ("ADDED", "c", 5), ("BOOKMARK", "", 6)];
    let was_first = AtomicBool::new(false);
    let front = front(&bench, move |kind| match kind {
        "stream" if was_first.swap(true, Ordering::Relaxed) => Some(events(&later)),
        "stream" => Some(events(&first)),
        "watch" => Some(refusal(410)),
        _ => None,
    });
    let cache = streaming(front);
    until("the second list", || cache.maps.status().lists == 2).await;
    assert_eq!(cache.changes.all(), ["+a", "+b", "-b", "+c"]);
    assert_eq!(cache.names(), ["a", "c"]);
    assert_eq!(cache.maps.status().undecodable, 2);
    assert_eq!(cache.requests.all()[..4], ["stream", "watch", "stream", "stream"]);
    cache.running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_event_that_does_not_decode_is_left_out_without_a_list() {
    let bench = bench();
    let first = [("ADDED", "a", 1), ("BOOKMARK", "", 1), ("BAD", "a", 2), ("ADDED", "b", 3)];
    let front = front(&bench, move |kind| match kind {
        "stream" => Some(events(&first)),
        "watch" => Some(events(&first[2..])),
        _ => None,
    });
    let cache = streaming(front);
    until("the event after it", || cache.names() == ["a", "b"]).await;
    assert_eq!(cache.requests.all(), ["stream", "watch"]);
    let status = cache.maps.status();
    assert_eq!((status.lists, status.undecodable), (1, 1));
    cache.running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_deletion_while_the_watch_was_away_is_seen_after_the_streaming_list() {
    let bench = bench();
    for name in ["a", "b", "c"] {
        bench.create(name).await;
    }
    let cache = synced(&bench).await;
    bench.server.faults().set_plan(broken(Fault::Unavailable, 1..=u64::MAX));
    bench.server.faults().cut_watches(&watches());
    bench.delete("a").await;
    bench.touch("b", "1").await;
    bench.create("d").await;
    bench.server.compact();
    settle().await;
    assert_eq!(cache.changes.len(), 3, "nothing is known yet");
    bench.server.faults().clear();
    until("the changes", || cache.changes.len() == 6).await;
    assert_eq!(cache.changes.all()[3..], ["-a", "b", "+d"]);
    assert_eq!((cache.sent("stream"), cache.sent("list")), (2, 0));
    cache.running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_streaming_lists_is_asked_for_one_once() {
    for code in [400, 405, 422] {
        let bench = bench();
        for name in ["a", "b", "c"] {
            bench.create(name).await;
        }
        let cache = streaming(front(&bench, move |kind| (kind == "stream").then(|| refusal(code))));
        until("the watch", || cache.sent("watch") == 1).await;
        assert_eq!(cache.requests.all(), ["stream", "list", "list", "watch"], "{code}");
        assert_eq!(cache.maps.status().failures, 0, "{code}: a fall-back is no failure");
        bench.touch("a", "1").await;
        until("the event", || cache.changes.len() == 4).await;
        cache.relist(&bench, FaultPlan::none()).await;
        assert_eq!((cache.sent("stream"), cache.sent("list")), (1, 4), "{code}");
        cache.running.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_takes_a_streaming_list_for_a_watch_is_asked_for_one_once() {
    for (is_busy, earliest, latest) in [(false, 10, 11), (true, 60, 63)] {
        let bench = bench();
        for name in ["a", "b", "c"] {
            bench.create(name).await;
        }
        let withheld = || broken(Fault::WithholdBookmarks { end_mark: true }, 1..=u64::MAX);
        bench.server.faults().set_plan(withheld());
        let cache = streaming(front(&bench, |_| None));
        let began = Instant::now();
        for turn in 0.. {
            if cache.maps.is_synced() {
                break;
            }
            sleep(Duration::from_secs(1)).await;
            if is_busy {
                bench.touch("b", &turn.to_string()).await;
            }
        }
        let took = began.elapsed().as_secs();
        assert!((earliest..=latest).contains(&took), "synced after {took} s");
        assert_eq!(cache.names(), ["a", "b", "c"]);
        assert_eq!(cache.maps.status().failures, 0, "a fall-back is no failure");
        cache.relist(&bench, withheld()).await;
        assert_eq!((cache.sent("stream"), cache.sent("list")), (1, 4));
        cache.running.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_busy_server_that_has_lost_its_streaming_lists_is_read_in_pages_after_a_minute() {
    let bench = bench();
    bench.create("a").await;
    bench.create("b").await;
    let cache = synced(&bench).await;
    let withheld = broken(Fault::WithholdBookmarks { end_mark: true }, 2..=u64::MAX);
    let began = Instant::now();
    let relisted = cache.relist(&bench, withheld);
    let busy = async {
        for turn in 0.. {
            sleep(Duration::from_secs(1)).await;
            bench.touch("b", &turn.to_string()).await;
        }
    };
    tokio::select! {
        () = relisted => {}
        () = busy => {}
    }
    let took = began.elapsed().as_secs();
    assert!((60..=63).contains(&took), "listed after {took} s");
    cache.running.stop().await;
}

const fn cut(mid_line: bool) -> Fault {
    Fault::CutWatch { min_events: 1, max_events: 1, after_ms: None, mid_line }
}

#[tokio::test(start_paused = true)]
async fn streams_that_are_cut_lose_nothing_and_give_way_to_pages() {
    let garbage = Fault::GarbageLine { min_events: 1, max_events: 1 };
    for fault in [cut(false), cut(true), garbage] {
        let bench = bench();
        for name in ["a", "b", "c"] {
            bench.create(name).await;
        }
        bench.server.faults().set_plan(broken(fault.clone(), 1..=9));
        let cache = streaming(front(&bench, |_| None));
        let began = Instant::now();
        until("the cache", || cache.maps.is_synced()).await;
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
        assert_eq!(cache.changes.all(), ["+a", "+b", "+c"]);
        assert!((3..=4).contains(&cache.sent("stream")), "{:?}", cache.requests.all());
        assert_eq!(cache.sent("list"), 2);
        // A later list: nothing vanishes meanwhile.
        cache.heal(&bench).await;
        let sent = cache.sent("stream");
        cache.relist(&bench, broken(fault.clone(), 2..=9)).await;
        assert_eq!(cache.sent("list"), 4, "pages again");
        assert!((3..=4).contains(&(cache.sent("stream") - sent)), "{:?}", cache.requests.all());
        assert_eq!(cache.changes.len(), 3, "{:?}", cache.changes.all());
        // A complete list ends the fall-back.
        cache.heal(&bench).await;
        cache.relist(&bench, FaultPlan::none()).await;
        assert_eq!(cache.sent("list"), 4, "a stream");
        assert_eq!(cache.changes.len(), 3, "{:?}", cache.changes.all());
        cache.running.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_stalls_is_a_failure_if_the_server_has_streaming_lists() {
    let bench = bench();
    bench.create("a").await;
    bench.create("b").await;
    let cache = synced(&bench).await;
    bench.delete("a").await;
    until("the deletion", || cache.changes.len() == 3).await;
    let failures = cache.maps.status().failures;
    let began = Instant::now();
    let stall = Fault::StallWatch { min_events: 0, max_events: 0 };
    cache.relist(&bench, broken(stall, 2..=2)).await;
    assert!(began.elapsed() < Duration::from_secs(12), "{:?}", began.elapsed());
    assert_eq!(cache.maps.status().failures, failures + 2, "the expiry and the stall");
    assert_eq!((cache.sent("stream"), cache.sent("list")), (2, 1));
    cache.relist(&bench, FaultPlan::none()).await;
    assert_eq!((cache.sent("stream"), cache.sent("list")), (3, 1));
    assert_eq!(cache.names(), ["b"]);
    cache.running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn without_the_right_to_watch_the_cache_fills_by_pages_and_says_what_is_missing() {
    let bench = bench();
    bench.create("a").await;
    bench.server.faults().set_plan(broken(Fault::Forbidden, 1..=u64::MAX));
    let cache = streaming(front(&bench, |_| None));
    until("the cache", || cache.maps.is_synced()).await;
    assert_eq!(cache.names(), ["a"]);
    settle().await;
    let error = cache.maps.status().degraded.unwrap().error;
    assert!(error.to_lowercase().contains("forbidden"), "{error}");
    assert!(error.ends_with("grant the verbs list and watch"), "{error}");
    sleep(Duration::from_secs(600)).await;
    let sent = cache.requests.len();
    assert!((20..120).contains(&sent), "{sent} requests in ten minutes");
    cache.heal(&bench).await;
    bench.create("b").await;
    until("the event", || cache.names() == ["a", "b"]).await;
    cache.running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn without_any_right_the_manager_ends_and_names_the_verbs() {
    let bench = bench();
    let all = Match::any().user("controller").resource("configmaps");
    bench.server.faults().set_plan(FaultPlan::none().rule(Rule::new(all, Fault::Forbidden)));
    let mut manager =
        Manager::builder().require_synced_within(Duration::from_secs(7)).build().unwrap();
    let (client, requests) = front(&bench, |_| None);
    let config = CacheConfig::new().streaming_list(true);
    let maps = manager.cache_with(Api::<ConfigMap>::all(client), config);
    manager.add(controller(&maps, &Log::new()));
    let error = manager.run(never()).await.unwrap_err();
    assert!(matches!(error, ManagerError::CacheSync(_)), "{error}");
    assert!(error.to_string().contains("grant the verbs list and watch"), "{error}");
    assert_eq!(requests.all().iter().filter(|it| **it == "stream").count(), 1);
}
