//! What operations look at, counted: it does not grow with what is queued, and little with the number of priorities.

use super::Priority;
use crate::depths::Depths;
use crate::order::{GroupId, OnMerge, Order};
use crate::steps::steps_of;
use wq_core::{Backlog, SlotId, Survey};

fn slot(index: u32) -> SlotId {
    SlotId::from_index(index)
}

fn of(priority: u32) -> Order {
    Order::priority(i32::try_from(priority).unwrap())
}

/// The most that any one of so many operations looks at, of each kind, with so many items queued under so many priorities.
fn most_steps(items: u32, priorities: u32) -> [u64; 4] {
    let mut backlog = Priority::new();
    let order = |item: u32| of(item % priorities).in_group(GroupId::new(u64::from(item / priorities % 7)));
    (0..items + 100).for_each(|item| backlog.push(slot(item), order(item)));
    (items..items + 100).for_each(|item| _ = backlog.remove(slot(item)));
    let mut most = [0; 4];
    let mut count = |kind: usize, steps: u64| most[kind] = most[kind].max(steps);
    for next in 0..5000 {
        let item = items + next % 100;
        count(0, steps_of(|| backlog.push(slot(item), order(item))).0);
        let other = next * 7919 % items;
        let set = of((other + next) % priorities).on_merge(OnMerge::Set);
        count(1, steps_of(|| backlog.touch(slot(other), &set)).0);
        count(2, steps_of(|| backlog.remove(slot(item))).0);
        let (steps, popped) = steps_of(|| backlog.pop());
        count(3, steps);
        let (popped, _) = popped.unwrap();
        backlog.push(popped, order(popped.index()));
    }
    most
}

/// Add, add again, remove, hand out.
#[test]
#[cfg_attr(miri, ignore = "thousands of items")]
fn no_operation_looks_at_more_because_more_is_queued() {
    for priorities in [1_u32, 3, 1000] {
        // Searches in a tree of nodes of at most eleven: where one level closes and another opens there are three.
        let height = u64::from(priorities.ilog2() / 2 + 1);
        let bound = 24 + 24 * height;
        for items in [2 * priorities, 100_000] {
            let most = most_steps(items, priorities);
            assert!(most.iter().all(|steps| *steps <= bound), "{priorities}, {items}: {most:?} of {bound}");
        }
    }
}

/// The survey of a scrape.
#[test]
#[cfg_attr(miri, ignore = "thousands of items")]
fn a_survey_looks_at_few_of_many_priorities() {
    let mut backlog = Priority::new();
    (0..100_000).for_each(|item| backlog.push(slot(item), of(item)));
    let mut found = Depths::default();
    let (first, ()) = steps_of(|| backlog.survey([].into_iter(), &mut found));
    found.begin();
    let (second, ()) = steps_of(|| backlog.survey([].into_iter(), &mut found));
    assert_eq!(found.total(), 100_000);
    assert!(first <= 40, "{first}");
    assert!(second <= 25 * 60, "25 searches: {second}");
}

/// One item is at the last place, and comes back there again and again; the others are few, come in floods of groups, and go.
#[test]
#[cfg_attr(miri, ignore = "thousands of items")]
fn what_shrinks_look_at_is_paid_for_by_items_that_came() {
    const LAST: u32 = 100_000;
    let mut backlog = Priority::new();
    let (mut steps, mut came) = (0, 0);
    for _ in 0..200 {
        let (taken, ()) = steps_of(|| {
            backlog.push(slot(LAST), Order::default());
            for flood in 0..4 {
                for item in 0..256 {
                    backlog
                        .push(slot(item), Order::default().in_group(GroupId::new(u64::from(item * flood))));
                }
                if flood == 3 {
                    backlog.remove(slot(LAST));
                }
                (0..256).for_each(|item| _ = backlog.remove(slot(item)));
                backlog.shrink();
            }
        });
        steps += taken;
        came += 4 * 256 + 1;
    }
    // Growing to the last place is looked at once for each time that it is given back.
    assert!(steps <= 24 * came + 2 * u64::from(LAST), "{steps} for {came}");
}

/// What came in at the very beginning has paid for what it left.
#[test]
#[cfg_attr(miri, ignore = "thousands of items")]
fn what_a_first_flood_of_groups_and_priorities_left_is_given_back_at_once() {
    let mut backlog = Priority::new();
    for item in 0..100_000 {
        backlog.push(slot(item), of(item).in_group(GroupId::new(u64::from(item))));
    }
    while backlog.pop().is_some() {}
    backlog.shrink();
    assert!(backlog.levels.places() <= 20, "{}", backlog.levels.places());
    assert!(backlog.lines.places() <= 20, "{}", backlog.lines.places());
}

/// Of priorities that come and go one after the other few are known at any time, and those that come back soon are.
#[test]
#[cfg_attr(miri, ignore = "thousands of items")]
fn priorities_and_groups_that_are_gone_are_forgotten_the_oldest_first() {
    let mut backlog = Priority::new();
    for number in 0..100_000 {
        backlog.push(slot(0), of(number).in_group(GroupId::new(u64::from(number))));
        backlog.pop().unwrap();
    }
    assert!(backlog.levels.places() <= 10, "{}", backlog.levels.places());
    assert!(backlog.lines.places() <= 10, "{}", backlog.lines.places());
    for _ in 0..2 {
        for priority in 200_000..200_008 {
            backlog.push(slot(0), of(priority));
            backlog.pop().unwrap();
        }
        assert!((200_000..200_008).all(|priority| backlog.levels.knows(priority)));
        assert!((0..100_000).all(|priority| !backlog.levels.knows(priority)));
    }
}
