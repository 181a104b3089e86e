//! Oracle: a scheduler that looks through everything it has for whose turn it is. Written to be
//! read and not to be fast.

use std::collections::BTreeMap;

use wq_priority::{GroupId, OnMerge, Order};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Queued {
    pub(crate) id: u32,
    pub(crate) priority: i32,
    /// The group of its order.
    pub(crate) group: Option<GroupId>,
}

/// An item in its line.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    queued: Queued,
    /// The group whose line it is in.
    line: Option<GroupId>,
}

#[derive(Debug, Default)]
pub(crate) struct Oracle {
    /// `None`: strictly by priority.
    every: Option<u32>,
    weights: BTreeMap<GroupId, u32>,
    hand_outs: u32,
    /// In the order in which each reached its priority and group.
    line: Vec<Waiting>,
    /// The priorities in use, the longest wait for a turn first.
    turns: Vec<i32>,
    /// Of each priority: the groups in the order of their turns, and how much the first has used
    /// of its own.
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
        self.line.iter().any(|waiting| waiting.queued.id == id)
    }

    pub(crate) fn counts(&self) -> Vec<(i32, usize)> {
        let mut counts: BTreeMap<i32, usize> = BTreeMap::new();
        self.line
            .iter()
            .for_each(|waiting| *counts.entry(waiting.queued.priority).or_default() += 1);
        counts.into_iter().collect()
    }

    pub(crate) fn add(&mut self, id: u32, new: Order) {
        let enters =
            |priority, group| Waiting { queued: Queued { id, priority, group }, line: group };
        let Some(at) = self.line.iter().position(|waiting| waiting.queued.id == id) else {
            self.enter(enters(new.priority, new.group));
            return;
        };
        let held = self.line[at].queued;
        let priority = match new.on_merge {
            OnMerge::Raise => held.priority.max(new.priority),
            _ => new.priority,
        };
        let group = new.group.or(held.group);
        if priority == held.priority {
            self.line[at].queued.group = group;
            return;
        }
        self.remove(id);
        self.enter(enters(priority, group));
    }

    pub(crate) fn pop(&mut self) -> Option<Queued> {
        let highest = *self.turns.iter().max()?;
        self.hand_outs += 1;
        let longest = *self.turns.first()?;
        let is_aged = self.every.is_some_and(|every| self.hand_outs.is_multiple_of(every));
        let priority = if is_aged { longest } else { highest };
        self.turns.retain(|other| *other != priority);
        self.turns.push(priority);
        let (ring, used) = self.rings.get_mut(&priority)?;
        let group = ring[0];
        *used += 1;
        let weight = group.and_then(|group| self.weights.get(&group)).copied().unwrap_or(1);
        if *used >= weight {
            ring.rotate_left(1);
            *used = 0;
        }
        let is_next =
            |waiting: &Waiting| waiting.queued.priority == priority && waiting.line == group;
        let next = self.line.iter().position(is_next)?;
        let next = self.line.remove(next).queued;
        self.tidy();
        Some(next)
    }

    pub(crate) fn remove(&mut self, id: u32) -> Option<Queued> {
        let at = self.line.iter().position(|waiting| waiting.queued.id == id)?;
        let removed = self.line.remove(at).queued;
        self.tidy();
        Some(removed)
    }

    /// A priority that comes into use is the youngest.
    fn enter(&mut self, waiting: Waiting) {
        self.line.push(waiting);
        let Waiting { queued: Queued { priority, .. }, line } = waiting;
        if !self.turns.contains(&priority) {
            self.turns.push(priority);
        }
        let (ring, _) = self.rings.entry(priority).or_default();
        if !ring.contains(&line) {
            ring.push(line);
        }
    }

    /// Forgets groups and priorities without items.
    fn tidy(&mut self) {
        for (priority, (ring, used)) in &mut self.rings {
            let first = ring.first().copied();
            ring.retain(|group| {
                self.line
                    .iter()
                    .any(|waiting| waiting.queued.priority == *priority && waiting.line == *group)
            });
            if ring.first().copied() != first {
                *used = 0;
            }
        }
        self.rings.retain(|_, (ring, _)| !ring.is_empty());
        self.turns.retain(|priority| {
            self.line.iter().any(|waiting| waiting.queued.priority == *priority)
        });
    }
}
