//! Ends: shutdowns and drains while deadlines pass.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use loom::future::block_on;
use wq_contract::explore::thread;

use crate::world::{HOUR, SECOND, clock, ready, world};

pub(crate) fn shutdown_against_due() {
    let (queue, timer) = world();
    queue.add_after(1, SECOND);
    let clock = clock(&timer, SECOND);
    let getter = thread(&queue, |queue| block_on(queue.get()).map(|guard| *guard.item()));
    let back = queue.shutdown();
    clock.join().unwrap();
    let out: Vec<u8> = getter.join().unwrap().into_iter().chain(back).collect();
    assert_eq!(out, [1]);
    assert_eq!(queue.delayed_len(), 0);
}

pub(crate) fn add_against_shutdown() {
    let (queue, timer) = world();
    let adder = thread(&queue, |queue| queue.add_after(1, SECOND).is_accepted());
    let back = queue.shutdown();
    let is_accepted = adder.join().unwrap();
    assert_eq!(back.len(), usize::from(is_accepted));
    timer.advance(SECOND);
    assert_eq!(ready(&queue), [0; 0]);
}

pub(crate) fn keep_time_against_shutdown() {
    let (queue, _timer) = world();
    queue.add_after(1, SECOND);
    let keeper = thread(&queue, |queue| block_on(queue.keep_time()));
    assert_eq!(queue.shutdown(), [1]);
    keeper.join().unwrap();
}

pub(crate) fn drain_while_a_due_item_moves() {
    let (queue, timer) = world();
    let is_done = Arc::new(AtomicBool::new(false));
    queue.add_after(1, SECOND);
    let worker = thread(&queue, {
        let is_done = Arc::clone(&is_done);
        move |queue| {
            let guard = queue.get_blocking().unwrap();
            is_done.store(true, SeqCst);
            guard.done();
        }
    });
    let drainer = thread(&queue, move |queue| {
        block_on(queue.drained());
        assert!(is_done.load(SeqCst), "the drain was over before the work was");
    });
    timer.advance(SECOND);
    worker.join().unwrap();
    drainer.join().unwrap();
}

pub(crate) fn drain_against_cancel() {
    let (queue, _timer) = world();
    queue.add_after(1, HOUR);
    let drainer = thread(&queue, |queue| block_on(queue.drained()));
    assert_eq!(queue.cancel(&1), Some(1));
    drainer.join().unwrap();
}

pub(crate) fn drain_against_shutdown() {
    let (queue, _timer) = world();
    queue.add_after(1, HOUR);
    let drainer = thread(&queue, |queue| block_on(queue.drained()));
    assert_eq!(queue.shutdown(), [1]);
    drainer.join().unwrap();
}

/// Defect D10 of client-go: a drain between two shutdowns never ends.
pub(crate) fn two_shutdowns_and_a_drain() {
    let (queue, _timer) = world();
    queue.add(1);
    let guard = queue.try_get().unwrap();
    queue.add_after(2, HOUR);
    let other = thread(&queue, |queue| queue.shutdown());
    let drainer = thread(&queue, |queue| {
        let back = queue.shutdown();
        block_on(queue.drained());
        back
    });
    guard.done();
    let back = [drainer.join().unwrap(), other.join().unwrap()].concat();
    assert_eq!(back, [2], "to one of them");
    assert!(queue.counts().is_idle());
    assert_eq!(queue.delayed_len(), 0);
}
