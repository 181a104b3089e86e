//! Memory: what a `MultiStore` remembers of both halves and of its own writes.

use std::collections::VecDeque;

use super::half::{Attempt, Half, Halves};
use super::order;
use crate::record::{Record, StoredLease};
use crate::version::Version;

/// The observations and the writes of this store.
#[derive(Default)]
pub(super) struct Memory {
    /// The newest state of each half that was reported, read, created or completely written. An
    /// event of one half is joined to the known state of the other.
    pub(super) latest: Halves,
    /// The last reported states, newest at the back.
    pub(super) told: VecDeque<Told>,
    /// The last writes sent, newest at the back; one of them may be half made.
    pub(super) attempts: VecDeque<Attempt>,
    /// The version of the primary half after the last complete write of this store.
    pub(super) written: Option<Version>,
    /// The half that was refused after the other one was made, until a write of it succeeds.
    /// Another candidate's success says nothing.
    pub(super) forbidden: Option<Half>,
}

/// A reported state of both halves.
pub(super) struct Told {
    pub(super) lease: StoredLease,
    pub(super) halves: Halves,
}

/// How often the rest of an acquisition or renewal is tried before it is made anew. The elector
/// takes each try for a write of its own and keeps 64 (`MAX_PENDING`), which must include the write
/// that is made in the end.
const TRIES: u32 = 8;

/// Events and reads may report a few states between a state and the write on it.
const REMEMBERED: usize = 16;

impl Memory {
    pub(super) fn told(&self, version: &Version) -> Option<&Told> {
        self.told.iter().find(|told| told.lease.version == *version)
    }

    /// The rest of a half-made own write: the missing half and its record. `None` if `record` has
    /// another purpose, or either half has changed since. It need not be the last write: a leader
    /// that got no answer tries on the version before.
    pub(super) fn rest(&self, base: &Version, record: &Record) -> Option<(Half, Record)> {
        let halves = &self.told(base)?.halves;
        let (begun, made) = halves.half_made(&self.attempts)?;
        let left = made.other();
        let is_held = !halves.get(left)?.record.is_free();
        let is_same = match record.is_free() {
            // A half that is free already stays as it is. A change would restart the others' wait.
            // If it came before the rest of this write, both halves would be free but different,
            // and a successor would meet that rest.
            true => begun.record.is_free() && is_held,
            // A candidate that gets no answers, or may not write again so soon, would make each
            // half anew in turn, and never both. (Not after a claim: the last observation has no
            // object of its half.)
            false => !begun.record.is_free() && begun.halves.are_whole() && begun.tries < TRIES,
        };
        is_same.then(|| (left, begun.record.clone()))
    }

    /// Counts a try of the rest of this write.
    pub(super) fn try_rest(&mut self, record: &Record) {
        let same = self.attempts.iter_mut().filter(|attempt| attempt.record == *record);
        same.for_each(|attempt| attempt.tries += 1);
    }

    /// The half of a write on `base` that is sent first.
    pub(super) fn first(&self, base: &Version, record: &Record) -> Half {
        let Some(halves) =
            self.told(base).map(|told| &told.halves).filter(|halves| halves.are_whole())
        else {
            return Half::Primary;
        };
        match record.is_free() {
            true => order::of_release(halves, &self.attempts),
            false => order::of_hold(halves, &self.attempts, self.forbidden),
        }
    }
}

pub(super) fn push<T>(queue: &mut VecDeque<T>, newest: T) {
    while queue.len() >= REMEMBERED {
        queue.pop_front();
    }
    queue.push_back(newest);
}
