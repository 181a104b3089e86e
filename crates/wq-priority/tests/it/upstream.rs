//! Upstream: the cases of controller-runtime's `priorityqueue_test.go`, by their names. Those of metrics are in `prometheus`.
//!
//! Where we differ on purpose the test says it: an item that runs again goes to the tail of its priority, shutdown hands out the
//! rest, and ageing is on unless it is switched off.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use wq_contract::wakes::Wakes;
use wq_core::{Added, TryGetError, WorkQueue};
use wq_delay::{DelayingQueue, ImmediateAdd, ManualTimer};
use wq_priority::{Order, Priority};
use wq_ratelimit::{ExponentialBackoff, RateLimitingQueue};

fn queue() -> WorkQueue<&'static str, Priority> {
    WorkQueue::builder().backlog(Priority::new()).build().unwrap()
}

fn take(queue: &WorkQueue<&'static str, Priority>) -> Vec<(&'static str, i32)> {
    std::iter::from_fn(|| queue.try_get().ok().map(|guard| (*guard.item(), guard.order().priority))).collect()
}

/// With delays, on which controller-runtime's queue joins an add at once with one that waits: our `Merge`.
fn delaying() -> (DelayingQueue<&'static str, Priority>, ManualTimer) {
    let timer = ManualTimer::new();
    let builder = DelayingQueue::builder().timer(timer.clone()).backlog(Priority::new());
    (builder.immediate_add(ImmediateAdd::Merge).build().unwrap(), timer)
}

fn take_delayed(queue: &DelayingQueue<&'static str, Priority>) -> Vec<(&'static str, i32)> {
    std::iter::from_fn(|| queue.try_get().ok().map(|guard| (*guard.item(), guard.order().priority))).collect()
}

const SECOND: Duration = Duration::from_secs(1);

/// "returns an item", "returns items in order", "de-duplicates items".
#[test]
fn items_come_in_order_and_once() {
    let queue = queue();
    queue.add("foo");
    queue.add("bar");
    assert_eq!(queue.add("foo"), Added::Merged);
    assert_eq!(queue.len(), 2);
    assert_eq!(take(&queue), [("foo", 0), ("bar", 0)]);
}

/// "doesn't return an item that is currently locked", "returns an item as soon as its unlocked": there the item comes before
/// those that were added after it, here it goes to the tail when its guard ends.
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
    assert_eq!(queue.len(), 1);
    guard.done();
    assert_eq!(take(&queue), [("foo", 3), ("bar", 0)]);
}

/// `TestHighPriorityItemsAreReturnedBeforeLowPriorityItemMultipleTimes`, with ageing off as upstream.
#[test]
fn a_thousand_of_each_priority_come_strictly_in_order() {
    let queue: WorkQueue<u32, Priority> =
        WorkQueue::builder().backlog(Priority::builder().strict().build().unwrap()).build().unwrap();
    for item in 0..5000 {
        queue.add_with(item, Order::priority(i32::try_from(item % 5).unwrap()));
    }
    let got: Vec<u32> = std::iter::from_fn(|| queue.try_get().ok().map(|guard| *guard.item())).collect();
    let expected: Vec<u32> = (0..5).rev().flat_map(|rest| (0..1000).map(move |n| n * 5 + rest)).collect();
    assert_eq!(got, expected);
}

/// "retains the lowest after duration", `TestWaitingItemIsReturnedRightAfterReadWithoutAfter`.
#[test]
fn an_add_at_once_ends_a_delay() {
    let (queue, timer) = delaying();
    queue.add_after_with("foo", 60 * SECOND, Order::priority(3));
    queue.add("foo");
    assert_eq!(take_delayed(&queue), [("foo", 3)]);
    timer.advance(60 * SECOND);
    assert_eq!(take_delayed(&queue), []);
}

/// "doesn't include non-ready items in Len()", `TestItemsAreInludedInLenAndMetricsOnceTheyAreReady`.
#[test]
fn delayed_items_are_queued_once_they_are_due() {
    let (queue, timer) = delaying();
    for _ in 0..2 {
        queue.add_after("foo", SECOND);
        queue.add_after("bar", SECOND);
        queue.add("baz");
        queue.add("qux");
        assert_eq!((queue.len(), queue.delayed_len()), (2, 2));
        timer.advance(SECOND);
        queue.move_due();
        assert_eq!((queue.len(), queue.delayed_len()), (4, 0));
        assert_eq!(take_delayed(&queue).len(), 4);
    }
}

/// "updates metrics correctly when an item with after is re-added with higher priority and no after".
#[test]
fn a_delayed_item_added_at_once_has_the_higher_priority() {
    let (queue, _timer) = delaying();
    queue.add_after_with("foo", SECOND, Order::priority(1));
    assert_eq!(queue.delayed_len(), 1);
    queue.add_with("foo", Order::priority(4));
    assert_eq!(take_delayed(&queue), [("foo", 4)]);
    assert_eq!(queue.delayed_len(), 0);
}

/// `TestItemIsOnlyReturnedAfterAfterHasPassed`, `TestItemIsReturnedAsSoonAsPossible`.
#[test]
fn a_get_that_waits_is_given_an_item_when_it_is_due() {
    let (queue, timer) = delaying();
    let wakes = Wakes::new();
    let mut get = Box::pin(queue.get());
    assert!(wakes.poll(&mut get).is_pending());
    queue.add_after_with("foo", SECOND, Order::priority(5));
    timer.advance(SECOND - Duration::from_nanos(1));
    assert!(wakes.poll(&mut get).is_pending());
    timer.advance(Duration::from_nanos(1));
    let std::task::Poll::Ready(Some(guard)) = wakes.poll(&mut get) else { panic!("it is due") };
    assert_eq!((*guard.item(), guard.order().priority), ("foo", 5));
}

/// `TestHighPriorityItemThatBecameReadyIsReturnedBeforeLowPriorityItem`.
#[test]
fn what_becomes_due_comes_before_what_is_lower() {
    let (queue, timer) = delaying();
    queue.add_with("low", Order::priority(-100));
    queue.add_after("high", SECOND);
    timer.advance(SECOND);
    assert_eq!(take_delayed(&queue), [("high", 0), ("low", -100)]);
}

/// `TestMultipleItemsWithAfterAreReturnedInCorrectOrder`.
#[test]
fn of_one_priority_the_first_due_comes_first() {
    let (queue, timer) = delaying();
    queue.add_after("late", SECOND);
    queue.add_after("early", SECOND / 5);
    timer.advance(SECOND);
    assert_eq!(take_delayed(&queue), [("early", 0), ("late", 0)]);
}

/// `TestWhenAddingMultipleItemsWithRatelimitTrueTheyDontAffectEachOther`.
#[test]
fn each_item_has_a_back_off_of_its_own() {
    let timer = ManualTimer::new();
    let ms = Duration::from_millis;
    let limiter = ExponentialBackoff::new(ms(5), 1000 * SECOND).unwrap();
    let builder = RateLimitingQueue::builder().limiter(limiter).timer(timer.clone());
    let queue = builder.backlog(Priority::new()).build().unwrap();
    for _ in 0..7 {
        queue.add_rate_limited("foo");
        timer.advance(SECOND);
        queue.try_get().unwrap().done();
    }
    queue.add_rate_limited_with("foo", Order::priority(1));
    queue.add_rate_limited("bar");
    timer.advance(ms(5));
    assert_eq!(
        *queue.try_get().unwrap().item(),
        "bar",
        "the first failure waits for 5 ms, whoever has failed more"
    );
    timer.advance(1000 * SECOND);
    assert_eq!(queue.try_get().unwrap().order().priority, 1, "a delay keeps the order");
}

/// "Get from priority queue might get stuck when the priority queue is shut down", `TestGetFromPriorityQueueIsUnblockedOnShutdown`:
/// there what is queued is lost, here it is handed out first.
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

/// "returns many items", `TestFuzzPriorityQueue`, `TestPriorityQueueDoesNotDeadlockOnShutdownWhileHandingOutItems`.
#[test]
#[cfg_attr(miri, ignore = "thousands of items")]
fn many_threads_are_handed_each_item_once_at_a_time_and_all_end() {
    let queue: WorkQueue<i32, Priority> = WorkQueue::builder().backlog(Priority::new()).build().unwrap();
    let in_hand: Mutex<BTreeMap<i32, i32>> = Mutex::default();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while let Some(guard) = queue.get_blocking() {
                    let (item, priority) = (*guard.item(), guard.order().priority);
                    assert!(priority <= item % 5, "{item} was never added with {priority}");
                    assert_eq!(
                        in_hand.lock().unwrap().insert(item, priority),
                        None,
                        "{item} is in two hands"
                    );
                    in_hand.lock().unwrap().remove(&item);
                    guard.done();
                }
            });
        }
        let producers = (0..4).map(|producer| {
            let queue = &queue;
            scope.spawn(move || {
                for n in 0..1000 {
                    let item = (n * 7 + producer) % 300;
                    queue.add_with(item, Order::priority(item % 5 - producer));
                }
            })
        });
        producers.collect::<Vec<_>>().into_iter().for_each(|producer| producer.join().unwrap());
        queue.shutdown();
    });
    assert!(queue.counts().is_idle());
}
