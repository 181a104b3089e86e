//! The depth by priority as a scrape sees it: the cases of controller-runtime's
//! `workqueue_test.go`, and D18.

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use wq_core::WorkQueue;
use wq_priority::{Order, Priority};
use wq_prometheus::QueueMetrics;

const OVERFLOW: &str = "exceeded_cardinality_limit";

fn watched() -> (WorkQueue<u32, Priority>, Registry) {
    let mut registry = Registry::default();
    let queue = built(&QueueMetrics::register(&mut registry), "claims");
    (queue, registry)
}

fn built(metrics: &QueueMetrics, name: &str) -> WorkQueue<u32, Priority> {
    let builder = WorkQueue::builder().name(name).backlog(Priority::new());
    let queue = builder.observer(metrics.observer(name)).build().unwrap();
    metrics.watch_by_priority(&queue);
    queue
}

fn text(registry: &Registry) -> String {
    let mut text = String::new();
    encode(&mut text, registry).unwrap();
    text
}

/// The depth under each label.
fn scrape(registry: &Registry) -> BTreeMap<String, i64> {
    let text = text(registry);
    let prefix = "workqueue_depth{name=\"claims\",priority=\"";
    let lines = text.lines().filter_map(|line| line.strip_prefix(prefix)?.split_once("\"} "));
    lines
        .map(|(label, value)| {
            (label.to_owned(), value.strip_suffix(".0").unwrap().parse().unwrap())
        })
        .collect()
}

fn add(queue: &WorkQueue<u32, Priority>, item: u32, priority: u32) {
    queue.add_with(item, Order::priority(i32::try_from(priority).unwrap()));
}

/// "cardinality".
#[test]
fn twenty_five_priorities_have_a_label_and_all_others_one() {
    for (priorities, labels, overflow) in
        [(10, 10, None), (25, 25, None), (26, 26, Some(1)), (30, 26, Some(5))]
    {
        let (queue, registry) = watched();
        (0..priorities).for_each(|priority| add(&queue, priority, priority));
        let found = scrape(&registry);
        assert_eq!((found.len(), found.get(OVERFLOW).copied()), (labels, overflow));
        assert!(found.iter().all(|(label, depth)| label == OVERFLOW || *depth == 1));
    }
}

/// "same priority many adds".
#[test]
fn many_items_of_one_priority_are_counted_under_one_label() {
    let (queue, registry) = watched();
    (0..200).for_each(|item| add(&queue, item, 3));
    assert_eq!(scrape(&registry), BTreeMap::from([("3".to_owned(), 200)]));
}

/// D18: among 1000 priorities each label equals the items under it at every scrape, and the sum is
/// the depth.
#[test]
#[cfg_attr(miri, ignore = "thousands of items")]
fn each_label_equals_what_waits_under_it_at_every_scrape() {
    let (queue, registry) = watched();
    let mut priorities: BTreeMap<u32, u32> = BTreeMap::new();
    let mut own: Vec<String> = Vec::new();
    let mut guards = Vec::new();
    for step in 0..3000_u32 {
        let item = step * 17 % 1000;
        if step % 3 < 2 {
            let priority = item * 7 % 1000;
            add(&queue, item, priority);
            priorities.insert(item, priority);
        } else if let Ok(guard) = queue.try_get() {
            priorities.remove(guard.item());
            if guards.len() > 5 {
                guards.clear(); // Some of their items run again.
            }
            guards.push(guard);
        }
        if step % 50 == 0 {
            let found = scrape(&registry);
            let depth = i64::try_from(queue.counts().depth()).unwrap();
            assert_eq!(found.values().sum::<i64>(), depth, "at {step}");
            for (label, shown) in &found {
                let under = |own: &str| {
                    priorities.values().filter(|priority| priority.to_string() == own).count()
                };
                if label != OVERFLOW {
                    assert_eq!(*shown, i64::try_from(under(label)).unwrap(), "{label} at {step}");
                    own.push(label.clone());
                }
            }
            own.sort();
            own.dedup();
            assert!(own.len() <= 25, "a label is one for good");
        }
    }
    guards.clear();
    while queue.try_get().is_ok() {}
    let found = scrape(&registry);
    assert_eq!((found.len(), found.values().copied().max()), (26, Some(0)));
}

/// "gets pushed to the front if the priority increases": an item counts under the priority it has.
#[test]
fn a_raised_item_counts_under_its_new_priority_alone() {
    let (queue, registry) = watched();
    add(&queue, 1, 0);
    add(&queue, 2, 0);
    scrape(&registry);
    add(&queue, 2, 1);
    assert_eq!(scrape(&registry), BTreeMap::from([("0".to_owned(), 1), ("1".to_owned(), 1)]));
    let guard = queue.try_get().unwrap();
    assert_eq!(scrape(&registry)["1"], 0);
    add(&queue, 2, 1);
    assert_eq!(scrape(&registry)["1"], 1, "it will run again");
    guard.done();
    assert_eq!(scrape(&registry)["1"], 1);
}

/// The 25 labels go to the highest of the priorities that one scrape finds together.
#[test]
fn the_highest_of_those_found_together_have_labels_and_keep_them() {
    let (queue, registry) = watched();
    (0..40).for_each(|priority| add(&queue, priority, priority));
    let found = scrape(&registry);
    assert!((15..40).all(|priority| found.contains_key(&priority.to_string())), "{found:?}");
    (100..120).for_each(|priority| add(&queue, priority, priority));
    let labels = |found: BTreeMap<String, i64>| found.into_keys().collect::<Vec<_>>();
    assert_eq!(labels(scrape(&registry)), labels(found), "for good");
    assert_eq!(scrape(&registry)[OVERFLOW], 35);
}

#[test]
fn there_is_no_series_of_the_depth_beside_the_labels() {
    let (queue, registry) = watched();
    add(&queue, 1, 5);
    let text = text(&registry);
    let lines: Vec<&str> =
        text.lines().filter(|line| line.starts_with("workqueue_depth{")).collect();
    assert_eq!(lines, ["workqueue_depth{name=\"claims\",priority=\"5\"} 1.0"]);
    assert!(text.contains("workqueue_adds_total{name=\"claims\"} 1"), "{text}");
    assert!(text.contains("workqueue_unfinished_work_seconds{name=\"claims\"} 0"), "{text}");
}

#[test]
fn a_watched_queue_goes_away_with_its_last_handle() {
    let (queue, registry) = watched();
    add(&queue, 1, 5);
    assert_eq!(scrape(&registry)["5"], 1);
    let reader = queue.reader();
    drop(queue);
    assert!(reader.gauges().is_none(), "somebody keeps it");
    assert!(scrape(&registry).is_empty());
}

#[test]
fn queues_of_one_name_share_their_labels() {
    let mut registry = Registry::default();
    let metrics = QueueMetrics::register(&mut registry);
    let (one, other) = (built(&metrics, "claims"), built(&metrics.clone(), "claims"));
    (0..20).for_each(|priority| add(&one, priority, priority));
    (10..40).for_each(|priority| add(&other, priority, priority));
    for expected in [50, 49] {
        let found = scrape(&registry);
        assert_eq!((found.len(), found.values().sum::<i64>()), (26, expected));
        assert_eq!((found["15"], found["5"]), (2, 1));
        one.try_get().unwrap().done();
    }
    let lines = text(&registry).lines().filter(|line| line.contains("priority=\"15\"")).count();
    assert_eq!(lines, 1, "one series each");
}

#[test]
fn a_queue_of_a_layer_above_is_watched_and_one_without_priorities_of_its_name_has_no_label() {
    let mut registry = Registry::default();
    let metrics = QueueMetrics::register(&mut registry);
    let queue = wq_ratelimit::RateLimitingQueue::builder()
        .name("claims")
        .limiter(wq_ratelimit::controller_default::<u32>())
        .timer(wq_delay::ManualTimer::new())
        .observer(metrics.observer("claims"))
        .backlog(Priority::new())
        .build()
        .unwrap();
    metrics.watch_by_priority(&queue);
    queue.add_with(1, Order::priority(3));
    queue.add_after_with(2, Duration::from_secs(1), Order::priority(3));
    let plain = WorkQueue::<u32>::builder().name("claims").build().unwrap();
    metrics.watch(&plain);
    plain.add(7);
    assert_eq!(
        scrape(&registry),
        BTreeMap::from([("3".to_owned(), 1)]),
        "what is delayed is not queued"
    );
    assert!(text(&registry).contains("workqueue_depth{name=\"claims\"} 1"));
    drop((queue, plain));
    assert!(!text(&registry).contains("workqueue_depth{"));
}

/// Stops the workers at the end of a scope, even if the test fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(false, SeqCst);
    }
}

/// Items come and go under 40 priorities, and each holder adds its item again before its done. So
/// all items of a priority are queued or to run again, except items that a worker has got and not
/// yet added.
#[test]
#[cfg_attr(miri, ignore = "thousands of items")]
fn at_every_scrape_under_load_the_labels_are_those_of_one_moment() {
    const WORKERS: usize = 3;
    const EACH: usize = 5;
    let (queue, registry) = watched();
    let priority_of = |item: u32| item % 40;
    (0..200).for_each(|item| add(&queue, item, priority_of(item)));
    // Ten items are in flight throughout, and will run again.
    let held: Vec<_> = (0..10).map(|_| queue.try_get().unwrap()).collect();
    held.iter().for_each(|guard| add(&queue, *guard.item(), priority_of(*guard.item())));
    let (goes_on, scraped) = (AtomicBool::new(true), Barrier::new(WORKERS + 1));
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                scraped.wait();
                while goes_on.load(SeqCst) {
                    let guard = queue.get_blocking().unwrap();
                    add(&queue, *guard.item(), priority_of(*guard.item()));
                    guard.done();
                }
            });
        }
        let ends = Ends(&goes_on);
        scraped.wait();
        let (all, missing) = (i64::try_from(40 * EACH).unwrap(), i64::try_from(WORKERS).unwrap());
        for _ in 0..500 {
            let found = scrape(&registry);
            let depth = found.values().sum::<i64>();
            assert_eq!(found.len(), 26);
            assert!((all - missing..=all).contains(&depth), "{depth}: {found:?}");
            for (label, shown) in found {
                let under = i64::try_from(EACH).unwrap() * if label == OVERFLOW { 15 } else { 1 };
                assert!((under - missing..=under).contains(&shown), "{label}: {shown}");
            }
        }
        drop(ends);
    });
    assert_eq!(scrape(&registry).values().sum::<i64>(), 200, "nobody holds any");
}
