//! Workloads of one thread, pinned to one processor. Their twins are in `go/alone.go`.

use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use prometheus_client::registry::Registry;
use rivals::{Bench, integers, measured, names};
use wq_core::{Added, Observer, WorkQueue};
use wq_prometheus::QueueMetrics;

/// Items of a round on few keys, and adds of a round with duplicates.
const ITEMS: usize = 1_000_000;
const KEYS: usize = 1000;
const MILLION: usize = 1_000_000;

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    let few = integers(KEYS);
    let names = names(KEYS);
    let shared: Vec<Arc<str>> = names.iter().map(|name| Arc::from(name.as_str())).collect();
    let mut ratios = Vec::new();

    ratios.push(
        bench.beside_client_go("ping", &format!("ping-int64 {KEYS} {ITEMS}"), || ping(&few))?,
    );
    ratios.push(bench.beside_client_go(
        "burst_1k",
        &format!("burst-int64 {KEYS} {ITEMS}"),
        || burst(&WorkQueue::new(), &few, ITEMS),
    )?);
    let many = integers(100_000);
    ratios.push(bench.beside_client_go(
        "burst_100k",
        &format!("burst-int64 100000 {ITEMS}"),
        || burst(&WorkQueue::new(), &many, ITEMS),
    )?);
    if bench.wants("million_fresh") || bench.wants("million_reused") {
        let million = integers(MILLION);
        ratios.push(bench.beside_client_go(
            "million_fresh",
            &format!("fresh-int64 {MILLION}"),
            || burst(&WorkQueue::new(), &million, MILLION),
        )?);
        let queue = WorkQueue::new();
        ratios.push(bench.beside_client_go(
            "million_reused",
            &format!("reused-int64 {MILLION}"),
            || burst(&queue, &million, MILLION),
        )?);
    }
    ratios.push(bench.beside_client_go(
        "strings_cloned",
        &format!("burst-string-cloned {KEYS} {ITEMS}"),
        || burst(&WorkQueue::new(), &names, ITEMS),
    )?);
    ratios.push(bench.beside_client_go(
        "strings_shared",
        &format!("burst-string-shared {KEYS} {ITEMS}"),
        || burst(&WorkQueue::new(), &shared, ITEMS),
    )?);
    if bench.wants("million_strings") {
        let million = self::names(MILLION);
        ratios.push(bench.beside_client_go(
            "million_strings",
            &format!("fresh-string-cloned {MILLION}"),
            || burst(&WorkQueue::new(), &million, MILLION),
        )?);
    }
    ratios.push(bench.beside_client_go(
        "duplicates",
        &format!("duplicates-int64 {KEYS} {ITEMS}"),
        || duplicates(&WorkQueue::new(), &few, |queue, key| queue.add(*key)),
    )?);
    ratios.push(bench.beside_client_go(
        "duplicate_strings",
        &format!("duplicates-string {KEYS} {ITEMS}"),
        || {
            duplicates(&WorkQueue::<String>::new(), &names, |queue, key| {
                queue.add_ref(key.as_str())
            })
        },
    )?);
    ratios.push(bench.beside_client_go("readd", &format!("readd-int64 {KEYS} {ITEMS}"), || {
        readd(&WorkQueue::new(), &few, |queue, key| queue.add(*key))
    })?);
    ratios.push(bench.beside_client_go(
        "readd_strings",
        &format!("readd-string {KEYS} {ITEMS}"),
        || readd(&WorkQueue::<String>::new(), &names, |queue, key| queue.add_ref(key.as_str())),
    )?);
    mean(&ratios);

    let mut registry = Registry::default();
    let metrics = QueueMetrics::register(&mut registry);
    bench.beside_client_go(
        "prometheus",
        &format!("burst-int64-prometheus {KEYS} {ITEMS}"),
        || {
            let queue = WorkQueue::builder()
                .name("measured")
                .observer(metrics.observer("measured"))
                .build()?;
            metrics.watch(&queue);
            burst(&queue, &few, ITEMS)
        },
    )?;
    Ok(())
}

/// The geometric mean, if all of the workloads were measured.
#[expect(clippy::cast_precision_loss, reason = "a few ratios")]
fn mean(ratios: &[Option<f64>]) {
    let all: Option<Vec<f64>> = ratios.iter().copied().collect();
    if let Some(all) = all {
        let logs: f64 = all.iter().map(|ratio| ratio.ln()).sum();
        measured("mean", (logs / all.len() as f64).exp());
    }
}

/// Runs on the first processor, where a get finds an item each time: nanoseconds an item.
pub(crate) fn alone(items: usize, run: impl FnOnce() -> Option<()>) -> Result<f64> {
    rivals::alone(items, || run().context("the queue was empty"))
}

pub(crate) fn take<T: Clone>(queue: &WorkQueue<T>) -> Option<()> {
    queue.get_blocking().map(|guard| guard.done())
}

/// Adds an item, gets it and is done with it, one after the other.
fn ping(keys: &[u64]) -> Result<f64> {
    let queue = WorkQueue::new();
    alone(ITEMS, || {
        for key in keys.iter().cycle().take(ITEMS) {
            queue.add(*key);
            take(&queue)?;
        }
        Some(())
    })
}

/// Adds all keys, then takes them all, again and again.
pub(crate) fn burst<T: Clone + Hash + Eq>(
    queue: &WorkQueue<T>,
    keys: &[T],
    items: usize,
) -> Result<f64> {
    let times = (items / keys.len()).max(1);
    alone(times * keys.len(), || {
        for _ in 0..times {
            for key in keys {
                queue.add(key.clone());
            }
            for _ in keys {
                take(queue)?;
            }
        }
        Some(())
    })
}

/// Adds each key ten times before it is taken, the other keys in between; nanoseconds an add.
pub(crate) fn duplicates<T: Clone>(
    queue: &WorkQueue<T>,
    keys: &[T],
    add: impl Fn(&WorkQueue<T>, &T) -> Added,
) -> Result<f64> {
    const TIMES: usize = 10;
    let bursts = ITEMS / (TIMES * keys.len());
    alone(bursts * TIMES * keys.len(), || {
        for _ in 0..bursts {
            for _ in 0..TIMES {
                for key in keys {
                    add(queue, key);
                }
            }
            for _ in keys {
                take(queue)?;
            }
        }
        Some(())
    })
}

/// Adds each item again while it is processed: get, add, done.
pub(crate) fn readd<T: Clone>(
    queue: &WorkQueue<T>,
    keys: &[T],
    add: impl Fn(&WorkQueue<T>, &T) -> Added,
) -> Result<f64> {
    for key in keys {
        add(queue, key);
    }
    alone(ITEMS, || {
        for _ in 0..ITEMS {
            let guard = queue.get_blocking()?;
            add(queue, guard.item());
            guard.done();
        }
        Some(())
    })
}

/// Counts, as the least that an observer can do. Times are told to it, as to all that say nothing
/// else, or not.
#[derive(Debug, Default)]
pub(crate) struct Counting {
    events: AtomicU64,
    is_timed: bool,
}

impl Counting {
    pub(crate) fn timed(is_timed: bool) -> Self {
        Self { is_timed, ..Self::default() }
    }

    fn count(&self) {
        self.events.fetch_add(1, Ordering::Relaxed);
    }
}

impl Observer for Counting {
    fn is_timed(&self) -> bool {
        self.is_timed
    }

    fn added(&self, _: Added) {
        self.count();
    }

    fn got(&self, _: Duration) {
        self.count();
    }

    fn done(&self, _: Duration) {
        self.count();
    }
}
