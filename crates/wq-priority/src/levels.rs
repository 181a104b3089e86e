//! `Levels`: which priorities are in use, and which of them has the next turn. Pure; it counts hand-outs and knows no clock.
//!
//! Each hand-out goes to the highest priority, but every n-th goes to the one whose last turn, or first use, is longest
//! ago. So whatever is added above it, the head of a priority lets at most `n` others go before it for each priority in
//! use below the highest, its own among them.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::num::NonZeroU32;

use crate::chain::{Chain, Link, Member, NIL, renumber};
use crate::lines::Ring;
use crate::planted::planted;
use crate::pool::Pool;
use crate::steps::step;

/// So many priorities that nothing is queued under are kept to be used again: in a queue that is nearly empty each item
/// opens and closes its own. The one that has been idle for longest goes first.
const MAX_IDLE: u32 = 8;

/// A priority, as `Levels` finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rank(i32);

impl Ord for Rank {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        step();
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Rank {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The items of one priority.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    pub(crate) priority: i32,
    /// How many items there are. It is in use if there are some, and idle otherwise.
    pub(crate) queued: u32,
    pub(crate) ring: Ring,
    /// The line of the items in no group, `NIL` if it was never needed.
    pub(crate) ungrouped: u32,
    /// Among those that wait for a turn, or among the idle ones.
    link: Link,
}

impl Member for Level {
    #[inline]
    fn link(&mut self) -> &mut Link {
        &mut self.link
    }
}

/// Invariant: `by_priority` holds the levels in use and the idle ones; `waiting` exactly those in use, `resting` the others.
#[derive(Clone, Debug)]
pub(crate) struct Levels {
    pool: Pool<Level>,
    by_priority: BTreeMap<Rank, u32>,
    /// Longest wait first.
    waiting: Chain,
    /// Longest idle first.
    resting: Chain,
    /// Of those in use, `NIL` if there is none.
    highest: u32,
    idle: u32,
    /// `None`: strictly by priority.
    aged_turn_every: Option<NonZeroU32>,
    /// Since the last aged turn.
    hand_outs: u32,
}

impl Levels {
    pub(crate) const fn new(aged_turn_every: Option<NonZeroU32>) -> Self {
        Self {
            pool: Pool::new(),
            by_priority: BTreeMap::new(),
            waiting: Chain::EMPTY,
            resting: Chain::EMPTY,
            highest: NIL,
            idle: 0,
            aged_turn_every,
            hand_outs: 0,
        }
    }

    pub(crate) const fn aged_turn_every(&self) -> Option<NonZeroU32> {
        self.aged_turn_every
    }

    #[inline]
    pub(crate) fn get(&self, index: u32) -> Option<&Level> {
        self.pool.get(index)
    }

    #[inline]
    pub(crate) fn at(&mut self, index: u32) -> &mut Level {
        self.pool.at(index)
    }

    /// The level of a priority, idle if it is new.
    #[inline]
    pub(crate) fn of(&mut self, priority: i32) -> u32 {
        if let Some(highest) = self.pool.get(self.highest)
            && highest.priority == priority
        {
            return self.highest;
        }
        match self.by_priority.get(&Rank(priority)) {
            Some(&index) => index,
            None => self.make(priority),
        }
    }

    fn make(&mut self, priority: i32) -> u32 {
        let level = Level { priority, queued: 0, ring: Ring::EMPTY, ungrouped: NIL, link: Link::NONE };
        let index = self.pool.insert(level);
        self.by_priority.insert(Rank(priority), index);
        self.resting.push_back(self.pool.members(), index);
        self.idle += 1;
        index
    }

    /// An item is queued under this level.
    #[inline]
    pub(crate) fn enter(&mut self, index: u32) {
        let level = self.pool.at(index);
        level.queued += 1;
        if level.queued == 1 {
            self.open(index);
            self.waiting.push_back(self.pool.members(), index);
        }
    }

    /// An item is queued under this level that has waited under that one so far, and is about to leave it. If the one opens as the
    /// other closes, it takes its place. A level that stays in use keeps its place: with a new one before it, its head would
    /// wait for each of those behind it that is raised.
    pub(crate) fn enter_from(&mut self, index: u32, lower: u32) {
        let closes = self.pool.at(lower).queued == 1;
        if self.pool.at(index).queued > 0 || !closes {
            return self.enter(index);
        }
        self.pool.at(index).queued = 1;
        self.open(index);
        self.waiting.insert_before(self.pool.members(), index, lower);
    }

    fn open(&mut self, index: u32) {
        self.idle -= 1;
        self.resting.remove(self.pool.members(), index);
        let of = |index| self.pool.get(index).map(|level| level.priority);
        if of(index) > of(self.highest) {
            self.highest = index;
        }
    }

    /// An item is queued under this level no more. Hands out the line that has gone with the level, if both have.
    #[inline]
    pub(crate) fn leave(&mut self, index: u32) -> Option<u32> {
        let level = self.pool.at(index);
        level.queued -= 1;
        if level.queued == 0 { self.close(index) } else { None }
    }

    fn close(&mut self, index: u32) -> Option<u32> {
        self.waiting.remove(self.pool.members(), index);
        self.resting.push_back(self.pool.members(), index);
        if self.highest == index {
            // At most all idle ones are passed over.
            let below = ..Rank(self.pool.at(index).priority);
            let in_use = |index: &&u32| {
                step();
                self.pool.get(**index).is_some_and(|level| level.queued > 0)
            };
            let next = self.by_priority.range(below).rev().map(|(_, index)| index).find(in_use);
            self.highest = next.copied().unwrap_or(NIL);
        }
        self.idle += 1;
        if self.idle <= MAX_IDLE {
            return None;
        }
        self.idle -= 1;
        let gone = self.resting.first();
        let &mut Level { priority, ungrouped, .. } = self.pool.at(gone);
        self.resting.remove(self.pool.members(), gone);
        self.by_priority.remove(&Rank(priority));
        self.pool.free(gone);
        (ungrouped != NIL).then_some(ungrouped)
    }

    /// Gives the next turn to a level. `None` if none is in use.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<u32> {
        if self.highest == NIL {
            return None;
        }
        let mut chosen = self.highest;
        if let Some(every) = self.aged_turn_every
            && !planted("ageing-never-counts")
        {
            self.hand_outs += 1;
            if self.hand_outs >= every.get() {
                self.hand_outs = 0;
                chosen = self.waiting.first();
            }
        }
        self.waiting.move_to_back(self.pool.members(), chosen);
        Some(chosen)
    }

    /// The priorities in use, the lowest first, with the number of items queued under each.
    pub(crate) fn counts(&self) -> impl DoubleEndedIterator<Item = (i32, usize)> {
        let levels = self.by_priority.values().filter_map(|index| {
            step();
            self.pool.get(*index)
        });
        levels.filter(|level| level.queued > 0).map(|level| (level.priority, level.queued as usize))
    }

    /// How many items are queued under a priority.
    pub(crate) fn queued(&self, priority: i32) -> usize {
        let level = self.by_priority.get(&Rank(priority)).and_then(|index| self.pool.get(*index));
        level.map_or(0, |level| level.queued as usize)
    }

    #[cfg(test)]
    pub(crate) fn knows(&self, priority: i32) -> bool {
        self.by_priority.contains_key(&Rank(priority))
    }

    /// Whether a shrink would give something back.
    pub(crate) fn is_mostly_free(&self) -> bool {
        self.pool.is_mostly_free()
    }

    /// What a shrink looks at, beside the lines.
    pub(crate) fn places(&self) -> usize {
        self.pool.places()
    }

    /// Gives back memory. If levels have new indices: what each old one became.
    pub(crate) fn shrink(&mut self) -> Option<Vec<u32>> {
        let to = self.pool.shrink()?;
        self.waiting.renumber(&to);
        self.resting.renumber(&to);
        renumber(&mut self.highest, &to);
        self.by_priority.values_mut().for_each(|index| renumber(index, &to));
        self.pool.members().iter_mut().for_each(|level| level.link.renumber(&to));
        Some(to)
    }

    /// The lines of all levels have new indices.
    pub(crate) fn renumber_lines(&mut self, to: &[u32]) {
        for level in self.pool.members() {
            level.ring.renumber(to);
            renumber(&mut level.ungrouped, to);
        }
    }
}
