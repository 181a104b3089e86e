//! Caches and their watches: contents, recovery and errors.

use std::time::Duration;

use embedded_apiserver::{Fault, FaultPlan, Kind, Match, Rule, Verb};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{DynamicObject, PostParams};
use kube::core::{ApiResource, Object, PartialObjectMeta};
use kube::{Api, Client};
use reconciler::{
    Action, Cache, CacheConfig, Controller, Index, Manager, ManagerError, ObjectKey, Request,
    reconcile_fn,
};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};

use crate::bench::{Bench, Log, Running, bench, key, manager, never, settle, start, until};

/// A manager whose only controller notes the keys of config maps that run.
fn noting(bench: &Bench, manager: &mut Manager) -> (Cache<ConfigMap>, Log<(String, bool)>) {
    let log = Log::new();
    let maps = manager.cache(bench.api());
    let (seen, known) = (log.clone(), maps.clone());
    manager.add(
        Controller::keyed(
            "maps",
            reconcile_fn(move |request: Request<ObjectKey>| {
                let (seen, known) = (seen.clone(), known.clone());
                async move {
                    let there = known.get(request.key()).is_some();
                    seen.push((request.key().name().to_owned(), there));
                    Ok(Action::await_change())
                }
            }),
        )
        .source(maps.objects()),
    );
    (maps, log)
}

async fn started(bench: &Bench) -> (Running, Cache<ConfigMap>, Log<(String, bool)>) {
    let mut manager = manager();
    let (maps, log) = noting(bench, &mut manager);
    (start(manager), maps, log)
}

fn watches_of_maps() -> Match {
    Match::any().user("controller").verb(Verb::Watch).resource("configmaps")
}

#[tokio::test(start_paused = true)]
async fn a_deletion_while_the_watch_was_away_is_seen_after_the_list() {
    let bench = bench();
    bench.create("a").await;
    bench.create("b").await;
    let (running, maps, log) = started(&bench).await;
    until("both runs", || log.len() == 2).await;
    // No watch can start, and the changes are compacted away meanwhile.
    bench
        .server
        .faults()
        .set_plan(FaultPlan::none().rule(Rule::new(watches_of_maps(), Fault::Unavailable)));
    bench.server.faults().cut_watches(&watches_of_maps());
    bench.delete("a").await;
    bench.touch("b", "1").await;
    bench.create("c").await;
    bench.server.compact();
    settle().await;
    assert_eq!(log.len(), 2);
    bench.server.faults().clear();
    until("the runs of what changed", || log.len() == 5).await;
    settle().await;
    let mut after = log.all()[2..].to_vec();
    after.sort();
    assert_eq!(after, [("a".into(), false), ("b".into(), true), ("c".into(), true)]);
    assert_eq!(maps.status().lists, 2);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_object_made_again_while_the_watch_was_away_is_a_deletion_and_an_appearance() {
    let bench = bench();
    bench.create("a").await;
    let log = Log::new();
    let mut manager = manager();
    let maps = manager.cache(bench.api());
    let seen = log.clone();
    manager.add(
        Controller::keyed(
            "maps",
            reconcile_fn(|_: Request<String>| async { Ok(Action::await_change()) }),
        )
        .source(maps.trigger(move |change| {
            let uid = |map: &ConfigMap| map.metadata.uid.clone().unwrap();
            seen.push((
                change.old.as_deref().map(uid),
                change.new.as_deref().map(uid),
                change.initial,
            ));
            None
        })),
    );
    let running = start(manager);
    until("the first", || log.len() == 1).await;
    let first = log.all()[0].1.clone();
    bench
        .server
        .faults()
        .set_plan(FaultPlan::none().rule(Rule::new(watches_of_maps(), Fault::Unavailable)));
    bench.server.faults().cut_watches(&watches_of_maps());
    bench.delete("a").await;
    bench.create("a").await;
    bench.server.compact();
    bench.server.faults().clear();
    until("both changes", || log.len() == 3).await;
    let second = bench.maps.get("a").await.unwrap().metadata.uid;
    assert_ne!(first, second);
    assert_eq!(
        log.all(),
        [(None, first.clone(), true), (first, None, false), (None, second, false),]
    );
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn one_watch_that_fails_for_ever_delays_no_other() {
    let bench = bench();
    let mut manager = manager();
    let (_, log) = noting(&bench, &mut manager);
    let secrets = manager.cache(Api::<Secret>::all(bench.client.clone()));
    let running = start(manager);
    until("both caches", || secrets.is_synced()).await;
    let watches = Match::any().verb(Verb::Watch).resource("secrets");
    bench
        .server
        .faults()
        .set_plan(FaultPlan::none().rule(Rule::new(watches.clone(), Fault::InternalError)));
    bench.server.faults().cut_watches(&watches);
    until("the watch is known to fail", || secrets.status().degraded.is_some()).await;
    for number in 0..30 {
        sleep(Duration::from_secs(number)).await;
        let at = Instant::now();
        bench.create(&format!("m{number}")).await;
        let runs = usize::try_from(number).unwrap() + 1;
        until("the run", || log.len() == runs).await;
        assert!(at.elapsed() < Duration::from_millis(10), "{:?}", at.elapsed());
    }
    let status = secrets.status();
    assert!(status.synced, "old, not empty");
    assert!(status.degraded.unwrap().error.contains("500") || status.failures > 3);
    bench.server.faults().clear();
    until("the watch heals", || secrets.status().degraded.is_none()).await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_stays_silent_is_replaced_and_nothing_is_missed() {
    let bench = bench();
    bench.create("a").await;
    let log = Log::new();
    let mut manager = manager();
    let maps =
        manager.cache_with(bench.api(), CacheConfig::new().watch_time(Duration::from_secs(20)));
    let seen = log.clone();
    manager.add(
        Controller::keyed(
            "maps",
            reconcile_fn(move |_: Request<ObjectKey>| {
                let seen = seen.clone();
                async move {
                    seen.push(());
                    Ok(Action::await_change())
                }
            }),
        )
        .source(maps.objects()),
    );
    let running = start(manager);
    until("the first run", || log.len() == 1).await;
    settle().await;
    assert_eq!(bench.server.faults().stall_watches(&watches_of_maps()), 1);
    let stalled = Instant::now();
    bench.touch("a", "1").await;
    until("the run after the silence", || log.len() == 2).await;
    assert!(stalled.elapsed() <= Duration::from_secs(26), "{:?}", stalled.elapsed());
    assert_eq!(maps.status().lists, 1, "it went on from its last version");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn watches_that_are_closed_at_once_are_not_reopened_in_a_hot_loop() {
    let bench = bench();
    let closing =
        Fault::CutWatch { min_events: 0, max_events: 0, after_ms: Some(0), mid_line: false };
    bench.server.faults().set_plan(FaultPlan::none().rule(Rule::new(watches_of_maps(), closing)));
    let (running, maps, _) = started(&bench).await;
    until("the cache", || maps.is_synced()).await;
    sleep(Duration::from_secs(600)).await;
    let failures = maps.status().failures;
    assert!((20..60).contains(&failures), "{failures} watches in ten minutes");
    bench.server.faults().clear();
    until("the watch heals", || maps.status().degraded.is_none()).await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_version_refused_at_the_start_of_a_watch_leads_to_a_list() {
    for fault in [Fault::Expired, Fault::Forbidden] {
        let bench = bench();
        bench.create("a").await;
        let (running, maps, log) = started(&bench).await;
        until("the first run", || log.len() == 1).await;
        bench
            .server
            .faults()
            .set_plan(FaultPlan::none().rule(Rule::new(watches_of_maps(), fault).calls(1..=4)));
        bench.server.faults().cut_watches(&watches_of_maps());
        bench.delete("a").await;
        until("the run of the deletion", || log.len() == 2).await;
        assert!(maps.status().lists >= 2, "listed again");
        running.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_cache_that_is_not_complete_in_time_ends_the_manager_and_is_named() {
    let bench = bench();
    let listing = Match::any().verb(Verb::List).resource("secrets");
    bench.server.faults().set_plan(FaultPlan::none().rule(Rule::new(listing, Fault::Forbidden)));
    let mut manager =
        Manager::builder().require_synced_within(Duration::from_secs(7)).build().unwrap();
    let (_, log) = noting(&bench, &mut manager);
    let _secrets = manager.cache(Api::<Secret>::all(bench.client.clone()));
    bench.create("a").await;
    let error = manager.run(never()).await.unwrap_err();
    assert!(matches!(error, ManagerError::CacheSync(_)), "{error}");
    let text = error.to_string();
    assert!(text.starts_with("the watch of v1/secrets was not complete after 7s: "), "{text}");
    assert!(text.to_lowercase().contains("forbidden"), "{text}");
    assert_eq!(log.len(), 0, "no run before all caches are complete");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_never_answered_is_asked_again_soon_and_a_slow_one_comes_through() {
    for (faults, calls, at_most) in [
        (vec![Fault::NeverAnswer], 1..=1, 11),
        (vec![Fault::Latency { min_ms: 25_000, max_ms: 25_000 }], 1..=9, 80),
    ] {
        let bench = bench();
        let listing = Match::any().user("controller").verb(Verb::List);
        let rule = Rule::one_of(listing, faults).calls(calls);
        bench.server.faults().set_plan(FaultPlan::none().rule(rule));
        let began = Instant::now();
        let (running, maps, _) = started(&bench).await;
        until("the cache", || maps.is_synced()).await;
        assert!(began.elapsed() < Duration::from_secs(at_most), "{:?}", began.elapsed());
        running.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn no_run_begins_before_every_cache_that_it_reads_is_complete() {
    let bench = bench();
    bench.create("a").await;
    let listing = Match::any().verb(Verb::List).resource("secrets");
    bench.server.faults().set_plan(FaultPlan::none().rule(Rule::new(listing, Fault::Unavailable)));
    let mut manager = manager();
    let maps = manager.cache(bench.api());
    let secrets = manager.cache(Api::<Secret>::all(bench.client.clone()));
    let log = Log::new();
    let runs = log.clone();
    let controller = Controller::keyed(
        "maps",
        reconcile_fn(move |_: Request<ObjectKey>| {
            runs.push(());
            async { Ok(Action::await_change()) }
        }),
    );
    manager.add(controller.source(maps.objects()).reads(&secrets));
    let running = start(manager);
    sleep(Duration::from_secs(20)).await;
    assert_eq!(log.len(), 0);
    bench.server.faults().clear();
    until("the run", || log.len() == 1).await;
    assert!(secrets.is_synced());
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn lists_come_in_pages_and_a_failed_page_starts_over() {
    let bench = bench();
    for number in 0..25 {
        bench.create(&format!("m{number:02}")).await;
    }
    let listing = Match::any().user("controller").verb(Verb::List).resource("configmaps");
    bench
        .server
        .faults()
        .set_plan(FaultPlan::none().rule(Rule::new(listing.clone(), Fault::Expired).calls(2..=2)));
    let mut manager = manager();
    let maps = manager.cache_with(bench.api(), CacheConfig::new().page_size(10));
    let running = start(manager);
    until("the cache", || maps.is_synced()).await;
    let names: Vec<String> =
        maps.list_in("default").iter().map(|map| map.metadata.name.clone().unwrap()).collect();
    assert_eq!(names, (0..25).map(|number| format!("m{number:02}")).collect::<Vec<_>>());
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn indexes_selectors_and_transforms_hold() {
    let bench = bench();
    for name in ["a", "b", "c"] {
        let map: ConfigMap = serde_json::from_value(serde_json::json!({
            "metadata": {"name": name, "labels": {"app": if name == "c" { "other" } else { "mine" }}},
            "data": {"value": "x", "secret": "y"},
        }))
        .unwrap();
        bench.maps.create(&PostParams::default(), &map).await.unwrap();
    }
    let entries = Index::new(|map: &ConfigMap| {
        let entries = map.data.iter().flatten().map(|(key, value)| format!("{key}={value}"));
        entries.collect::<Vec<_>>()
    });
    let by_uid = Index::new(|map: &ConfigMap| map.metadata.uid.clone());
    let mut manager = manager();
    let maps = manager.cache_with(
        bench.api(),
        CacheConfig::new().labels("app=mine").index(&by_uid).index(&entries).transform(
            |map: &mut ConfigMap| {
                map.data.iter_mut().for_each(|data| {
                    data.remove("secret");
                });
            },
        ),
    );
    let running = start(manager);
    until("the cache", || maps.is_synced()).await;
    let found = |value: &str| -> Vec<String> {
        let found = maps.by_index(&entries, value);
        found.iter().map(|map| map.metadata.name.clone().unwrap()).collect()
    };
    assert_eq!(found("value=x"), ["a", "b"]);
    assert_eq!(found("secret=y"), Vec::<String>::new());
    bench.touch("a", "z").await;
    until("the index follows", || found("value=z") == ["a"]).await;
    assert_eq!(found("value=x"), ["b"]);
    assert!(maps.get(&key("c")).is_none());
    let held = maps.get(&key("a")).unwrap();
    let uid = held.metadata.uid.as_deref().unwrap();
    assert_eq!(maps.by_index(&by_uid.clone(), uid), std::slice::from_ref(&held));
    running.stop().await;
}

#[tokio::test(start_paused = true)]
#[should_panic = "the cache v1/configmaps does not have this index: see CacheConfig::index"]
async fn an_index_of_another_cache_is_not_read_as_empty() {
    let bench = bench();
    let of = || Index::new(|map: &ConfigMap| map.metadata.uid.clone());
    let (known, unknown) = (of(), of());
    let maps = manager().cache_with(bench.api(), CacheConfig::new().index(&known));
    assert!(maps.by_index(&known, "x").is_empty());
    maps.by_index(&unknown, "x");
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct WidgetSpec {
    size: u32,
}

type Widget = Object<WidgetSpec, serde_json::Value>;

fn widgets() -> ApiResource {
    ApiResource {
        group: "example.org".into(),
        version: "v1".into(),
        api_version: "example.org/v1".into(),
        kind: "Widget".into(),
        plural: "widgets".into(),
    }
}

async fn put(client: &Client, name: &str, spec: serde_json::Value) {
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &widgets());
    let object = DynamicObject::new(name, &widgets()).data(serde_json::json!({"spec": spec}));
    match api.get_opt(name).await.unwrap() {
        None => {
            api.create(&PostParams::default(), &object).await.unwrap();
        }
        Some(mut known) => {
            known.data = object.data;
            api.replace(name, &PostParams::default(), &known).await.unwrap();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_that_does_not_decode_hides_no_other() {
    let bench = bench();
    let kind = Kind::namespaced("example.org", "v1", "Widget", "widgets");
    bench.server.register_kind(kind).unwrap();
    let writer = bench.server.client_as("writer");
    put(&writer, "good", serde_json::json!({"size": 1})).await;
    put(&writer, "bad", serde_json::json!({"size": "huge"})).await;
    let mut manager = manager();
    let cache: Cache<Widget> = manager.cache(Api::all_with(bench.client.clone(), &widgets()));
    let running = start(manager);
    until("the cache", || cache.is_synced()).await;
    let size = |name: &str| cache.get(&key(name)).map(|widget| widget.spec.size);
    assert_eq!((size("good"), size("bad")), (Some(1), None));
    assert_eq!(cache.status().undecodable, 1);
    // By the watch too: a good object turns bad and is kept as it was, a bad one turns good.
    put(&writer, "good", serde_json::json!({"size": []})).await;
    put(&writer, "bad", serde_json::json!({"size": 2})).await;
    put(&writer, "late", serde_json::json!({"size": 3})).await;
    until("the objects after it", || size("late") == Some(3)).await;
    assert_eq!((size("good"), size("bad")), (Some(1), Some(2)));
    assert_eq!(cache.name(), "example.org/v1/widgets");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_mapping_that_panics_is_passed_over() {
    let bench = bench();
    bench.create("a").await;
    bench.create("b").await;
    let log = Log::new();
    let mut manager = manager();
    let maps = manager.cache(bench.api());
    let seen = log.clone();
    manager.add(
        Controller::keyed(
            "maps",
            reconcile_fn(move |request: Request<ObjectKey>| {
                seen.push(request.key().to_string());
                async { Ok(Action::await_change()) }
            }),
        )
        .source(maps.trigger(|change| {
            let key = change.key();
            assert!(key.as_ref().is_some_and(|key| key.name() != "a"), "planted");
            key
        })),
    );
    let running = start(manager);
    until("the run of b", || log.len() == 1).await;
    bench.create("c").await;
    until("the run of c", || log.len() == 2).await;
    assert_eq!(log.all(), ["default/b", "default/c"]);
    assert_eq!(maps.status().panics, 1);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_told_to_try_again_does_not_wait_out_its_pause() {
    let bench = bench();
    let lists = Match::any().user("controller").verb(Verb::List).resource("configmaps");
    bench.server.faults().set_plan(FaultPlan::none().rule(Rule::new(lists, Fault::Forbidden)));
    let (running, maps, _log) = started(&bench).await;
    // Long enough for pauses of 15 s and more, and not for the manager to give up.
    sleep(Duration::from_secs(100)).await;
    assert!(!maps.is_synced());
    bench.server.faults().clear();
    let told = Instant::now();
    maps.retry_now();
    maps.await_synced_within(Duration::from_secs(5)).await.unwrap();
    assert!(told.elapsed() < Duration::from_secs(1), "{:?}", told.elapsed());
    running.stop().await;
}

/// A cache of metadata follows its objects.
#[tokio::test(start_paused = true)]
async fn a_cache_of_metadata_follows_its_objects() {
    let bench = bench();
    bench.create("old").await;
    let mut manager = manager();
    let metadata: Api<PartialObjectMeta<ConfigMap>> = Api::all(bench.client.clone());
    let cache = manager.cache(metadata);
    let log = Log::new();
    let seen = log.clone();
    manager.add(
        Controller::keyed(
            "maps",
            reconcile_fn(move |request: Request<ObjectKey>| {
                seen.push(request.key().name().to_owned());
                async { Ok(Action::await_change()) }
            }),
        )
        .source(cache.objects()),
    );
    let running = start(manager);
    until("the first run", || log.len() == 1).await;
    for change in 0..3 {
        match change {
            0 => bench.create("new").await,
            1 => bench.touch("old", "1").await,
            _ => bench.delete("new").await,
        }
        settle().await;
    }
    assert_eq!(log.all(), ["old", "new", "old", "new"]);
    assert_eq!(cache.list().len(), 1);
    running.stop().await;
}
