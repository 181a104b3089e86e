//! Promises at their edges: code of a kind that panics, attempts beside events, slow mappings, and
//! what an apply or a status update sends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube::{Api, CustomResource, ResourceExt as _};
use reconciler::{
    Action, CacheConfig, Context, Controller, Failure, ObjectAdapter, ObjectKey, ObjectReconciler,
    Request, Source, reconcile_fn,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::sleep;
use wq_ratelimit::ExponentialBackoff;

use crate::bench::{Bench, Log, key, manager, start, until};
use crate::objects::{Site, make, map, world};

const SECOND: Duration = Duration::from_secs(1);

/// What a run does.
enum Deed {
    Apply,
    /// Applies, patches and applies once more if the Site says so.
    PatchBetween,
    /// The same with a deletion.
    DeleteBetween,
    /// Sets nothing.
    Status,
    /// Patches the own object, and then sets its status.
    PatchAndStatus,
}

struct Doer {
    deed: Deed,
    /// The ends of runs.
    log: Log<()>,
}

impl ObjectReconciler for Doer {
    type Object = Site;

    async fn reconcile(&self, site: &Site, cx: &Context<Site>) -> Result<Action, Failure> {
        let is_second = site.spec.text == "two";
        match &self.deed {
            Deed::Apply => drop(cx.apply(map("a", "good")).await?),
            Deed::PatchBetween => {
                cx.apply(map("a", "good")).await?;
                if is_second {
                    let patch = json!({"data": {"text": "patched"}});
                    cx.patch::<ConfigMap>(&key("a"), &patch).await?;
                    cx.apply(map("a", "good")).await?;
                }
            }
            Deed::DeleteBetween => {
                let held = cx.apply(map("a", "good")).await?;
                // Not for ever: each deletion is an event.
                if is_second && self.log.len() < 3 {
                    cx.delete(&held).await?;
                    let again = cx.apply(map("a", "good")).await?;
                    assert_ne!(again.uid(), held.uid(), "the deleted object");
                }
            }
            Deed::Status => cx.update_status(|_| {}).await?,
            Deed::PatchAndStatus => {
                let stamp =
                    json!({"metadata": {"annotations": {"runs": self.log.len().to_string()}}});
                let patched = cx.patch::<Site>(cx.key(), &stamp).await?;
                assert_eq!(cx.object().resource_version(), patched.resource_version());
                cx.update_status(|status| status.length = 7).await?;
            }
        }
        self.log.push(());
        Ok(Action::requeue(SECOND))
    }
}

fn controller(
    bench: &Bench,
    manager: &mut reconciler::Manager,
    deed: Deed,
) -> (Controller<ObjectAdapter<Doer>>, Log<()>) {
    let cache = manager.cache(Api::<Site>::all(bench.client.clone()));
    let log = Log::new();
    (Controller::new("sites", &cache, Doer { deed, log: log.clone() }), log)
}

fn writes(bench: &Bench, resource: &str) -> u64 {
    bench.server.requests().by("controller").writes().resource(resource).count()
}

async fn merge(bench: &Bench, patch: Value) {
    bench.maps.patch("a", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_cache_that_leaves_something_out_hides_no_change_from_an_apply() {
    let (bench, sites) = world();
    let mut manager = manager();
    let config = CacheConfig::<ConfigMap>::new().transform(|map| map.data = None);
    let maps = manager.cache_with(bench.api(), config);
    let (controller, log) = controller(&bench, &mut manager, Deed::Apply);
    manager.add(controller.owns(&maps));
    let running = start(manager);
    make(&sites, "a", "one").await;
    until("runs", || log.len() > 5).await;
    assert_eq!(writes(&bench, "configmaps"), 1);
    merge(&bench, json!({"data": {"text": "foreign"}})).await;
    sleep(10 * SECOND).await;
    assert_eq!(bench.maps.get("a").await.unwrap().data.unwrap()["text"], "good");
    assert_eq!(writes(&bench, "configmaps"), 2);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_apply_after_another_write_of_the_run_is_sent() {
    for deed in [Deed::PatchBetween, Deed::DeleteBetween] {
        let (bench, sites) = world();
        let mut manager = manager();
        let maps = manager.cache(bench.api());
        let (controller, log) = controller(&bench, &mut manager, deed);
        manager.add(controller.owns(&maps).ignore_own_writes(true));
        let running = start(manager);
        make(&sites, "a", "one").await;
        until("a run", || log.len() == 1).await;
        let patch = Patch::Merge(json!({"spec": {"text": "two"}}));
        sites.patch("a", &PatchParams::default(), &patch).await.unwrap();
        until("the next", || log.len() > 2).await;
        assert_eq!(bench.maps.get("a").await.unwrap().data.unwrap()["text"], "good");
        running.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_status_that_nobody_set_is_not_sent_and_others_keep_their_conditions() {
    let (bench, sites) = world();
    let mut manager = manager();
    let (controller, log) = controller(&bench, &mut manager, Deed::Status);
    make(&sites, "a", "one").await;
    let foreign = json!({"type": "Foreign", "status": "True", "reason": "R", "message": "",
        "lastTransitionTime": "2024-01-01T00:00:00Z"});
    let patch = Patch::Merge(json!({"status": {"length": 0, "conditions": [foreign]}}));
    sites.patch_status("a", &PatchParams::default(), &patch).await.unwrap();
    manager.add(controller);
    let running = start(manager);
    until("runs", || log.len() > 3).await;
    assert_eq!(writes(&bench, "sites"), 0);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_status_follows_a_patch_of_the_own_object() {
    let (bench, sites) = world();
    let mut manager = manager();
    let (controller, log) = controller(&bench, &mut manager, Deed::PatchAndStatus);
    manager.add(controller.ignore_own_writes(true));
    let running = start(manager);
    make(&sites, "a", "one").await;
    until("runs", || log.len() > 3).await;
    let report = running.stop().await;
    assert_eq!((report.controllers[0].conflicts, report.controllers[0].errors), (0, 0));
}

/// Attempts are counted by the time of the retry, which a run of an event may pass.
#[tokio::test(start_paused = true)]
async fn events_and_long_runs_do_not_hide_the_last_attempt() {
    for takes in [Duration::ZERO, 3 * SECOND] {
        let log = Log::new();
        let seen = log.clone();
        let run = move |request: Request<u32>| {
            seen.push(request.attempt());
            async move {
                sleep(takes).await;
                Err::<Action, _>(Failure::retry("no"))
            }
        };
        let controller = Controller::keyed("keys", reconcile_fn(run))
            .max_attempts(3)
            .failing_interval(SECOND)
            .limiter(ExponentialBackoff::new(2 * SECOND, 2 * SECOND).unwrap());
        let (handle, view) = (controller.handle(), controller.observe());
        let mut manager = manager();
        manager.add(controller);
        let running = start(manager);
        // Not while it is parked: a handle runs it anew.
        for _ in 0..100 {
            if view.parked().is_empty() {
                handle.add(1);
            }
            sleep(SECOND / 2).await;
        }
        assert_eq!(log.all().into_iter().max(), Some(2), "{takes:?}");
        assert!(running.stop().await.controllers[0].exhausted > 0, "{takes:?}: {:?}", log.all());
    }
}

#[derive(Clone, Debug, Serialize)]
struct Fragile(String);

impl<'de> Deserialize<'de> for Fragile {
    fn deserialize<D: serde::Deserializer<'de>>(text: D) -> Result<Self, D::Error> {
        let text = String::deserialize(text)?;
        assert_ne!(text, "unreadable", "planted in Deserialize");
        Ok(Self(text))
    }
}

impl Drop for Fragile {
    fn drop(&mut self) {
        assert!(self.0 != "undroppable" || std::thread::panicking(), "planted in Drop");
    }
}

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize)]
#[kube(group = "example.com", version = "v1", kind = "FragileSite", plural = "sites", namespaced)]
#[kube(schema = "disabled")]
struct FragileSiteSpec {
    text: Fragile,
}

/// Code of a kind that panics hides its object. It ends no watch, and no other controller waits.
#[tokio::test(start_paused = true)]
async fn a_kind_whose_code_panics_hides_only_its_object() {
    for text in ["unreadable", "undroppable"] {
        let (bench, sites) = world();
        let mut manager = manager();
        let cache = manager.cache(Api::<FragileSite>::all(bench.client.clone()));
        let maps = manager.cache(bench.api());
        let (log, neighbour) = (Log::new(), Log::new());
        let noting = |log: &Log<String>| {
            let log = log.clone();
            reconcile_fn(move |request: Request<ObjectKey>| {
                let key = request.key().clone();
                log.push(key.name().to_owned());
                async { Ok(Action::await_change()) }
            })
        };
        manager.add(Controller::keyed("sites", noting(&log)).source(cache.objects()));
        manager.add(Controller::keyed("maps", noting(&neighbour)).source(maps.objects()));
        make(&sites, "bad", text).await;
        bench.create("m").await;
        let running = start(manager);
        until("the neighbour", || neighbour.len() == 1).await;
        sites.delete("bad", &kube::api::DeleteParams::default()).await.unwrap();
        make(&sites, "good", "text").await;
        until("the others", || log.all().iter().any(|name| name == "good")).await;
        assert!(cache.status().failures > 0, "{text}: {:?}", cache.status());
        running.stop().await;
    }
}

/// Keys that wait for their time leave time for other tasks.
#[tokio::test(start_paused = true)]
async fn many_events_of_failing_keys_block_nobody() {
    const KEYS: u32 = 5000;
    let log = Log::new();
    let seen = log.clone();
    let run = move |_: Request<u32>| {
        seen.push(());
        async { Err::<Action, _>(Failure::retry("no")) }
    };
    let controller = Controller::keyed("keys", reconcile_fn(run))
        .failing_interval(3600 * SECOND)
        .limiter(ExponentialBackoff::new(3600 * SECOND, 3600 * SECOND).unwrap());
    let (handle, view) = (controller.handle(), controller.observe());
    let mut manager = manager();
    manager.add(controller);
    let running = start(manager);
    (0..KEYS).for_each(|key| handle.add(key));
    until("the failures", || log.len() == KEYS as usize).await;
    (0..KEYS).for_each(|key| handle.add(key));
    let (mut left, mut most) = (view.depth(), 0);
    assert_eq!(left, KEYS as usize);
    while left > 0 {
        tokio::task::yield_now().await;
        let now = view.depth();
        (left, most) = (now, most.max(left - now));
    }
    assert!(most < 1000, "{most} keys without a turn of another task");
    assert_eq!(log.len(), KEYS as usize, "none has run");
    running.stop().await;
}

/// A run leaves nothing of an event that waited for its time.
#[tokio::test(start_paused = true)]
async fn a_parked_key_that_a_handle_runs_is_not_run_again_by_an_earlier_event() {
    let log = Log::new();
    let seen = log.clone();
    let run = move |_: Request<u32>| {
        seen.push(());
        async { Err::<Action, _>(Failure::terminal("no")) }
    };
    let (sender, keys) = futures::channel::mpsc::unbounded();
    let controller =
        Controller::keyed("keys", reconcile_fn(run)).source(Source::stream("events", keys));
    let handle = controller.handle();
    let mut manager = manager();
    manager.add(controller);
    let running = start(manager);
    sender.unbounded_send(1).unwrap();
    until("the first run", || log.len() == 1).await;
    sender.unbounded_send(1).unwrap();
    sleep(SECOND / 10).await; // The event waits for a second after the failure.
    handle.add(1);
    sleep(10 * SECOND).await;
    assert_eq!(log.len(), 2, "{:?}", log.times());
    running.stop().await;
}

/// Mappings of many objects leave time for other tasks.
#[tokio::test(start_paused = true)]
async fn slow_mappings_of_a_long_list_block_nobody() {
    let (bench, _) = world();
    for number in 0..1000 {
        bench.create(&number.to_string()).await;
    }
    let mut manager = manager();
    let maps = manager.cache(bench.api());
    // The mappings since the last turn of another task, and the most of them.
    let (since, most) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let (called, all) = (Arc::new(Notify::new()), Arc::new(AtomicU32::new(0)));
    let source = maps.trigger({
        let (since, most) = (Arc::clone(&since), Arc::clone(&most));
        let (called, all) = (Arc::clone(&called), Arc::clone(&all));
        move |change| {
            all.fetch_add(1, Relaxed);
            most.fetch_max(since.fetch_add(1, Relaxed) + 1, Relaxed);
            called.notify_one();
            change.key()
        }
    });
    let run = |_: Request<ObjectKey>| async { Ok::<_, Failure>(Action::await_change()) };
    manager.add(Controller::keyed("maps", reconcile_fn(run)).source(source));
    let other = tokio::spawn(async move {
        loop {
            called.notified().await;
            since.store(0, Relaxed);
        }
    });
    let running = start(manager);
    until("the start", || all.load(Relaxed) == 1000).await;
    other.abort();
    assert!(most.load(Relaxed) < 300, "{most:?} without a turn of another task");
    running.stop().await;
}
