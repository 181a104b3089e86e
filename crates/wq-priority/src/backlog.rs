//! `Priority`: the backlog, which knows the place of each queued id. Which priority has the next turn is in `levels`, which
//! group of it in `lines`.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use wq_core::{Backlog, SlotId, Survey};

use crate::builder::{AGED_TURN_EVERY, Builder};
use crate::levels::Levels;
use crate::lines::{Lines, Place, Weights};
use crate::order::{OnMerge, Order};
use crate::planted::planted;

/// A backlog that hands out the highest priority first, and the item that reached it first within that.
///
/// Two rules keep it fair:
///
/// - **Ageing.** Every sixteenth hand-out (see [`aged_turn_every`](Builder::aged_turn_every)) goes to the priority whose last
///   turn is longest ago. So the first item of the lowest priority lets at most `16 * (p - 1)` others go before it while
///   at most `p` priorities are in use, whatever is added above it. Hand-outs are counted, no clock is read.
/// - **Groups.** Within a priority groups take turns: one item each, or as many as their [`weight`](Builder::weight). Items
///   of no group are one group of their own. While a group of weight `w` is never empty, and the groups of its priority that
///   have some weigh at most `W` together, it gets at least `w` of any `W` hand-outs of that priority. So a tenant with a
///   thousand items delays the one with a single item by one. A group that was empty comes in behind all others, and
///   turns that it did not use are lost.
///
/// An item that is added again while it waits moves only if its priority or group changes, and then to the end of its new
/// line. All operations take constant time, but for a search among the priorities in use, in logarithmic time, when an
/// item of another priority than the highest is added and when the last of the highest leaves.
#[derive(Debug, Clone)]
#[doc(alias = "priorityqueue")]
pub struct Priority {
    /// Indexed by slot.
    places: Vec<Place>,
    len: usize,
    levels: Levels,
    lines: Lines,
}

impl Priority {
    /// An empty backlog, with ageing at every sixteenth hand-out and all groups of weight 1.
    #[must_use]
    pub fn new() -> Self {
        Self::with(Some(AGED_TURN_EVERY), Weights::default())
    }

    /// Begins the settings of a backlog: ageing, weights.
    ///
    /// ```
    /// use wq_priority::{GroupId, Priority};
    ///
    /// let backlog = Priority::builder().aged_turn_every(8).weight(GroupId::of("paying"), 3).build()?;
    /// assert_eq!(backlog.longest_wait(3), Some(16));
    /// assert_eq!(
    ///     Priority::builder().aged_turn_every(0).build().unwrap_err().to_string(),
    ///     "aged_turn_every is 0 but must be at least 1; call strict for a backlog without ageing"
    /// );
    /// # Ok::<(), wq_priority::InvalidPriority>(())
    /// ```
    pub const fn builder() -> Builder {
        Builder::new()
    }

    pub(crate) fn with(aged_turn_every: Option<NonZeroU32>, weights: Weights) -> Self {
        Self { places: Vec::new(), len: 0, levels: Levels::new(aged_turn_every), lines: Lines::new(weights) }
    }

    /// How many hand-outs the first item of any priority lets go before it at most, while at most so many priorities are in
    /// use: a bound to size a system by. `None` without ageing, where there is none.
    #[must_use]
    pub fn longest_wait(&self, priorities: u32) -> Option<u64> {
        let below_the_highest = u64::from(priorities.saturating_sub(1));
        self.levels.aged_turn_every().map(|every| u64::from(every.get()) * below_the_highest)
    }

    /// The priorities that something is queued under, the lowest first, with how many items.
    pub fn counts(&self) -> impl Iterator<Item = (i32, usize)> {
        self.levels.counts()
    }

    #[inline]
    fn enter(&mut self, id: SlotId, order: Order) {
        let at = self.levels.of(order.priority);
        self.levels.enter(at);
        self.lines.push((at, self.levels.at(at)), order.group, &mut self.places, id.index());
    }

    /// Where the item waits: line, level, and its order.
    #[inline]
    fn find(&self, id: SlotId) -> Option<(u32, u32, Order)> {
        let line = self.places.get(id.index() as usize)?.line()?;
        let (at, group) = self.lines.of(line)?;
        let priority = self.levels.get(at)?.priority;
        Some((line, at, Order { priority, group, on_merge: OnMerge::Raise }))
    }

    #[inline]
    fn leave(&mut self, level: u32) {
        if let Some(gone) = self.levels.leave(level) {
            self.lines.free(gone);
        }
    }
}

impl Default for Priority {
    fn default() -> Self {
        Self::new()
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
        let index = id.index() as usize;
        if index >= self.places.len() {
            self.places.resize(index + 1, Place::NOWHERE);
        } else if self.places[index].line().is_some() {
            self.remove(id); // The queue breaks the rules.
        }
        self.enter(id, order);
        self.len += 1;
    }

    fn touch(&mut self, id: SlotId, order: &Order) {
        let Some((line, level, held)) = self.find(id) else { return };
        let mut merged = held;
        Self::merge(&mut merged, *order);
        let moves = (merged.priority, merged.group) != (held.priority, held.group);
        if !moves || planted("raised-item-keeps-its-place") {
            return;
        }
        self.lines.remove(line, self.levels.at(level), &mut self.places, id.index());
        // In this order: a priority that stays in use keeps its age.
        self.enter(id, merged);
        self.leave(level);
    }

    #[inline]
    fn pop(&mut self) -> Option<(SlotId, Order)> {
        let at = self.levels.next()?;
        let level = self.levels.at(at);
        let priority = level.priority;
        let (item, group) = self.lines.pop(level, &mut self.places);
        self.leave(at);
        self.len -= 1;
        Some((SlotId::from_index(item), Order { priority, group, on_merge: OnMerge::Raise }))
    }

    fn remove(&mut self, id: SlotId) -> Option<Order> {
        let (line, level, order) = self.find(id)?;
        self.lines.remove(line, self.levels.at(level), &mut self.places, id.index());
        self.leave(level);
        if !planted("remove-leaves-its-count") {
            self.len -= 1;
        }
        Some(order)
    }

    #[inline]
    fn len(&self) -> usize {
        self.len
    }

    fn shrink(&mut self) {
        let used = self.places.iter().rposition(|place| place.line().is_some()).map_or(0, |last| last + 1);
        if self.places.capacity() / 4 > used {
            // Half of it is left free: who shrinks often does not copy often.
            self.places.truncate(used);
            self.places.shrink_to(2 * used);
        }
        if let Some(to) = self.lines.shrink(&mut self.places) {
            self.levels.renumber_lines(&to);
        }
        if let Some(to) = self.levels.shrink() {
            self.lines.renumber_levels(&to);
        }
    }
}

impl Survey for Priority {
    /// The priorities of what still has to be handed out, with how many items.
    type Found = BTreeMap<i32, usize>;

    fn survey<'a>(&'a self, to_run_again: impl Iterator<Item = &'a Order>, found: &mut BTreeMap<i32, usize>) {
        self.counts().for_each(|(priority, count)| *found.entry(priority).or_default() += count);
        to_run_again.for_each(|order| *found.entry(order.priority).or_default() += 1);
    }
}
