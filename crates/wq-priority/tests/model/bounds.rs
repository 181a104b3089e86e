//! Bounds: how long anybody waits at most, and what share a group gets at least, with numbers.

use std::collections::BTreeMap;

use proptest::prelude::*;
use wq_priority::{Backlog, GroupId, Order, Priority, SlotId};

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

    /// Whatever is added and taken out, the first item of each priority lets at most `every * (p - 1)` others go before it, `p`
    /// being the most priorities in use while it waits.
    #[test]
    fn the_wait_of_the_first_of_each_priority_is_bounded(
        every in 1..12_u32,
        steps in prop::collection::vec((-3..4_i32, any::<bool>()), 0..250),
    ) {
        let mut backlog = Priority::builder().aged_turn_every(every).build().unwrap();
        let mut waits: BTreeMap<i32, Wait> = BTreeMap::new();
        let mut next = 0;
        for (priority, add) in steps {
            if add || waits.is_empty() {
                push(&mut backlog, next, Order::priority(priority));
                next += 1;
                waits.entry(priority).or_default().items += 1;
                let in_use = u32::try_from(waits.len()).unwrap();
                waits.values_mut().for_each(|wait| wait.priorities = wait.priorities.max(in_use));
                continue;
            }
            let (_, order) = backlog.pop().unwrap();
            let in_use = u32::try_from(waits.len()).unwrap();
            for (waiting, wait) in &mut waits {
                if *waiting != order.priority {
                    wait.hand_outs += 1;
                    let longest = backlog.longest_wait(wait.priorities).unwrap();
                    prop_assert!(wait.hand_outs <= longest, "{waiting} waited for {}", wait.hand_outs);
                }
            }
            let served = waits.get_mut(&order.priority).unwrap();
            *served = Wait { items: served.items - 1, hand_outs: 0, priorities: in_use };
            if served.items == 0 {
                waits.remove(&order.priority);
            }
        }
    }

    /// While a group of weight `w` has items and is never empty, it gets at least `w` of any `W` hand-outs in a row, `W` being the most that the
    /// groups with items weigh together meanwhile; also if others empty themselves and come back.
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

    /// An item that is said to be of another group before every hand-out waits at most five times as long as the last of a line:
    /// four times it goes to the end of one.
    #[test]
    fn an_item_that_changes_its_group_all_the_time_is_handed_out(
        each in 1..6_u32,
        groups in prop::collection::vec(0..WEIGHTS.len() + 1, 1..40),
    ) {
        const ITEM: u32 = 0;
        let group = |of: usize| Order::default().in_group(GroupId::new(of as u64));
        let builder = (0..WEIGHTS.len()).fold(Priority::builder(), |builder, of| {
            builder.weight(GroupId::new(of as u64), WEIGHTS[of])
        });
        let mut backlog = builder.build().unwrap();
        let mut next = 1;
        let mut add = |backlog: &mut Priority, order: Order| {
            push(backlog, next, order);
            next += 1;
        };
        for of in 0..WEIGHTS.len() {
            (0..each).for_each(|_| add(&mut backlog, group(of)));
        }
        push(&mut backlog, ITEM, group(0));
        // As many in a line as there are, and itself; a round of all lines, its own one among them, for each.
        let weight = WEIGHTS.iter().sum::<u32>() + 1;
        let longest = 5 * (each + 1) * weight;
        let mut told = group(0).group;
        let waited = groups.iter().cycle().zip(1..=longest).find(|(of, _)| {
            backlog.touch(SlotId::from_index(ITEM), &group(**of));
            told = group(**of).group;
            let (id, order) = backlog.pop().unwrap();
            if id.index() != ITEM {
                add(&mut backlog, order);
                return false;
            }
            assert_eq!(order.group, told, "it is of the group that was named last");
            true
        });
        prop_assert!(waited.is_some(), "not within {longest}");
    }
}
