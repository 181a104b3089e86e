//! Ends: both forms of shutdown, against all concurrent calls.

use loom::future::block_on;
use wq_contract::explore::{join, thread};
use wq_core::{Added, WorkQueue};

/// Takes items until the queue ends.
fn take_all(queue: &WorkQueue<u8>) -> Vec<u8> {
    std::iter::from_fn(|| queue.get_blocking().map(|guard| *guard.item())).collect()
}

pub(crate) fn shutdown_against_three_getters() {
    let queue = WorkQueue::<u8>::new();
    let getters = [
        thread(&queue, |queue| queue.get_blocking().is_none()),
        thread(&queue, |queue| block_on(queue.get()).is_none()),
        thread(&queue, |queue| block_on(queue.get_owned()).is_none()),
    ];
    queue.shutdown();
    assert_eq!(join(getters), [true; 3]);
}

pub(crate) fn add_against_shutdown() {
    let queue = WorkQueue::new();
    let adder = thread(&queue, |queue| queue.add(1));
    let getter = thread(&queue, take_all);
    queue.shutdown();
    let expected: &[u8] = match adder.join().unwrap() {
        Added::Queued => &[1],
        _ => &[],
    };
    assert_eq!(getter.join().unwrap(), expected);
}

pub(crate) fn two_shutdowns_and_a_drain() {
    let queue = WorkQueue::new();
    queue.add(1);
    let guard = queue.try_get().unwrap();
    let shutdown = thread(&queue, WorkQueue::shutdown);
    let drainer = thread(&queue, |queue| {
        queue.shutdown();
        block_on(queue.drained());
    });
    guard.done();
    drainer.join().unwrap();
    shutdown.join().unwrap();
    assert!(queue.counts().is_idle());
}

pub(crate) fn shutdown_now_against_get() {
    let queue = WorkQueue::new();
    queue.add_all([1, 2]);
    let getters = [thread(&queue, take_all), thread(&queue, take_all)];
    let mut items = queue.shutdown_now();
    items.extend(join(getters).into_iter().flatten());
    items.sort_unstable();
    assert_eq!(items, [1, 2]);
    assert!(queue.counts().is_idle());
}

pub(crate) fn shutdown_now_against_readd() {
    let queue = WorkQueue::new();
    queue.add(1);
    let guard = queue.try_get().unwrap();
    let adder = thread(&queue, |queue| queue.add(1));
    let ends = thread(&queue, WorkQueue::shutdown_now);
    guard.done();
    let refused = adder.join().unwrap() == Added::ShutDown;
    let handed_back = ends.join().unwrap();
    assert_eq!(handed_back.is_empty(), refused);
    assert!(queue.counts().is_idle());
}

pub(crate) fn shutdown_now_ends_a_drain() {
    let queue = WorkQueue::new();
    queue.add(1);
    let drainers = [
        thread(&queue, |queue| block_on(queue.drained())),
        thread(&queue, |queue| block_on(queue.drained())),
    ];
    assert_eq!(queue.shutdown_now(), [1]);
    join(drainers);
}
