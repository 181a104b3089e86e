//! `Parked`: items that have used up their retries and wait for something to change. Pure.
//!
//! A mark beside the queue, not in it: an item that comes back keeps its mark until its work ends, so that neither adds nor
//! hand-outs have to look here.

use crate::records::{DEFAULT_MAX_ITEMS, Records};
use crate::remembered::Remembered;
use std::hash::{BuildHasher, Hash};
use std::mem;
use std::time::{Duration, Instant};

/// A mark that nobody has touched for so long is forgotten: the object is most likely gone.
const IDLE: Duration = Duration::from_hours(24);

#[derive(Debug)]
pub(crate) struct Parked<T, O, S> {
    marks: Records<T, Mark<O>, S>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Mark<O> {
    pub(crate) order: O,
    pub(crate) attempts: u32,
}

impl<T, O, S> Parked<T, O, S> {
    pub(crate) fn new(hasher: S) -> Self {
        Self { marks: Records::new(hasher, IDLE, DEFAULT_MAX_ITEMS) }
    }

    pub(crate) fn items(&self) -> impl Iterator<Item = &T> {
        self.marks.iter().map(|(item, _)| item)
    }

    pub(crate) fn remembered(&self) -> Remembered {
        self.marks.remembered()
    }
}

impl<T: Hash + Eq + Clone, O: Default, S: BuildHasher> Parked<T, O, S> {
    /// Hands out the mark that it had, to be dropped after the lock.
    pub(crate) fn park(&mut self, item: &T, mark: Mark<O>, now: Instant, discarded: &mut Vec<T>) -> Mark<O> {
        let held = mem::replace(self.marks.entry(item, now, |_| false), mark);
        discarded.append(&mut self.marks.take_discarded());
        held
    }

    /// The attempts that it was parked with.
    pub(crate) fn attempts(&self, item: &T) -> Option<u32> {
        self.marks.get(item).map(|mark| mark.attempts)
    }

    pub(crate) fn take(&mut self, item: &T, discarded: &mut Vec<T>) -> Option<Mark<O>> {
        let mark = self.marks.remove(item);
        discarded.append(&mut self.marks.take_discarded());
        mark
    }
}
