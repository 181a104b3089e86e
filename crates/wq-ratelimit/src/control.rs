//! `Control`: what a rate limiting queue knows beyond the delaying one, and when an item runs again. Pure: `now` is an
//! argument.

use crate::class::Class;
use crate::limiter::RateLimiter;
use crate::outcome::Combine;
use crate::parked::{Mark, Parked};
use crate::planted::planted;
use crate::windows::Windows;
use std::hash::{BuildHasher, Hash};
use std::time::{Duration, Instant};
use wq_delay::ImmediateAdd;

/// What an add without a delay, an event, does to the back-off of a failed item; see
/// [`Builder::during_backoff`](crate::Builder::during_backoff).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum DuringBackoff {
    /// The item runs now, its retry still waits, and its back-off stays as it is: if it fails before its time, that does
    /// not count.
    #[default]
    Keep,
    /// The item runs now, in place of its retry, and its attempts are forgotten: what has changed deserves a fresh start.
    /// Of a parked item too.
    Clear,
    /// The item waits for its retry, and the event with it: nothing shortens a back-off. An event that comes while the item
    /// is being worked on still runs it again at once, unless a retry from before waits then: it joins that one.
    Defer,
}

/// What the settings of the queue say.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rules {
    pub(crate) count_early_attempts: bool,
    pub(crate) retry_limit: Option<u32>,
    pub(crate) during_backoff: DuringBackoff,
}

/// What a failed attempt asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    Limiter,
    Class(Class),
    NotBefore(Instant),
    With(Duration, Combine),
}

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// The end of an attempt, which may be the last.
    Finish,
    /// Somebody who adds the item: what it waits for already is not put off.
    Add,
}

/// When an item is to be added again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    Now,
    After(Duration),
    At(Instant),
    /// It has no retries left.
    Never,
}

#[derive(Debug)]
pub(crate) struct Control<T, L, O, S> {
    pub(crate) limiter: L,
    pub(crate) windows: Windows<T, S>,
    pub(crate) parked: Parked<T, O, S>,
    pub(crate) rules: Rules,
}

impl<T: Hash + Eq + Clone, L: RateLimiter<T>, O: Default, S: BuildHasher> Control<T, L, O, S> {
    /// The item failed at `now`: when it runs again. One that has no retries left has none only at its end.
    pub(crate) fn retry(&mut self, item: &T, now: Instant, ask: Ask, by: By, discarded: &mut Vec<T>) -> When {
        if !self.rules.count_early_attempts
            && !planted("early-attempt-counts")
            && let Some(until) = self.windows.open(item, now)
        {
            return self.early(item, now, until, ask, by);
        }
        if by == By::Finish && self.is_spent(item) {
            return When::Never;
        }
        let limiter = &mut self.limiter;
        let delay = match ask {
            Ask::Limiter => limiter.next_delay(item, now),
            Ask::Class(class) => limiter.next_delay_as(item, class, now),
            Ask::NotBefore(floor) => limiter.next_delay(item, now).max(floor.saturating_duration_since(now)),
            Ask::With(delay, Combine::Min) => limiter.next_delay(item, now).min(delay),
            Ask::With(delay, Combine::Max) => limiter.next_delay(item, now).max(delay),
            Ask::With(delay, Combine::Sum) => limiter.next_delay(item, now).saturating_add(delay),
        };
        discarded.append(&mut self.limiter.take_discarded());
        let counts = self.rules.retry_limit.is_some();
        match now.checked_add(delay) {
            _ if delay.is_zero() && !counts => When::Now,
            Some(until) => {
                self.windows.begin(item, until, now, discarded);
                if delay.is_zero() { When::Now } else { When::At(until) }
            }
            None => When::After(delay),
        }
    }

    /// The item failed although it was to wait until then.
    fn early(&mut self, item: &T, now: Instant, until: Instant, ask: Ask, by: By) -> When {
        if planted("early-attempt-runs-at-once") {
            return When::Now;
        }
        let at = match ask {
            Ask::Limiter | Ask::Class(_) => until,
            Ask::NotBefore(floor) => until.max(floor),
            Ask::With(delay, combine) => match (now.checked_add(delay), combine) {
                (None, Combine::Min) => until,
                (None, Combine::Max | Combine::Sum) => return When::After(delay),
                (Some(own), Combine::Min) => until.min(own),
                (Some(own), Combine::Max | Combine::Sum) => until.max(own),
            },
        };
        if at < until || by == By::Finish {
            self.windows.extend(item, at);
        }
        When::At(at)
    }

    /// Whether the item has used up its retries.
    fn is_spent(&self, item: &T) -> bool {
        let Some(limit) = self.rules.retry_limit else { return false };
        let limit = if planted("one-retry-too-many") { limit.saturating_add(1) } else { limit };
        self.attempts(item) >= limit
    }

    /// How many attempts are counted. A bucket counts none, so a queue with a limit counts for itself.
    pub(crate) fn attempts(&self, item: &T) -> u32 {
        let own = if self.rules.retry_limit.is_some() { self.windows.attempts(item) } else { 0 };
        let parked = self.parked.attempts(item).unwrap_or(0);
        self.limiter.num_requeues(item).max(own).max(parked)
    }

    /// Marks the item as one that waits for something to change. What it was marked with is to be dropped after the lock.
    pub(crate) fn park(&mut self, item: &T, order: O, now: Instant, discarded: &mut Vec<T>) -> Mark<O> {
        let attempts = self.attempts(item);
        self.parked.park(item, Mark { order, attempts }, now, discarded)
    }

    pub(crate) fn forget(&mut self, item: &T, discarded: &mut Vec<T>) -> Option<Mark<O>> {
        self.limiter.forget(item);
        discarded.append(&mut self.limiter.take_discarded());
        if !planted("forget-leaves-window") {
            self.windows.close(item, discarded);
        }
        self.parked.take(item, discarded)
    }

    /// The item is added without a delay: how, if the queue's own policy is not to decide.
    pub(crate) fn event(
        &mut self,
        item: &T,
        now: Instant,
        discarded: &mut Vec<T>,
    ) -> (Option<ImmediateAdd>, Option<Mark<O>>) {
        let is_backing_off = self.windows.open(item, now).is_some();
        match self.rules.during_backoff {
            DuringBackoff::Clear => {
                let mark = self.forget(item, discarded);
                (is_backing_off.then_some(ImmediateAdd::Merge), mark)
            }
            DuringBackoff::Defer if is_backing_off => (Some(ImmediateAdd::Defer), None),
            DuringBackoff::Keep | DuringBackoff::Defer => (None, None),
        }
    }
}
