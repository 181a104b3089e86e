//! The naive queue: searched lists, and the rules word by word.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use wq_ratelimit::{Added, Scheduled};

/// Nanoseconds of a wait, or since the start.
pub(crate) type Nanos = u128;

/// The shortest wait and the longest.
pub(crate) const PACE: (u64, u64) = (4, 50);

/// The end of a queue's time line. An item with this deadline is never due.
const NEVER: Nanos = u64::MAX as Nanos;

/// From this length on no instant can express the end of a back-off, which then lasts for [`FAR`].
const FOREVER: Nanos = Duration::MAX.as_nanos();
const FAR: Nanos = Duration::from_hours(24 * 365 * 200).as_nanos();

/// The request of a failed attempt.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ask {
    Limiter,
    NotBefore(Nanos),
    Min(Nanos),
    Max(Nanos),
    Sum(Nanos),
    Override(Nanos),
}

impl Ask {
    /// Combines the request with the limiter's wait from `from` to `until`.
    fn combined(self, from: Nanos, until: Nanos, is_early: bool) -> Nanos {
        match self {
            Self::Limiter => until,
            Self::NotBefore(floor) => until.max(floor),
            Self::Min(own) => until.min(from + own),
            Self::Sum(own) if !is_early => until + own,
            Self::Max(own) | Self::Sum(own) => until.max(from + own),
            Self::Override(own) => from + own,
        }
    }

    fn floor(self) -> Option<Nanos> {
        match self {
            Self::NotBefore(floor) => Some(floor),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    Keep,
    Clear,
    Defer,
}

/// The effect of an add without a delay on a deadline that is not a back-off's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Immediate {
    Keep,
    Merge,
    Defer,
}

/// Which of two deadlines counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Second {
    Earliest,
    Latest,
    Replace,
}

#[derive(Debug)]
pub(crate) struct Naive {
    pub(crate) now: Nanos,
    pub(crate) event: Event,
    pub(crate) immediate: Immediate,
    pub(crate) second: Second,
    pub(crate) counts_early: bool,
    pub(crate) is_down: bool,
    adds: u64,
    /// The counted attempts of each item.
    attempts: BTreeMap<u8, u32>,
    /// For each item, the end of its back-off and the time from which its failures count.
    until: BTreeMap<u8, (Nanos, Nanos)>,
    /// Deadline, number, item.
    pub(crate) delayed: Vec<(Nanos, u64, u8)>,
    /// The delayed items that only outcomes have asked for.
    retries: BTreeSet<u8>,
    pub(crate) queued: Vec<u8>,
    /// Items in flight, with their mark to run again and the number of their hand-out.
    processing: BTreeMap<u8, (bool, u64)>,
    hand_outs: u64,
}

impl Naive {
    pub(crate) fn new(
        event: Event,
        immediate: Immediate,
        second: Second,
        counts_early: bool,
    ) -> Self {
        Self {
            now: 0,
            event,
            immediate,
            second,
            counts_early,
            is_down: false,
            adds: 0,
            attempts: BTreeMap::new(),
            until: BTreeMap::new(),
            delayed: Vec::new(),
            retries: BTreeSet::new(),
            queued: Vec::new(),
            processing: BTreeMap::new(),
            hand_outs: 0,
        }
    }

    pub(crate) fn attempts(&self, item: u8) -> u32 {
        self.attempts.get(&item).copied().unwrap_or(0)
    }

    pub(crate) fn deadline(&self, item: u8) -> Option<Nanos> {
        self.delayed.iter().find(|entry| entry.2 == item).map(|entry| entry.0)
    }

    /// An add without a delay.
    pub(crate) fn add(&mut self, item: u8) -> Added {
        self.settle();
        if self.is_down {
            return Added::ShutDown;
        }
        let is_backing_off = self.until.get(&item).is_some_and(|(until, _)| *until > self.now);
        match self.event {
            Event::Clear => {
                self.forget(item);
                if is_backing_off && self.retries.contains(&item) {
                    return self.add_by(Immediate::Merge, item);
                }
            }
            Event::Defer if is_backing_off => return self.add_by(Immediate::Defer, item),
            Event::Keep | Event::Defer => {}
        }
        self.add_by(self.immediate, item)
    }

    fn add_by(&mut self, immediate: Immediate, item: u8) -> Added {
        match immediate {
            Immediate::Defer if self.deadline(item).is_some() => {
                self.retries.remove(&item); // It is a user's request from now on.
                return Added::Merged;
            }
            Immediate::Merge => self.take_delayed(item),
            Immediate::Keep | Immediate::Defer => {}
        }
        self.add_now(item)
    }

    /// Removes the item's deadline, whether a user or an outcome has set it.
    fn take_delayed(&mut self, item: u8) {
        self.delayed.retain(|entry| entry.2 != item);
        self.retries.remove(&item);
    }

    fn add_now(&mut self, item: u8) -> Added {
        if self.is_down {
            return Added::ShutDown;
        }
        match self.processing.get_mut(&item) {
            Some((again, _)) => {
                if std::mem::replace(again, true) {
                    Added::Merged
                } else {
                    Added::Deferred
                }
            }
            None if self.queued.contains(&item) => Added::Merged,
            None => {
                self.queued.push(item);
                Added::Queued
            }
        }
    }

    pub(crate) fn settle(&mut self) {
        self.delayed.sort_unstable();
        while let Some(&(at, _, item)) = self.delayed.first()
            && at <= self.now
            && at != NEVER
        {
            self.delayed.remove(0);
            self.retries.remove(&item);
            self.add_now(item);
        }
    }

    /// Whether the item is queued or will run again.
    fn is_queued(&self, item: u8) -> bool {
        self.queued.contains(&item) || self.processing.get(&item).is_some_and(|(again, _)| *again)
    }

    /// A user's delayed add.
    pub(crate) fn add_at(&mut self, item: u8, at: Nanos) -> Scheduled {
        self.add_later(item, at, false)
    }

    /// Cancels the waiting retry if no user has asked for the item. A retry that is due is queued.
    fn cancel_retry(&mut self, item: u8) {
        self.settle();
        if self.retries.contains(&item) {
            self.take_delayed(item);
        }
    }

    pub(crate) fn retry_after(&mut self, item: u8, at: Nanos) -> Scheduled {
        if self.is_down {
            return Scheduled::ShutDown;
        }
        self.end_back_off(item, self.end_of(at));
        self.add_later(item, at, true)
    }

    /// The end of a back-off that lasts until `at`.
    fn end_of(&self, at: Nanos) -> Nanos {
        if at < FOREVER { at } else { self.now + FAR }
    }

    fn add_later(&mut self, item: u8, at: Nanos, is_retry: bool) -> Scheduled {
        if self.is_down {
            return Scheduled::ShutDown;
        }
        if at <= self.now {
            if is_retry {
                self.cancel_retry(item);
                return Scheduled::Now(self.add_now(item));
            }
            return Scheduled::Now(self.add_by(self.immediate, item));
        }
        self.settle();
        let replaces = is_retry && self.retries.contains(&item);
        self.adds += 1;
        let (at, number) = (at.min(NEVER), self.adds);
        let scheduled = match self.delayed.iter_mut().find(|entry| entry.2 == item) {
            Some(entry) => {
                let moved = match self.second {
                    _ if replaces => at,
                    Second::Earliest => entry.0.min(at),
                    Second::Latest => entry.0.max(at),
                    Second::Replace => at,
                };
                if moved == entry.0 {
                    Scheduled::Kept
                } else {
                    (entry.0, entry.1) = (moved, number);
                    Scheduled::Moved
                }
            }
            None => {
                self.delayed.push((at, number, item));
                if is_retry {
                    self.retries.insert(item);
                }
                Scheduled::Delayed
            }
        };
        if !is_retry {
            self.retries.remove(&item);
        }
        scheduled
    }

    /// A failed attempt, at the end of the work (`ends`) or by an add. Returns how its retry was
    /// scheduled.
    pub(crate) fn retry(&mut self, item: u8, ask: Ask, ends: bool) -> Scheduled {
        if self.is_down {
            return Scheduled::ShutDown;
        }
        let now = self.now;
        let window = self.until.get(&item).copied();
        let is_early = |(until, counts_from): &(Nanos, Nanos)| {
            if ends { *counts_from > now } else { *until > now }
        };
        let early = window.filter(|window| is_early(window) && !self.counts_early);
        let at = if let Some((until, counts_from)) = early {
            let at = ask.combined(now, if ends { counts_from } else { until }, true);
            let end = self.end_of(at);
            let until = if ends { end } else { until.min(end) };
            let counts_from = match ask.floor() {
                Some(floor) => counts_from.max(floor),
                None => counts_from.min(end),
            };
            self.until.insert(item, (until, counts_from));
            at
        } else if !ends && self.is_queued(item) && !self.counts_early {
            return Scheduled::Now(self.add_by(self.immediate, item));
        } else {
            let count = self.attempts.entry(item).or_default();
            let (base, max) = PACE;
            let delay = base.saturating_mul(2_u64.saturating_pow(*count)).min(max);
            *count += 1;
            let at = ask.combined(now, now + Nanos::from(delay), false);
            let end = self.end_of(at);
            // An add without a wait keeps the waiting request and its back-off.
            let left =
                window.filter(|_| at == now && !ends).map_or(end, |(until, _)| until.max(at));
            self.until.insert(item, (left, end));
            at
        };
        self.add_later(item, at, ends)
    }

    /// Ends the back-off of the item at `at`, or earlier if it ends earlier.
    fn end_back_off(&mut self, item: u8, at: Nanos) {
        if let Some((until, counts_from)) = self.until.get_mut(&item) {
            (*until, *counts_from) = ((*until).min(at), (*counts_from).min(at));
        }
    }

    pub(crate) fn end(&mut self, item: u8) {
        self.forget(item);
        self.cancel_retry(item);
    }

    pub(crate) fn forget(&mut self, item: u8) {
        self.attempts.remove(&item);
        self.until.remove(&item);
    }

    /// The item, and the number of its hand-out.
    pub(crate) fn get(&mut self) -> Option<(u8, u64)> {
        self.settle();
        if self.queued.is_empty() {
            return None;
        }
        let item = self.queued.remove(0);
        self.hand_outs += 1;
        assert!(self.processing.insert(item, (false, self.hand_outs)).is_none());
        Some((item, self.hand_outs))
    }

    pub(crate) fn is_in_hand(&self, item: u8, hand_out: u64) -> bool {
        self.processing.get(&item).is_some_and(|(_, held)| *held == hand_out)
    }

    pub(crate) fn cancel(&mut self, item: u8) -> bool {
        self.settle();
        let before = self.delayed.len();
        self.take_delayed(item);
        self.taken_out(item, self.delayed.len() < before)
    }

    pub(crate) fn remove(&mut self, item: u8) -> bool {
        self.settle();
        let before = self.queued.len();
        self.queued.retain(|queued| *queued != item);
        self.taken_out(item, self.queued.len() < before)
    }

    fn taken_out(&mut self, item: u8, was_there: bool) -> bool {
        if was_there && self.deadline(item).is_none() {
            self.end_back_off(item, self.now);
        }
        was_there
    }

    /// Returns whether the item was in flight.
    pub(crate) fn done(&mut self, item: u8) -> bool {
        let held = self.processing.remove(&item);
        if held.is_some_and(|(again, _)| again) {
            self.queued.push(item);
        }
        held.is_some()
    }

    /// Returns the delayed items, in the order of their deadlines.
    pub(crate) fn shutdown(&mut self) -> Vec<u8> {
        self.settle();
        self.is_down = true;
        self.retries.clear();
        self.delayed.drain(..).map(|entry| entry.2).collect()
    }
}
