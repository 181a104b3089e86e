//! Upstream: the cases of client-go's queue_test.go and metrics_test.go. Where this queue differs
//! on purpose, the case checks our rule.
//!
//! The durations of TestMetrics need a settable clock: see
//! `state::tests::waits_and_work_are_measured_as_upstream_does`. TestParallelizeUntil is
//! `threads::every_piece_is_visited_once`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use wq_contract::wakes::Wakes;
use wq_core::{Added, Backlog, Fifo, Observer, SlotId, TryGetError, WorkQueue};

const LONG: Duration = Duration::from_secs(30);
/// Upstream's number of producers, of items, and of adds by each producer. Miri takes a hundred
/// times as long for each step.
const MANY: usize = if cfg!(miri) { 4 } else { 50 };
/// Upstream's number of consumers.
const CONSUMERS: usize = if cfg!(miri) { 3 } else { 10 };

/// The two ways of client-go to end a queue.
#[derive(Clone, Copy, PartialEq)]
enum End {
    ShutDown,
    ShutDownWithDrain,
}

/// Shuts the queue down at the end of a scope, so that a failed test ends the workers too.
struct Ends<'q>(&'q WorkQueue<String>);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.shutdown();
    }
}

/// `Fifo` that counts its touches: upstream's traceQueue.
#[derive(Debug)]
struct Traced(Fifo, Arc<AtomicUsize>);

impl Backlog for Traced {
    type Order = ();

    fn merge(_held: &mut (), _new: ()) {}

    fn push(&mut self, id: SlotId, _order: ()) {
        self.0.push(id, ());
    }

    fn touch(&mut self, _id: SlotId, _order: &()) {
        self.1.fetch_add(1, Ordering::SeqCst);
    }

    fn pop(&mut self) -> Option<(SlotId, ())> {
        self.0.pop()
    }

    fn remove(&mut self, id: SlotId) -> Option<()> {
        self.0.remove(id)
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

/// A queue and the count of its backlog's touches.
fn traced() -> (WorkQueue<&'static str, Traced>, Arc<AtomicUsize>) {
    let touches = Arc::new(AtomicUsize::new(0));
    let backlog = Traced(Fifo::default(), Arc::clone(&touches));
    (WorkQueue::builder().backlog(backlog).build().unwrap(), touches)
}

fn end(queue: &WorkQueue<String>, end: End) {
    queue.shutdown();
    if end == End::ShutDownWithDrain {
        queue.drained().wait_timeout(LONG).unwrap();
    }
}

/// TestBasic.
#[test]
fn fifty_producers_and_ten_consumers_end_without_the_item_added_too_late() {
    for how in [End::ShutDown, End::ShutDownWithDrain] {
        let queue = WorkQueue::<String>::new();
        let seen = AtomicUsize::new(0);
        thread::scope(|scope| {
            let _ends = Ends(&queue);
            for _ in 0..CONSUMERS {
                scope.spawn(|| {
                    while let Some(item) = queue.get_blocking() {
                        assert_ne!(item.item(), "added after shutdown");
                        seen.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
            thread::scope(|producers| {
                for producer in 0..MANY {
                    let queue = &queue;
                    producers.spawn(move || {
                        for _ in 0..MANY {
                            queue.add(producer.to_string());
                        }
                    });
                }
            });
            end(&queue, how);
            assert_eq!(queue.add("added after shutdown".into()), Added::ShutDown);
        });
        assert_eq!(queue.counts().queued, 0);
        assert!((MANY..=MANY * MANY).contains(&seen.into_inner()));
    }
}

/// TestAddWhileProcessing.
#[test]
fn items_added_again_by_their_worker_run_once_more() {
    for how in [End::ShutDown, End::ShutDownWithDrain] {
        let queue = WorkQueue::<String>::new();
        let runs = Mutex::new(std::collections::HashMap::<String, usize>::new());
        thread::scope(|scope| {
            let _ends = Ends(&queue);
            for _ in 0..CONSUMERS {
                scope.spawn(|| {
                    while let Some(item) = queue.get_blocking() {
                        let run = {
                            let mut runs = runs.lock().unwrap();
                            let run = runs.entry(item.item().clone()).or_default();
                            *run += 1;
                            *run
                        };
                        if run == 1 {
                            queue.add(item.item().clone());
                        }
                    }
                });
            }
            for item in 0..MANY {
                queue.add(item.to_string());
            }
            // Before shutdown, so that no re-add is refused.
            queue.drained().wait_timeout(LONG).unwrap();
            end(&queue, how);
        });
        assert_eq!(queue.counts().queued, 0);
        let runs = runs.into_inner().unwrap();
        assert_eq!(runs.len(), MANY);
        assert!(runs.values().all(|&runs| runs == 2), "{runs:?}");
    }
}

/// TestLen.
#[test]
fn len_counts_distinct_items() {
    let queue = WorkQueue::new();
    queue.add("foo");
    assert_eq!(queue.counts().queued, 1);
    queue.add("bar");
    assert_eq!(queue.counts().queued, 2);
    queue.add("foo");
    assert_eq!(queue.counts().queued, 2);
}

/// TestReinsert.
#[test]
fn an_item_added_in_flight_comes_back_once() {
    let queue = WorkQueue::new();
    queue.add("foo");
    let item = queue.try_get().unwrap();
    queue.add("foo");
    item.done();
    let item = queue.try_get().unwrap();
    assert_eq!(*item.item(), "foo");
    item.done();
    assert_eq!(queue.counts().queued, 0);
}

/// TestCollapse.
#[test]
fn two_adds_before_a_get_collapse() {
    let (queue, touches) = traced();
    queue.add("bar");
    queue.add("bar");
    assert_eq!(touches.load(Ordering::SeqCst), 1);
    queue.try_get().unwrap().done();
    assert_eq!(queue.counts().queued, 0);
    assert_eq!(queue.try_get().unwrap_err(), TryGetError::Empty);
}

/// TestCollapseWhileProcessing.
#[test]
fn two_adds_in_flight_collapse_and_wait_for_done() {
    let (queue, touches) = traced();
    queue.add("foo");
    let item = queue.try_get().unwrap();
    queue.add("foo");
    queue.add("foo");
    let wakes = Wakes::new();
    let mut second_worker = queue.get();
    assert!(wakes.poll(&mut second_worker).is_pending());
    assert_eq!(wakes.count(), 0);
    item.done();
    assert_eq!(wakes.count(), 1);
    let std::task::Poll::Ready(Some(again)) = wakes.poll(&mut second_worker) else {
        panic!("not woken")
    };
    assert_eq!(queue.counts().queued, 0);
    again.done();
    assert_eq!(queue.counts().queued, 0);
    assert!(queue.counts().is_idle());
    assert_eq!(touches.load(Ordering::SeqCst), 0, "it was in nobody's backlog");
}

/// TestQueueDrainageUsingShutDownWithDrain.
#[test]
fn a_drain_waits_for_all_in_flight() {
    let queue = WorkQueue::new();
    queue.add("foo");
    queue.add("bar");
    let (first, second) = (queue.try_get().unwrap(), queue.try_get().unwrap());
    queue.shutdown();
    let wakes = Wakes::new();
    let mut drained = queue.drained();
    assert!(wakes.poll(&mut drained).is_pending());
    assert_eq!(queue.try_get().unwrap_err(), TryGetError::ShutDown);
    first.done();
    assert!(wakes.poll(&mut drained).is_pending());
    second.done();
    assert!(wakes.poll(&mut drained).is_ready());
}

/// TestNoQueueDrainageUsingShutDown.
#[test]
fn shutdown_does_not_wait() {
    let queue = WorkQueue::new();
    queue.add("foo");
    queue.add("bar");
    let _held = (queue.try_get().unwrap(), queue.try_get().unwrap());
    queue.shutdown();
    assert_eq!(queue.counts().in_flight, 2);
}

/// TestForceQueueShutdownUsingShutDown. Here a caller gives up a drain by dropping its future, or
/// by a time-out.
#[test]
fn a_drain_is_given_up_by_dropping_it() {
    let queue = WorkQueue::new();
    queue.add("foo");
    let item = queue.try_get().unwrap();
    queue.shutdown();
    let wakes = Wakes::new();
    let mut given_up = queue.drained();
    assert!(wakes.poll(&mut given_up).is_pending());
    drop(given_up);
    let left = queue.drained().wait_timeout(Duration::ZERO).unwrap_err();
    assert_eq!(left.in_flight, ["foo"]);
    assert_eq!(
        left.to_string(),
        "the queue was not drained in time: 0 items are queued, 1 in flight"
    );
    item.done();
    assert_eq!(wakes.count(), 0);
    queue.drained().wait_timeout(Duration::ZERO).unwrap();
}

/// TestQueueDrainageUsingShutDownWithDrainWithDirtyItem.
#[test]
fn a_drain_waits_for_an_item_that_runs_again() {
    let queue = WorkQueue::new();
    queue.add("foo");
    let item = queue.try_get().unwrap();
    queue.add("foo");
    queue.shutdown();
    let wakes = Wakes::new();
    let mut drained = queue.drained();
    assert!(wakes.poll(&mut drained).is_pending());
    assert_eq!(queue.try_get().unwrap_err(), TryGetError::ShutDown);
    item.done();
    assert!(wakes.poll(&mut drained).is_pending());
    let again = queue.try_get().unwrap();
    assert!(wakes.poll(&mut drained).is_pending());
    again.done();
    assert_eq!(queue.try_get().unwrap_err(), TryGetError::ShutDown);
    assert!(wakes.poll(&mut drained).is_ready());
}

/// TestGarbageCollection.
#[test]
fn an_item_that_was_done_is_not_kept_alive() {
    let queue = WorkQueue::new();
    let item = Arc::new(17_u8);
    let weak = Arc::downgrade(&item);
    queue.add(item);
    let guard = queue.try_get().unwrap();
    assert!(weak.upgrade().is_some());
    guard.done();
    assert!(weak.upgrade().is_none());
}

/// TestMetricShutdown. Here no ticker has to stop: a scrape reads the gauges, which advance during
/// a drain. They end at zero, where upstream's keep their last values forever (D19).
#[test]
fn gauges_go_on_after_shutdown_and_end_at_nothing() {
    struct Indifferent;
    impl Observer for Indifferent {}
    let queue = WorkQueue::builder().observer(Indifferent).build().unwrap();
    queue.add("foo");
    let item = queue.try_get().unwrap();
    let goes_on = || {
        let before = queue.reader().gauges().unwrap();
        // The loop ends as soon as the clock advances.
        while queue.reader().gauges().unwrap().unfinished <= before.unfinished {}
        assert!(queue.reader().gauges().unwrap().longest > before.longest);
    };
    goes_on();
    queue.shutdown();
    goes_on();
    item.done();
    let gauges = queue.reader().gauges().unwrap();
    assert_eq!((gauges.unfinished, gauges.longest), (Some(Duration::ZERO), Some(Duration::ZERO)));
    assert!(gauges.counts.is_idle());
}

/// Upstream returns at once when items are queued and none is in flight (D1).
#[test]
fn a_drain_with_items_queued_and_none_in_flight_waits() {
    let queue = WorkQueue::new();
    queue.add(1);
    queue.add(2);
    queue.shutdown();
    let wakes = Wakes::new();
    let mut drained = queue.drained();
    assert!(wakes.poll(&mut drained).is_pending());
    queue.try_get().unwrap().done();
    assert!(wakes.poll(&mut drained).is_pending(), "between two items of one worker");
    queue.try_get().unwrap().done();
    assert!(wakes.poll(&mut drained).is_ready());
}

/// Before shutdown an idle moment ends a drain even if work came after it.
#[test]
fn a_drain_before_shutdown_ends_with_a_moment_that_was_seen() {
    let queue = WorkQueue::new();
    queue.add(1);
    let wakes = Wakes::new();
    let mut drained = queue.drained();
    assert!(wakes.poll(&mut drained).is_pending());
    queue.try_get().unwrap().done();
    queue.add(2);
    assert_eq!(wakes.count(), 1);
    assert!(wakes.poll(&mut drained).is_ready());
    let mut anew = queue.drained();
    assert!(wakes.poll(&mut anew).is_pending(), "a wait begun anew does not know of it");
}

/// Removing or abandoning the last item ends a drain too.
#[test]
fn a_drain_ends_when_the_last_item_is_taken_out() {
    let queue = WorkQueue::new();
    let wakes = Wakes::new();
    for take_out in [
        (|queue| assert_eq!(queue.remove(&1), Some(1))) as fn(&WorkQueue<i32>),
        |queue| {
            std::mem::forget(queue.try_get().unwrap());
            assert!(queue.abandon(&1));
        },
        |queue| assert_eq!(queue.shutdown_now(), [1]),
    ] {
        queue.add(1);
        let mut drained = queue.drained();
        assert!(wakes.poll(&mut drained).is_pending());
        let before = wakes.count();
        take_out(&queue);
        assert_eq!(wakes.count(), before + 1);
        assert!(wakes.poll(&mut drained).is_ready());
    }
}

/// The inputs of upstream's metrics: adds, and observations of the two histograms.
#[derive(Default)]
struct Fed {
    adds: AtomicUsize,
    waits: AtomicUsize,
    works: AtomicUsize,
}

impl Observer for Fed {
    fn added(&self, added: Added) {
        if matches!(added, Added::Queued | Added::Deferred) {
            self.adds.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn got(&self, _waited: Duration) {
        self.waits.fetch_add(1, Ordering::SeqCst);
    }

    fn done(&self, _worked: Duration) {
        self.works.fetch_add(1, Ordering::SeqCst);
    }
}

/// TestMetrics. Upstream's depth also counts items that will run again.
#[test]
fn an_observer_is_told_of_every_add_wait_and_work_that_upstream_measures() {
    let fed = Arc::new(Fed::default());
    let queue = WorkQueue::builder().observer(Arc::clone(&fed)).build().unwrap();
    let seen = || {
        let counts = queue.counts();
        let told = [&fed.adds, &fed.waits, &fed.works].map(|count| count.load(Ordering::SeqCst));
        (told, counts.queued + counts.to_run_again)
    };
    queue.add("foo");
    assert_eq!(seen(), ([1, 0, 0], 1));
    let guard = queue.try_get().unwrap();
    assert_eq!(seen(), ([1, 1, 0], 0));
    (0..5).for_each(|_| _ = queue.add("foo"));
    assert_eq!(seen(), ([2, 1, 0], 1));
    guard.done();
    assert_eq!(seen(), ([2, 1, 1], 1));
    let guard = queue.try_get().unwrap();
    assert_eq!(seen(), ([2, 2, 1], 0));
    let gauges = queue.reader().gauges().unwrap();
    assert!(gauges.unfinished.is_some() && gauges.unfinished == gauges.longest, "one item in hand");
    guard.done();
    assert_eq!(seen(), ([2, 2, 2], 0));
}
