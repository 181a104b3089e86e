//! World: a queue and its clock, and the calls of the threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use loom::future::block_on;
use loom::thread::JoinHandle;
use wq_delay::{DelayingQueue, ImmediateAdd, ManualTimer, SecondAdd};

pub(crate) const SECOND: Duration = Duration::from_secs(1);
/// Later than any scenario.
pub(crate) const HOUR: Duration = Duration::from_secs(3600);
/// Longer than the reserve waits for the timekeeper.
pub(crate) const LAG: Duration = Duration::from_millis(5);

pub(crate) type Queue = DelayingQueue<u8>;

/// A queue whose clock stands still until a thread moves it.
pub(crate) fn world() -> (Queue, ManualTimer) {
    with(SecondAdd::Earliest, ImmediateAdd::Keep)
}

pub(crate) fn with(second: SecondAdd, immediate: ImmediateAdd) -> (Queue, ManualTimer) {
    let timer = ManualTimer::new();
    let builder = Queue::builder().timer(timer.clone()).second_add(second).immediate_add(immediate);
    (builder.build().unwrap(), timer)
}

/// A thread that moves the clock.
pub(crate) fn clock(timer: &ManualTimer, by: Duration) -> JoinHandle<()> {
    let timer = timer.clone();
    loom::thread::spawn(move || timer.advance(by))
}

/// Takes an item with a blocking get, done at once.
pub(crate) fn take(queue: &Queue) -> u8 {
    *queue.get_blocking().unwrap().item()
}

/// As `take`, as a task.
pub(crate) fn take_async(queue: &Queue) -> u8 {
    *block_on(queue.get()).unwrap().item()
}

/// Takes all ready items, in their order.
pub(crate) fn ready(queue: &Queue) -> Vec<u8> {
    std::iter::from_fn(|| queue.try_get().ok().map(|guard| *guard.item())).collect()
}

/// The number of requests, and how many of them a worker has seen.
#[derive(Clone, Default)]
pub(crate) struct Requests {
    made: Arc<AtomicUsize>,
    seen: Arc<AtomicUsize>,
}

impl Requests {
    /// Call before each add.
    pub(crate) fn make(&self) {
        self.made.fetch_add(1, SeqCst);
    }

    /// Call while the item is held.
    pub(crate) fn see(&self) {
        self.seen.store(self.made.load(SeqCst), SeqCst);
    }

    pub(crate) fn are_seen(&self) -> bool {
        self.seen.load(SeqCst) == self.made.load(SeqCst)
    }
}
