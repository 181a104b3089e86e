//! Drains: a drain ends exactly when nothing is queued, in flight or to run again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use loom::future::block_on;
use wq_contract::explore::{join, poll_once, thread};
use wq_core::WorkQueue;

const SECOND: Duration = Duration::from_secs(1);

/// Works until the queue ends, and counts each item before its done.
fn worker(finished: &Arc<AtomicUsize>) -> impl FnOnce(&WorkQueue<u8>) + 'static {
    let finished = Arc::clone(finished);
    move |queue| {
        while let Some(guard) = queue.get_blocking() {
            finished.fetch_add(1, SeqCst);
            guard.done();
        }
    }
}

pub(crate) fn two_drainers() {
    let queue = WorkQueue::new();
    queue.add(1);
    let guard = queue.try_get().unwrap();
    queue.shutdown();
    let drainers = [
        thread(&queue, |queue| block_on(queue.drained())),
        thread(&queue, |queue| block_on(queue.drained())),
    ];
    guard.done();
    join(drainers);
}

pub(crate) fn drain_against_queued() {
    let (queue, finished) = (WorkQueue::new(), Arc::default());
    queue.add_all([1, 2]);
    queue.shutdown();
    let worker = thread(&queue, worker(&finished));
    block_on(queue.drained());
    assert_eq!(finished.load(SeqCst), 2);
    worker.join().unwrap();
}

pub(crate) fn requeue_against_drain() {
    let (queue, finished) = (WorkQueue::new(), Arc::default());
    queue.add(1);
    let guard = queue.try_get().unwrap();
    queue.add(1);
    queue.shutdown();
    let worker = thread(&queue, worker(&finished));
    let drainer = thread(&queue, {
        let finished = Arc::clone(&finished);
        move |queue| {
            block_on(queue.drained());
            assert!(finished.load(SeqCst) > 0, "the drain was over before the item ran again");
        }
    });
    guard.done();
    // The worker may have got `None` before the requeue. This holder then gets the item.
    if let Some(guard) = queue.get_blocking() {
        finished.fetch_add(1, SeqCst);
        guard.done();
    }
    drainer.join().unwrap();
    worker.join().unwrap();
}

pub(crate) fn drain_between_two_items() {
    let (queue, finished) = (WorkQueue::new(), Arc::default());
    queue.add_all([1, 2]);
    let worker = thread(&queue, worker(&finished));
    let drainer = thread(&queue, {
        let finished = Arc::clone(&finished);
        move |queue| {
            block_on(queue.drained());
            assert_eq!(finished.load(SeqCst), 2, "the drain was over between two items");
        }
    });
    drainer.join().unwrap();
    queue.shutdown();
    worker.join().unwrap();
}

pub(crate) fn dropped_drainer() {
    let queue = WorkQueue::new();
    queue.add(1);
    let guard = queue.try_get().unwrap();
    let drainer = thread(&queue, |queue| block_on(queue.drained()));
    let dropper = thread(&queue, |queue| {
        let _ = poll_once(&mut queue.drained());
    });
    guard.done();
    drainer.join().unwrap();
    dropper.join().unwrap();
}

pub(crate) fn drain_timeout_against_done() {
    let queue = WorkQueue::new();
    queue.add_all([1, 2]);
    let guard = queue.try_get().unwrap();
    let drainer = thread(&queue, |queue| queue.drained().wait_timeout(SECOND));
    guard.done();
    let next = queue.try_get().unwrap();
    next.done();
    match drainer.join().unwrap() {
        Ok(()) => assert!(queue.counts().is_idle()),
        Err(left) => {
            let state = (left.queued, left.in_flight.as_slice());
            assert!(matches!(state, (1, [1]) | (1, []) | (0, [2])), "{state:?}");
        }
    }
}

pub(crate) fn remove_ends_a_drain() {
    let queue = WorkQueue::new();
    queue.add(1);
    let drainer = thread(&queue, |queue| block_on(queue.drained()));
    assert_eq!(queue.remove(&1), Some(1));
    drainer.join().unwrap();
}

pub(crate) fn drained_again_with_another_waker() {
    let queue = WorkQueue::new();
    queue.add(1);
    let guard = queue.try_get().unwrap();
    let drainer = thread(&queue, |queue| {
        let mut drained = queue.drained();
        if poll_once(&mut drained).is_pending() {
            block_on(drained);
        }
    });
    guard.done();
    drainer.join().unwrap();
}
