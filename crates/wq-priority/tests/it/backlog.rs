//! `Priority` by itself: the contract of a backlog, and the order of hand-outs.

use proptest::prelude::*;
use wq_priority::{Backlog, GroupId, OnMerge, Order, Priority, SlotId};

fn orders() -> impl Strategy<Value = Order> {
    let group = prop::option::of((0..3_u64).prop_map(GroupId::new));
    let on_merge = prop::sample::select(vec![OnMerge::Raise, OnMerge::Set]);
    (-2..3_i32, group, on_merge).prop_map(|(priority, group, on_merge)| {
        let order = Order::priority(priority).on_merge(on_merge);
        group.map_or(order, |group| order.in_group(group))
    })
}

fn aged(every: u32) -> Priority {
    Priority::builder().aging_interval(every).build().unwrap()
}

fn strict() -> Priority {
    Priority::builder().strict().build().unwrap()
}

fn weighted(group: GroupId, items: u32) -> Priority {
    Priority::builder().weight(group, items).build().unwrap()
}

fn push(backlog: &mut Priority, id: u32, order: Order) {
    backlog.push(SlotId::from_index(id), order);
}

fn pop(backlog: &mut Priority, times: usize) -> Vec<u32> {
    (0..times).map_while(|_| backlog.pop()).map(|(id, _)| id.index()).collect()
}

#[test]
fn obeys_the_books() {
    let leaves = |order: Order| order.on_merge(OnMerge::Raise);
    let backlogs: [fn() -> Priority; 4] =
        [Priority::new, strict, || aged(1), || weighted(GroupId::new(1), 3)];
    for make in backlogs {
        wq_contract::backlog::obeys_the_books_leaving(make, orders(), leaves);
    }
}

#[test]
fn is_fair_among_equals() {
    wq_contract::backlog::is_fair_among_equals(Priority::new, orders());
}

/// The contract suite for authors of backlogs.
#[test]
fn keeps_the_contract() {
    let groups = [None, Some(GroupId::new(0)), Some(GroupId::new(1))];
    let orders: Vec<Order> = groups
        .into_iter()
        .flat_map(|group| {
            [OnMerge::Raise, OnMerge::Set]
                .map(|on_merge| {
                    Order::priority(if on_merge == OnMerge::Set { 2 } else { -1 })
                        .on_merge(on_merge)
                })
                .map(|order| group.map_or(order, |group| order.in_group(group)))
        })
        .collect();
    for make in [Priority::new, strict, || aged(1), || weighted(GroupId::new(1), 3)]
        as [fn() -> Priority; 4]
    {
        wq_contract::backlog::check_leaving(make, &orders, |order| order.on_merge(OnMerge::Raise));
        wq_contract::backlog::check_first_come(make, &orders);
    }
}

#[test]
fn higher_comes_first_and_the_first_of_each_first() {
    let mut backlog = Priority::new();
    for (id, priority) in [(0, 0), (1, 5), (2, -5), (3, 5), (4, 0)] {
        push(&mut backlog, id, Order::priority(priority));
    }
    assert_eq!(pop(&mut backlog, 9), [1, 3, 0, 4, 2]);
}

#[test]
fn a_raised_item_goes_behind_those_that_were_there() {
    let mut backlog = Priority::new();
    push(&mut backlog, 0, Order::priority(0));
    push(&mut backlog, 1, Order::priority(1));
    backlog.touch(SlotId::from_index(0), &Order::priority(1));
    assert_eq!(pop(&mut backlog, 9), [1, 0]);
}

/// The last items of a low priority are raised one by one, and as many new ones are added.
#[test]
fn the_first_of_a_crowd_has_its_turn_although_those_behind_it_are_raised() {
    let mut backlog = aged(4);
    (0..100).for_each(|id| push(&mut backlog, id, Order::priority(-100)));
    let mut waited = 0;
    for last in (1..1000).map(|refilled| 99 + refilled) {
        backlog.touch(SlotId::from_index(last - 1), &Order::priority(0));
        push(&mut backlog, last, Order::priority(-100));
        if pop(&mut backlog, 1) == [0] {
            return;
        }
        waited += 1;
        assert!(waited <= backlog.longest_wait(2).unwrap(), "{waited} have gone before it");
    }
}

#[test]
fn an_item_is_lowered_only_by_an_order_that_sets() {
    let mut backlog = Priority::new();
    push(&mut backlog, 0, Order::priority(2));
    push(&mut backlog, 1, Order::priority(1));
    backlog.touch(SlotId::from_index(0), &Order::priority(0));
    assert_eq!(backlog.clone().pop().map(|(id, order)| (id.index(), order.priority)), Some((0, 2)));
    backlog.touch(SlotId::from_index(0), &Order::priority(0).on_merge(OnMerge::Set));
    assert_eq!(pop(&mut backlog, 9), [1, 0]);
}

#[test]
fn an_add_of_the_same_order_keeps_the_place() {
    let mut backlog = Priority::new();
    push(&mut backlog, 0, Order::default());
    push(&mut backlog, 1, Order::default());
    backlog.touch(SlotId::from_index(0), &Order::default());
    assert_eq!(pop(&mut backlog, 9), [0, 1]);
}

/// D20: controller-runtime starves it for ever.
#[test]
fn the_lowest_is_served_within_the_bound_under_a_steady_flow_above() {
    let mut backlog = aged(10);
    push(&mut backlog, 0, Order::priority(-100));
    for id in 1..50 {
        push(&mut backlog, id, Order::priority(0));
    }
    let mut next = 50;
    let waited = (1..).find(|_| {
        push(&mut backlog, next, Order::priority(0));
        next += 1;
        backlog.pop().is_some_and(|(id, _)| id.index() == 0)
    });
    assert_eq!(waited, Some(10));
}

#[test]
fn a_strict_backlog_starves_the_lower() {
    let mut backlog = strict();
    push(&mut backlog, 0, Order::priority(-100));
    for id in 1..1000 {
        push(&mut backlog, id, Order::priority(0));
        assert_eq!(pop(&mut backlog, 1), [id]);
    }
}

#[test]
fn groups_take_turns_by_their_weights() {
    let (small, large) = (GroupId::new(1), GroupId::new(2));
    let mut backlog = weighted(large, 2);
    for id in 0..6 {
        push(&mut backlog, id, Order::default().in_group(small));
    }
    for id in 10..16 {
        push(&mut backlog, id, Order::default().in_group(large));
    }
    push(&mut backlog, 20, Order::default());
    assert_eq!(pop(&mut backlog, 20), [0, 10, 11, 20, 1, 12, 13, 2, 14, 15, 3, 4, 5]);
}

#[test]
fn one_item_of_a_quiet_group_waits_for_one_of_a_busy_one() {
    let mut backlog = Priority::new();
    for id in 0..1000 {
        push(&mut backlog, id, Order::default().in_group(GroupId::new(1)));
    }
    push(&mut backlog, 5000, Order::default().in_group(GroupId::new(2)));
    assert_eq!(pop(&mut backlog, 2), [0, 5000]);
}

#[test]
fn an_item_whose_group_changes_keeps_its_place_and_leaves_with_the_new_group() {
    let group = |number: u64| Order::default().in_group(GroupId::new(number));
    let mut backlog = Priority::new();
    for (id, number) in [(0, 1), (1, 1), (2, 2), (3, 2)] {
        push(&mut backlog, id, group(number));
    }
    backlog.touch(SlotId::from_index(1), &group(2));
    backlog.touch(SlotId::from_index(2), &group(1));
    let came: Vec<_> =
        std::iter::from_fn(|| backlog.pop()).map(|(id, order)| (id.index(), order)).collect();
    assert_eq!(came, [(0, group(1)), (2, group(1)), (1, group(2)), (3, group(2))]);
}

#[test]
fn a_raised_item_goes_to_the_end_of_its_newest_group_at_that_priority() {
    let order =
        |priority: i32, number: u64| Order::priority(priority).in_group(GroupId::new(number));
    let mut backlog = Priority::new();
    push(&mut backlog, 0, order(0, 1));
    push(&mut backlog, 1, order(1, 2));
    push(&mut backlog, 2, order(1, 1));
    backlog.touch(SlotId::from_index(0), &order(0, 2));
    backlog.touch(SlotId::from_index(0), &Order::priority(1));
    let came: Vec<_> =
        std::iter::from_fn(|| backlog.pop()).map(|(id, order)| (id.index(), order)).collect();
    assert_eq!(came, [(1, order(1, 2)), (2, order(1, 1)), (0, order(1, 2))]);
}

#[test]
fn a_raised_item_begins_its_wait_anew() {
    let mut backlog = aged(2);
    push(&mut backlog, 100, Order::priority(0));
    (0..10).for_each(|id| push(&mut backlog, id, Order::priority(9)));
    assert_eq!(pop(&mut backlog, 1), [0]);
    push(&mut backlog, 200, Order::priority(1));
    backlog.touch(SlotId::from_index(100), &Order::priority(2));
    assert_eq!(pop(&mut backlog, 9), [1, 2, 200, 3, 100, 4, 5, 6, 7]);
}
