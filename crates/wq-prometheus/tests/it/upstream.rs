//! Upstream metrics: the cases of controller-runtime's `priorityqueue_test.go` about delays in
//! metrics, by their names.
//!
//! There an immediate add joins a delayed one, as with our `Merge`. Its `retries` counts adds with
//! a delay above zero; ours counts every delayed add, as client-go does. A label exists from the
//! first scrape that finds an item under it.

use std::collections::BTreeMap;
use std::task::Poll;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use wq_contract::wakes::Wakes;
use wq_delay::{DelayingQueue, ImmediateAdd, ManualTimer};
use wq_priority::{Order, Priority};
use wq_prometheus::QueueMetrics;
use wq_ratelimit::{ExponentialBackoff, RateLimitingQueue};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

/// The metrics of the queue, in a registry.
struct Metrics {
    registry: Registry,
    core: QueueMetrics,
}

impl Metrics {
    fn new() -> Self {
        let mut registry = Registry::default();
        let core = QueueMetrics::register(&mut registry);
        Self { registry, core }
    }

    fn lines(&self, begin: &str) -> Vec<(String, i64)> {
        let mut text = String::new();
        encode(&mut text, &self.registry).unwrap();
        let lines = text.lines().filter_map(|line| line.strip_prefix(begin)?.rsplit_once("} "));
        lines
            .map(|(label, value)| (label.to_owned(), value.trim_end_matches(".0").parse().unwrap()))
            .collect()
    }

    /// The depth by priority.
    fn depth(&self) -> BTreeMap<i32, i64> {
        let found = self.lines("workqueue_depth{name=\"claims\",priority=\"");
        found
            .into_iter()
            .map(|(label, depth)| (label.trim_end_matches('"').parse().unwrap(), depth))
            .collect()
    }

    fn adds(&self) -> i64 {
        self.lines("workqueue_adds_total{name=\"claims\"")[0].1
    }

    fn retries(&self) -> i64 {
        self.lines("workqueue_retries_total{name=\"claims\"").first().map_or(0, |found| found.1)
    }
}

fn delaying(backlog: Priority) -> (DelayingQueue<String, Priority>, ManualTimer, Metrics) {
    let (timer, metrics) = (ManualTimer::new(), Metrics::new());
    let builder = DelayingQueue::builder().name("claims").timer(timer.clone()).backlog(backlog);
    let builder =
        builder.immediate_add(ImmediateAdd::Merge).observer(metrics.core.observer("claims"));
    let queue = builder.build().unwrap();
    metrics.core.watch_by_priority(&queue);
    (queue, timer, metrics)
}

fn take(queue: &DelayingQueue<String, Priority>) -> Option<(String, i32)> {
    queue.try_get().ok().map(|guard| (guard.item().clone(), guard.order().priority))
}

fn foo() -> String {
    "foo".to_owned()
}

fn depths<const N: usize>(depths: [(i32, i64); N]) -> BTreeMap<i32, i64> {
    BTreeMap::from(depths)
}

/// "updates metrics correctly for an item that gets initially added with after and then without".
#[test]
fn a_delayed_item_added_at_once_is_counted_once() {
    let (queue, timer, metrics) = delaying(Priority::new());
    queue.add_after(foo(), HOUR);
    assert_eq!((queue.counts().queued, metrics.depth()), (0, depths([])));
    queue.add(foo());
    assert_eq!((queue.counts().queued, metrics.depth()), (1, depths([(0, 1)])));
    assert_eq!(take(&queue), Some((foo(), 0)));
    assert_eq!((queue.counts().queued, metrics.depth()), (0, depths([(0, 0)])));
    timer.advance(HOUR);
    assert_eq!((queue.counts().queued, metrics.depth(), metrics.adds()), (0, depths([(0, 0)]), 1));
}

/// "updates metrics correctly when an item with after is re-added with higher priority and no
/// after".
#[test]
fn a_delayed_item_added_at_once_counts_under_the_higher_priority_alone() {
    let (queue, timer, metrics) = delaying(Priority::new());
    queue.add_after_with(foo(), HOUR, Order::priority(0));
    assert_eq!((queue.counts().queued, metrics.depth()), (0, depths([])));
    queue.add_with(foo(), Order::priority(1));
    assert_eq!((queue.counts().queued, metrics.depth()), (1, depths([(1, 1)])));
    assert_eq!(take(&queue), Some((foo(), 1)));
    assert_eq!((queue.counts().queued, metrics.depth()), (0, depths([(1, 0)])));
    timer.advance(HOUR);
    assert_eq!((queue.counts().queued, metrics.depth(), metrics.adds()), (0, depths([(1, 0)]), 1));
}

/// `TestMetricsAreUpdatedForItemWhoseRequeueAfterExpiredThatGetsAddedAgainWithoutRequeueAfter`.
#[test]
fn a_ripe_item_added_again_is_counted_once() {
    let (queue, timer, metrics) = delaying(Priority::new());
    queue.add_after(foo(), SECOND / 20);
    timer.advance(SECOND / 20);
    assert_eq!((queue.counts().queued, metrics.depth()), (1, depths([(0, 1)])));
    queue.add(foo());
    assert_eq!((queue.counts().queued, metrics.depth()), (1, depths([(0, 1)])));
    assert_eq!(take(&queue), Some((foo(), 0)));
    assert_eq!((queue.counts().queued, metrics.depth()), (0, depths([(0, 0)])));
    // The same if no call queues the item between the deadline and the add.
    queue.add_after(foo(), SECOND / 20);
    timer.advance(SECOND / 20);
    queue.add(foo());
    assert_eq!((queue.counts().queued, metrics.depth()), (1, depths([(0, 1)])));
    assert_eq!(take(&queue), Some((foo(), 0)));
    assert_eq!((queue.counts().queued, metrics.depth(), metrics.adds()), (0, depths([(0, 0)]), 2));
}

/// "doesn't include non-ready items in Len()",
/// `TestItemsAreInludedInLenAndMetricsOnceTheyAreReady`.
#[test]
fn delayed_items_are_counted_once_they_are_ready() {
    let (queue, timer, metrics) = delaying(Priority::new());
    for _ in 0..2 {
        queue.add_after(foo(), SECOND / 2);
        queue.add("baz".to_owned());
        queue.add_after("bar".to_owned(), SECOND / 2);
        queue.add("bal".to_owned());
        assert_eq!(
            (queue.counts().queued, queue.delayed_len(), metrics.depth()),
            (2, 2, depths([(0, 2)]))
        );
        timer.advance(SECOND);
        assert_eq!(
            (queue.counts().queued, queue.delayed_len(), metrics.depth()),
            (4, 0, depths([(0, 4)]))
        );
        let came: Vec<_> = (0..4).map(|_| take(&queue).unwrap().0).collect();
        assert_eq!(came, ["baz", "bal", "foo", "bar"]);
        assert_eq!((queue.counts().queued, metrics.depth()), (0, depths([(0, 0)])));
    }
    assert_eq!((metrics.adds(), metrics.retries()), (8, 4));
}

/// `TestItemIsOnlyReturnedAfterAfterHasPassed`.
#[test]
fn a_get_that_waits_is_given_an_item_when_it_is_due() {
    let (queue, timer, metrics) = delaying(Priority::new());
    let wakes = Wakes::new();
    let mut get = Box::pin(queue.get());
    assert!(wakes.poll(&mut get).is_pending());
    queue.add_after_with(foo(), SECOND, Order::priority(5));
    assert!(wakes.poll(&mut get).is_pending());
    assert_eq!(
        timer.next_deadline(),
        Some(queue.now() + SECOND),
        "the timer is set to exactly this"
    );
    timer.advance(SECOND - Duration::from_nanos(1));
    assert!(wakes.poll(&mut get).is_pending());
    assert_eq!((metrics.depth(), metrics.adds(), metrics.retries()), (depths([]), 0, 1));
    timer.advance(Duration::from_nanos(1));
    let Poll::Ready(Some(guard)) = wakes.poll(&mut get) else { panic!("it is due") };
    assert_eq!((guard.item(), guard.order().priority), (&foo(), 5));
    assert_eq!((metrics.depth(), metrics.adds(), metrics.retries()), (depths([]), 1, 1));
}

/// `TestItemIsReturnedAsSoonAsPossible`, `TestWaitingItemIsReturnedRightAfterReadWithoutAfter`.
#[test]
fn a_get_that_waits_is_given_what_is_added_at_once() {
    for delay in [None, Some(60 * SECOND)] {
        let (queue, timer, metrics) = delaying(Priority::new());
        let wakes = Wakes::new();
        let mut get = Box::pin(queue.get());
        assert!(wakes.poll(&mut get).is_pending());
        if let Some(delay) = delay {
            queue.add_after(foo(), delay);
            assert!(wakes.poll(&mut get).is_pending());
        }
        let woken = wakes.count();
        queue.add(foo());
        assert!(wakes.count() > woken);
        let Poll::Ready(Some(guard)) = wakes.poll(&mut get) else { panic!("it was added") };
        guard.done();
        timer.advance(60 * SECOND);
        assert_eq!(
            (queue.counts().queued, metrics.depth(), metrics.adds()),
            (0, depths([]), 1),
            "{delay:?}"
        );
    }
}

/// `TestHighPriorityItemThatBecameReadyIsReturnedBeforeLowPriorityItem`.
#[test]
fn what_becomes_due_comes_before_what_is_lower() {
    let (queue, timer, metrics) = delaying(Priority::new());
    queue.add_with(foo(), Order::priority(-100));
    queue.add_after("prio".to_owned(), SECOND);
    timer.advance(SECOND);
    assert_eq!((queue.counts().queued, metrics.depth()), (2, depths([(-100, 1), (0, 1)])));
    assert_eq!(take(&queue), Some(("prio".to_owned(), 0)));
    assert_eq!(
        (metrics.depth(), metrics.adds(), metrics.retries()),
        (depths([(-100, 1), (0, 0)]), 2, 1)
    );
}

/// `TestMultipleItemsWithAfterAreReturnedInCorrectOrder`.
#[test]
fn of_one_priority_the_first_due_comes_first() {
    let (queue, timer, metrics) = delaying(Priority::new());
    queue.add_after("late".to_owned(), SECOND);
    queue.add_after("early".to_owned(), SECOND / 5);
    timer.advance(SECOND);
    assert_eq!((queue.counts().queued, metrics.depth()), (2, depths([(0, 2)])));
    assert_eq!(take(&queue), Some(("early".to_owned(), 0)));
    assert_eq!(take(&queue), Some(("late".to_owned(), 0)));
    assert_eq!((metrics.depth(), metrics.adds()), (depths([(0, 0)]), 2));
}

/// The deadline of the items in a case.
#[derive(Debug, Clone, Copy, PartialEq)]
enum When {
    /// Upstream uses a delay below zero.
    InThePast,
    Now,
    InASecond,
}

/// `TestHighPriorityItemsAreReturnedBeforeLowPriorityItemMultipleTimes`, with ageing off as
/// upstream.
#[test]
#[cfg_attr(miri, ignore = "thousands of items")]
fn a_thousand_of_each_priority_come_strictly_in_order_with_every_delay() {
    const PRIORITIES: [i32; 5] = [10, 5, 0, -5, -10];
    for (when, retries) in [(When::InThePast, 5000), (When::Now, 0), (When::InASecond, 5000)] {
        let (queue, timer, metrics) = delaying(Priority::builder().strict().build().unwrap());
        for number in 0..1000 {
            for priority in PRIORITIES {
                let (item, order) = (format!("{priority} {number}"), Order::priority(priority));
                match when {
                    When::InThePast => _ = queue.add_at_with(item, queue.now() - SECOND, order),
                    When::Now => _ = queue.add_with(item, order),
                    When::InASecond => _ = queue.add_after_with(item, SECOND, order),
                }
            }
        }
        if when == When::InASecond {
            assert_eq!((queue.counts().queued, metrics.depth()), (0, depths([])));
            timer.advance(SECOND);
        }
        assert_eq!(
            (queue.counts().queued, metrics.depth()),
            (5000, PRIORITIES.map(|priority| (priority, 1000)).into())
        );
        for priority in PRIORITIES {
            for number in 0..1000 {
                assert_eq!(
                    take(&queue),
                    Some((format!("{priority} {number}"), priority)),
                    "{when:?}"
                );
            }
        }
        assert_eq!(metrics.depth(), PRIORITIES.map(|priority| (priority, 0)).into());
        assert_eq!((metrics.adds(), metrics.retries()), (5000, retries), "{when:?}");
    }
}

/// `TestWhenAddingMultipleItemsWithRatelimitTrueTheyDontAffectEachOther`.
#[test]
fn each_item_has_a_back_off_of_its_own() {
    let (timer, metrics) = (ManualTimer::new(), Metrics::new());
    let ms = Duration::from_millis;
    let limiter = ExponentialBackoff::new(ms(5), 1000 * SECOND).unwrap();
    let builder = RateLimitingQueue::builder().name("claims").limiter(limiter).timer(timer.clone());
    let builder = builder.backlog(Priority::new()).observer(metrics.core.observer("claims"));
    let queue = builder.build().unwrap();
    metrics.core.watch_by_priority(&queue);
    for _ in 0..7 {
        queue.add_rate_limited("bar");
        timer.advance(SECOND);
        queue.try_get().unwrap().done();
    }
    let (adds, retries) = (metrics.adds(), metrics.retries());
    queue.add_rate_limited("foo");
    queue.add_rate_limited_with("bar", Order::priority(1));
    timer.advance(ms(5));
    assert_eq!(
        *queue.try_get().unwrap().item(),
        "foo",
        "the first failure waits for 5 ms, whoever has failed more"
    );
    timer.advance(ms(635) - Duration::from_nanos(1));
    assert!(queue.try_get().is_err());
    timer.advance(Duration::from_nanos(1));
    assert_eq!(
        (queue.counts().queued, metrics.depth()),
        (1, depths([(1, 1)])),
        "a delay keeps the order"
    );
    assert_eq!(*queue.try_get().unwrap().item(), "bar", "the eighth failure waits for 640 ms");
    assert_eq!((metrics.adds() - adds, metrics.retries() - retries), (2, 2));
    assert_eq!(metrics.depth(), depths([(1, 0)]));
}
