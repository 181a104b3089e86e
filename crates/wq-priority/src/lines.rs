//! `Lines`: the items of one group under one priority wait in one line, first in first out; the lines of a priority take
//! turns in a ring, weighted. Pure.

use std::collections::HashMap;
use std::num::NonZeroU32;

use wq_core::DefaultHasher;

use crate::chain::{Chain, Link, Member, NIL, renumber};
use crate::levels::Level;
use crate::order::GroupId;
use crate::planted::planted;
use crate::pool::Pool;
use crate::steps::step;

/// How many turns in a row each group gets; one for those that are not named.
pub(crate) type Weights = HashMap<GroupId, NonZeroU32, DefaultHasher>;

/// The lines of one priority that have an item: whose turn it is in front, then who comes next.
#[derive(Clone, Debug)]
pub(crate) struct Ring {
    lines: Chain,
    /// Turns that the line in front has had.
    used: u32,
}

impl Ring {
    pub(crate) const EMPTY: Self = Self { lines: Chain::EMPTY, used: 0 };

    pub(crate) fn renumber(&mut self, to: &[u32]) {
        self.lines.renumber(to);
    }
}

#[derive(Clone, Debug)]
struct Line {
    items: Chain,
    /// In the ring.
    link: Link,
    level: u32,
    weight: u32,
    group: Option<GroupId>,
}

impl Member for Line {
    #[inline]
    fn link(&mut self) -> &mut Link {
        &mut self.link
    }
}

/// Where an item waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// In the line.
    link: Link,
    /// `NIL`: it waits nowhere.
    line: u32,
}

impl Place {
    pub(crate) const NOWHERE: Self = Self { link: Link::NONE, line: NIL };

    #[inline]
    pub(crate) const fn line(self) -> Option<u32> {
        if self.line == NIL { None } else { Some(self.line) }
    }
}

impl Member for Place {
    #[inline]
    fn link(&mut self) -> &mut Link {
        &mut self.link
    }
}

/// A priority and a group, as `Lines` finds them.
#[derive(Clone, Copy, Debug, Eq, Hash)]
#[expect(clippy::derived_hash_with_manual_eq, reason = "equality is the derived one, counted")]
struct Key(i32, GroupId);

impl PartialEq for Key {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        step();
        (self.0, self.1) == (other.0, other.1)
    }
}

/// Invariant: a line has an item, and then it is in its level's ring, or it is its level's line of items in no group.
#[derive(Clone, Debug)]
pub(crate) struct Lines {
    pool: Pool<Line>,
    /// All but those of items in no group.
    by_group: HashMap<Key, u32, DefaultHasher>,
    weights: Weights,
}

impl Lines {
    pub(crate) fn new(weights: Weights) -> Self {
        Self { pool: Pool::new(), by_group: HashMap::default(), weights }
    }

    /// The level of a line, and its group.
    #[inline]
    pub(crate) fn of(&self, line: u32) -> Option<(u32, Option<GroupId>)> {
        self.pool.get(line).map(|line| (line.level, line.group))
    }

    /// Puts an item that waits nowhere at the end of its group's line.
    #[inline]
    pub(crate) fn push(
        &mut self,
        (at, level): (u32, &mut Level),
        group: Option<GroupId>,
        places: &mut [Place],
        item: u32,
    ) {
        let index = match group {
            None if level.ungrouped != NIL => level.ungrouped,
            None => {
                level.ungrouped = self.make(at, None);
                level.ungrouped
            }
            Some(group) => match self.by_group.get(&Key(level.priority, group)) {
                Some(&index) => index,
                None => {
                    let index = self.make(at, Some(group));
                    self.by_group.insert(Key(level.priority, group), index);
                    index
                }
            },
        };
        let line = self.pool.at(index);
        let was_empty = line.items.is_empty();
        places[item as usize].line = index;
        line.items.push_back(places, item);
        if was_empty {
            // Behind all others: a group that empties itself gains nothing by it.
            level.ring.lines.push_back(self.pool.members(), index);
        }
    }

    fn make(&mut self, level: u32, group: Option<GroupId>) -> u32 {
        let weight = group.and_then(|group| self.weights.get(&group)).map_or(1, |weight| weight.get());
        self.pool.insert(Line { items: Chain::EMPTY, link: Link::NONE, level, weight, group })
    }

    /// Takes out the item whose turn it is under a level that has one.
    #[inline]
    pub(crate) fn pop(&mut self, level: &mut Level, places: &mut [Place]) -> (u32, Option<GroupId>) {
        let index = level.ring.lines.first();
        let line = self.pool.at(index);
        let (item, group, weight) = (line.items.first(), line.group, line.weight);
        line.items.remove(places, item);
        places[item as usize].line = NIL;
        let is_empty = line.items.is_empty();
        level.ring.used += 1;
        if is_empty {
            self.empties(level, index);
        } else if level.ring.used >= weight && !planted("groups-take-no-turns") {
            level.ring.used = 0;
            level.ring.lines.move_to_back(self.pool.members(), index);
        }
        (item, group)
    }

    /// Takes an item out of its line, wherever it is.
    pub(crate) fn remove(&mut self, index: u32, level: &mut Level, places: &mut [Place], item: u32) {
        let line = self.pool.at(index);
        line.items.remove(places, item);
        places[item as usize].line = NIL;
        if line.items.is_empty() {
            self.empties(level, index);
        }
    }

    /// A line has lost its last item: it leaves the ring, and what is left of its turn is lost.
    fn empties(&mut self, level: &mut Level, index: u32) {
        if level.ring.lines.first() == index {
            level.ring.used = 0;
        }
        level.ring.lines.remove(self.pool.members(), index);
        if let Some(group) = self.pool.at(index).group {
            self.by_group.remove(&Key(level.priority, group));
            self.pool.free(index);
        }
    }

    /// The level of a line of items in no group has gone.
    pub(crate) fn free(&mut self, line: u32) {
        self.pool.free(line);
    }

    /// Whether a shrink would give something back.
    pub(crate) fn is_mostly_free(&self) -> bool {
        self.pool.is_mostly_free()
    }

    /// What a shrink looks at, beside the places of items.
    pub(crate) fn places(&self) -> usize {
        self.pool.places()
    }

    /// Gives back memory. If lines have new indices: what each old one became.
    pub(crate) fn shrink(&mut self, places: &mut [Place]) -> Option<Vec<u32>> {
        let to = self.pool.shrink()?;
        self.pool.members().iter_mut().for_each(|line| line.link.renumber(&to));
        self.by_group.values_mut().for_each(|index| renumber(index, &to));
        self.by_group.shrink_to(2 * self.by_group.len());
        places.iter_mut().for_each(|place| renumber(&mut place.line, &to));
        Some(to)
    }

    /// Levels have new indices.
    pub(crate) fn renumber_levels(&mut self, to: &[u32]) {
        self.pool.members().iter_mut().for_each(|line| renumber(&mut line.level, to));
    }
}
