//! `Groups`: the items of one priority, shared between groups by weighted round robin, first in first out within a group.
//! Pure.

use crate::order::GroupId;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::num::NonZeroU32;
use wq_core::SlotId;

/// How many turns in a row each group gets; one for those that are not named.
pub(crate) type Weights = HashMap<GroupId, NonZeroU32>;

/// Invariant: a group is in `ring` exactly when it is in `members`, and there exactly when it has an item.
#[derive(Debug, Clone, Default)]
pub(crate) struct Groups {
    members: HashMap<Option<GroupId>, BTreeMap<u64, SlotId>>,
    /// Whose turn it is, in front; then who comes next.
    ring: VecDeque<Option<GroupId>>,
    /// Turns the front group has had.
    used: u32,
}

impl Groups {
    pub(crate) fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// `sequence` grows from push to push.
    pub(crate) fn push(&mut self, group: Option<GroupId>, sequence: u64, id: SlotId) {
        let members = self.members.entry(group).or_default();
        if members.is_empty() {
            // A group that comes anew waits for a whole round: emptying itself gains it nothing.
            self.ring.push_back(group);
        }
        members.insert(sequence, id);
    }

    pub(crate) fn pop(&mut self, weights: &Weights) -> Option<(u64, SlotId)> {
        let group = *self.ring.front()?;
        let members = self.members.get_mut(&group)?;
        let popped = members.pop_first();
        self.used = self.used.saturating_add(1);
        let weight = group.and_then(|group| weights.get(&group)).map_or(1, |weight| weight.get());
        if members.is_empty() {
            self.members.remove(&group);
            self.ring.pop_front();
            self.used = 0;
        } else if self.used >= weight {
            self.ring.rotate_left(1);
            self.used = 0;
        }
        popped
    }

    pub(crate) fn remove(&mut self, group: Option<GroupId>, sequence: u64) -> Option<SlotId> {
        let members = self.members.get_mut(&group)?;
        let removed = members.remove(&sequence);
        if members.is_empty() {
            self.members.remove(&group);
            if self.ring.front() == Some(&group) {
                self.used = 0;
            }
            self.ring.retain(|other| *other != group);
        }
        removed
    }
}
