//! `PriorityLevels`: which priorities are in use, and which of them has the next turn. Pure.
//!
//! Each hand-out goes to the highest priority. Every n-th goes instead to the priority whose last
//! turn, or first use, is longest ago. So at most `n` other items pass the first item of a priority
//! for each priority in use below the highest.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use crate::groups::RoundRobin;
use crate::list::{IntrusiveList, Link, Member, NIL};
use crate::planted::planted;
use crate::pool::Pool;

/// The number of empty levels that are kept. A queue that is nearly empty most of the time then
/// does not open and close a level for each item.
const IDLE_LEVELS: u32 = 8;

/// The items of one priority.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    pub(crate) priority: i32,
    queued: u32,
    pub(crate) groups: RoundRobin,
    /// In `by_age` or in `idle`.
    link: Link,
}

impl Member for Level {
    #[inline]
    fn link(&mut self) -> &mut Link {
        &mut self.link
    }
}

/// Invariant: a level with an item is in `by_age`, an empty one in `idle`.
#[derive(Clone, Debug)]
pub(crate) struct PriorityLevels {
    pool: Pool<Level>,
    by_priority: BTreeMap<i32, u32>,
    /// The level whose last turn is longest ago comes first.
    by_age: IntrusiveList,
    /// Empty levels. The level that is empty for longest comes first.
    idle: IntrusiveList,
    idle_levels: u32,
    /// `NIL` if no level has an item.
    highest: u32,
    /// `None`: strictly by priority.
    aging_interval: Option<NonZeroU32>,
    hand_outs_since_aged: u32,
}

impl PriorityLevels {
    pub(crate) const fn new(aging_interval: Option<NonZeroU32>) -> Self {
        Self {
            pool: Pool::new(),
            by_priority: BTreeMap::new(),
            by_age: IntrusiveList::EMPTY,
            idle: IntrusiveList::EMPTY,
            idle_levels: 0,
            highest: NIL,
            aging_interval,
            hand_outs_since_aged: 0,
        }
    }

    pub(crate) const fn aging_interval(&self) -> Option<NonZeroU32> {
        self.aging_interval
    }

    #[inline]
    pub(crate) fn get(&self, index: u32) -> Option<&Level> {
        self.pool.get(index)
    }

    #[inline]
    pub(crate) fn at(&mut self, index: u32) -> &mut Level {
        self.pool.at(index)
    }

    /// Counts one more item of this priority. Returns its level, which is new if it was the first.
    #[inline]
    pub(crate) fn enter(&mut self, priority: i32) -> u32 {
        let index = match self.pool.get(self.highest) {
            Some(highest) if highest.priority == priority => self.highest,
            _ => match self.by_priority.get(&priority) {
                Some(&index) => index,
                None => self.make(priority),
            },
        };
        let level = self.pool.at(index);
        level.queued += 1;
        if level.queued == 1 {
            self.open(index, priority);
        }
        index
    }

    fn make(&mut self, priority: i32) -> u32 {
        let index = self.pool.reuse().unwrap_or_else(|| {
            let groups = RoundRobin::EMPTY;
            self.pool.insert(Level { priority, queued: 0, groups, link: Link::NONE })
        });
        self.pool.at(index).priority = priority; // A level keeps its queue of items without a group.
        self.by_priority.insert(priority, index);
        self.idle.push_back(self.pool.members(), index);
        self.idle_levels += 1;
        index
    }

    /// An empty level got an item.
    fn open(&mut self, index: u32, priority: i32) {
        self.idle.remove(self.pool.members(), index);
        self.idle_levels -= 1;
        self.by_age.push_back(self.pool.members(), index);
        if self.pool.get(self.highest).is_none_or(|highest| highest.priority < priority) {
            self.highest = index;
        }
    }

    /// Counts one item of this level less.
    #[inline]
    pub(crate) fn leave(&mut self, index: u32) {
        let level = self.pool.at(index);
        level.queued -= 1;
        if level.queued == 0 {
            self.close(index);
        }
    }

    /// A level lost its last item.
    fn close(&mut self, index: u32) {
        self.by_age.remove(self.pool.members(), index);
        self.idle.push_back(self.pool.members(), index);
        if self.highest == index {
            // Passes over the empty levels at most.
            let below = self.by_priority.range(..self.pool.at(index).priority).rev();
            let next = below
                .map(|(_, index)| *index)
                .find(|&index| self.pool.get(index).is_some_and(|level| level.queued > 0));
            self.highest = next.unwrap_or(NIL);
        }
        if self.idle_levels < IDLE_LEVELS {
            self.idle_levels += 1;
            return;
        }
        let oldest = self.idle.first();
        let priority = self.pool.at(oldest).priority;
        self.idle.remove(self.pool.members(), oldest);
        self.by_priority.remove(&priority);
        self.pool.free(oldest);
    }

    /// Gives the next turn to a level. At least one must have an item.
    #[inline]
    pub(crate) fn next(&mut self) -> u32 {
        let mut chosen = self.highest;
        if let Some(interval) = self.aging_interval
            && !planted("ageing-never-counts")
        {
            self.hand_outs_since_aged += 1;
            if self.hand_outs_since_aged >= interval.get() {
                self.hand_outs_since_aged = 0;
                chosen = self.by_age.first();
            }
        }
        self.by_age.move_to_back(self.pool.members(), chosen);
        chosen
    }

    /// The priorities in use, the lowest first, with the number of items queued under each.
    pub(crate) fn counts(&self) -> impl DoubleEndedIterator<Item = (i32, usize)> {
        let levels = self.by_priority.values().filter_map(|index| self.pool.get(*index));
        levels.filter(|level| level.queued > 0).map(|level| (level.priority, level.queued as usize))
    }

    /// How many items are queued under a priority.
    pub(crate) fn queued(&self, priority: i32) -> usize {
        let level = self.by_priority.get(&priority).and_then(|index| self.pool.get(*index));
        level.map_or(0, |level| level.queued as usize)
    }

    /// Releases all memory. No level may have an item.
    pub(crate) fn release(&mut self) {
        let hand_outs_since_aged = self.hand_outs_since_aged;
        *self = Self { hand_outs_since_aged, ..Self::new(self.aging_interval) };
    }
}
