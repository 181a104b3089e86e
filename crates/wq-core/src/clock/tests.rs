//! Tests of the clock: how often each verb reads it. Never without an observer, once with one.
//!
//! Time-outs read it in any case.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Waker};

use super::Duration;
use crate::builder::Builder;
use crate::deferred::HashedAdd;
use crate::observer::Observer;
use crate::platform::reads;
use crate::queue::WorkQueue;

/// An observer that counts nothing.
struct Indifferent;

impl Observer for Indifferent {}

/// An observer that is not timed.
struct Untimed;

impl Observer for Untimed {
    fn is_timed(&self) -> bool {
        false
    }
}

type Queue = WorkQueue<u32>;

fn poll<F: Future + Unpin>(mut future: F) {
    let _ = Pin::new(&mut future).poll(&mut Context::from_waker(Waker::noop()));
}

fn hashed(queue: &Queue, items: [u32; 3]) -> impl Iterator<Item = HashedAdd<u32, ()>> {
    items.into_iter().map(|item| HashedAdd { item, hash: queue.item_hash(&item), order: () })
}

/// The name of a verb, a call, and how often that reads the clock with an observer.
type Verb = (&'static str, fn(&Queue), usize);

/// Item 1 is in flight, 2 and 3 are queued.
const VERBS: &[Verb] = &[
    ("add", |queue| _ = queue.add(4), 1),
    ("add, merged", |queue| _ = queue.add(2), 1),
    ("add, deferred", |queue| _ = queue.add(1), 1),
    ("try_add", |queue| _ = queue.try_add(4), 1),
    ("try_add, refused", |queue| (5..9).for_each(|item| _ = queue.try_add(item)), 4),
    ("add_all", |queue| _ = queue.add_all([3, 4, 5]), 1),
    ("deferred add", |queue| _ = queue.defer_wakes().add(4, ()), 1),
    ("deferred add_all", |queue| _ = queue.defer_wakes().add_all(hashed(queue, [3, 4, 5])), 1),
    ("try_get and done", |queue| drop(queue.try_get()), 2),
    ("get_blocking and done", |queue| drop(queue.get_blocking()), 2),
    ("get and done", |queue| poll(queue.get()), 2),
    ("get_owned and done", |queue| poll(queue.get_owned()), 2),
    (
        "try_get, done_and_get and done",
        |queue| drop(queue.try_get().map(|guard| guard.done_and_get())),
        3,
    ),
    ("abandon", |queue| _ = queue.abandon(&1), 1),
    ("remove", |queue| _ = queue.remove(&2), 0),
    ("phase", |queue| _ = queue.phase(&2), 0),
    ("counts", |queue| _ = queue.counts(), 0),
    ("gauges", |queue| _ = queue.reader().gauges().unwrap(), 1),
    ("snapshot", |queue| drop(queue.snapshot()), 1),
    ("drained", |queue| poll(queue.drained()), 0),
    ("pause and resume", |queue| (queue.pause(), queue.resume()).0, 0),
    ("shutdown", Queue::shutdown, 0),
    ("shutdown_now", |queue| drop(queue.shutdown_now()), 0),
    ("get_timeout, and done", |queue| drop(queue.get_timeout(Duration::ZERO)), 3),
    ("drained_timeout", |queue| drop(queue.drained().wait_timeout(Duration::ZERO)), 2),
];

/// The reads of each verb, beside the expected number.
fn reads_of_each(
    is_timed: bool,
    with: impl Fn(Builder<u32>) -> Builder<u32>,
) -> Vec<(&'static str, usize, usize)> {
    let reads_of = |&(name, verb, observed): &Verb| {
        let queue = with(Queue::builder().capacity(4)).build().unwrap();
        queue.add_all([1, 2, 3]);
        let guard = queue.try_get();
        reads::take();
        verb(&queue);
        let reads = reads::take();
        drop(guard);
        // A time-out reads its beginning, and the rest of it once more when it has to wait.
        let without = match name {
            "get_timeout, and done" => 1,
            "drained_timeout" => 2,
            _ => 0,
        };
        (name, reads, if is_timed { observed } else { without })
    };
    VERBS.iter().map(reads_of).collect()
}

/// The reads of the poll alone: `deadline.left` has others.
#[test]
fn a_get_that_finds_nothing_reads_it_once_in_each_poll() {
    let queue = Queue::builder().observer(Indifferent).build().unwrap();
    let (mut get, mut owned) = (queue.get(), queue.get_owned());
    reads::take();
    for _ in 0..3 {
        poll(&mut get);
        assert_eq!(reads::take(), 1, "get");
        poll(&mut owned);
        assert_eq!(reads::take(), 1, "get_owned");
    }
    drop((get, owned));
    assert!(queue.get_timeout(Duration::ZERO).is_err());
    assert_eq!(reads::take(), 3, "the beginning, the poll, and what is left");
    queue.shutdown();
    assert!(queue.get_blocking().is_none());
    assert_eq!(reads::take(), 1, "get_blocking");
}

/// The first look and the first poll are one step.
#[test]
fn a_thread_that_waits_for_an_item_reads_it_once_before_it_sleeps() {
    let queue = Queue::builder().observer(Indifferent).build().unwrap();
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            drop(queue.get_blocking());
            reads::take()
        });
        // Without the lock: the first contended lock of a process measures a pause by the clock.
        while !queue.shared.is_likely_empty() {
            std::thread::yield_now();
        }
        queue.shutdown();
        assert_eq!(worker.join().unwrap(), 2, "before it sleeps, and when it is woken");
    });
}

#[test]
fn without_an_observer_no_clock_is_read_but_for_time_outs() {
    for (verb, reads, expected) in reads_of_each(false, |builder| builder) {
        assert_eq!(reads, expected, "{verb}");
    }
}

#[test]
fn with_an_observer_that_wants_no_times_neither() {
    for (verb, reads, expected) in
        reads_of_each(false, |builder| builder.observer((Untimed, Untimed)))
    {
        assert_eq!(reads, expected, "{verb}");
    }
}

#[test]
fn with_an_observer_it_is_read_once_for_each_step() {
    for (verb, reads, expected) in
        reads_of_each(true, |builder| builder.observer((Untimed, Indifferent)))
    {
        assert_eq!(reads, expected, "{verb}");
    }
}
