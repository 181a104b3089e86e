//! `Priority`: the backlog. `levels` chooses the priority that has the next turn, `groups` the item
//! under it.

use std::num::NonZeroU32;

use wq_core::{Backlog, SlotId, Survey};

use crate::depths::Depths;
use crate::groups::{GroupQueues, Weights};
use crate::levels::PriorityLevels;
use crate::order::{OnMerge, Order};
use crate::planted::planted;

/// A backlog that hands out the highest priority first, and FIFO within a priority.
///
/// - **Ageing.** Every sixteenth hand-out goes to the priority whose last turn is longest ago
///   ([`aging_interval`](crate::Builder::aging_interval)). While at most `p` priorities are in use,
///   at most `16 * (p - 1)` items pass the first item of any priority. Ageing counts hand-outs and
///   reads no clock.
/// - **Groups.** The groups of a priority take turns: one item each, or their
///   [`weight`](crate::Builder::weight). Items without a group form one group. While a group of
///   weight `w` is never empty, it gets at least `w` of any `W` hand-outs of its priority. `W` is
///   the largest total weight of the groups that have items meanwhile. A group that was empty comes
///   last and does not get its unused turns back.
/// - **Adds of a waiting item.** A changed priority moves the item to the end of that priority's
///   line and restarts its wait. A changed group alone is merged into the order, and the item keeps
///   its place.
///
/// # Cost
///
/// Operations take constant time, and logarithmic time in the number of priorities in use when a
/// priority comes into use or empties, or when an add is not of the highest one.
///
/// ```
/// use wq_core::WorkQueue;
/// use wq_priority::{Order, Priority};
///
/// let queue = WorkQueue::builder().backlog(Priority::new()).build()?;
/// queue.add("resync");
/// queue.add_with("event", Order::priority(10));
/// assert_eq!(*queue.try_get()?.item(), "event");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[doc(alias = "priorityqueue")]
pub struct Priority {
    len: usize,
    levels: PriorityLevels,
    groups: GroupQueues,
}

impl Priority {
    pub(crate) fn with(aging_interval: Option<NonZeroU32>, weights: Weights) -> Self {
        Self {
            len: 0,
            levels: PriorityLevels::new(aging_interval),
            groups: GroupQueues::new(weights),
        }
    }

    /// Returns how many hand-outs pass the first item of any priority at most, while at most
    /// `priorities` are in use. `None` without ageing.
    ///
    /// The bound holds for any adds and removals. An item that is raised or lowered starts anew.
    #[must_use]
    pub fn longest_wait(&self, priorities: u32) -> Option<u64> {
        let below_the_highest = u64::from(priorities.saturating_sub(1));
        self.levels.aging_interval().map(|interval| u64::from(interval.get()) * below_the_highest)
    }

    /// Returns the priorities in use, the lowest first, with the number of queued items of each.
    pub fn counts(&self) -> impl Iterator<Item = (i32, usize)> {
        self.levels.counts()
    }

    /// The level of an item that waits, and its order.
    #[inline]
    fn find(&self, id: SlotId) -> Option<(u32, Order)> {
        let (level, group) = self.groups.find(id.index())?;
        let priority = self.levels.get(level)?.priority;
        Some((level, Order { priority, group, on_merge: OnMerge::Raise }))
    }
}

impl Backlog for Priority {
    type Order = Order;

    fn merge(held: &mut Order, new: Order) {
        if planted("merge-lowers") {
            held.priority = held.priority.min(new.priority);
        } else {
            held.merge(new);
        }
    }

    #[inline]
    fn push(&mut self, id: SlotId, order: Order) {
        self.remove(id); // A queue that breaks the contract must not break the lists.
        let level = self.levels.enter(order.priority);
        self.groups.push(&mut self.levels.at(level).groups, level, order.group, id.index());
        self.len += 1;
    }

    fn touch(&mut self, id: SlotId, order: &Order) {
        let Some((_, held)) = self.find(id) else { return };
        let mut merged = held;
        Self::merge(&mut merged, *order);
        if merged.priority == held.priority {
            self.groups.set_group(id.index(), merged.group);
        } else if !planted("raised-item-keeps-its-place") {
            self.push(id, merged);
        }
    }

    #[inline]
    fn pop(&mut self) -> Option<(SlotId, Order)> {
        if self.len == 0 {
            return None;
        }
        let index = self.levels.next();
        let level = self.levels.at(index);
        let priority = level.priority;
        let (item, group) = self.groups.pop(&mut level.groups);
        self.levels.leave(index);
        self.len -= 1;
        Some((SlotId::from_index(item), Order { priority, group, on_merge: OnMerge::Raise }))
    }

    fn remove(&mut self, id: SlotId) -> Option<Order> {
        let (level, order) = self.find(id)?;
        self.groups.remove(&mut self.levels.at(level).groups, id.index());
        self.levels.leave(level);
        self.len -= 1;
        Some(order)
    }

    #[inline]
    fn len(&self) -> usize {
        self.len
    }

    /// Releases all memory if nothing is queued.
    fn shrink(&mut self) {
        if self.len == 0 {
            self.levels.release();
            self.groups.release();
        }
    }
}

impl Survey for Priority {
    type Found = Depths;

    fn survey<'a>(&'a self, to_run_again: impl Iterator<Item = &'a Order>, found: &mut Depths) {
        let mut labelled = 0;
        for (priority, count) in found.own_mut() {
            let queued = self.levels.queued(priority);
            *count += queued;
            labelled += queued;
        }
        for (priority, queued) in self.levels.counts().rev() {
            if !found.has_room() {
                break;
            }
            if found.of(priority).is_none() {
                found.add(priority, queued);
                labelled += queued;
            }
        }
        found.add_others(self.len.saturating_sub(labelled));
        to_run_again.for_each(|order| found.add(order.priority, 1));
    }
}
