//! Events of writes that the runs of the same key made.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use embedded_apiserver::Match;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use reconciler::{
    Action, Cache, Context, Controller, Failure, ObjectAdapter, ObjectKey, ObjectReconciler,
};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::bench::{Bench, Log, Running, key, manager, settle, start, until};
use crate::objects::{Site, make, map, world as sites};

/// When a write's answer comes: before or after its event.
#[derive(Debug, Clone, Copy)]
enum Answers {
    First,
    Last,
}

const ORDERS: [Answers; 2] = [Answers::First, Answers::Last];

impl Answers {
    /// A client of the controller.
    fn client(self, bench: &Bench) -> Client {
        let client = bench.client.clone();
        match self {
            Self::First => client,
            Self::Last => {
                let service = tower::service_fn(move |request| {
                    let client = client.clone();
                    async move {
                        let answer = client.send(request).await;
                        sleep(Duration::from_millis(100)).await;
                        answer
                    }
                });
                Client::new(service, "default")
            }
        }
    }
}

/// What each run writes: a text that changes from run to run.
#[derive(Debug, Clone, Copy)]
enum Write {
    Status,
    Annotation,
    Child,
    ChildByPatch,
}

/// Runs beyond this many are a loop: the test fails, and ends.
const ENOUGH: u32 = 200;

/// Writes, and ends as it is told.
struct Writing {
    log: Log<String>,
    runs: AtomicU32,
    write: fn(&ObjectKey) -> Option<Write>,
    end: fn() -> Result<Action, Failure>,
}

impl Writing {
    async fn write(&self, write: Write, number: u32, cx: &Context<Site>) -> Result<(), Failure> {
        let text = number.to_string();
        let annotation = json!({"metadata": {"annotations": {"text": text}}});
        match write {
            Write::Status => cx.update_status(|status| status.length = number as usize).await,
            Write::Annotation => cx.patch::<Site>(cx.key(), &annotation).await.map(drop),
            Write::Child => cx.apply(map(cx.key().name(), &text)).await.map(drop),
            Write::ChildByPatch => {
                cx.apply(map(cx.key().name(), "same")).await?;
                cx.patch::<ConfigMap>(cx.key(), &annotation).await.map(drop)
            }
        }
    }
}

impl ObjectReconciler for Writing {
    type Object = Site;

    async fn reconcile(&self, _: &Site, cx: &Context<Site>) -> Result<Action, Failure> {
        self.log.push(cx.key().name().to_owned());
        let number = self.runs.fetch_add(1, Ordering::Relaxed);
        if number >= ENOUGH {
            return Ok(Action::await_change());
        }
        if let Some(write) = (self.write)(cx.key()) {
            self.write(write, number + 1, cx).await?;
        }
        (self.end)()
    }
}

struct World {
    bench: Bench,
    log: Log<String>,
    running: Running,
    sites: Api<Site>,
}

/// Sites of these names and their maps, and a controller of both in this order of answers.
async fn world(
    answers: Answers,
    names: &[&str],
    write: fn(&ObjectKey) -> Option<Write>,
    end: fn() -> Result<Action, Failure>,
    settings: impl FnOnce(
        Controller<ObjectAdapter<Writing>>,
        &Cache<ConfigMap>,
    ) -> Controller<ObjectAdapter<Writing>>,
) -> World {
    let ((bench, sites), log) = (sites(), Log::new());
    for name in names {
        make(&sites, name, "one").await;
    }
    let (mut manager, client) = (manager(), answers.client(&bench));
    let cache = manager.cache(Api::<Site>::all(client.clone()));
    let maps = manager.cache(Api::<ConfigMap>::all(client));
    let writing = Writing { log: log.clone(), runs: AtomicU32::new(0), write, end };
    manager.add(settings(Controller::new("writing", &cache, writing).owns(&maps), &maps));
    World { bench, log, running: start(manager), sites }
}

impl World {
    async fn change(&self, patch: Value) {
        let patch = Patch::Merge(patch);
        self.sites.patch("a", &PatchParams::default(), &patch).await.unwrap();
    }

    /// Waits for this many runs, and for no more.
    async fn runs(&self, runs: usize) {
        until(&format!("run {runs}"), || self.log.len() >= runs).await;
        sleep(Duration::from_secs(20)).await;
        assert_eq!(self.log.len(), runs, "{:?}", self.log.times());
    }
}

/// Each kind of write, in both orders of answer and event.
fn cases() -> impl Iterator<Item = (Answers, fn(&ObjectKey) -> Option<Write>)> {
    let writes: [fn(&ObjectKey) -> Option<Write>; 4] = [
        |_| Some(Write::Status),
        |_| Some(Write::Annotation),
        |_| Some(Write::Child),
        |_| Some(Write::ChildByPatch),
    ];
    ORDERS.into_iter().flat_map(move |order| writes.map(|write| (order, write)))
}

#[tokio::test(start_paused = true)]
async fn a_run_that_fails_after_a_write_runs_at_its_back_off() {
    for (answers, write) in cases() {
        let again = || Err(Failure::retry("again"));
        let world = world(answers, &["a"], write, again, |controller, _| controller).await;
        sleep(Duration::from_secs(60)).await;
        // 5 ms doubling, up to a tenth longer: the 13th after 20 to 23 s, the 14th after 41 to 46.
        let runs = world.log.len();
        assert!((12..=14).contains(&runs), "{runs} runs: {answers:?} {:?}", write(&key("a")));
        world.running.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_parked_key_stays_parked_beside_its_own_writes_and_not_beside_those_of_others() {
    for (answers, write) in cases() {
        let no = || Err(Failure::terminal("no"));
        let world = world(answers, &["a"], write, no, |controller, _| controller).await;
        world.runs(1).await;
        world.change(json!({"metadata": {"labels": {"a": "b"}}})).await;
        world.runs(2).await;
        if matches!(write(&key("a")), Some(Write::Child | Write::ChildByPatch)) {
            world.bench.touch("a", "foreign").await;
            world.runs(3).await;
        }
        world.running.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_success_runs_again_after_its_writes_unless_they_are_ignored() {
    for (answers, ignores) in ORDERS.into_iter().flat_map(|order| [(order, false), (order, true)]) {
        let done = || Ok(Action::await_change());
        let status = |_: &ObjectKey| Some(Write::Status);
        let world = world(answers, &["a"], status, done, |controller, _| {
            controller.finalizer("example.com/a").ignore_own_writes(ignores)
        })
        .await;
        if ignores {
            world.runs(1).await;
            world.change(json!({"spec": {"text": "two"}})).await;
            world.runs(2).await;
        } else {
            // Each of its writes is a change of its own object.
            until("a loop", || world.log.len() >= 10).await;
        }
        world.running.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_requeue_keeps_its_time_beside_ignored_writes() {
    let later = || Ok(Action::requeue(Duration::from_secs(10)));
    let child = |_: &ObjectKey| Some(Write::Child);
    let world = world(Answers::Last, &["a"], child, later, |controller, _| {
        controller.ignore_own_writes(true)
    })
    .await;
    sleep(Duration::from_secs(35)).await;
    // Each run waits 100 ms for the answer of its write.
    assert_eq!(world.log.gaps(), [10_100; 3]);
    world.running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_write_is_own_only_for_the_key_whose_run_made_it() {
    for answers in ORDERS {
        let no = || Err(Failure::terminal("no"));
        let of_a = |key: &ObjectKey| (key.name() == "a").then_some(Write::Child);
        // The map of `a` concerns `b` too. Both are parked, and `a` writes last.
        let world = world(answers, &["a", "b"], of_a, no, |controller, maps| {
            controller.watches(maps, |_| [key("a"), key("b")]).ignore_own_writes(true)
        })
        .await;
        until("the runs", || world.log.len() >= 3).await;
        sleep(Duration::from_secs(20)).await;
        let mut runs = world.log.all();
        runs.sort();
        assert_eq!(runs, ["a", "b", "b"], "{answers:?}");
        world.running.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_that_comes_while_the_next_run_waits_for_it_is_own() {
    let done = || Ok(Action::await_change());
    let child = |_: &ObjectKey| Some(Write::Child);
    let world = world(Answers::First, &["a"], child, done, |controller, _| {
        controller.ignore_own_writes(true)
    })
    .await;
    world.runs(1).await;
    let maps = Match::any().resource("configmaps");
    world.bench.server.faults().stall_watches(&maps);
    world.change(json!({"spec": {"text": "two"}})).await;
    until("the run that writes", || world.log.len() == 2).await;
    world.change(json!({"spec": {"text": "three"}})).await;
    settle().await; // The next run waits for the cache.
    assert_eq!(world.log.len(), 2);
    world.bench.server.faults().cut_watches(&maps);
    world.runs(3).await;
    world.running.stop().await;
}

/// Copies a label of the Site to its map, by a patch that often changes nothing.
struct Copying(Log<Option<String>>, Cache<ConfigMap>);

impl ObjectReconciler for Copying {
    type Object = Site;

    async fn reconcile(&self, it: &Site, cx: &Context<Site>) -> Result<Action, Failure> {
        let held = self.1.get(cx.key());
        self.0.push(held.and_then(|map| map.data.clone()?.remove("value")));
        let labels = json!({"metadata": {"labels": {"size": it.labels().get("size")}}});
        cx.patch::<ConfigMap>(cx.key(), &labels).await?;
        Ok(Action::await_change())
    }
}

/// A controller that ignores its own writes, and whose watch of maps shows nothing from here on.
async fn blind() -> (World, Log<Option<String>>) {
    let ((bench, sites), log) = (sites(), Log::new());
    make(&sites, "a", "one").await;
    bench.create("a").await;
    let mut manager = manager();
    let cache = manager.cache(Api::<Site>::all(bench.client.clone()));
    let maps = manager.cache(bench.api());
    let controller = Controller::new("copying", &cache, Copying(log.clone(), maps.clone()));
    let all = |_: &ConfigMap| [key("a")];
    manager.add(controller.watches(&maps, all).ignore_own_writes(true));
    let running = start(manager);
    until("the first run", || log.len() == 1).await;
    settle().await;
    bench.server.faults().stall_watches(&Match::any().resource("configmaps"));
    (World { bench, log: Log::new(), running, sites }, log)
}

#[tokio::test(start_paused = true)]
async fn a_write_that_changes_nothing_does_not_hide_the_write_of_another() {
    let (world, log) = blind().await;
    // The run's patch changes nothing, and the answer has the version of this write.
    world.bench.touch("a", "foreign").await;
    world.change(json!({"spec": {"text": "two"}})).await;
    until("the run", || log.len() == 2).await;
    settle().await;
    world.bench.server.faults().cut_watches(&Match::any().resource("configmaps"));
    until("the other's write", || log.all().last() == Some(&Some("foreign".to_owned()))).await;
    world.running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_write_that_a_list_shows_is_not_own() {
    let (world, log) = blind().await;
    world.change(json!({"metadata": {"labels": {"size": "2"}}})).await;
    until("the run", || log.len() == 2).await;
    settle().await;
    world.bench.server.compact();
    world.bench.server.faults().cut_watches(&Match::any().resource("configmaps"));
    until("the run of the list", || log.len() == 3).await;
    world.running.stop().await;
}
