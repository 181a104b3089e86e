//! Prometheus: the depth by priority as a scrape sees it. The cases of controller-runtime's `workqueue_test.go`, and D18.

use std::collections::BTreeMap;

use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use wq_core::WorkQueue;
use wq_priority::prometheus::PriorityMetrics;
use wq_priority::{Order, Priority};

const OVERFLOW: &str = "exceeded_cardinality_limit";

fn watched() -> (WorkQueue<u32, Priority>, Registry) {
    let mut registry = Registry::default();
    let metrics = PriorityMetrics::register(&mut registry);
    let queue = WorkQueue::builder().backlog(Priority::new()).build().unwrap();
    let read: WorkQueue<u32, Priority> = queue.clone();
    metrics.watch("claims", move || Some(read.survey()));
    (queue, registry)
}

/// What each label shows.
fn scrape(registry: &Registry) -> BTreeMap<String, i64> {
    let mut text = String::new();
    encode(&mut text, registry).unwrap();
    let prefix = "workqueue_depth_by_priority{name=\"claims\",priority=\"";
    let lines = text.lines().filter_map(|line| line.strip_prefix(prefix)?.split_once("\"} "));
    lines.map(|(label, value)| (label.to_owned(), value.parse().unwrap())).collect()
}

fn add(queue: &WorkQueue<u32, Priority>, item: u32, priority: u32) {
    queue.add_with(item, Order::priority(i32::try_from(priority).unwrap()));
}

/// "cardinality".
#[test]
fn twenty_five_priorities_have_a_label_and_all_others_one() {
    for (priorities, labels, overflow) in
        [(10, 10, None), (25, 26, Some(0)), (26, 26, Some(1)), (30, 26, Some(5))]
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

/// D18: of 1000 priorities each label equals what waits under it at every scrape, whatever comes and goes, and the sum is the depth.
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
                guards.clear(); // Some of them come back.
            }
            guards.push(guard);
        }
        if step % 50 == 0 {
            let found = scrape(&registry);
            let depth = i64::try_from(queue.counts().depth()).unwrap();
            assert_eq!(found.values().sum::<i64>(), depth, "at {step}");
            for (label, shown) in &found {
                let under =
                    |own: &str| priorities.values().filter(|priority| priority.to_string() == own).count();
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

/// "updates metrics correctly for an item that gets initially added with after and then without", `gets pushed to the front if the
/// priority increases`: an item counts under the priority it has.
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
