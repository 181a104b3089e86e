//! 15: keys of the start share the turns with keys that never rest, and changes pass both.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reconciler::{Action, Controller, Failure, Handle, ObjectKey, Request, reconcile_fn};
use tokio::time::{Instant, sleep};

use crate::bench::{Bench, Running, bench, manager, start, until};

const MS: Duration = Duration::from_millis(1);

/// Keys from this one on are named again during each of their runs.
const HOT: u32 = 1_000_000;
/// The key of a single change.
const CHANGE: u32 = HOT - 1;
/// Each run of a key from this one on names the next key.
const CHAIN: u32 = 2 * HOT;

/// A controller under load. Each run takes 1 ms.
struct Load {
    running: Running,
    handle: Handle<u32>,
    runs: Arc<Runs>,
}

#[derive(Default)]
struct Runs {
    of_the_start: AtomicU32,
    of_changes: AtomicU32,
    of_the_hot: AtomicU32,
}

impl Runs {
    fn count(&self, key: u32) -> u32 {
        let runs = match key {
            ..CHANGE => &self.of_the_start,
            CHANGE => &self.of_changes,
            HOT.. => &self.of_the_hot,
        };
        runs.fetch_add(1, Ordering::Relaxed)
    }
}

/// Starts a controller with the keys `0..cold` at its start, which fail on request, and the keys
/// of `hot` from a handle.
async fn load(cold: u32, hot: &[u32], workers: usize, fails: bool) -> (Bench, Load) {
    let (bench, mut manager) = (bench(), manager());
    bench.create("names-all-keys").await;
    let maps = manager.cache(bench.api());
    let runs = Arc::<Runs>::default();
    let own: Arc<OnceLock<Handle<u32>>> = Arc::default();
    let (counted, again) = (Arc::clone(&runs), Arc::clone(&own));
    let controller = Controller::keyed(
        "load",
        reconcile_fn(move |request: Request<u32>| {
            let key = *request.key();
            counted.count(key);
            match key {
                CHAIN.. => again.get().unwrap().add(key + 1),
                HOT.. => again.get().unwrap().add(key),
                ..HOT => {}
            }
            async move {
                sleep(MS).await;
                if fails && key < CHANGE {
                    return Err(Failure::retry("down"));
                }
                Ok(Action::await_change())
            }
        }),
    )
    .workers(workers)
    .source(maps.trigger(move |_| 0..cold));
    let handle = controller.handle();
    own.set(handle.clone()).ok().unwrap();
    hot.iter().for_each(|key| handle.add(*key));
    manager.add(controller);
    (bench, Load { running: start(manager), handle, runs })
}

/// Returns how long the keys of the start take, and how many runs the hot keys have meanwhile.
async fn time_of_the_start(cold: u32, hot: &[u32], workers: usize) -> (Duration, u32) {
    let (_bench, load) = load(cold, hot, workers, false).await;
    let began = Instant::now();
    until("the start", || load.runs.of_the_start.load(Ordering::Relaxed) == cold).await;
    let took = began.elapsed();
    let runs = load.runs.of_the_hot.load(Ordering::Relaxed);
    load.running.stop().await;
    (took, runs)
}

/// One key that never rests at most doubles the time of the start, and has its own half of it.
#[tokio::test(start_paused = true)]
async fn a_hot_key_at_most_doubles_the_time_of_the_start() {
    for (cold, workers) in [(10_000, 4), (2_000, 1)] {
        let (alone, _) = time_of_the_start(cold, &[], workers).await;
        let (beside, runs) = time_of_the_start(cold, &[HOT], workers).await;
        assert!(beside <= alone * 21 / 10, "{workers} workers: {beside:?}, alone {alone:?}");
        let least = if workers == 1 { cold - 1 } else { cold / 4 };
        assert!(runs >= least, "{workers} workers: {runs} runs of the hot key");
    }
}

/// More hot keys than workers, by a handle.
#[tokio::test(start_paused = true)]
async fn hot_keys_together_at_most_double_the_time_of_the_start() {
    let hot: Vec<u32> = (HOT..HOT + 50).collect();
    let (alone, _) = time_of_the_start(1000, &[], 4).await;
    let (beside, _) = time_of_the_start(1000, &hot, 4).await;
    assert!(beside <= alone * 21 / 10, "{beside:?}, alone {alone:?}");
    assert!(beside <= 700 * MS, "{beside:?}");
}

/// Changes of ever new keys do not starve the start.
#[tokio::test(start_paused = true)]
async fn changes_without_end_at_most_double_the_time_of_the_start() {
    let chains: Vec<u32> = (0..8).map(|chain| CHAIN + chain * 100_000).collect();
    let (alone, _) = time_of_the_start(1000, &[], 4).await;
    let (beside, _) = time_of_the_start(1000, &chains, 4).await;
    assert!(beside <= alone * 21 / 10, "{beside:?}, alone {alone:?}");
}

/// 1,000 objects in the first list beside 8 that are written all the time.
#[tokio::test(start_paused = true)]
async fn objects_of_the_first_list_wait_little_beside_objects_written_at_full_speed() {
    let (bench, mut manager) = (bench(), manager());
    let names: Vec<String> = (0..8).map(|number| format!("hot-{number}")).collect();
    for number in 0..1000 {
        bench.create(&format!("cold-{number}")).await;
    }
    for name in &names {
        bench.create(name).await;
    }
    let maps = manager.cache(bench.api());
    let (cold, hot) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let (counted, counted_hot) = (Arc::clone(&cold), Arc::clone(&hot));
    let controller = Controller::keyed(
        "maps",
        reconcile_fn(move |request: Request<ObjectKey>| {
            let is_hot = request.key().name().starts_with("hot");
            let count = if is_hot { &counted_hot } else { &counted };
            count.fetch_add(1, Ordering::Relaxed);
            async {
                sleep(MS).await;
                Ok(Action::await_change())
            }
        }),
    );
    manager.add(controller.source(maps.objects()));
    let running = start(manager);
    maps.await_synced().await;
    let (began, mut value) = (Instant::now(), 0_u32);
    while cold.load(Ordering::Relaxed) < 1000 {
        for name in &names {
            value += 1;
            bench.touch(name, &value.to_string()).await;
        }
        sleep(MS).await;
    }
    assert!(began.elapsed() <= 700 * MS, "{:?}", began.elapsed());
    let runs = hot.load(Ordering::Relaxed);
    assert!(runs >= 800, "{runs} runs of the hot objects");
    running.stop().await;
}

/// A change passes the keys of the start, also failing ones. Its wait does not grow with their
/// number.
#[tokio::test(start_paused = true)]
async fn a_change_passes_the_keys_of_the_start() {
    for (cold, fails) in [(100_000, false), (10_000, true)] {
        let (_bench, load) = load(cold, &[], 4, fails).await;
        let begun = || load.runs.of_the_start.load(Ordering::Relaxed);
        // Each failing key runs some times, and many retries are due.
        let earlier = if fails { 3 * cold } else { 1000 };
        until("some runs", || begun() >= earlier).await;
        for change in 0..20 {
            let asked = Instant::now();
            load.handle.add(CHANGE);
            until("the change", || load.runs.of_changes.load(Ordering::Relaxed) > change).await;
            assert!(asked.elapsed() <= 4 * MS, "{change}: {:?}, fails: {fails}", asked.elapsed());
        }
        load.running.stop().await;
    }
}
