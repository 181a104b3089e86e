//! Random histories of objects, faults of the watch and failing runs, against what must always
//! hold. `HISTORY_SEEDS` says how many seeds are played.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use embedded_apiserver::{Fault, FaultPlan, Match, Rule, Verb};
use fastrand::Rng;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use kube::api::ListParams;
use reconciler::{
    Action, Cache, CacheConfig, Controller, Failure, ObjectKey, Request, reconcile_fn,
};
use tokio::time::{Instant, sleep};
use wq_ratelimit::ExponentialBackoff;

use crate::bench::{Bench, Running, bench, key, manager, start};

pub(crate) const MS: Duration = Duration::from_millis(1);
const NAMES: [&str; 4] = ["a", "b", "c", "d"];
/// The back-off: doubles from the first to the second.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));
const FAILING_INTERVAL: Duration = Duration::from_millis(300);
/// A retry starts at most so much later: timers end at whole milliseconds.
const LATE: Duration = Duration::from_millis(4);
/// Faults that the cache notices each time. Others end a watch regularly or delay it.
const NOTICED: [&str; 6] = [
    "internal_error",
    "unavailable",
    "drop_before",
    "never_answer",
    "too_many_requests",
    "forbidden",
];

pub(crate) fn seeds() -> u64 {
    std::env::var("HISTORY_SEEDS").map_or(300, |seeds| seeds.parse().expect("a number of seeds"))
}

/// The state of a key.
#[derive(Default)]
struct Known {
    is_running: bool,
    /// Failed runs in a row.
    failures: u32,
    /// The end of the last run, if it failed.
    failed: Option<Instant>,
    /// When the retry was due as the last run began, and whether that run was earlier: an event's.
    /// The failure of such a run counts only if its event was postponed, into the retry.
    due: Option<(Instant, bool)>,
    /// An event came, and no run started since.
    is_owed: bool,
    /// What the last successful run read: a version, or that the object is gone.
    reconciled: Option<Option<String>>,
}

/// The state of one history, and what it found wrong.
struct State {
    rng: Rng,
    /// Runs do not fail any more.
    is_calm: bool,
    keys: BTreeMap<ObjectKey, Known>,
    runs: u32,
    retries: u32,
    wrong: Vec<String>,
}

impl State {
    fn check(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.wrong.push(what());
        }
    }

    fn event(&mut self, key: &ObjectKey) {
        self.keys.entry(key.clone()).or_default().is_owed = true;
    }

    /// A run starts. Returns how long it takes, and whether it fails.
    fn begin(&mut self, key: &ObjectKey, attempt: u32) -> (Duration, bool) {
        self.runs += 1;
        let known = self.keys.entry(key.clone()).or_default();
        let (was_running, failures, failed) = (known.is_running, known.failures, known.failed);
        let during = known.due.take();
        (known.is_running, known.is_owed, known.failures) = (true, false, attempt);
        let uncounted = during.filter(|(_, early)| *early && attempt + 1 == failures);
        let mut is_kept = true;
        if let Some(failed) = failed {
            let backoff = (BACKOFF.0 * 2_u32.pow(attempt.clamp(1, 10) - 1)).min(BACKOFF.1);
            let due = uncounted.map_or(failed + backoff, |(due, _)| due);
            let now = Instant::now();
            // The retry was due during an event's run: it runs once more, as in Go.
            let was_due = during.is_some_and(|(due, early)| early && due <= failed);
            let earliest = if was_due { failed } else { due.min(failed + FAILING_INTERVAL) };
            is_kept = (earliest..=due + LATE).contains(&now);
            known.due = Some((due, now < due));
            self.retries += 1;
        }
        self.check(!was_running, || format!("{key} has two runs"));
        self.check(attempt == failures || uncounted.is_some(), || {
            format!("{key}: attempt {attempt} after {failures} failures")
        });
        self.check(is_kept, || {
            let waited = failed.map(|failed| failed.elapsed());
            format!("{key}: {waited:?} after failure {failures}")
        });
        let fails = !self.is_calm && self.rng.u8(0..4) == 0;
        (MS * self.rng.u32(0..40), fails)
    }

    fn end(&mut self, key: &ObjectKey, read: Option<String>, fails: bool) {
        let known = self.keys.entry(key.clone()).or_default();
        known.is_running = false;
        if fails {
            (known.failures, known.failed) = (known.failures + 1, Some(Instant::now()));
        } else {
            (known.failures, known.failed, known.reconciled) = (0, None, Some(read));
        }
    }
}

fn controller(
    maps: &Cache<ConfigMap>,
    state: &Arc<Mutex<State>>,
) -> Controller<impl reconciler::Reconciler<Key = ObjectKey> + use<>> {
    let (read, noted, told) = (maps.clone(), Arc::clone(state), Arc::clone(state));
    Controller::keyed(
        "maps",
        reconcile_fn(move |request: Request<ObjectKey>| {
            let (read, noted) = (read.clone(), Arc::clone(&noted));
            async move {
                let key = request.key();
                let (takes, fails) = noted.lock().unwrap().begin(key, request.attempt());
                let version = read.get(key).and_then(|map| map.resource_version());
                sleep(takes).await;
                noted.lock().unwrap().end(key, version, fails);
                if fails { Err(Failure::retry("planted")) } else { Ok(Action::await_change()) }
            }
        }),
    )
    .limiter(ExponentialBackoff::new(BACKOFF.0, BACKOFF.1).unwrap())
    .failing_interval(FAILING_INTERVAL)
    .source(maps.trigger(move |change| {
        let key = change.key();
        key.iter().for_each(|key| told.lock().unwrap().event(key));
        key
    }))
}

fn plan(seed: u64) -> FaultPlan {
    let of_cache = || Match::any().user("controller").resource("configmaps");
    let starts = [
        Fault::InternalError,
        Fault::Unavailable,
        Fault::Forbidden,
        Fault::TooManyRequests { retry_after_s: 1 },
        Fault::DropBefore,
        Fault::NeverAnswer,
        Fault::Expired,
    ];
    let streams = [
        Fault::CutWatch { min_events: 0, max_events: 3, after_ms: Some(500), mid_line: false },
        Fault::CutWatch { min_events: 0, max_events: 3, after_ms: Some(500), mid_line: true },
        Fault::StallWatch { min_events: 0, max_events: 3 },
        Fault::GarbageLine { min_events: 0, max_events: 3 },
    ];
    let latency = Fault::Latency { min_ms: 1, max_ms: 300 };
    FaultPlan::seeded(seed)
        .rule(Rule::new(of_cache(), latency).percent(30))
        .rule(Rule::new(of_cache(), Fault::Compact).percent(10))
        .rule(Rule::one_of(of_cache(), starts).percent(30))
        .rule(Rule::one_of(of_cache().verb(Verb::Watch), streams).percent(60))
}

/// Writes objects at random, and cuts what is open.
async fn play(bench: &Bench, rng: &mut Rng) {
    let watches = Match::any().user("controller").verb(Verb::Watch);
    for step in 0..40 {
        let name = NAMES[rng.usize(..NAMES.len())];
        let is_there = bench.maps.get_opt(name).await.unwrap().is_some();
        match rng.u8(0..12) {
            0 => bench.server.compact(),
            1 => _ = bench.server.faults().cut_watches(&watches),
            2 => _ = bench.server.faults().drop_watches(&watches),
            3 => _ = bench.server.faults().stall_watches(&watches),
            4 | 5 if is_there => bench.delete(name).await,
            _ if is_there => bench.touch(name, &step.to_string()).await,
            _ => bench.create(name).await,
        }
        // Most writes come in bursts.
        sleep(MS * if rng.u8(0..4) == 0 { rng.u32(0..2000) } else { rng.u32(0..20) }).await;
    }
}

fn contents(maps: impl IntoIterator<Item = ConfigMap>) -> BTreeMap<ObjectKey, Option<String>> {
    maps.into_iter().map(|map| (key(&map.name_any()), map.resource_version())).collect()
}

fn cached(cache: &Cache<ConfigMap>) -> BTreeMap<ObjectKey, Option<String>> {
    contents(cache.list().iter().map(|map| ConfigMap::clone(map)))
}

/// Waits until each object was reconciled at its last version. Returns what is not yet.
async fn converge(bench: &Bench, cache: &Cache<ConfigMap>, state: &Mutex<State>) -> String {
    let last = contents(bench.maps.list(&ListParams::default()).await.unwrap());
    let mut late = String::new();
    for _ in 0..1200 {
        sleep(100 * MS).await;
        let state = state.lock().unwrap();
        let is_late = |(key, known): &(&ObjectKey, &Known)| {
            known.is_owed
                || known.is_running
                || known.reconciled != Some(last.get(*key).cloned().flatten())
        };
        let keys: Vec<&ObjectKey> = state.keys.iter().filter(is_late).map(|(key, _)| key).collect();
        if keys.is_empty()
            && cached(cache) == last
            && last.keys().all(|key| state.keys.contains_key(key))
        {
            return String::new();
        }
        late = format!("late: {keys:?}; cached {:?}, but there is {last:?}", cached(cache));
    }
    late
}

/// Counts runs and retries of one history.
async fn history(seed: u64) -> (u32, u32) {
    let mut rng = Rng::with_seed(seed);
    let bench = bench();
    bench.server.faults().set_plan(plan(seed));
    let state = Arc::new(Mutex::new(State {
        rng: rng.fork(),
        is_calm: false,
        keys: BTreeMap::new(),
        runs: 0,
        retries: 0,
        wrong: Vec::new(),
    }));
    let mut manager = manager();
    let config = CacheConfig::new().watch_time(Duration::from_secs(10)).page_size(2);
    let config = config.streaming_list(seed % 2 == 1);
    let maps = manager.cache_with(bench.api(), config);
    manager.add(controller(&maps, &state));
    let running: Running = start(manager);
    play(&bench, &mut rng).await;
    state.lock().unwrap().is_calm = true;
    bench.server.faults().clear();
    let late = converge(&bench, &maps, &state).await;
    assert!(late.is_empty(), "HISTORY_SEED {seed}: {late}");
    // An event that was postponed may still wait, though its key has run since.
    sleep(FAILING_INTERVAL).await;
    // A request that the stop ends fails nothing.
    let requests = bench.server.requests().by("controller").resource("configmaps").entries();
    let ended = requests.iter().filter(|request| request.took.is_some());
    let noticed = ended.filter_map(|request| request.fault).filter(|it| NOTICED.contains(it));
    // A cache that is built from scratch has the same objects.
    let mut other = crate::bench::manager();
    let fresh = other.cache(bench.api());
    let rebuilt = start(other);
    fresh.await_synced().await;
    assert_eq!(cached(&maps), cached(&fresh), "HISTORY_SEED {seed}");
    rebuilt.stop().await;
    let report = running.stop().await;
    let (noticed, counted) = (noticed.count() as u64, maps.status().failures);
    assert!(counted >= noticed, "HISTORY_SEED {seed}: {noticed} faults, {counted} counted");
    let state = state.lock().unwrap();
    assert!(state.wrong.is_empty(), "HISTORY_SEED {seed}: {:#?}", state.wrong);
    let controller = &report.controllers[0];
    let is_clean = report.is_clean() && controller.panics == 0 && controller.not_started == 0;
    assert!(is_clean, "HISTORY_SEED {seed}: {report:?}");
    assert_eq!(controller.reconciles, u64::from(state.runs), "HISTORY_SEED {seed}");
    (state.runs, state.retries)
}

#[test]
fn runs_and_caches_converge_whatever_the_watch_meets() {
    let first = std::env::var("HISTORY_SEED").map_or(0, |seed| seed.parse().expect("a seed"));
    let (mut runs, mut retries) = (0, 0);
    for seed in first..first + seeds() {
        // Each history has its own clock.
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().start_paused(true).build().unwrap();
        let (of_one, again) = runtime.block_on(history(seed));
        (runs, retries) = (runs + of_one, retries + again);
    }
    assert!(seeds() < 100 || (runs > 1000 && retries > 100), "{runs} runs, {retries} retries");
}
