//! Hostile: extreme orders, groups without end, and merges while an item is delayed or in flight.

use std::time::Duration;

use wq_core::WorkQueue;
use wq_delay::{DelayingQueue, ManualTimer};
use wq_priority::{Backlog, Depths, GroupId, InvalidPriority, OnMerge, Order, Priority, SlotId};

fn slot(index: u32) -> SlotId {
    SlotId::from_index(index)
}

fn in_group(number: u64) -> Order {
    Order::default().in_group(GroupId::new(number))
}

#[test]
fn settings_that_make_no_sense_are_refused_with_their_bounds() {
    let group = GroupId::new(7);
    let weight = |weight| Priority::builder().weight(group, weight).build().err();
    assert_eq!(weight(0), Some(InvalidPriority::Weight { group, weight: 0 }));
    assert_eq!(weight(1001), Some(InvalidPriority::Weight { group, weight: 1001 }));
    assert_eq!(weight(1000), None);
    assert!(
        weight(0).unwrap().to_string().contains("weight of group 7 is 0 but must be 1 to 1000")
    );
    let zero = Priority::builder().aging_interval(0).build().unwrap_err();
    assert_eq!(zero, InvalidPriority::ZeroAgingInterval);
    let weights = |groups| {
        (0..groups)
            .fold(Priority::builder(), |builder, group| builder.weight(GroupId::new(group), 2))
    };
    assert!(weights(65_536).build().is_ok());
    assert_eq!(
        weights(65_537).build().err(),
        Some(InvalidPriority::TooManyWeights { groups: 65_537 })
    );
}

#[test]
fn the_lowest_and_the_highest_number_are_priorities() {
    let mut backlog = Priority::builder().aging_interval(u32::MAX).build().unwrap();
    for (id, priority) in [(0, 0), (1, i32::MIN), (2, i32::MAX)] {
        backlog.push(slot(id), Order::priority(priority));
    }
    assert_eq!(backlog.longest_wait(u32::MAX), Some(u64::from(u32::MAX) * u64::from(u32::MAX - 1)));
    let came: Vec<i32> =
        std::iter::from_fn(|| backlog.pop()).map(|(_, order)| order.priority).collect();
    assert_eq!(came, [i32::MAX, 0, i32::MIN]);
}

#[test]
#[cfg_attr(miri, ignore = "a million groups")]
fn a_million_groups_and_priorities_come_and_go() {
    let mut backlog = Priority::new();
    for number in 0..1_000_000_u32 {
        let order = if number % 2 == 0 {
            in_group(number.into())
        } else {
            Order::priority(i32::try_from(number).unwrap())
        };
        backlog.push(slot(number % 100), order);
        if number >= 99 {
            backlog.pop().unwrap();
        }
    }
    // Groups and priorities without items are forgotten.
    let shown = format!("{backlog:?}").len();
    assert!(shown < 200_000, "{shown} characters");
    // As many at once, of which few stay: their order stays, and memory is released after the last.
    for id in 100..100_000 {
        backlog.push(slot(id), in_group(id.into()));
    }
    for id in (0..100).chain(110..100_000) {
        backlog.remove(slot(id));
    }
    let came: Vec<u32> = std::iter::from_fn(|| backlog.pop()).map(|(id, _)| id.index()).collect();
    assert_eq!(came, (100..110).collect::<Vec<_>>());
    backlog.shrink();
    let shown = format!("{backlog:?}").len();
    assert!(shown < 1000, "{shown} characters");
}

#[test]
fn a_group_that_empties_and_comes_back_hoards_no_credit() {
    let (idle, busy) = (GroupId::new(1), GroupId::new(2));
    let mut backlog = Priority::builder().weight(idle, 3).build().unwrap();
    for id in 0..20 {
        backlog.push(slot(id), Order::default().in_group(busy));
    }
    backlog.push(slot(50), Order::default().in_group(idle));
    let mut came = |times: usize| -> Vec<u32> {
        (0..times).filter_map(|_| backlog.pop()).map(|(id, _)| id.index()).collect()
    };
    assert_eq!(came(3), [0, 50, 1], "it used one of three turns");
    assert_eq!(came(4), [2, 3, 4, 5], "and was away");
    for id in 60..70 {
        backlog.push(slot(id), Order::default().in_group(idle));
    }
    let came: Vec<u32> = (0..8).filter_map(|_| backlog.pop()).map(|(id, _)| id.index()).collect();
    assert_eq!(came, [6, 60, 61, 62, 7, 63, 64, 65], "three in a row, neither more nor fewer");
}

#[test]
fn the_turns_of_a_group_that_left_are_not_counted_for_the_next() {
    let (left, next, last) = (GroupId::new(1), GroupId::new(2), GroupId::new(3));
    let mut backlog = Priority::builder().weight(next, 3).build().unwrap();
    let ids = [(50, left), (0, next), (1, next), (2, next), (3, next), (100, last), (101, last)];
    for (id, group) in ids {
        backlog.push(slot(id), Order::default().in_group(group));
    }
    let came: Vec<u32> = std::iter::from_fn(|| backlog.pop()).map(|(id, _)| id.index()).collect();
    assert_eq!(came, [50, 0, 1, 2, 100, 3, 101]);
}

#[test]
fn orders_merge_while_delayed_as_they_would_one_after_the_other() {
    let timer = ManualTimer::new();
    let queue: DelayingQueue<u32, Priority> =
        DelayingQueue::builder().timer(timer.clone()).backlog(Priority::new()).build().unwrap();
    let second = Duration::from_secs(1);
    queue.add_with(1, Order::priority(10));
    queue.add_after_with(1, second, Order::priority(5).on_merge(OnMerge::Set));
    queue.add_after_with(1, second, Order::priority(6));
    timer.advance(second);
    assert_eq!(queue.try_get().unwrap().order().priority, 6, "set to 5, then raised to 6");
}

#[test]
fn orders_merge_while_the_item_is_in_hand_and_leave_raising() {
    let queue = WorkQueue::<u32>::builder().backlog(Priority::new()).build().unwrap();
    queue.add_with(1, Order::priority(10).on_merge(OnMerge::Set));
    let guard = queue.try_get().unwrap();
    assert_eq!(*guard.order(), Order::priority(10));
    queue.add_with(1, Order::priority(2).in_group(GroupId::new(4)));
    queue.add_with(1, Order::priority(1).on_merge(OnMerge::Set));
    guard.done();
    let guard = queue.try_get().unwrap();
    assert_eq!(*guard.order(), Order::priority(1).in_group(GroupId::new(4)));
    // A retry by the order of the guard lowers nothing that was asked for meanwhile.
    queue.add_with(1, Order::priority(8));
    queue.add_with(1, *guard.order());
    guard.done();
    assert_eq!(queue.try_get().unwrap().order().priority, 8);
}

#[test]
fn what_is_due_is_found_and_what_is_delayed_is_not_and_both_are_reordered() {
    let timer = ManualTimer::new();
    let second = Duration::from_secs(1);
    let queue = wq_ratelimit::RateLimitingQueue::builder()
        .limiter(wq_ratelimit::controller_default::<u32>())
        .timer(timer.clone())
        .backlog(Priority::new())
        .build()
        .unwrap();
    queue.add_after_with(1, second, Order::priority(3));
    queue.add_after_with(2, second, Order::priority(3));
    let (reader, mut found) = (queue.reader(), Depths::default());
    reader.survey(&mut found).unwrap();
    assert_eq!(found.total(), 0, "they are delayed");
    queue.add_after_with(1, second, Order::priority(4));
    timer.advance(second);
    assert_eq!(queue.counts().queued, 2, "they are due, and nobody has got any");
    let queued = reader.survey(&mut found).unwrap().counts.queued;
    assert_eq!((queued, found.of(3), found.of(4)), (2, Some(1), Some(1)));
    queue.add_after(3, second);
    timer.advance(second);
    queue.add_with(3, Order::priority(9));
    let came: Vec<u32> = (0..3).map(|_| *queue.try_get().unwrap().item()).collect();
    assert_eq!(came, [3, 1, 2]);
    queue.add_after(4, second);
    timer.advance(second);
    assert_eq!(queue.counts().queued, 1);
}

#[test]
fn every_number_is_a_group_and_an_order_is_small() {
    for number in [0, 1, u64::from(u32::MAX), 1 << 32, u64::MAX] {
        assert_eq!(GroupId::new(number).get(), number);
        assert_eq!(GroupId::new(number).to_string(), number.to_string());
    }
    assert!(GroupId::new(1 << 32) > GroupId::new(u64::from(u32::MAX)));
    // Every slot of a queue has room for one.
    assert_eq!(size_of::<Order>(), 20);
}
