//! Phases: an item has at most one holder, no add is forgotten, and its hand-out ends once.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use loom::future::block_on;
use wq_contract::explore::{Known, join, thread};
use wq_core::{Added, WorkQueue};

/// Works until the queue ends.
fn worker(known: &Known) -> impl FnOnce(&WorkQueue<u8>) + 'static {
    let known = known.clone();
    move |queue| {
        while let Some(guard) = queue.get_blocking() {
            known.work();
            guard.done();
        }
    }
}

pub(crate) fn add_against_two_workers() {
    let (queue, known) = (WorkQueue::new(), Known::new());
    known.change();
    queue.add(1);
    let workers = [thread(&queue, worker(&known)), thread(&queue, worker(&known))];
    known.change();
    queue.add(1);
    queue.shutdown();
    join(workers);
    known.judge();
    assert!(queue.counts().is_idle());
}

pub(crate) fn done_against_add() {
    let (queue, known) = (WorkQueue::new(), Known::new());
    known.change();
    queue.add(1);
    let guard = queue.try_get().unwrap();
    known.work();
    let adder = thread(&queue, {
        let known = known.clone();
        move |queue| {
            known.change();
            queue.add(1)
        }
    });
    guard.done();
    assert!(matches!(adder.join().unwrap(), Added::Queued | Added::Deferred));
    let guard = queue.try_get().unwrap();
    known.work();
    guard.done();
    known.judge();
    assert!(queue.counts().is_idle());
}

pub(crate) fn two_adds_while_processing() {
    let (queue, known) = (WorkQueue::new(), Known::new());
    known.change();
    queue.add(1);
    let guard = queue.try_get().unwrap();
    let add = |known: Known| {
        move |queue: &WorkQueue<u8>| {
            known.change();
            queue.add(1)
        }
    };
    let adders = [thread(&queue, add(known.clone())), thread(&queue, add(known.clone()))];
    known.work();
    guard.done();
    let added = join(adders);
    queue.shutdown();
    worker(&known)(&queue);
    known.judge();
    let promised =
        added.iter().filter(|added| matches!(added, Added::Queued | Added::Deferred)).count();
    assert_eq!((known.runs(), promised), (2, 1));
}

pub(crate) fn done_and_get_beside_a_getter() {
    let queue = WorkQueue::new();
    queue.add(1);
    let guard = queue.try_get().unwrap();
    let getter = thread(&queue, |queue| *queue.get_blocking().unwrap().item());
    queue.add(1);
    queue.add(2);
    let next = guard.done_and_get().map(|guard| *guard.item());
    let other = getter.join().unwrap();
    match next {
        Ok(next) => assert_eq!(next + other, 3),
        Err(_) => unreachable!("one of two items is left for the holder"),
    }
    assert!(queue.counts().is_idle());
}

pub(crate) fn two_fused_workers() {
    let (queue, known) = (WorkQueue::new(), Known::new());
    let fused = |known: Known| {
        move |queue: &WorkQueue<u8>| {
            let mut next = queue.get_blocking();
            while let Some(guard) = next {
                known.work();
                next = guard.done_and_get().ok().or_else(|| queue.get_blocking());
            }
        }
    };
    known.change();
    queue.add(1);
    let workers = [thread(&queue, fused(known.clone())), thread(&queue, fused(known.clone()))];
    known.change();
    queue.add(1);
    queue.shutdown();
    join(workers);
    known.judge();
    assert!(queue.counts().is_idle());
}

pub(crate) fn requeue_to_the_tail() {
    let queue = WorkQueue::new();
    queue.add(1);
    let guard = queue.try_get().unwrap();
    queue.add(2);
    let adder = thread(&queue, |queue| queue.add(1));
    let other = thread(&queue, |queue| queue.add(3));
    guard.done();
    adder.join().unwrap();
    assert_eq!(*queue.try_get().unwrap().item(), 2);
    other.join().unwrap();
    let mut rest: Vec<u8> = (0..2).map(|_| *queue.try_get().unwrap().item()).collect();
    rest.sort_unstable();
    assert_eq!(rest, [1, 3]);
}

pub(crate) fn requeue_wakes_a_getter() {
    let queue = WorkQueue::new();
    queue.add(1);
    let guard = queue.try_get().unwrap();
    let getter = thread(&queue, |queue| *queue.get_blocking().unwrap().item());
    queue.add(1);
    guard.done();
    assert_eq!(getter.join().unwrap(), 1);
}

pub(crate) fn abandon_against_done() {
    let (queue, known) = (WorkQueue::new(), Known::new());
    queue.add(1);
    let guard = queue.try_get().unwrap();
    known.change();
    queue.add(1);
    let abandons = thread(&queue, |queue| queue.abandon(&1));
    guard.done();
    abandons.join().unwrap();
    queue.shutdown();
    worker(&known)(&queue);
    assert_eq!(known.runs(), 1);
    known.judge();
    assert!(queue.counts().is_idle());
}

pub(crate) fn stale_guard_against_next_holder() {
    let (queue, known) = (WorkQueue::new(), Known::new());
    queue.add(1);
    let stale = block_on(queue.get_owned()).unwrap();
    assert!(queue.abandon(&1));
    known.change();
    queue.add(1);
    let workers = [thread(&queue, worker(&known)), thread(&queue, worker(&known))];
    stale.done();
    known.change();
    queue.add(1);
    queue.shutdown();
    join(workers);
    known.judge();
    assert!(queue.counts().is_idle());
}

pub(crate) fn panic_at_work() {
    let (queue, known) = (WorkQueue::new(), Known::new());
    known.change();
    queue.add(1);
    let worker_that_panics = thread(&queue, |queue| {
        let result = catch_unwind(AssertUnwindSafe(|| {
            let _guard = queue.get_blocking();
            resume_unwind(Box::new(()));
        }));
        assert!(result.is_err());
    });
    known.change();
    let added = queue.add(1);
    worker_that_panics.join().unwrap();
    queue.shutdown();
    worker(&known)(&queue);
    assert_eq!(known.runs(), usize::from(added != Added::Merged));
    assert!(queue.counts().is_idle());
}
