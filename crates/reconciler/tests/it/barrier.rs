//! Runs see the writes of the last run: the wait for caches whose watch stands still or fails.

use std::time::Duration;

use embedded_apiserver::{Fault, FaultPlan, Match, Rule, Verb};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::core::PartialObjectMeta;
use reconciler::{
    Action, CacheConfig, Context, Controller, Failure, Manager, ObjectAdapter, ObjectReconciler,
};
use serde_json::json;
use tokio::time::{Instant, sleep};
use wq_ratelimit::ExponentialBackoff;

use crate::bench::{Bench, Log, manager, start, until};
use crate::objects::{Site, make, map, world};

const SECOND: Duration = Duration::from_secs(1);

/// Creates a child under a generated name if a cache shows none.
struct OneChild<F> {
    children: F,
    /// The ends of runs.
    log: Log<()>,
}

impl<F: Fn() -> usize + Send + Sync + 'static> ObjectReconciler for OneChild<F> {
    type Object = Site;

    async fn reconcile(&self, _: &Site, cx: &Context<Site>) -> Result<Action, Failure> {
        if (self.children)() == 0 {
            let meta = json!({"generateName": "child-", "labels": {"a": "b"}});
            let child = json!({"metadata": meta});
            cx.create::<ConfigMap>(serde_json::from_value(child)?).await?;
        }
        self.log.push(());
        Ok(Action::requeue(SECOND))
    }
}

fn controller<F: Fn() -> usize + Send + Sync + 'static>(
    bench: &Bench,
    manager: &mut Manager,
    children: F,
) -> (Controller<ObjectAdapter<OneChild<F>>>, Log<()>) {
    let cache = manager.cache(Api::<Site>::all(bench.client.clone()));
    let log = Log::new();
    (Controller::new("sites", &cache, OneChild { children, log: log.clone() }), log)
}

fn writes(bench: &Bench, resource: &str) -> u64 {
    bench.server.requests().by("controller").writes().resource(resource).count()
}

fn watches_of_maps() -> Match {
    Match::any().user("controller").resource("configmaps").verb(Verb::Watch)
}

async fn stall(bench: &Bench) {
    until("the watch", || bench.server.faults().live_watches(&watches_of_maps()) >= 1).await;
    bench.server.faults().stall_watches(&watches_of_maps());
}

#[tokio::test(start_paused = true)]
async fn a_time_out_during_the_wait_for_the_caches_makes_no_second_child() {
    let (bench, sites) = world();
    let mut manager = manager();
    let maps = manager.cache(bench.api());
    let seen = maps.clone();
    let (controller, _) = controller(&bench, &mut manager, move || seen.len());
    manager.add(controller.owns(&maps).timeout(SECOND));
    let running = start(manager);
    stall(&bench).await;
    make(&sites, "a", "one").await;
    sleep(4 * SECOND).await;
    bench.server.faults().cut_watches(&watches_of_maps());
    sleep(30 * SECOND).await;
    assert_eq!(writes(&bench, "configmaps"), 1);
    assert_eq!(running.stop().await.controllers[0].timeouts, 0);
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_the_wait_for_the_caches_and_begins_no_run() {
    let (bench, sites) = world();
    let mut manager = manager();
    let maps = manager.cache(bench.api());
    let seen = maps.clone();
    let (controller, log) = controller(&bench, &mut manager, move || seen.len());
    manager.add(controller.owns(&maps));
    let running = start(manager);
    stall(&bench).await;
    make(&sites, "a", "one").await;
    until("the first run", || log.len() == 1).await;
    sleep(2 * SECOND).await; // The second waits.
    let began = Instant::now();
    running.stop().await;
    assert!(began.elapsed() < SECOND, "{:?}", began.elapsed());
    assert_eq!((log.len(), writes(&bench, "configmaps")), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn runs_see_their_own_writes_in_caches_of_metadata_and_of_selectors() {
    for selector in [None, Some(""), Some("a=b"), Some("a = b"), Some("a == b")] {
        let (bench, sites) = world();
        let mut manager = manager();
        let config = CacheConfig::new().labels(selector.unwrap_or_default());
        let whole = manager.cache_with(bench.api(), config);
        let metadata = Api::<PartialObjectMeta<ConfigMap>>::all(bench.client.clone());
        let metadata = manager.cache_with(metadata, CacheConfig::new().named("metadata"));
        let (of_whole, of_metadata) = (whole.clone(), metadata.clone());
        let is_whole = selector.is_some();
        let seen = move || if is_whole { of_whole.len() } else { of_metadata.len() };
        let (controller, _) = controller(&bench, &mut manager, seen);
        manager.add(if is_whole { controller.owns(&whole) } else { controller.owns(&metadata) });
        let running = start(manager);
        stall(&bench).await;
        make(&sites, "a", "one").await;
        sleep(5 * SECOND).await;
        bench.server.faults().cut_watches(&watches_of_maps());
        sleep(30 * SECOND).await;
        assert_eq!(writes(&bench, "configmaps"), 1, "{selector:?}");
        running.stop().await;
    }
}

/// Applies another text in each run, but writes nothing for the Site `quiet`.
struct Changer {
    log: Log<(String, Instant)>,
}

impl ObjectReconciler for Changer {
    type Object = Site;

    async fn reconcile(&self, _: &Site, cx: &Context<Site>) -> Result<Action, Failure> {
        let name = cx.key().name();
        self.log.push((name.to_owned(), Instant::now()));
        if name == "quiet" {
            return Ok(Action::await_change());
        }
        cx.apply(map(name, &self.log.len().to_string())).await?;
        Ok(Action::requeue(SECOND / 10))
    }
}

/// The keys whose writes are unseen take no worker from others, and each runs after 10 s.
#[tokio::test(start_paused = true)]
async fn a_failing_watch_delays_only_the_keys_that_wrote() {
    let (bench, sites) = world();
    let mut manager = manager();
    let cache = manager.cache(Api::<Site>::all(bench.client.clone()));
    let maps = manager.cache(bench.api());
    let log = Log::new();
    manager.add(Controller::new("sites", &cache, Changer { log: log.clone() }).owns(&maps));
    let running = start(manager);
    stall(&bench).await;
    for number in 0..40 {
        make(&sites, &number.to_string(), "one").await;
    }
    sleep(5 * SECOND).await;
    bench
        .server
        .faults()
        .set_plan(FaultPlan::none().rule(Rule::new(watches_of_maps(), Fault::Unavailable)));
    let began = Instant::now();
    make(&sites, "quiet", "one").await;
    until("its run", || log.all().iter().any(|(name, _)| name == "quiet")).await;
    assert!(began.elapsed() < SECOND / 10, "{:?}", began.elapsed());
    sleep(40 * SECOND).await;
    for number in 0..40 {
        let name = number.to_string();
        let all = log.all();
        let starts: Vec<_> = all.iter().filter(|run| run.0 == name).map(|run| run.1).collect();
        for (earlier, later) in starts.iter().zip(&starts[1..]) {
            let between = *later - *earlier;
            assert!(between >= 10 * SECOND && between < 11 * SECOND, "{name}: {between:?}");
        }
        assert!(starts.len() >= 4, "{name}: {starts:?}");
    }
    running.stop().await;
}

/// Applies once, and fails from then on.
struct Failing {
    log: Log<Instant>,
}

impl ObjectReconciler for Failing {
    type Object = Site;

    async fn reconcile(&self, _: &Site, cx: &Context<Site>) -> Result<Action, Failure> {
        self.log.push(Instant::now());
        if self.log.len() > 1 {
            return Err(Failure::retry("planted"));
        }
        cx.apply(map("a", "one")).await?;
        Ok(Action::requeue(Duration::ZERO))
    }
}

/// The event of the write ends the wait, of which nothing is left.
#[tokio::test(start_paused = true)]
async fn a_run_that_fails_after_a_wait_for_the_caches_has_its_whole_back_off() {
    let (bench, sites) = world();
    let mut manager = manager();
    let cache = manager.cache(Api::<Site>::all(bench.client.clone()));
    let maps = manager.cache(bench.api());
    let log = Log::new();
    let controller = Controller::new("sites", &cache, Failing { log: log.clone() })
        .owns(&maps)
        .limiter(ExponentialBackoff::new(60 * SECOND, 60 * SECOND).unwrap());
    manager.add(controller);
    let running = start(manager);
    stall(&bench).await;
    make(&sites, "a", "one").await;
    until("the first run", || log.len() == 1).await;
    sleep(5 * SECOND).await;
    bench.server.faults().cut_watches(&watches_of_maps());
    until("the next", || log.len() == 2).await;
    sleep(90 * SECOND).await;
    let starts = log.all();
    assert_eq!(starts.len(), 3, "{starts:?}");
    assert!(starts[2] - starts[1] >= 60 * SECOND, "{starts:?}");
    running.stop().await;
}
