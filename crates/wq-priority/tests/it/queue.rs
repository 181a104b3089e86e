//! `Priority` in a queue: controller-runtime's cases, and the contract that all queues keep.

use wq_core::WorkQueue;
use wq_priority::{Order, Priority};

fn queue() -> WorkQueue<&'static str, Priority> {
    WorkQueue::builder().backlog(Priority::new()).build().unwrap()
}

fn take(queue: &WorkQueue<&'static str, Priority>) -> Vec<(&'static str, i32)> {
    std::iter::from_fn(|| queue.try_get().ok().map(|guard| (*guard.item(), guard.order().priority))).collect()
}

mod contract {
    wq_contract::contract_tests! {
        queue: wq_core::WorkQueue::<u64>::builder().backlog(wq_priority::Priority::new()).build().unwrap(),
        run: pollster::block_on,
    }
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

/// "returns an item as soon as its unlocked", "enqueues a locked item".
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
