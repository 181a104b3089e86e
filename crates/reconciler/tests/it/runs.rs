//! The runs of keys: one at a time, none lost, missing objects too.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use kube::Api;
use kube::api::PostParams;
use reconciler::{Action, Controller, Failure, ObjectKey, Request, Source, reconcile_fn};
use tokio::sync::Semaphore;
use tokio::time::sleep;

use crate::bench::{Log, bench, key, manager, settle, start, until};

#[tokio::test(start_paused = true)]
async fn every_object_at_the_start_and_every_change_is_run() {
    let bench = bench();
    bench.create("a").await;
    let log = Log::new();
    let mut manager = manager();
    let maps = manager.cache(bench.api());
    let (seen, known) = (log.clone(), maps.clone());
    manager.add(
        Controller::keyed(
            "maps",
            reconcile_fn(move |request: Request<ObjectKey>| {
                let (seen, known) = (seen.clone(), known.clone());
                async move {
                    let map = known.get(request.key());
                    let value = map.map(|map| map.data.clone().unwrap_or_default().remove("value"));
                    let reasons: Vec<String> =
                        request.reasons().map(|reason| reason.to_string()).collect();
                    seen.push((request.key().to_string(), value, reasons));
                    Ok(Action::await_change())
                }
            }),
        )
        .source(maps.objects().named("maps")),
    );
    let running = start(manager);
    until("the first run", || log.len() == 1).await;
    bench.create("b").await;
    until("the run of b", || log.len() == 2).await;
    bench.touch("a", "1").await;
    until("the run of the change", || log.len() == 3).await;
    bench.delete("b").await;
    until("the run of the deletion", || log.len() == 4).await;
    let report = running.stop().await;
    let reason = |kind: &str| vec![format!("maps {kind}")];
    assert_eq!(
        log.all(),
        [
            ("default/a".into(), Some(None), reason("appeared")),
            ("default/b".into(), Some(None), reason("appeared")),
            ("default/a".into(), Some(Some("1".into())), reason("changed")),
            ("default/b".into(), None, reason("vanished")),
        ]
    );
    assert_eq!(report.controllers[0].reconciles, 4);
    assert!(report.is_clean());
}

#[tokio::test(start_paused = true)]
async fn changes_before_a_run_are_one_run_and_a_change_during_a_run_is_one_more() {
    let bench = bench();
    bench.create("a").await;
    let (log, gate) = (Log::new(), Arc::new(Semaphore::new(0)));
    let mut manager = manager();
    let maps = manager.cache(bench.api());
    let (seen, door, known) = (log.clone(), Arc::clone(&gate), maps.clone());
    manager.add(
        Controller::keyed(
            "maps",
            reconcile_fn(move |request: Request<ObjectKey>| {
                let (seen, door, known) = (seen.clone(), Arc::clone(&door), known.clone());
                async move {
                    seen.push("begin".to_owned());
                    door.acquire().await?.forget();
                    let map = known.get(request.key());
                    let value = map.and_then(|map| map.data.clone()?.remove("value"));
                    seen.push(value.unwrap_or_default());
                    Ok(Action::await_change())
                }
            }),
        )
        .source(maps.objects()),
    );
    let running = start(manager);
    until("the first run", || log.len() == 1).await;
    for value in ["1", "2", "3"] {
        bench.touch("a", value).await;
        settle().await;
    }
    assert_eq!(log.len(), 1, "no second run of a key beside the first");
    gate.add_permits(9);
    until("the second run", || log.len() == 4).await;
    settle().await;
    assert_eq!(log.all(), ["begin", "3", "begin", "3"]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn no_key_has_two_runs_at_a_time_whatever_comes() {
    let bench = bench();
    let mut manager = manager();
    let maps = manager.cache(bench.api());
    let running_now: Arc<Mutex<HashMap<ObjectKey, u32>>> = Arc::default();
    let (most, runs) = (Arc::new(Mutex::new((0, 0))), Log::new());
    let (now, peak, seen) = (Arc::clone(&running_now), Arc::clone(&most), runs.clone());
    let controller = Controller::keyed(
        "maps",
        reconcile_fn(move |request: Request<ObjectKey>| {
            let (now, peak, seen) = (Arc::clone(&now), Arc::clone(&peak), seen.clone());
            async move {
                {
                    let mut now = now.lock().unwrap();
                    *now.entry(request.key().clone()).or_default() += 1;
                    let mut peak = peak.lock().unwrap();
                    peak.0 = peak.0.max(now[request.key()]);
                    peak.1 = peak.1.max(now.values().filter(|runs| **runs > 0).count());
                }
                sleep(Duration::from_millis(7)).await;
                *now.lock().unwrap().get_mut(request.key()).unwrap() -= 1;
                seen.push(());
                // Every third run fails, so that retries mix with changes and requeues.
                if seen.len() % 3 == 0 {
                    return Err(Failure::retry("again"));
                }
                Ok(if seen.len() % 5 == 0 {
                    Action::requeue(Duration::ZERO)
                } else {
                    Action::await_change()
                })
            }
        }),
    );
    let handle = controller.handle();
    manager.add(controller.workers(3).source(maps.objects()));
    let running = start(manager);
    for round in 0..40 {
        for name in ["a", "b", "c", "d", "e"] {
            handle.add(key(name));
        }
        sleep(Duration::from_millis(round % 11)).await;
    }
    settle().await;
    running.stop().await;
    let (one_key, keys) = *most.lock().unwrap();
    assert_eq!(one_key, 1, "two runs of one key at a time");
    assert_eq!(keys, 3, "as many keys at a time as there are workers");
    assert!(runs.len() > 40);
}

#[tokio::test(start_paused = true)]
async fn a_missing_object_is_an_ordinary_run() {
    let bench = bench();
    let log = Log::new();
    let mut manager = manager();
    let maps = manager.cache(bench.api());
    let seen = log.clone();
    let controller = Controller::keyed(
        "maps",
        reconcile_fn(move |request: Request<ObjectKey>| {
            let (seen, maps) = (seen.clone(), maps.clone());
            async move {
                seen.push(maps.get(request.key()).is_none());
                Ok(Action::await_change())
            }
        }),
    );
    controller.handle().add(key("nowhere"));
    manager.add(controller);
    let running = start(manager);
    until("the run", || log.len() == 1).await;
    assert_eq!(log.all(), [true]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn owners_maps_and_streams_name_keys() {
    let bench = bench();
    bench.create("owner").await;
    let owner = bench.maps.get("owner").await.unwrap();
    let secrets: Api<Secret> = Api::namespaced(bench.server.client_as("writer"), "default");
    let log = Log::new();
    let mut manager = manager();
    let owned = manager.cache(Api::<Secret>::all(bench.client.clone()));
    let seen = log.clone();
    manager.add(
        Controller::keyed(
            "maps",
            reconcile_fn(move |request: Request<ObjectKey>| {
                let seen = seen.clone();
                async move {
                    let reasons: Vec<String> =
                        request.reasons().map(|reason| reason.to_string()).collect();
                    seen.push((request.key().to_string(), reasons.join(", ")));
                    Ok(Action::await_change())
                }
            }),
        )
        .source(owned.owners::<ConfigMap>().named("owned"))
        .source(owned.owners::<Pod>().named("of pods"))
        .source(
            owned
                .trigger(|change| change.key().map(|key| ObjectKey::cluster(key.name())))
                .named("mapped"),
        )
        .source(Source::stream("stream", futures::stream::iter([key("streamed")]))),
    );
    let running = start(manager);
    until("the streamed key", || log.len() == 1).await;
    let secret: Secret = serde_json::from_value(serde_json::json!({"metadata": {
        "name": "s", "ownerReferences": [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.metadata.uid, "controller": true},
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": "1", "controller": false},
        ]}}))
    .unwrap();
    secrets.create(&PostParams::default(), &secret).await.unwrap();
    until("the owner's run and the mapped one", || log.len() == 3).await;
    settle().await;
    let mut runs = log.all();
    runs.sort();
    assert_eq!(
        runs,
        [
            ("default/owner".into(), "owned appeared".into()),
            ("default/streamed".into(), "named by stream".into()),
            ("s".into(), "mapped appeared".into()),
        ]
    );
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn two_controllers_share_one_cache_and_one_watch() {
    let bench = bench();
    bench.create("a").await;
    let log = Log::new();
    let mut manager = manager();
    let maps = manager.cache(bench.api());
    for name in ["one", "two"] {
        let seen = log.clone();
        manager.add(
            Controller::keyed(
                name,
                reconcile_fn(move |_: Request<ObjectKey>| {
                    let seen = seen.clone();
                    async move {
                        seen.push(name);
                        Ok(Action::await_change())
                    }
                }),
            )
            .source(maps.objects()),
        );
    }
    let running = start(manager);
    until("both runs", || log.len() == 2).await;
    let watches =
        bench.server.faults().live_watches(&embedded_apiserver::Match::any().user("controller"));
    assert_eq!(watches, 1);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn names_are_checked_before_anything_starts() {
    for (names, expected) in [
        (["a", "a"], "two controllers or tasks are called \"a\""),
        (["a", "b b"], "\"b b\" cannot name a controller"),
        (["a", ""], "\"\" cannot name a controller"),
    ] {
        let mut manager = manager();
        for name in names {
            manager.add(Controller::keyed(
                name,
                reconcile_fn(|_: Request<u8>| async { Ok(Action::await_change()) }),
            ));
        }
        let error = manager.run(crate::bench::never()).await.unwrap_err();
        assert!(error.to_string().starts_with(expected), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_panics_is_told_of_and_the_other_sources_go_on() {
    let log = Log::new();
    let seen = log.clone();
    let controller = Controller::keyed(
        "test",
        reconcile_fn(move |request: Request<ObjectKey>| {
            seen.push(request.key().to_string());
            async { Ok(Action::await_change()) }
        }),
    )
    .source(Source::stream(
        "faulty",
        futures::stream::iter(["a", "b"]).map(|name| {
            assert!(name != "b", "planted");
            key(name)
        }),
    ))
    .source(Source::stream("sound", futures::stream::iter([key("c")])));
    let (handle, view) = (controller.handle(), controller.observe());
    let mut manager = manager();
    manager.add(controller);
    let running = start(manager);
    until("the keys before the panic", || log.len() == 2).await;
    settle().await;
    handle.add(key("d"));
    until("the key from outside", || log.len() == 3).await;
    assert_eq!(view.broken_sources().iter().map(|name| &**name).collect::<Vec<_>>(), ["faulty"]);
    let report = running.stop().await;
    assert_eq!((report.controllers[0].panics, report.controllers[0].broken_sources.len()), (1, 1));
}
