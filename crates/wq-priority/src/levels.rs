//! `Levels`: which priority has the next turn. Pure; it counts hand-outs and knows no clock.
//!
//! Each hand-out goes to the highest priority, but every n-th goes to the one that has waited for the most hand-outs. So
//! whatever is added above it, the head of a priority lets at most `n` others go before it for each priority in use below
//! the highest, its own among them.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

#[derive(Debug, Clone)]
pub(crate) struct Levels {
    /// For each priority in use: the hand-out at which it last had a turn or came into use.
    since: BTreeMap<i32, u64>,
    /// The same, longest wait first; on a tie the lower priority.
    waiting: BTreeSet<(u64, i32)>,
    hand_outs: u64,
    /// `None`: strictly by priority.
    aged_turn_every: Option<NonZeroU32>,
}

impl Levels {
    pub(crate) fn new(aged_turn_every: Option<NonZeroU32>) -> Self {
        Self { since: BTreeMap::new(), waiting: BTreeSet::new(), hand_outs: 0, aged_turn_every }
    }

    /// A priority comes into use; no effect if it is.
    pub(crate) fn open(&mut self, priority: i32) {
        if let std::collections::btree_map::Entry::Vacant(vacant) = self.since.entry(priority) {
            vacant.insert(self.hand_outs);
            self.waiting.insert((self.hand_outs, priority));
        }
    }

    /// A priority is no longer in use.
    pub(crate) fn close(&mut self, priority: i32) {
        if let Some(since) = self.since.remove(&priority) {
            self.waiting.remove(&(since, priority));
        }
    }

    /// Gives the next turn to a priority. `None` if none is in use.
    pub(crate) fn next(&mut self) -> Option<i32> {
        let (&highest, _) = self.since.last_key_value()?;
        let turn = self.hand_outs.wrapping_add(1);
        let is_aged = self.aged_turn_every.is_some_and(|every| turn.is_multiple_of(u64::from(every.get())));
        let chosen = match self.waiting.first() {
            Some(&(_, longest)) if is_aged => longest,
            _ => highest,
        };
        self.hand_outs = turn;
        if let Some(since) = self.since.get_mut(&chosen) {
            self.waiting.remove(&(*since, chosen));
            *since = turn;
            self.waiting.insert((turn, chosen));
        }
        Some(chosen)
    }
}
