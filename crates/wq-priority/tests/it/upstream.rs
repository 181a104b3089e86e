//! Upstream: the cases of controller-runtime's `priorityqueue_test.go`, by their names. Those that
//! look at delays in metrics are in `upstream_metrics`.
//!
//! Where we differ on purpose the test says it: an item that runs again goes to the tail of its
//! priority, shutdown hands out the rest, and ageing is on unless it is switched off.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use wq_contract::wakes::Wakes;
use wq_core::{Added, TryGetError, WorkQueue};
use wq_delay::{DelayingQueue, ImmediateAdd, ManualTimer};
use wq_priority::{Depths, Order, Priority};

fn queue() -> WorkQueue<&'static str, Priority> {
    WorkQueue::builder().backlog(Priority::new()).build().unwrap()
}

fn take(queue: &WorkQueue<&'static str, Priority>) -> Vec<(&'static str, i32)> {
    std::iter::from_fn(|| queue.try_get().ok().map(|guard| (*guard.item(), guard.order().priority)))
        .collect()
}

/// With delays, on which controller-runtime's queue joins an add at once with one that waits: our
/// `Merge`.
fn delaying() -> (DelayingQueue<&'static str, Priority>, ManualTimer) {
    let timer = ManualTimer::new();
    let builder = DelayingQueue::builder().timer(timer.clone()).backlog(Priority::new());
    (builder.immediate_add(ImmediateAdd::Merge).build().unwrap(), timer)
}

fn take_delayed(queue: &DelayingQueue<&'static str, Priority>) -> Vec<(&'static str, i32)> {
    std::iter::from_fn(|| queue.try_get().ok().map(|guard| (*guard.item(), guard.order().priority)))
        .collect()
}

/// The same, for threads.
fn delaying_many() -> (DelayingQueue<u32, Priority>, ManualTimer) {
    let timer = ManualTimer::new();
    let builder = DelayingQueue::builder().timer(timer.clone()).backlog(Priority::new());
    (builder.immediate_add(ImmediateAdd::Merge).build_blocking().unwrap(), timer)
}

/// The same numbers at every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from(self.0 >> 33).unwrap() % bound
    }
}

const SECOND: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);

/// "returns an item", "returns items in order", "de-duplicates items".
#[test]
fn items_come_in_order_and_once() {
    let queue = queue();
    queue.add("foo");
    queue.add("bar");
    assert_eq!(queue.add("foo"), Added::Merged);
    assert_eq!(queue.counts().queued, 2);
    assert_eq!(take(&queue), [("foo", 0), ("bar", 0)]);
}

/// "doesn't return an item that is currently locked", "returns an item as soon as its unlocked":
/// there the item comes before those that were added after it, here it goes to the tail when its
/// guard ends.
#[test]
fn an_item_in_hand_comes_after_its_guard_has_ended() {
    let queue = queue();
    queue.add("foo");
    let foo = queue.try_get().unwrap();
    queue.add("foo");
    queue.add("bar");
    assert_eq!(*queue.try_get().unwrap().item(), "bar");
    queue.add("baz");
    foo.done();
    assert_eq!(take(&queue), [("baz", 0), ("foo", 0)]);
}

/// "retains the highest priority", "will not decrease the priority".
#[test]
fn the_highest_priority_of_all_adds_counts() {
    let queue = queue();
    queue.add_with("foo", Order::priority(1));
    queue.add_with("foo", Order::priority(2));
    queue.add_with("foo", Order::priority(1));
    assert_eq!(take(&queue), [("foo", 2)]);
}

/// "gets pushed to the front if the priority increases".
#[test]
fn a_raised_item_overtakes() {
    let queue = queue();
    for item in ["foo", "bar", "baz"] {
        queue.add(item);
    }
    queue.add_with("baz", Order::priority(1));
    assert_eq!(take(&queue), [("baz", 1), ("foo", 0), ("bar", 0)]);
}

/// "follows FIFO order in the new priority queue when item priority changes".
#[test]
fn a_raised_item_does_not_jump_its_new_line() {
    let queue = queue();
    queue.add("foo");
    queue.add_with("bar", Order::priority(1));
    queue.add_with("foo", Order::priority(1));
    assert_eq!(take(&queue), [("bar", 1), ("foo", 1)]);
}

/// "enqueues a locked item".
#[test]
fn an_item_in_flight_comes_back_with_the_order_of_its_new_adds() {
    let queue = queue();
    queue.add_with("foo", Order::priority(7));
    let guard = queue.try_get().unwrap();
    queue.add_with("foo", Order::priority(3));
    queue.add("bar");
    assert_eq!(queue.counts().queued, 1);
    guard.done();
    assert_eq!(take(&queue), [("foo", 3), ("bar", 0)]);
}

/// "retains the lowest after duration": there the later request is dropped, here it is kept beside
/// the one that is queued, as in client-go.
#[test]
fn a_delay_holds_up_no_item_that_is_queued() {
    let (queue, timer) = delaying();
    queue.add_after("foo", Duration::ZERO);
    queue.add_after("foo", 3600 * SECOND);
    assert_eq!(queue.counts().queued, 1);
    assert_eq!(take_delayed(&queue), [("foo", 0)]);
    assert_eq!((queue.counts().queued, queue.delayed_len()), (0, 1));
    timer.advance(3600 * SECOND);
    assert_eq!(take_delayed(&queue), [("foo", 0)]);
}

#[test]
fn an_add_at_once_ends_a_delay() {
    let (queue, timer) = delaying();
    queue.add_after_with("foo", 60 * SECOND, Order::priority(3));
    queue.add("foo");
    assert_eq!(take_delayed(&queue), [("foo", 3)]);
    timer.advance(60 * SECOND);
    assert_eq!(take_delayed(&queue), []);
}

/// "Get from priority queue might get stuck when the priority queue is shut down",
/// `TestGetFromPriorityQueueIsUnblockedOnShutdown`: there what is queued is lost, here it is handed
/// out first.
#[test]
fn shutdown_hands_out_the_rest_and_wakes_who_waits() {
    let queue = queue();
    let wakes = Wakes::new();
    let mut waits = Box::pin(queue.get());
    assert!(wakes.poll(&mut waits).is_pending());
    queue.shutdown();
    queue.shutdown(); // D11: there the second call panics.
    assert!(matches!(wakes.poll(&mut waits), std::task::Poll::Ready(None)));

    let queue = self::queue();
    queue.add_with("foo", Order::priority(1));
    queue.add("bar");
    queue.shutdown();
    assert_eq!(queue.add("baz"), Added::ShutDown);
    assert_eq!(take(&queue), [("foo", 1), ("bar", 0)]);
    assert_eq!(queue.try_get().unwrap_err(), TryGetError::ShutDown);
}

/// "returns many items": twenty times a thousand, some of them delayed, for a hundred threads.
#[test]
#[cfg_attr(miri, ignore = "thousands of items")]
fn a_hundred_threads_are_handed_ten_items_each_and_all_end() {
    let (queue, timer) = delaying_many();
    let mut random = Random(1);
    for _ in 0..20 {
        for item in 0..1000 {
            match random.below(100) {
                delay @ 0..10 => _ = queue.add_after(item, MS * delay),
                priority => _ = queue.add_with(item, Order::priority(priority.cast_signed())),
            }
        }
        thread::scope(|scope| {
            for _ in 0..100 {
                scope.spawn(|| (0..10).for_each(|_| queue.get_blocking().unwrap().done()));
            }
            (0..10).for_each(|_| timer.advance(MS));
        });
        assert!(queue.counts().is_idle());
        assert_eq!(queue.delayed_len(), 0);
    }
}

/// What a queue has been asked for, and what it may hand out for that.
#[derive(Default)]
struct Asked {
    /// In milliseconds.
    now: u32,
    /// By item, the highest priority that was asked for.
    ready: BTreeMap<u32, i32>,
    /// With the earliest deadline.
    delayed: BTreeMap<u32, (u32, i32)>,
    in_hand: BTreeSet<u32>,
    producers: usize,
}

impl Asked {
    fn add(&mut self, item: u32, priority: i32) {
        let waits = self.delayed.remove(&item).map_or(priority, |(_, waits)| waits.max(priority));
        let ready = self.ready.entry(item).or_insert(waits);
        *ready = waits.max(*ready);
    }

    fn add_after(&mut self, item: u32, delay: u32, priority: i32) {
        let deadline = self.now + delay;
        let (due, waits) = self.delayed.entry(item).or_insert((deadline, priority));
        (*due, *waits) = (deadline.min(*due), priority.max(*waits));
    }

    fn advance(&mut self, by: u32) {
        self.now += by;
        let due: Vec<_> = self.delayed.iter().filter(|(_, (due, _))| *due <= self.now).collect();
        for (item, priority) in
            due.into_iter().map(|(item, (_, priority))| (*item, *priority)).collect::<Vec<_>>()
        {
            self.delayed.remove(&item);
            self.add(item, priority);
        }
    }

    fn is_over(&self) -> bool {
        self.producers == 0 && self.ready.is_empty() && self.delayed.is_empty()
    }
}

/// `TestFuzzPriorityQueue`: no item is in two hands, each comes with the largest of the priorities
/// it was added with, and as many wait as were added, whatever is in hand.
#[test]
#[cfg_attr(miri, ignore = "thousands of items")]
fn each_item_comes_once_at_a_time_and_with_the_largest_priority_it_was_added_with() {
    let (queue, timer) = delaying_many();
    let asked = Mutex::new(Asked { producers: 10, ..Asked::default() });
    thread::scope(|scope| {
        let (queue, timer, asked) = (&queue, &timer, &asked);
        for producer in 1..=10 {
            scope.spawn(move || {
                let mut random = Random(producer);
                for _ in 0..1000 {
                    let (item, priority) = (random.below(500), random.below(30).cast_signed() - 15);
                    let mut asked = asked.lock().unwrap();
                    if random.below(3) == 0 {
                        let delay = 1 + random.below(20);
                        queue.add_after_with(item, MS * delay, Order::priority(priority));
                        asked.add_after(item, delay, priority);
                    } else {
                        queue.add_with(item, Order::priority(priority));
                        asked.add(item, priority);
                    }
                }
                asked.lock().unwrap().producers -= 1;
            });
        }
        for _ in 0..20 {
            scope.spawn(move || {
                loop {
                    let guard = {
                        let mut asked = asked.lock().unwrap();
                        if asked.is_over() {
                            return;
                        }
                        let depth = queue.counts().depth();
                        let mut depths = Depths::default();
                        queue.reader().survey(&mut depths).unwrap();
                        assert_eq!((depth, depths.total()), (asked.ready.len(), depth));
                        let Ok(guard) = queue.try_get() else {
                            timer.advance(MS);
                            asked.advance(1);
                            drop(asked);
                            thread::yield_now();
                            continue;
                        };
                        let (item, priority) = (*guard.item(), guard.order().priority);
                        assert_eq!(asked.ready.remove(&item), Some(priority), "of {item}");
                        assert!(asked.in_hand.insert(item), "{item} is in two hands");
                        guard
                    };
                    assert!(asked.lock().unwrap().in_hand.remove(guard.item()));
                    guard.done();
                }
            });
        }
    });
    assert!(queue.counts().is_idle());
}

/// `TestPriorityQueueDoesNotDeadlockOnShutdownWhileHandingOutItems`: fifty rounds of twenty threads
/// that add and get.
#[test]
#[cfg_attr(miri, ignore = "a thousand threads")]
fn a_shutdown_while_items_are_handed_out_ends_all_threads() {
    for round in 0..50 {
        let queue: WorkQueue<u32, Priority> =
            WorkQueue::builder().backlog(Priority::new()).build().unwrap();
        thread::scope(|scope| {
            for seed in 1..=20 {
                let queue = &queue;
                scope.spawn(move || {
                    let mut random = Random(seed);
                    loop {
                        queue.add_with(
                            random.below(1000),
                            Order::priority(random.below(100).cast_signed()),
                        );
                        if queue.get_blocking().is_none() {
                            return;
                        }
                    }
                });
            }
            for item in 0..round * 20 {
                queue.add(item);
                _ = queue.try_get();
            }
            queue.shutdown();
        });
        assert!(queue.counts().is_idle());
    }
}
