//! Runs one operation of the queue many times under callgrind, which counts its instructions
//! exactly.
//!
//! The stage `instructions` runs each operation twice with different counts: the difference is the
//! cost of the operation alone. It compares that cost with the budgets in `instructions.toml`. By
//! hand: `instructions burst_u64 1000`.

use std::future::Future;
use std::hash::Hash;
use std::hint::black_box;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use wq_core::{Added, Observer, WorkQueue};

/// The number of items in a burst, and of keys that the other operations cycle through.
const KEYS: u64 = 1000;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    let Some(operation) = args.next() else { return ExitCode::SUCCESS };
    let Some(items) = args.next().and_then(|count| count.parse().ok()) else {
        return ExitCode::FAILURE;
    };
    let done = match operation.as_str() {
        "ping_u64" => ping(&integers(), items),
        "burst_u64" => burst(&integers(), items),
        "burst_string" => burst(&names(), items),
        "duplicate_u64" => {
            duplicate(&integers(), items, |queue, key| queue.add(*key).is_accepted())
        }
        "duplicate_string" => {
            duplicate(&names(), items, |queue, key| queue.add_ref(key.as_str()).is_accepted())
        }
        "readd_u64" => readd(&integers(), items, |queue, key| queue.add(*key).is_accepted()),
        "readd_string" => {
            readd(&names(), items, |queue, key| queue.add_ref(key.as_str()).is_accepted())
        }
        "fused_u64" => fused(&integers(), items, false),
        "batched_u64" => fused(&integers(), items, true),
        "async_u64" => asynchronous(&integers(), items),
        "cancelled_u64" => cancelled(items),
        "owned_u64" => owned(&integers(), items),
        "tried_u64" => tried(&integers(), items),
        "bounded_u64" => bounded(&integers(), items),
        "removed_u64" => removed(&integers(), items),
        "phase_u64" => phase(&integers(), items),
        "abandoned_u64" => abandoned(&integers(), items),
        "observed_u64" => observed(&integers(), items),
        "snapshot_u64" => snapshot(&integers(), items),
        _ => None,
    };
    if done.is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn integers() -> Vec<u64> {
    (0..KEYS).collect()
}

fn names() -> Vec<String> {
    (0..KEYS).map(|at| format!("namespace-1/name-{at:07}")).collect()
}

fn take<T: Clone>(queue: &WorkQueue<T>) -> Option<()> {
    let guard = queue.get_blocking()?;
    black_box(guard.item());
    guard.done();
    Some(())
}

/// Add, get, done.
fn ping(keys: &[u64], items: usize) -> Option<()> {
    let queue = WorkQueue::new();
    for key in keys.iter().cycle().take(items) {
        queue.add(*key);
        take(&queue)?;
    }
    Some(())
}

/// Add all, then get and done for all.
fn burst<T: Clone + Hash + Eq>(keys: &[T], items: usize) -> Option<()> {
    let queue = WorkQueue::new();
    for _ in 0..items / keys.len() {
        for key in keys {
            queue.add(key.clone());
        }
        for _ in keys {
            take(&queue)?;
        }
    }
    Some(())
}

/// Adds items that are already queued.
fn duplicate<T: Clone + Hash + Eq>(
    keys: &[T],
    items: usize,
    add: impl Fn(&WorkQueue<T>, &T) -> bool,
) -> Option<()> {
    let queue = WorkQueue::new();
    queue.add_all(keys.iter().cloned());
    keys.iter().cycle().take(items).all(|key| add(&queue, key)).then_some(())
}

/// Get, add of the same, done.
fn readd<T: Clone + Hash + Eq>(
    keys: &[T],
    items: usize,
    add: impl Fn(&WorkQueue<T>, &T) -> bool,
) -> Option<()> {
    let queue = WorkQueue::new();
    queue.add_all(keys.iter().cloned());
    for _ in 0..items {
        let guard = queue.get_blocking()?;
        add(&queue, guard.item());
        guard.done();
    }
    Some(())
}

/// As `burst`, with `done_and_get`. Adds the items one by one, or all at once.
fn fused(keys: &[u64], items: usize, at_once: bool) -> Option<()> {
    let queue = WorkQueue::new();
    for _ in 0..items / keys.len() {
        if at_once {
            queue.add_all(keys.iter().copied());
        } else {
            for key in keys {
                queue.add(*key);
            }
        }
        let mut guard = queue.get_blocking()?;
        while let Ok(next) = guard.done_and_get() {
            guard = next;
        }
    }
    Some(())
}

/// As `burst`, with async gets.
fn asynchronous(keys: &[u64], items: usize) -> Option<()> {
    let queue = WorkQueue::new();
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..items / keys.len() {
        for key in keys {
            queue.add(*key);
        }
        for _ in keys {
            let Poll::Ready(Some(guard)) = pin!(queue.get()).poll(&mut context) else {
                return None;
            };
            black_box(guard.item());
            guard.done();
        }
    }
    Some(())
}

/// A get that finds nothing, waits, and is dropped.
fn cancelled(items: usize) -> Option<()> {
    let queue = WorkQueue::<u64>::new();
    let mut context = Context::from_waker(Waker::noop());
    (0..items).all(|_| pin!(queue.get()).poll(&mut context).is_pending()).then_some(())
}

/// As `burst`, with owned guards.
fn owned(keys: &[u64], items: usize) -> Option<()> {
    let queue = WorkQueue::new();
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..items / keys.len() {
        for key in keys {
            queue.add(*key);
        }
        for _ in keys {
            let Poll::Ready(Some(guard)) = pin!(queue.get_owned()).poll(&mut context) else {
                return None;
            };
            guard.done();
        }
    }
    Some(())
}

/// As `burst`, with `try_add` and `try_get`.
fn tried(keys: &[u64], items: usize) -> Option<()> {
    let queue = WorkQueue::new();
    for _ in 0..items / keys.len() {
        for key in keys {
            queue.try_add(*key).ok()?;
        }
        for _ in keys {
            queue.try_get().ok()?.done();
        }
    }
    Some(())
}

/// As `ping`, with `try_add` and a capacity of one item.
fn bounded(keys: &[u64], items: usize) -> Option<()> {
    let queue = WorkQueue::builder().capacity(1).build().ok()?;
    for key in keys.iter().cycle().take(items) {
        queue.try_add(*key).ok()?;
        take(&queue)?;
    }
    Some(())
}

/// Adds all items, then removes each.
fn removed(keys: &[u64], items: usize) -> Option<()> {
    let queue = WorkQueue::new();
    for _ in 0..items / keys.len() {
        for key in keys {
            queue.add(*key);
        }
        for key in keys {
            queue.remove(key)?;
        }
    }
    Some(())
}

/// Looks up queued items.
fn phase(keys: &[u64], items: usize) -> Option<()> {
    let queue = WorkQueue::new();
    queue.add_all(keys.iter().copied());
    keys.iter().cycle().take(items).all(|key| queue.phase(key).is_some()).then_some(())
}

/// As `ping`, with guards that are forgotten and items that are abandoned.
fn abandoned(keys: &[u64], items: usize) -> Option<()> {
    let queue = WorkQueue::new();
    for key in keys.iter().cycle().take(items) {
        queue.add(*key);
        std::mem::forget(queue.get_blocking()?);
        queue.abandon(key).then_some(())?;
    }
    Some(())
}

/// Counts events, and needs no times.
#[derive(Default)]
struct Counter([AtomicU64; 3]);

impl Counter {
    fn count(&self, at: usize) {
        self.0[at].fetch_add(1, Ordering::Relaxed);
    }
}

impl Observer for Counter {
    fn is_timed(&self) -> bool {
        false
    }
    fn added(&self, _: Added) {
        self.count(0);
    }
    fn got(&self, _: Duration) {
        self.count(1);
    }
    fn done(&self, _: Duration) {
        self.count(2);
    }
}

/// As `burst`, with an observer that counts.
fn observed(keys: &[u64], items: usize) -> Option<()> {
    let queue = WorkQueue::builder().observer(Arc::new(Counter::default())).build().ok()?;
    for _ in 0..items / keys.len() {
        for key in keys {
            queue.add(*key);
        }
        for _ in keys {
            take(&queue)?;
        }
    }
    Some(())
}

/// Takes `items / keys.len()` snapshots of a queue that holds all keys.
fn snapshot(keys: &[u64], items: usize) -> Option<()> {
    let queue = WorkQueue::new();
    queue.add_all(keys.iter().copied());
    (0..items / keys.len()).all(|_| queue.snapshot().items.len() == keys.len()).then_some(())
}
