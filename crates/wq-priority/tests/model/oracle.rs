//! Oracle: a scheduler that looks through everything it has for whose turn it is. Written to be read and not to be fast.

use std::collections::BTreeMap;

use wq_priority::{GroupId, OnMerge, Order};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Queued {
    pub(crate) id: u32,
    pub(crate) priority: i32,
    pub(crate) group: Option<GroupId>,
}

#[derive(Debug, Default)]
pub(crate) struct Oracle {
    /// `None`: strictly by priority.
    every: Option<u32>,
    weights: BTreeMap<GroupId, u32>,
    hand_outs: u32,
    /// In the order in which each reached its priority and group.
    line: Vec<Queued>,
    /// Of each priority in use: when it last had a turn, or came into use.
    turns: BTreeMap<i32, u32>,
    /// Counts turns and priorities that come into use.
    events: u32,
    /// Of each priority: the groups in the order of their turns, and how much the first has used of its own.
    rings: BTreeMap<i32, (Vec<Option<GroupId>>, u32)>,
}

impl Oracle {
    pub(crate) fn new(every: Option<u32>, weights: &[(GroupId, u32)]) -> Self {
        Self { every, weights: weights.iter().copied().collect(), ..Self::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.line.len()
    }

    pub(crate) fn holds(&self, id: u32) -> bool {
        self.line.iter().any(|queued| queued.id == id)
    }

    pub(crate) fn counts(&self) -> Vec<(i32, usize)> {
        let mut counts: BTreeMap<i32, usize> = BTreeMap::new();
        self.line.iter().for_each(|queued| *counts.entry(queued.priority).or_default() += 1);
        counts.into_iter().collect()
    }

    pub(crate) fn add(&mut self, id: u32, new: Order) {
        let Some(at) = self.line.iter().position(|queued| queued.id == id) else {
            self.enter(Queued { id, priority: new.priority, group: new.group });
            return;
        };
        let held = self.line[at];
        let priority = match new.on_merge {
            OnMerge::Raise => held.priority.max(new.priority),
            OnMerge::Lower => held.priority.min(new.priority),
            _ => new.priority,
        };
        let merged = Queued { id, priority, group: new.group.or(held.group) };
        if merged != held {
            self.line.remove(at);
            self.tidy_rings();
            self.enter(merged);
            self.tidy_turns(); // Only now: a priority that stays in use keeps its turn.
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Queued> {
        let highest = *self.turns.keys().max()?;
        self.hand_outs += 1;
        let longest = *self.turns.iter().min_by_key(|(_, event)| **event)?.0;
        let is_aged = self.every.is_some_and(|every| self.hand_outs.is_multiple_of(every));
        let priority = if is_aged { longest } else { highest };
        self.events += 1;
        self.turns.insert(priority, self.events);
        let (ring, used) = self.rings.get_mut(&priority)?;
        let group = ring[0];
        *used += 1;
        let weight = group.and_then(|group| self.weights.get(&group)).copied().unwrap_or(1);
        if *used >= weight {
            ring.rotate_left(1);
            *used = 0;
        }
        let is_next = |queued: &Queued| queued.priority == priority && queued.group == group;
        let next = self.line.iter().position(is_next)?;
        let next = self.line.remove(next);
        self.tidy();
        Some(next)
    }

    pub(crate) fn remove(&mut self, id: u32) -> Option<Queued> {
        let at = self.line.iter().position(|queued| queued.id == id)?;
        let removed = self.line.remove(at);
        self.tidy();
        Some(removed)
    }

    fn enter(&mut self, queued: Queued) {
        self.line.push(queued);
        if !self.turns.contains_key(&queued.priority) {
            self.events += 1;
            self.turns.insert(queued.priority, self.events);
        }
        let (ring, _) = self.rings.entry(queued.priority).or_default();
        if !ring.contains(&queued.group) {
            ring.push(queued.group);
        }
    }

    fn tidy(&mut self) {
        self.tidy_rings();
        self.tidy_turns();
    }

    fn tidy_rings(&mut self) {
        for (priority, (ring, used)) in &mut self.rings {
            let first = ring.first().copied();
            ring.retain(|group| {
                self.line.iter().any(|queued| queued.priority == *priority && queued.group == *group)
            });
            if ring.first().copied() != first {
                *used = 0;
            }
        }
        self.rings.retain(|_, (ring, _)| !ring.is_empty());
    }

    fn tidy_turns(&mut self) {
        self.turns.retain(|priority, _| self.line.iter().any(|queued| queued.priority == *priority));
    }
}
