//! Bounds: the longest wait of an item and the smallest share of a group, in numbers.

use std::collections::BTreeMap;

use proptest::prelude::*;
use wq_priority::{Backlog, GroupId, OnMerge, Order, Priority, SlotId};

use crate::sequences;

fn push(backlog: &mut Priority, id: u32, order: Order) {
    backlog.push(SlotId::from_index(id), order);
}

/// What the first item of a priority has seen since it became the first.
#[derive(Clone, Copy, Default)]
struct Wait {
    items: u32,
    hand_outs: u64,
    /// The most priorities in use meanwhile.
    priorities: u32,
}

#[derive(Clone, Debug)]
enum Move {
    Add(i32),
    /// Sets the priority of a waiting item.
    Set(prop::sample::Index, i32),
    Remove(prop::sample::Index),
    Pop,
}

fn moves() -> impl Strategy<Value = Move> {
    let priorities = || -3..4_i32;
    prop_oneof![
        4 => priorities().prop_map(Move::Add),
        3 => (any::<prop::sample::Index>(), priorities()).prop_map(|(chosen, priority)| Move::Set(chosen, priority)),
        1 => any::<prop::sample::Index>().prop_map(Move::Remove),
        4 => Just(Move::Pop),
    ]
}

/// An item is queued under a priority.
fn enter(waits: &mut BTreeMap<i32, Wait>, priority: i32) {
    waits.entry(priority).or_default().items += 1;
    let in_use = u32::try_from(waits.len()).unwrap();
    waits.values_mut().for_each(|wait| wait.priorities = wait.priorities.max(in_use));
}

/// An item has left. Returns whether it was the last of its priority.
fn leave(waits: &mut BTreeMap<i32, Wait>, priority: i32) -> bool {
    let wait = waits.get_mut(&priority).unwrap();
    wait.items -= 1;
    wait.items == 0 && waits.remove(&priority).is_some()
}

/// A hand-out among groups of one priority, all of which had items then.
struct HandOut {
    to: usize,
    waiting: Vec<usize>,
    /// It was the group's last item.
    empties: bool,
}

const WEIGHTS: [u32; 4] = [1, 2, 3, 5];

proptest! {
    #![proptest_config(ProptestConfig { cases: sequences(), failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is added, raised, lowered and removed, at most `every * (p - 1)` items pass the
    /// first item of each priority. `p` is the largest number of priorities in use while it waits.
    #[test]
    fn the_wait_of_the_first_of_each_priority_is_bounded(
        every in 1..12_u32,
        steps in prop::collection::vec(moves(), 0..250),
    ) {
        let mut backlog = Priority::builder().aging_interval(every).build().unwrap();
        let mut queued: Vec<(u32, i32)> = Vec::new();
        let mut waits: BTreeMap<i32, Wait> = BTreeMap::new();
        let mut next = 0;
        for step in steps {
            match step {
                Move::Add(priority) => {
                    push(&mut backlog, next, Order::priority(priority));
                    queued.push((next, priority));
                    next += 1;
                    enter(&mut waits, priority);
                }
                Move::Set(chosen, priority) if !queued.is_empty() => {
                    let chosen = chosen.index(queued.len());
                    let (id, held) = &mut queued[chosen];
                    backlog.touch(SlotId::from_index(*id), &Order::priority(priority).on_merge(OnMerge::Set));
                    let from = std::mem::replace(held, priority);
                    if from != priority {
                        leave(&mut waits, from);
                        enter(&mut waits, priority);
                    }
                }
                Move::Remove(chosen) if !queued.is_empty() => {
                    let (id, priority) = queued.swap_remove(chosen.index(queued.len()));
                    backlog.remove(SlotId::from_index(id)).unwrap();
                    leave(&mut waits, priority);
                }
                Move::Set(..) | Move::Remove(_) => {}
                Move::Pop => {
                    let Some((id, order)) = backlog.pop() else { continue };
                    let at = queued.iter().position(|(other, _)| *other == id.index()).unwrap();
                    prop_assert_eq!(queued.swap_remove(at).1, order.priority);
                    for (waiting, wait) in &mut waits {
                        if *waiting != order.priority {
                            wait.hand_outs += 1;
                            let longest = backlog.longest_wait(wait.priorities).unwrap();
                            prop_assert!(wait.hand_outs <= longest, "{waiting} waited for {}", wait.hand_outs);
                        }
                    }
                    if !leave(&mut waits, order.priority) {
                        let priorities = u32::try_from(waits.len()).unwrap();
                        let served = waits.get_mut(&order.priority).unwrap();
                        *served = Wait { items: served.items, hand_outs: 0, priorities };
                    }
                }
            }
        }
    }

    /// Items of the lowest priority are raised one by one, the last first. The first of them waits
    /// no longer for that.
    #[test]
    fn the_first_of_a_crowd_waits_no_longer_because_others_of_it_are_raised(
        every in 1..12_u32,
        raised_to in prop::collection::vec(0..3_i32, 100),
    ) {
        let mut backlog = Priority::builder().aging_interval(every).build().unwrap();
        (0..=100).for_each(|id| push(&mut backlog, id, Order::priority(-100)));
        let longest = backlog.longest_wait(2).unwrap();
        let (first, mut waited) = (SlotId::from_index(0), 0);
        for (id, priority) in (1..=100).rev().zip(raised_to) {
            backlog.touch(SlotId::from_index(id), &Order::priority(priority));
            if backlog.pop().unwrap().0 == first {
                return Ok(());
            }
            waited += 1;
            prop_assert!(waited <= longest, "of at most {longest}");
        }
        prop_assert!(false, "it was never handed out");
    }

    /// While a group of weight `w` is never empty, it gets at least `w` of any `W` hand-outs in a
    /// row. `W` is the largest total weight of the groups with items meanwhile. Other groups may
    /// empty themselves and come back.
    #[test]
    fn a_group_gets_its_share_of_any_hand_outs(
        steps in prop::collection::vec((0..WEIGHTS.len(), 0..5_u32), 0..150),
    ) {
        let group = |of: usize| GroupId::new(of as u64);
        let builder = (0..WEIGHTS.len()).fold(Priority::builder(), |builder, of| builder.weight(group(of), WEIGHTS[of]));
        let mut backlog = builder.build().unwrap();
        let mut queued = [0_u32; WEIGHTS.len()];
        let mut history: Vec<HandOut> = Vec::new();
        let mut next = 0;
        for (of, adds) in steps {
            if adds < 3 {
                let waiting = (0..WEIGHTS.len()).filter(|of| queued[*of] > 0).collect();
                if let Some((_, order)) = backlog.pop() {
                    let to = usize::try_from(order.group.unwrap().get()).unwrap();
                    queued[to] -= 1;
                    history.push(HandOut { to, waiting, empties: queued[to] == 0 });
                }
            }
            for _ in 0..adds {
                push(&mut backlog, next, Order::default().in_group(group(of)));
                next += 1;
                queued[of] += 1;
            }
        }
        for (of, own) in WEIGHTS.into_iter().enumerate() {
            for begin in 0..history.len() {
                let (mut weight, mut got) = (own, 0);
                for (length, hand_out) in (1..).zip(&history[begin..]) {
                    if !hand_out.waiting.contains(&of) {
                        break;
                    }
                    weight = weight.max(hand_out.waiting.iter().map(|of| WEIGHTS[*of]).sum());
                    got += u32::from(hand_out.to == of);
                    prop_assert!(got >= length / weight * own, "group {of}: {got} of {length} at {begin}");
                    if hand_out.to == of && hand_out.empties {
                        break;
                    }
                }
            }
        }
    }

    /// An item whose group changes before every hand-out keeps its place.
    #[test]
    fn an_item_that_changes_its_group_all_the_time_is_handed_out_at_its_turn(
        ahead in 0..6_u32,
        groups in prop::collection::vec(0..WEIGHTS.len() + 1, 1..40),
    ) {
        const ITEM: u32 = 0;
        let group = |of: usize| Order::default().in_group(GroupId::new(of as u64));
        let builder = (0..WEIGHTS.len()).fold(Priority::builder(), |builder, of| {
            builder.weight(GroupId::new(of as u64), WEIGHTS[of])
        });
        let mut changed = builder.build().unwrap();
        let mut next = 1;
        for of in 0..WEIGHTS.len() {
            for _ in 0..if of == 0 { ahead } else { 100 } {
                push(&mut changed, next, group(of));
                next += 1;
            }
        }
        push(&mut changed, ITEM, group(0));
        let mut unchanged = changed.clone();
        for of in groups.iter().cycle() {
            changed.touch(SlotId::from_index(ITEM), &group(*of));
            let (id, order) = changed.pop().unwrap();
            prop_assert_eq!(id, unchanged.pop().unwrap().0);
            if id.index() == ITEM {
                prop_assert_eq!(order, group(*of), "it leaves with the group that was named last");
                return Ok(());
            }
        }
    }
}
