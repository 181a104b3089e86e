//! `Priority`: the backlog, which knows the place of each queued id. Which priority has the next turn is in `levels`, which
//! group of it in `lines`.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::num::NonZeroU32;

use wq_core::{Backlog, DefaultHasher, SlotId, Survey};

use crate::builder::{AGED_TURN_EVERY, Builder};
use crate::depths::Depths;
use crate::levels::Levels;
use crate::lines::{Lines, Place, Weights};
use crate::order::{GroupId, OnMerge, Order};
use crate::planted::planted;
use crate::steps::step;

/// So much that came in with an item a shrink may have to look at: a place, a line, which it looks at twice, and a level.
const LOOKS: usize = 4;
/// So many times an item goes to the end of another group's line while it waits under one priority.
const MOVES: u32 = 4;

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
/// line; for its group's sake at most four times. After that it keeps its place in the line where it is, whatever group it is
/// said to be of, and so is handed out within five times the wait of a line's last. A change of priority begins that anew. But when an
/// item that is alone under its priority is raised to one that nothing is queued under, that one has waited as long as the one that
/// the item leaves: the item waits no longer for being raised. A priority that it leaves others under keeps its turn, and what
/// is raised from it comes in behind. Who lowers an item again and again means it.
///
/// All operations take constant time, but for a search among the priorities in use, in logarithmic time, when an
/// item of another priority than the highest is added and when the last of the highest leaves.
#[derive(Debug, Clone)]
#[doc(alias = "priorityqueue")]
pub struct Priority {
    /// Indexed by slot.
    places: Vec<Place>,
    len: usize,
    levels: Levels,
    lines: Lines,
    /// The items that have changed their group while they wait: few, and mostly none.
    movers: HashMap<u32, Mover, DefaultHasher>,
    /// What the items that have come in pay for, less what shrinks have looked at since: a shrink costs them little each.
    earned: usize,
}

/// An item that has changed its group under the priority that it has.
#[derive(Debug, Clone)]
struct Mover {
    moves: u32,
    /// The group that it is said to be of. It may wait in the line of another.
    group: Option<GroupId>,
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
        Self {
            places: Vec::new(),
            len: 0,
            levels: Levels::new(aged_turn_every),
            lines: Lines::new(weights),
            movers: HashMap::default(),
            earned: 0,
        }
    }

    /// How many hand-outs the first item of any priority lets go before it at most, while at most so many priorities are in
    /// use: a bound to size a system by. It holds whatever is added, raised, lowered and taken out meanwhile. For an item that is
    /// raised or lowered itself it begins anew, unless it is the last of its priority and is raised to one that nothing is queued
    /// under. `None` without ageing, where there is none.
    #[must_use]
    pub fn longest_wait(&self, priorities: u32) -> Option<u64> {
        let below_the_highest = u64::from(priorities.saturating_sub(1));
        self.levels.aged_turn_every().map(|every| u64::from(every.get()) * below_the_highest)
    }

    /// The priorities that something is queued under, the lowest first, with how many items.
    pub fn counts(&self) -> impl Iterator<Item = (i32, usize)> {
        self.levels.counts()
    }

    /// `raised_from` is the level that the item waited under, if that was a lower one.
    #[inline]
    fn enter(&mut self, id: SlotId, order: Order, raised_from: Option<u32>) {
        self.earned = self.earned.saturating_add(LOOKS);
        let at = self.levels.of(order.priority);
        match raised_from {
            Some(lower) => self.levels.enter_from(at, lower),
            None => self.levels.enter(at),
        }
        self.lines.push((at, self.levels.at(at)), order.group, &mut self.places, id.index());
    }

    /// Where the item waits: line, level, and its order.
    #[inline]
    fn find(&self, id: SlotId) -> Option<(u32, u32, Order)> {
        let line = self.places.get(id.index() as usize)?.line()?;
        let (at, group) = self.lines.of(line)?;
        let priority = self.levels.get(at)?.priority;
        let mover = if self.movers.is_empty() { None } else { self.movers.get(&id.index()) };
        let group = mover.map_or(group, |mover| mover.group);
        Some((line, at, Order { priority, group, on_merge: OnMerge::Raise }))
    }

    /// The item waits no more: the group that it is said to be of.
    #[inline]
    fn group_told(&mut self, item: u32, group: Option<GroupId>) -> Option<GroupId> {
        if self.movers.is_empty() {
            return group;
        }
        self.movers.remove(&item).map_or(group, |mover| mover.group)
    }

    /// Whether an item that changes its group may go to that one's line.
    fn may_move(&mut self, item: u32, held: &Order, merged: &Order) -> bool {
        if held.priority != merged.priority {
            self.movers.remove(&item);
            return true;
        }
        let mover = self.movers.entry(item).or_insert(Mover { moves: 0, group: None });
        mover.group = merged.group;
        mover.moves = mover.moves.saturating_add(1);
        mover.moves <= MOVES
    }

    /// Pays for so much that a shrink is to look at, if that has been earned.
    fn pays(&mut self, looks: usize) -> bool {
        let pays = self.earned >= looks;
        if pays {
            self.earned -= looks;
        }
        pays
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
            (self.places.len()..=index).for_each(|_| step());
            self.places.resize(index + 1, Place::NOWHERE);
        } else if self.places[index].line().is_some() {
            self.remove(id); // The queue breaks the rules.
        }
        self.enter(id, order, None);
        self.len += 1;
    }

    fn touch(&mut self, id: SlotId, order: &Order) {
        let Some((line, level, held)) = self.find(id) else { return };
        let mut merged = held;
        Self::merge(&mut merged, *order);
        let moves = (merged.priority, merged.group) != (held.priority, held.group);
        if !moves || planted("raised-item-keeps-its-place") || !self.may_move(id.index(), &held, &merged) {
            return;
        }
        self.lines.remove(line, self.levels.at(level), &mut self.places, id.index());
        // In this order: a priority that stays in use keeps its age.
        self.enter(id, merged, (merged.priority > held.priority).then_some(level));
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
        let group = self.group_told(item, group);
        Some((SlotId::from_index(item), Order { priority, group, on_merge: OnMerge::Raise }))
    }

    fn remove(&mut self, id: SlotId) -> Option<Order> {
        let (line, level, order) = self.find(id)?;
        self.lines.remove(line, self.levels.at(level), &mut self.places, id.index());
        self.leave(level);
        self.movers.remove(&id.index());
        self.len -= 1;
        Some(order)
    }

    #[inline]
    fn len(&self) -> usize {
        self.len
    }

    /// What has not been paid for by as many items that came in is left for a later time: memory for few that come and go
    /// beside one that stays at the end is kept, as giving it back and taking it again would cost each of them.
    fn shrink(&mut self) {
        if self.pays(self.places.len()) {
            while self.places.last().is_some_and(|place| place.line().is_none()) {
                step();
                self.places.pop();
            }
            self.earned += self.places.len(); // These were not looked at.
            if self.places.capacity() / 4 > self.places.len() {
                // Half of it is left free: who shrinks often does not copy often.
                self.places.shrink_to(2 * self.places.len());
            }
        }
        if self.movers.capacity() / 4 > self.movers.len() {
            self.movers.shrink_to(2 * self.movers.len());
        }
        if self.lines.is_mostly_free()
            && self.pays(self.lines.places() + self.places.len())
            && let Some(to) = self.lines.shrink(&mut self.places)
        {
            self.levels.renumber_lines(&to);
        }
        if self.levels.is_mostly_free()
            && self.pays(self.levels.places() + self.lines.places())
            && let Some(to) = self.levels.shrink()
        {
            self.lines.renumber_levels(&to);
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
        // At most those that have a label are passed over, and the idle ones.
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
