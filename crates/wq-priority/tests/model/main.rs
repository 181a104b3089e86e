//! `Priority` against a naive backlog: a vector that is searched for whose turn it is.

use proptest::prelude::*;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use wq_priority::{Backlog, GroupId, OnMerge, Order, Priority, SlotId};

#[derive(Debug, Clone)]
enum Op {
    Add(u32, i32, Option<u64>, OnMerge),
    Pop,
    Remove(u32),
}

fn op() -> impl Strategy<Value = Op> {
    let on_merge = prop::sample::select(vec![OnMerge::Raise, OnMerge::Set]);
    prop_oneof![
        6 => (0..20_u32, -2..3_i32, prop::option::of(0..3_u64), on_merge)
            .prop_map(|(id, priority, group, on_merge)| Op::Add(id, priority, group, on_merge)),
        5 => Just(Op::Pop),
        1 => (0..20_u32).prop_map(Op::Remove),
    ]
}

#[derive(Debug, Clone)]
struct Queued {
    id: u32,
    order: Order,
}

/// Weight of group 1; all others have 1.
const WEIGHT: u32 = 2;

#[derive(Debug, Default)]
struct Naive {
    every: u32,
    hand_outs: u32,
    /// In the order in which each reached its priority and group.
    line: Vec<Queued>,
    /// Of each priority in use, its last turn.
    turns: BTreeMap<i32, u32>,
    /// Of each priority, the groups in the order of their turns, and what the first has used of its turn.
    rings: BTreeMap<i32, (Vec<Option<GroupId>>, u32)>,
}

impl Naive {
    fn tidy(&mut self) {
        let line = &self.line;
        for (priority, (ring, used)) in &mut self.rings {
            let first = ring.first().copied();
            ring.retain(|group| {
                line.iter().any(|queued| queued.order.priority == *priority && queued.order.group == *group)
            });
            if ring.first().copied() != first {
                *used = 0;
            }
        }
        self.rings.retain(|_, (ring, _)| !ring.is_empty());
        self.turns.retain(|priority, _| line.iter().any(|queued| queued.order.priority == *priority));
    }

    fn enter(&mut self, id: u32, order: Order) {
        self.line.push(Queued { id, order });
        self.turns.entry(order.priority).or_insert(self.hand_outs);
        let (ring, _) = self.rings.entry(order.priority).or_default();
        if !ring.contains(&order.group) {
            ring.push(order.group);
        }
    }

    fn add(&mut self, id: u32, new: Order) {
        let Some(at) = self.line.iter().position(|queued| queued.id == id) else {
            self.enter(id, new);
            return;
        };
        let held = self.line[at].order;
        let mut merged = new;
        if new.on_merge == OnMerge::Raise {
            merged.priority = held.priority.max(new.priority);
        }
        merged.group = new.group.or(held.group);
        if (merged.priority, merged.group) == (held.priority, held.group) {
            self.line[at].order = merged;
        } else {
            self.line.remove(at);
            self.enter(id, merged);
            self.tidy(); // Only now: a priority that stays in use keeps its turn.
        }
    }

    fn pop(&mut self) -> Option<u32> {
        let highest = *self.turns.keys().max()?;
        self.hand_outs += 1;
        let longest = *self.turns.iter().min_by_key(|(priority, turn)| (**turn, **priority))?.0;
        let priority = if self.hand_outs.is_multiple_of(self.every) { longest } else { highest };
        self.turns.insert(priority, self.hand_outs);
        let (ring, used) = self.rings.get_mut(&priority)?;
        let group = ring[0];
        *used += 1;
        if *used >= if group == Some(GroupId::new(1)) { WEIGHT } else { 1 } {
            ring.rotate_left(1);
            *used = 0;
        }
        let at = self
            .line
            .iter()
            .position(|queued| queued.order.priority == priority && queued.order.group == group)?;
        let id = self.line.remove(at).id;
        self.tidy();
        Some(id)
    }

    fn remove(&mut self, id: u32) -> Option<Order> {
        let at = self.line.iter().position(|queued| queued.id == id)?;
        let order = self.line.remove(at).order;
        self.tidy();
        Some(order)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 800, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn behaves_like_the_naive_backlog(ops in prop::collection::vec(op(), 0..200), every in 1..6_u32) {
        let mut naive = Naive { every, ..Naive::default() };
        let mut backlog = Priority::new()
            .aged_turn_every(NonZeroU32::new(every).unwrap())
            .weight(GroupId::new(1), NonZeroU32::new(WEIGHT).unwrap());
        for op in ops {
            match op {
                Op::Add(id, priority, group, on_merge) => {
                    let order = Order::priority(priority).on_merge(on_merge);
                    let order = group.map_or(order, |group| order.in_group(GroupId::new(group)));
                    let slot = SlotId::from_index(id);
                    if naive.line.iter().any(|queued| queued.id == id) {
                        backlog.touch(slot, &order);
                    } else {
                        backlog.push(slot, order);
                    }
                    naive.add(id, order);
                }
                Op::Pop => prop_assert_eq!(backlog.pop().map(|(id, _)| id.index()), naive.pop()),
                Op::Remove(id) => prop_assert_eq!(backlog.remove(SlotId::from_index(id)), naive.remove(id)),
            }
            prop_assert_eq!(backlog.len(), naive.line.len());
        }
    }
}
