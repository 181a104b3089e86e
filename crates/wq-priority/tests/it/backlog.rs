//! `Priority` by itself: the books, and the order of hand-outs.

use proptest::prelude::*;
use wq_priority::{Backlog, GroupId, OnMerge, Order, Priority, SlotId};

fn orders() -> impl Strategy<Value = Order> {
    let group = prop::option::of((0..3_u64).prop_map(GroupId::new));
    let on_merge = prop::sample::select(vec![OnMerge::Raise, OnMerge::Lower, OnMerge::Set]);
    (-2..3_i32, group, on_merge).prop_map(|(priority, group, on_merge)| {
        let order = Order::priority(priority).on_merge(on_merge);
        group.map_or(order, |group| order.in_group(group))
    })
}

fn aged(every: u32) -> Priority {
    Priority::builder().aged_turn_every(every).build().unwrap()
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

/// As those who write a backlog ask theirs.
#[test]
fn keeps_the_contract() {
    let groups = [None, Some(GroupId::new(0)), Some(GroupId::new(1))];
    let orders: Vec<Order> = groups
        .into_iter()
        .flat_map(|group| {
            let merges = [OnMerge::Raise, OnMerge::Lower, OnMerge::Set];
            merges
                .map(|on_merge| {
                    Order::priority(if on_merge == OnMerge::Set { 2 } else { -1 }).on_merge(on_merge)
                })
                .map(|order| group.map_or(order, |group| order.in_group(group)))
        })
        .collect();
    for make in [Priority::new, strict, || aged(1), || weighted(GroupId::new(1), 3)] as [fn() -> Priority; 4]
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

/// Of a crowd of a low priority the last are raised one by one, and as many come in.
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
fn an_item_is_lowered_only_by_an_order_that_lowers_or_sets() {
    let mut backlog = Priority::new();
    push(&mut backlog, 0, Order::priority(2));
    push(&mut backlog, 1, Order::priority(1));
    backlog.touch(SlotId::from_index(0), &Order::priority(0));
    assert_eq!(backlog.clone().pop().map(|(id, order)| (id.index(), order.priority)), Some((0, 2)));
    for on_merge in [OnMerge::Set, OnMerge::Lower] {
        let mut backlog = backlog.clone();
        backlog.touch(SlotId::from_index(0), &Order::priority(0).on_merge(on_merge));
        assert_eq!(pop(&mut backlog, 9), [1, 0]);
    }
    backlog.touch(SlotId::from_index(0), &Order::priority(3).on_merge(OnMerge::Lower));
    assert_eq!(backlog.pop().map(|(id, order)| (id.index(), order.priority)), Some((0, 2)));
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
fn a_priority_keeps_its_age_while_its_only_item_changes_group() {
    let mut backlog = aged(1);
    push(&mut backlog, 100, Order::priority(1));
    for id in 0..10 {
        push(&mut backlog, id, Order::priority(2));
        push(&mut backlog, 10 + id, Order::priority(0));
    }
    let mut came = Vec::new();
    for hand_out in 0..3 {
        backlog.touch(SlotId::from_index(100), &Order::priority(1).in_group(GroupId::new(hand_out)));
        came.extend(pop(&mut backlog, 1));
    }
    assert_eq!(came, [100, 0, 10], "in the order in which the priorities came into use");
}

#[test]
fn an_item_that_is_raised_again_and_again_waits_no_longer_for_it() {
    let mut backlog = aged(16);
    push(&mut backlog, 1000, Order::priority(0));
    (0..1000).for_each(|id| push(&mut backlog, id, Order::priority(100)));
    pop(&mut backlog, 15);
    for priority in 1..5 {
        backlog.touch(SlotId::from_index(1000), &Order::priority(priority));
    }
    assert_eq!(pop(&mut backlog, 1), [1000], "the sixteenth hand-out is its own");
}

#[test]
fn an_item_that_changed_its_group_four_times_keeps_its_place_and_tells_the_newest() {
    let group = |number: u64| Order::default().in_group(GroupId::new(number));
    let mut backlog = Priority::new();
    push(&mut backlog, 100, group(0));
    for number in 1..5 {
        backlog.touch(SlotId::from_index(100), &group(number));
    }
    push(&mut backlog, 0, group(4));
    backlog.touch(SlotId::from_index(100), &group(5));
    let (id, order) = backlog.clone().pop().unwrap();
    assert_eq!((id.index(), order), (100, group(5)), "before what came into its line later");
    // What is asked of its priority begins anew.
    backlog.touch(SlotId::from_index(100), &Order::priority(1));
    push(&mut backlog, 1, Order::priority(1).in_group(GroupId::new(6)));
    backlog.touch(SlotId::from_index(100), &group(6).on_merge(OnMerge::Raise));
    assert_eq!(pop(&mut backlog, 9), [1, 100, 0]);
}

/// What `Set` would be wrong for.
#[test]
fn raised_to_five_and_lowered_to_eight_before_it_waits_is_between_five_and_eight() {
    let raise = Order::priority(5);
    let lower = Order::priority(8).on_merge(OnMerge::Lower);
    let mut both = raise;
    Priority::merge(&mut both, lower);
    assert_eq!(both, raise.on_merge(OnMerge::Between(8)));
    let mut other = lower;
    Priority::merge(&mut other, raise);
    assert_eq!(other, Order::priority(8).on_merge(OnMerge::Between(5)));
    for (held, expected) in [(0, 5), (6, 6), (9, 8)] {
        let mut backlog = Priority::new();
        push(&mut backlog, 0, Order::priority(held));
        backlog.touch(SlotId::from_index(0), &both);
        assert_eq!(backlog.pop().map(|(_, order)| order.priority), Some(expected));
    }
}
