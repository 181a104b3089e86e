//! Faults that users of this crate reported, by their numbers in the issue. None may come back.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use embedded_apiserver::{Fault, FaultPlan, Match, Rule, Verb};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, PersistentVolume, Secret};
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use reconciler::{
    Action, CacheConfig, Controller, Manager, ManagerError, ObjectKey, Request, Source,
    reconcile_fn,
};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::bench::{Log, bench, key, manager, never, settle, start, until};

/// A controller that notes the keys it runs.
fn noting(
    name: &str,
    log: &Log<String>,
) -> Controller<impl reconciler::Reconciler<Key = ObjectKey> + use<>> {
    let log = log.clone();
    Controller::keyed(
        name,
        reconcile_fn(move |request: Request<ObjectKey>| {
            log.push(request.key().to_string());
            async { Ok(Action::await_change()) }
        }),
    )
}

/// Stops a manager from a task beside it, after ten turns. Returns the number of earlier runs.
async fn runs_before_a_stop(
    make: impl FnOnce(Arc<AtomicU32>) -> Controller<ReconcileCount>,
) -> u32 {
    let runs = Arc::new(AtomicU32::new(0));
    let mut manager = Manager::builder().build().unwrap();
    manager.add(make(Arc::clone(&runs)));
    let stop = CancellationToken::new();
    let token = stop.clone();
    let other = tokio::spawn(async move {
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        token.cancel();
    });
    manager.run(stop.cancelled_owned()).await.unwrap();
    other.await.unwrap();
    runs.load(Ordering::Relaxed)
}

/// A reconciler that never waits, and counts its runs.
struct ReconcileCount(Arc<AtomicU32>);

impl reconciler::Reconciler for ReconcileCount {
    type Key = u32;

    async fn reconcile(&self, _: Request<u32>) -> Result<Action, reconciler::Failure> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(Action::await_change())
    }
}

const MANY: u32 = 100_000;

/// 1, first half: a reconciler that never waits leaves the runtime to others.
#[tokio::test(start_paused = true)]
async fn runs_that_never_wait_do_not_keep_a_stop_waiting() {
    let runs = runs_before_a_stop(|runs| {
        let controller = Controller::keyed("busy", ReconcileCount(runs));
        let handle = controller.handle();
        (0..MANY).for_each(|key| handle.add(key));
        controller
    })
    .await;
    assert!(runs < MANY / 10, "{runs} runs before the stop was served");
}

/// 1, second half: a stream that is always ready leaves the runtime to others.
#[tokio::test(start_paused = true)]
async fn a_stream_that_is_always_ready_does_not_keep_a_stop_waiting() {
    let read = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&read);
    let _ = runs_before_a_stop(|runs| {
        let keys = futures::stream::iter((0..MANY).inspect(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        }));
        Controller::keyed("busy", ReconcileCount(runs)).source(Source::stream("keys", keys))
    })
    .await;
    let read = read.load(Ordering::Relaxed);
    assert!(read < MANY / 10, "{read} keys were read before the stop was served");
}

/// A reconciler that brings itself back runs as often at one moment of a clock that stands still.
const ENOUGH: u32 = 1000;

/// Counts the runs of a reconciler of Deployments. Each run writes a new number into its own
/// object, and then fails.
async fn runs_of_a_writer(
    failure: fn() -> reconciler::Failure,
    is_status: bool,
    seconds: u64,
) -> u64 {
    let bench = bench();
    let deployments = Api::<Deployment>::namespaced(bench.client.clone(), "default");
    let labels = serde_json::json!({"app": "a"});
    let made = serde_json::json!({"metadata": {"name": "a"}, "spec": {
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    }});
    deployments
        .create(&PostParams::default(), &serde_json::from_value(made).unwrap())
        .await
        .unwrap();
    let mut manager = manager();
    let cache = manager.cache(deployments.clone());
    let runs = Arc::new(AtomicU32::new(0));
    let controller = Controller::keyed(
        "writer",
        reconcile_fn(move |request: Request<ObjectKey>| {
            let (deployments, number) = (deployments.clone(), runs.fetch_add(1, Ordering::Relaxed));
            async move {
                if number >= ENOUGH {
                    return Ok(Action::await_change()); // So that the test fails, and ends.
                }
                let (params, name) = (PatchParams::default(), request.key().name());
                if is_status {
                    let patch = serde_json::json!({"status": {"unavailableReplicas": number + 1}});
                    deployments.patch_status(name, &params, &Patch::Merge(patch)).await?;
                } else {
                    let patch = serde_json::json!({"spec": {"replicas": number + 2}});
                    deployments.patch(name, &params, &Patch::Merge(patch)).await?;
                }
                Err(failure())
            }
        }),
    )
    .source(cache.objects());
    manager.add(controller);
    let running = start(manager);
    sleep(Duration::from_secs(seconds)).await;
    running.stop().await.controllers[0].reconciles
}

/// 2, first half: a failing run that writes its own status runs at its back-off. Writes beyond its
/// status add at most one run a second.
#[tokio::test(start_paused = true)]
async fn a_failing_run_does_not_bring_itself_back_at_the_speed_of_its_writes() {
    let again = || reconciler::Failure::retry("again");
    let of_status = runs_of_a_writer(again, true, 10).await;
    // 5 ms doubling, a tenth longer at most: the eleventh after 5.1 to 5.6 s.
    assert!((10..=11).contains(&of_status), "{of_status} runs in 10 s");
    let of_spec = runs_of_a_writer(again, false, 10).await;
    assert!((10..=21).contains(&of_spec), "{of_spec} runs in 10 s");
}

/// 2, second half: a terminal failure does not un-park itself by its own status write, and by a
/// write beyond its status once a second at most.
#[tokio::test(start_paused = true)]
async fn a_terminal_failure_stays_parked_beside_its_own_status_write() {
    let no = || reconciler::Failure::terminal("no");
    assert_eq!(runs_of_a_writer(no, true, 10).await, 1);
    let of_spec = runs_of_a_writer(no, false, 10).await;
    assert!((10..=11).contains(&of_spec), "{of_spec} runs in 10 s");
}

/// 3 and 4: caches of one kind on two servers are two caches, each with its own objects.
#[tokio::test(start_paused = true)]
async fn one_kind_of_two_servers_is_two_caches() {
    let (here, there) = (bench(), bench());
    there.create("far").await;
    let mut manager = manager();
    let near = manager.cache(here.api());
    let far = manager.cache_with(there.api(), CacheConfig::new().named("far/configmaps"));
    let log = Log::new();
    manager.add(noting("maps", &log).source(near.objects()).source(far.objects()));
    let running = start(manager);
    until("the run of the far one", || log.len() == 1).await;
    assert!(near.get(&key("far")).is_none() && far.get(&key("far")).is_some());
    running.stop().await;
}

/// 5: the key of a cluster-scoped owner has no namespace.
#[tokio::test(start_paused = true)]
async fn the_key_of_a_cluster_scoped_owner_has_no_namespace() {
    let bench = bench();
    let mut manager = manager();
    let secrets = manager.cache(Api::<Secret>::all(bench.client.clone()));
    let log = Log::new();
    manager.add(noting("volumes", &log).source(secrets.owners::<PersistentVolume>()));
    let running = start(manager);
    let owned = serde_json::json!({"metadata": {"name": "s", "ownerReferences": [
        {"apiVersion": "v1", "kind": "PersistentVolume", "name": "pv-1", "uid": "1", "controller": true}
    ]}});
    let writer = Api::<Secret>::namespaced(bench.server.client_as("writer"), "default");
    writer.create(&PostParams::default(), &serde_json::from_value(owned).unwrap()).await.unwrap();
    until("the owner's run", || log.len() == 1).await;
    assert_eq!(log.all(), ["pv-1"]);
    running.stop().await;
}

/// 6: an empty namespace counts as no namespace.
#[test]
fn an_empty_namespace_is_none() {
    assert_eq!(ObjectKey::namespaced("", "n"), ObjectKey::cluster("n"));
    assert_eq!(ObjectKey::namespaced("", "n").namespace(), None);
}

/// 7: two caches of one name would be one series in metrics and one line of `/readyz`.
#[tokio::test(start_paused = true)]
async fn two_caches_of_one_name_are_refused() {
    let bench = bench();
    let mut manager = manager();
    let _maps = manager.cache(bench.api());
    let _again = manager.cache(bench.api());
    let error = manager.run(never()).await.unwrap_err();
    assert!(
        matches!(&error, ManagerError::DuplicateCache { name } if &**name == "v1/configmaps"),
        "{error}"
    );
    assert!(error.to_string().contains("CacheConfig::named"), "{error}");
}

/// 8: a run is cancelled at its time-out before it is dropped.
#[tokio::test(start_paused = true)]
async fn a_run_is_told_that_its_time_is_up_before_it_is_dropped() {
    let log = Log::new();
    let told = log.clone();
    let began = Instant::now();
    let controller = Controller::keyed(
        "slow",
        reconcile_fn(move |request: Request<u32>| {
            let told = told.clone();
            async move {
                request.cancelled().await;
                told.push(("told", began.elapsed()));
                if request.attempt() == 0 {
                    return Ok(Action::await_change());
                }
                sleep(Duration::from_secs(60)).await;
                told.push(("not dropped", began.elapsed()));
                Ok(Action::await_change())
            }
        }),
    )
    .timeout(Duration::from_secs(10));
    let handle = controller.handle();
    let mut manager = manager();
    manager.add(controller);
    let running = start(manager);
    handle.add(1);
    until("it is told", || log.len() == 1).await;
    settle().await;
    assert_eq!(log.all(), [("told", Duration::from_secs(10))]);
    let report = running.stop().await;
    let timeouts = report.controllers[0].timeouts;
    assert_eq!(timeouts, 0, "it ended within its notice");
}

/// 9: an object whose label changes from x to y runs the keys of both.
#[tokio::test(start_paused = true)]
async fn an_object_that_moves_runs_the_key_it_left_and_the_key_it_joined() {
    let bench = bench();
    let mut manager = manager();
    let maps = manager.cache(bench.api());
    let log = Log::new();
    let by_app =
        |map: &ConfigMap| map.metadata.labels.clone()?.remove("app").map(ObjectKey::cluster);
    manager.add(noting("apps", &log).source(maps.watches(by_app)));
    let running = start(manager);
    bench.create("a").await;
    for app in ["x", "y"] {
        let patch = serde_json::json!({"metadata": {"labels": {"app": app}}});
        bench.maps.patch("a", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
        settle().await;
    }
    assert_eq!(log.all(), ["x", "x", "y"]);
    running.stop().await;
}

/// 10, first half: a controller without a source or a handle is refused.
#[tokio::test(start_paused = true)]
async fn a_controller_without_a_source_is_refused() {
    let mut manager = manager();
    manager.add(noting("silent", &Log::new()));
    let error = manager.run(never()).await.unwrap_err();
    assert!(
        matches!(&error, ManagerError::NoSource { controller } if &**controller == "silent"),
        "{error}"
    );
}

/// 10, second half: a source of another manager's cache is refused.
#[tokio::test(start_paused = true)]
async fn a_source_of_another_managers_cache_is_refused() {
    let bench = bench();
    let namespaces = manager().cache(Api::<Namespace>::all(bench.client.clone()));
    let mut manager = manager();
    manager.add(noting("lost", &Log::new()).source(namespaces.objects().named("theirs")));
    let error = manager.run(never()).await.unwrap_err();
    assert!(
        matches!(&error, ManagerError::ForeignCache { controller, source }
            if (&**controller, &**source) == ("lost", "theirs")),
        "{error}"
    );
}

/// 12: a conflict is no error, and a pause that the server requests is kept.
#[tokio::test(start_paused = true)]
async fn what_the_server_answers_decides_the_next_run() {
    let bench = bench();
    let creating = || Match::any().user("controller").verb(Verb::Create).resource("configmaps");
    for (fault, seconds, runs) in [
        (Fault::Conflict, 1, 2),
        (Fault::TooManyRequests { retry_after_s: 30 }, 29, 1),
        (Fault::TooManyRequests { retry_after_s: 30 }, 31, 2),
    ] {
        let plan = FaultPlan::none().rule(Rule::new(creating(), fault.clone()).calls(1..=1));
        bench.server.faults().set_plan(plan);
        let log = Log::new();
        let (ran, maps) =
            (log.clone(), Api::<ConfigMap>::namespaced(bench.client.clone(), "default"));
        let controller = Controller::keyed(
            "writer",
            reconcile_fn(move |request: Request<ObjectKey>| {
                let (ran, maps) = (ran.clone(), maps.clone());
                async move {
                    ran.push(());
                    let mut map = ConfigMap::default();
                    map.metadata.generate_name = Some(request.key().name().to_owned());
                    maps.create(&PostParams::default(), &map).await?;
                    Ok(Action::await_change())
                }
            }),
        );
        let handle = controller.handle();
        let mut manager = manager();
        manager.add(controller);
        let running = start(manager);
        handle.add(key("a"));
        sleep(Duration::from_secs(seconds)).await;
        assert_eq!(log.len(), runs, "{fault:?} after {seconds} s");
        let report = running.stop().await;
        let conflicts = u64::from(fault == Fault::Conflict);
        assert_eq!(
            (report.controllers[0].conflicts, report.controllers[0].errors),
            (conflicts, 1 - conflicts)
        );
    }
}

/// 14: a key that a handle added has a reason.
#[tokio::test(start_paused = true)]
async fn a_key_of_a_handle_has_a_reason() {
    let log = Log::new();
    let seen = log.clone();
    let controller = Controller::keyed(
        "named",
        reconcile_fn(move |request: Request<u32>| {
            let reasons: Vec<String> = request.reasons().map(|it| it.to_string()).collect();
            seen.push(reasons.join(", "));
            async { Ok(Action::await_change()) }
        }),
    );
    controller.handle().add(1);
    let mut manager = manager();
    manager.add(controller);
    let running = start(manager);
    until("the run", || log.len() == 1).await;
    assert_eq!(log.all(), ["added by a handle"]);
    running.stop().await;
}

/// A key that cannot be printed.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Sharp;

impl std::fmt::Debug for Sharp {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        panic!("no Debug")
    }
}

/// 14: a key whose `Debug` panics runs, and is in the report.
#[tokio::test(start_paused = true)]
async fn a_key_whose_debug_panics_costs_neither_its_run_nor_the_report() {
    let runs = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&runs);
    let controller = Controller::keyed(
        "sharp",
        reconcile_fn(move |_: Request<Sharp>| {
            count.fetch_add(1, Ordering::Relaxed);
            never()
        }),
    );
    controller.handle().add(Sharp);
    let mut manager = manager();
    manager.add(controller);
    let running = start(manager);
    until("the run", || runs.load(Ordering::Relaxed) == 1).await;
    let report = running.stop().await;
    assert_eq!(report.controllers[0].abandoned, ["(its Debug panicked)"]);
    assert_eq!((runs.load(Ordering::Relaxed), report.controllers[0].panics), (1, 0));
}

/// 14: the list of parked keys is bounded, and their number is not lost.
#[tokio::test(start_paused = true)]
async fn the_list_of_parked_keys_is_bounded() {
    const KEYS: u32 = 66_000;
    let controller = Controller::keyed(
        "parking",
        reconcile_fn(|_: Request<u32>| async {
            Err::<Action, _>(reconciler::Failure::terminal("no"))
        }),
    );
    let (view, handle) = (controller.observe(), controller.handle());
    (0..KEYS).for_each(|key| handle.add(key));
    let mut manager = manager();
    manager.add(controller);
    let running = start(manager);
    until("all runs", || view.depth() == 0 && view.parked().len() >= 65_536).await;
    settle().await;
    assert_eq!(view.parked().len(), 65_536);
    let report = running.stop().await;
    assert_eq!(report.controllers[0].terminal, u64::from(KEYS));
}

/// Panics where it is dropped, which may be while it is the payload of a panic.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("the payload panics too");
    }
}

/// 14: a panic whose payload panics is a failed attempt as any other.
#[tokio::test(start_paused = true)]
async fn a_panic_payload_that_panics_is_an_attempt() {
    let controller = Controller::keyed(
        "bombs",
        reconcile_fn(|_: Request<u32>| async {
            std::panic::panic_any(Bomb);
            #[expect(unreachable_code, reason = "names the type of the result")]
            Ok(Action::await_change())
        }),
    )
    .max_attempts(3);
    let view = controller.observe();
    controller.handle().add(1);
    let mut manager = manager();
    manager.add(controller);
    let running = start(manager);
    until("the end of the attempts", || view.parked().len() == 1).await;
    let report = running.stop().await;
    assert_eq!((report.controllers[0].reconciles, report.controllers[0].panics), (3, 3));
}

/// 16: a refused connection says so, in the status of the cache.
#[tokio::test(start_paused = true)]
async fn a_refused_connection_has_its_cause() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = kube::Config::new(format!("http://127.0.0.1:{port}").parse().unwrap());
    let mut manager = manager();
    let client = kube::Client::try_from(config).unwrap();
    let cache = manager.cache(Api::<ConfigMap>::all(client));
    let log = Log::new();
    manager.add(noting("maps", &log).source(cache.objects()));
    let running = start(manager);
    let says = |word: &str| {
        cache.status().degraded.is_some_and(|it| it.error.to_lowercase().contains(word))
    };
    until("the cause", || says("refused")).await;
    running.stop().await;
}

/// 16: a program that returns the error from `main` prints its `Debug`.
#[test]
fn an_error_that_main_returns_is_a_sentence() {
    let error = ManagerError::NoSource { controller: "shop".into() };
    assert_eq!(format!("{error:?}"), error.to_string());
    assert_eq!(format!("{:?}", key("shop")), "default/shop");
}

/// Managed fields are a large part of the memory of many objects, and no run reads them.
#[tokio::test(start_paused = true)]
async fn managed_fields_are_kept_only_on_request() {
    let bench = bench();
    let applied = serde_json::json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "b"},
    });
    let (manager_of_fields, patch) = (PatchParams::apply("us"), Patch::Apply(applied));
    bench.maps.patch("a", &manager_of_fields, &patch).await.unwrap();
    let mut manager = manager();
    let slim = manager.cache(bench.api());
    let config = CacheConfig::new().named("whole").keep_managed_fields();
    let whole = manager.cache_with(bench.api(), config);
    let log = Log::new();
    manager.add(noting("maps", &log).source(slim.objects()).source(whole.objects()));
    let running = start(manager);
    until("the run", || log.len() > 0).await;
    assert!(slim.get(&key("a")).unwrap().metadata.managed_fields.is_none());
    assert!(whole.get(&key("a")).unwrap().metadata.managed_fields.is_some());
    running.stop().await;
}

/// 11: a run that reads an undeclared cache has no effect while it is incomplete.
#[tokio::test(start_paused = true)]
async fn a_run_cannot_take_an_incomplete_cache_for_an_empty_one() {
    let bench = bench();
    bench.create("a").await;
    let listing = Match::any().user("controller").verb(Verb::List).resource("secrets");
    bench.server.faults().set_plan(FaultPlan::none().rule(Rule::new(listing, Fault::Forbidden)));
    let mut manager = manager();
    let maps = manager.cache(bench.api());
    let secrets = manager.cache(Api::<Secret>::all(bench.client.clone()));
    let log = Log::new();
    let (effects, read) = (log.clone(), secrets.clone());
    manager.add(
        Controller::keyed(
            "careless",
            reconcile_fn(move |_: Request<ObjectKey>| {
                let (effects, read) = (effects.clone(), read.clone());
                async move {
                    effects.push(read.len());
                    Ok(Action::await_change())
                }
            }),
        )
        .source(maps.objects()),
    );
    let running = start(manager);
    sleep(Duration::from_secs(60)).await;
    assert_eq!(log.len(), 0);
    assert!(secrets.is_empty(), "elsewhere an incomplete cache can be read");
    let error = secrets.status().degraded.unwrap().error;
    assert!(error.contains("(403 Forbidden)") && error.ends_with("list and watch"), "{error}");
    bench.server.faults().clear();
    until("the run", || log.len() == 1).await;
    let report = running.stop().await;
    assert!(report.controllers[0].panics > 1);
}

/// 11: of several caches that are late each is named.
#[tokio::test(start_paused = true)]
async fn every_cache_that_is_late_is_named() {
    let bench = bench();
    let listing = Match::any().user("controller").verb(Verb::List);
    bench.server.faults().set_plan(FaultPlan::none().rule(Rule::new(listing, Fault::Forbidden)));
    let longest = Duration::from_secs(5);
    let mut manager = Manager::builder().require_synced_within(longest).build().unwrap();
    let _maps = manager.cache(bench.api());
    let _secrets = manager.cache(Api::<Secret>::all(bench.client.clone()));
    let error = manager.run(never()).await.unwrap_err().to_string();
    assert!(error.contains("v1/configmaps") && error.contains("v1/secrets"), "{error}");
}
