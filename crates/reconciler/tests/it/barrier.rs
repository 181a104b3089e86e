//! Runs see the writes of the last run, whatever the watches of the caches do. Other keys do not
//! wait for them.

use std::time::Duration;

use embedded_apiserver::{Fault, FaultPlan, Match, Rule, Verb};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::PartialObjectMeta;
use reconciler::{
    Action, Cache, CacheConfig, Context, Controller, Failure, Kind, Manager, ObjectAdapter,
    ObjectReconciler,
};
use serde_json::json;
use tokio::time::{Instant, sleep};
use wq_ratelimit::ExponentialBackoff;

use crate::bench::{Bench, Log, key, manager, start, until};
use crate::objects::{Site, make, map, world};

const SECOND: Duration = Duration::from_secs(1);

type Ends = Result<Action, Failure>;

/// Runs a closure, and logs the name of the Site at each start.
struct By<F> {
    log: Log<String>,
    run: F,
}

impl<F> ObjectReconciler for By<F>
where
    F: for<'a> Fn(&'a Context<Site>) -> BoxFuture<'a, Ends> + Send + Sync + 'static,
{
    type Object = Site;

    async fn reconcile(&self, _: &Site, cx: &Context<Site>) -> Ends {
        self.log.push(cx.key().name().to_owned());
        (self.run)(cx).await
    }
}

fn controller<F>(
    bench: &Bench,
    manager: &mut Manager,
    log: &Log<String>,
    run: F,
) -> Controller<ObjectAdapter<By<F>>>
where
    F: for<'a> Fn(&'a Context<Site>) -> BoxFuture<'a, Ends> + Send + Sync + 'static,
{
    let cache = manager.cache(Api::<Site>::all(bench.client.clone()));
    Controller::new("sites", &cache, By { log: log.clone(), run })
}

/// Creates a child under a generated name if the cache shows none.
fn one_child<K: Kind>(
    children: &Cache<K>,
) -> impl for<'a> Fn(&'a Context<Site>) -> BoxFuture<'a, Ends> + Send + Sync + 'static {
    let children = children.clone();
    move |cx| {
        let is_there = !children.is_empty();
        async move {
            if !is_there {
                let meta = json!({"generateName": "child-", "labels": {"a": "b"}});
                let child = json!({"metadata": meta});
                cx.create::<ConfigMap>(serde_json::from_value(child)?).await?;
            }
            Ok(Action::requeue(SECOND))
        }
        .boxed()
    }
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
async fn a_time_out_does_not_end_the_wait_for_the_caches() {
    let (bench, sites) = world();
    let (mut manager, log) = (manager(), Log::new());
    let maps = manager.cache(bench.api());
    let controller = controller(&bench, &mut manager, &log, one_child(&maps));
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
    let (mut manager, log) = (manager(), Log::new());
    let maps = manager.cache(bench.api());
    let controller = controller(&bench, &mut manager, &log, one_child(&maps));
    manager.add(controller.owns(&maps));
    let running = start(manager);
    stall(&bench).await;
    make(&sites, "a", "one").await;
    until("the first run", || log.len() == 1).await;
    sleep(2 * SECOND).await; // The second waits.
    let began = Instant::now();
    let report = running.stop().await;
    assert!(began.elapsed() < SECOND, "{:?}", began.elapsed());
    assert_eq!((log.len(), writes(&bench, "configmaps")), (1, 1));
    assert_eq!(report.controllers[0].not_started, 1);
}

async fn one_child_in<K: Kind>(
    what: &str,
    add: impl FnOnce(&Bench, &mut Manager) -> Cache<K>,
    is_owned: bool,
) {
    let (bench, sites) = world();
    let (mut manager, log) = (manager(), Log::new());
    let maps = add(&bench, &mut manager);
    let controller = controller(&bench, &mut manager, &log, one_child(&maps));
    manager.add(if is_owned { controller.owns(&maps) } else { controller.reads(&maps) });
    let running = start(manager);
    stall(&bench).await;
    make(&sites, "a", "one").await;
    sleep(5 * SECOND).await;
    bench.server.faults().cut_watches(&watches_of_maps());
    sleep(30 * SECOND).await;
    assert_eq!(writes(&bench, "configmaps"), 1, "{what}");
    assert!(log.len() > 5, "{what}: {} runs", log.len());
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn runs_see_their_own_writes_in_caches_of_all_kinds() {
    one_child_in("read", |bench, manager| manager.cache(bench.api()), false).await;
    for selector in ["", "a=b", "a = b", "a == b"] {
        let add = |bench: &Bench, manager: &mut Manager| {
            manager.cache_with(bench.api(), CacheConfig::new().labels(selector))
        };
        one_child_in(selector, add, true).await;
    }
    let of_metadata = |bench: &Bench, manager: &mut Manager| {
        manager.cache(Api::<PartialObjectMeta<ConfigMap>>::all(bench.client.clone()))
    };
    one_child_in("metadata", of_metadata, true).await;
    let of_any_kind = |bench: &Bench, manager: &mut Manager| {
        let resource = ApiResource::erase::<ConfigMap>(&());
        manager.cache(Api::<DynamicObject>::all_with(bench.client.clone(), &resource))
    };
    one_child_in("DynamicObject", of_any_kind, true).await;
}

/// A patch by which the child leaves the selector of the cache, and a deletion without its uid.
#[tokio::test(start_paused = true)]
async fn the_next_run_does_not_see_what_this_one_removed() {
    for is_patch in [false, true] {
        let (bench, sites) = world();
        let (mut manager, log) = (manager(), Log::new());
        let maps = manager.cache_with(bench.api(), CacheConfig::new().labels("a=b"));
        let mut child = map("child", "one");
        child.metadata.namespace = Some("default".to_owned());
        child.metadata.labels = Some([("a".to_owned(), "b".to_owned())].into());
        bench.maps.create(&PostParams::default(), &child).await.unwrap();
        let (seen, sees) = (maps.clone(), Log::new());
        let saw = sees.clone();
        let controller = controller(&bench, &mut manager, &log, move |cx| {
            saw.push(seen.len());
            let child = Some(child.clone()).filter(|_| !seen.is_empty());
            async move {
                match child {
                    Some(_) if is_patch => {
                        let patch = json!({"metadata": {"labels": {"a": null}}});
                        cx.patch::<ConfigMap>(&key("child"), &patch).await?;
                    }
                    Some(child) => cx.delete(&child).await?,
                    None => {}
                }
                Ok(Action::requeue(SECOND))
            }
            .boxed()
        });
        manager.add(controller.owns(&maps));
        let running = start(manager);
        until("the cache", || maps.len() == 1).await;
        stall(&bench).await;
        make(&sites, "a", "one").await;
        sleep(5 * SECOND).await;
        bench.server.faults().cut_watches(&watches_of_maps());
        until("the next run", || sees.len() > 2).await;
        assert_eq!(sees.all()[..3], [1, 0, 0], "a patch: {is_patch}");
        running.stop().await;
    }
}

/// The keys whose writes are unseen take no worker from others, and each runs after 10 s.
#[tokio::test(start_paused = true)]
async fn a_failing_watch_delays_only_the_keys_that_wrote() {
    let (bench, sites) = world();
    let (mut manager, log) = (manager(), Log::new());
    let maps = manager.cache(bench.api());
    let texts = log.clone();
    let controller = controller(&bench, &mut manager, &log, move |cx| {
        let text = texts.len().to_string();
        async move {
            if cx.key().name() == "quiet" {
                return Ok(Action::await_change());
            }
            cx.apply(map(cx.key().name(), &text)).await?;
            Ok(Action::requeue(SECOND / 10))
        }
        .boxed()
    });
    manager.add(controller.owns(&maps));
    let running = start(manager);
    stall(&bench).await;
    for number in 0..40 {
        make(&sites, &number.to_string(), "one").await;
    }
    sleep(5 * SECOND).await;
    let plan = FaultPlan::none().rule(Rule::new(watches_of_maps(), Fault::Unavailable));
    bench.server.faults().set_plan(plan);
    let began = Instant::now();
    make(&sites, "quiet", "one").await;
    until("its run", || log.all().iter().any(|name| name == "quiet")).await;
    assert!(began.elapsed() < SECOND / 10, "{:?}", began.elapsed());
    sleep(40 * SECOND).await;
    let runs: Vec<(Duration, String)> = log.times().into_iter().zip(log.all()).collect();
    for number in 0..40 {
        let name = number.to_string();
        let starts: Vec<_> = runs.iter().filter(|run| run.1 == name).map(|run| run.0).collect();
        for (earlier, later) in starts.iter().zip(&starts[1..]) {
            let between = *later - *earlier;
            assert!(between >= 10 * SECOND && between < 11 * SECOND, "{name}: {between:?}");
        }
        assert!(starts.len() >= 4, "{name}: {starts:?}");
    }
    running.stop().await;
}

/// The event of the write ends the wait, of which nothing is left.
#[tokio::test(start_paused = true)]
async fn a_run_that_fails_after_a_wait_for_the_caches_has_its_whole_back_off() {
    let (bench, sites) = world();
    let (mut manager, log) = (manager(), Log::new());
    let maps = manager.cache(bench.api());
    let runs = log.clone();
    let controller = controller(&bench, &mut manager, &log, move |cx| {
        let is_first = runs.len() == 1;
        async move {
            if !is_first {
                return Err(Failure::retry("planted"));
            }
            cx.apply(map("a", "one")).await?;
            Ok(Action::requeue(Duration::ZERO))
        }
        .boxed()
    })
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
    let starts = log.times();
    assert_eq!(starts.len(), 3, "{starts:?}");
    assert!(starts[2] - starts[1] >= 60 * SECOND, "{starts:?}");
    running.stop().await;
}

/// The events of both writes lead to one run.
#[tokio::test(start_paused = true)]
async fn a_run_with_two_writes_leads_to_one_more() {
    let (bench, sites) = world();
    let (mut manager, log) = (manager(), Log::new());
    let maps = manager.cache(bench.api());
    let controller = controller(&bench, &mut manager, &log, |cx| {
        async move {
            cx.apply(map("a", "one")).await?;
            cx.update_status(|status| status.length = 7).await?;
            Ok(Action::await_change())
        }
        .boxed()
    });
    manager.add(controller.owns(&maps));
    let running = start(manager);
    until("the watch", || bench.server.faults().live_watches(&watches_of_maps()) >= 1).await;
    make(&sites, "a", "one").await;
    sleep(30 * SECOND).await;
    assert_eq!(log.len(), 2, "{:?}", log.times());
    running.stop().await;
}

/// A parked key whose run wrote and deleted a child stays parked.
#[tokio::test(start_paused = true)]
async fn own_writes_and_deletions_do_not_run_a_parked_key() {
    let (bench, sites) = world();
    let (mut manager, log) = (manager(), Log::new());
    let maps = manager.cache(bench.api());
    let texts = log.clone();
    let controller = controller(&bench, &mut manager, &log, move |cx| {
        let text = texts.len().to_string();
        async move {
            let child = cx.apply(map("a", &text)).await?;
            cx.delete(&child).await?;
            Err(Failure::terminal("planted"))
        }
        .boxed()
    });
    manager.add(controller.owns(&maps));
    let running = start(manager);
    make(&sites, "a", "one").await;
    sleep(60 * SECOND).await;
    assert_eq!(log.len(), 1, "{:?}", log.times());
    running.stop().await;
}

/// A cache that leaves something out cannot tell another's write from that of a run.
#[tokio::test(start_paused = true)]
async fn a_write_of_another_is_not_own_in_a_cache_that_leaves_something_out() {
    let (bench, sites) = world();
    let (mut manager, log) = (manager(), Log::new());
    bench.create("a").await;
    let config = CacheConfig::<ConfigMap>::new().transform(|map| map.data = None);
    let maps = manager.cache_with(bench.api(), config);
    let controller = controller(&bench, &mut manager, &log, |cx| {
        async move {
            // Changes something only in the first run.
            let patch = json!({"metadata": {"labels": {"size": "2"}}});
            cx.patch::<ConfigMap>(cx.key(), &patch).await?;
            Ok(Action::await_change())
        }
        .boxed()
    });
    manager.add(controller.watches(&maps, |_| [key("a")]).ignore_own_writes(true));
    let running = start(manager);
    make(&sites, "a", "one").await;
    until("the first run", || log.len() > 0).await;
    sleep(SECOND).await;
    let before = log.len();
    stall(&bench).await;
    bench.touch("a", "foreign").await;
    let patch = Patch::Merge(json!({"spec": {"text": "two"}}));
    sites.patch("a", &PatchParams::default(), &patch).await.unwrap();
    until("the run", || log.len() == before + 1).await;
    bench.server.faults().cut_watches(&watches_of_maps());
    sleep(30 * SECOND).await;
    assert!(log.len() > before + 1, "no run has seen the write of the other");
    running.stop().await;
}
