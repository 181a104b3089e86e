//! `RetryState`: when a failed item runs again. Pure: `now` is an argument.

use crate::backoffs::{Backoff, Backoffs};
use crate::limiter::RateLimiter;
use crate::outcome::{Combine, Outcome};
use crate::planted::planted;
use std::hash::{BuildHasher, Hash};
use std::iter::successors;
use std::time::{Duration, Instant};
use wq_delay::ImmediateAdd;

/// The effect of an event, an add without a delay, on the back-off of a failed item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum DuringBackoff {
    /// The back-off stays: a failure before its end does not count. The item runs now and again at
    /// its retry, unless [`immediate_add`](crate::Builder::immediate_add) says otherwise.
    #[default]
    Keep,
    /// The item runs now in place of its retry, and its attempts are forgotten. A retry that has
    /// merged with a user's delayed add follows [`immediate_add`](crate::Builder::immediate_add).
    Clear,
    /// The event joins the retry: the item runs at that deadline, and no later outcome cancels it.
    /// An event during the work runs the item again at once, unless a retry waits beside the work.
    ///
    /// An event that joins a retry after [`Duration::MAX`] never runs, unless the retry is
    /// [canceled](crate::RateLimitingQueue::cancel) first. If a user delays the item too,
    /// [`second_add`](crate::Builder::second_add) decides between the deadlines.
    Defer,
}

/// The settings of the queue.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rules {
    pub(crate) count_early_attempts: bool,
    pub(crate) during_backoff: DuringBackoff,
    pub(crate) immediate_add: ImmediateAdd,
}

/// The request of a failed attempt. By default the limiter alone decides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RetryRequest {
    /// A delay of the caller, and how it is combined with the limiter's wait.
    pub(crate) own: Option<(Duration, Combine)>,
    pub(crate) not_before: Option<Instant>,
}

impl RetryRequest {
    /// The default for outcomes that ask the limiter alone, or not at all.
    pub(crate) fn of(outcome: Outcome) -> Self {
        let limiter = Self::default();
        match outcome {
            Outcome::RetryWith { delay, combine } => {
                Self { own: Some((delay, combine)), ..limiter }
            }
            Outcome::RetryNotBefore(floor) => Self { not_before: Some(floor), ..limiter },
            Outcome::Success | Outcome::GiveUp | Outcome::RetryAfter(_) | Outcome::Retry => limiter,
        }
    }

    fn combined(self, wait: Duration, now: Instant) -> Duration {
        let wait = match self.own {
            None => wait,
            Some((own, Combine::Min)) => wait.min(own),
            Some((own, Combine::Max)) => wait.max(own),
            Some((own, Combine::Sum)) => wait.saturating_add(own),
            Some((own, Combine::Override)) => own,
        };
        wait.max(
            self.not_before.map_or(Duration::ZERO, |floor| floor.saturating_duration_since(now)),
        )
    }

    /// The same for an attempt before its time: `until` replaces the limiter's wait. `None`: never.
    fn combined_early(self, until: Instant, now: Instant) -> Option<Instant> {
        let at = match self.own {
            None => until,
            Some((own, combine)) => match (now.checked_add(own), combine) {
                (None, Combine::Min) => until,
                (None, _) => return None,
                (Some(own), Combine::Min) => until.min(own),
                (Some(own), Combine::Max | Combine::Sum) => until.max(own),
                (Some(own), Combine::Override) => own,
            },
        };
        Some(self.not_before.map_or(at, |floor| at.max(floor)))
    }
}

/// The end of a wait. An infinite wait ends in some hundred years.
pub(crate) fn end_of(now: Instant, wait: Duration) -> Instant {
    let far = || successors(Some(FAR), |far| Some(*far / 2)).find_map(|far| now.checked_add(far));
    now.checked_add(wait).or_else(far).unwrap_or(now)
}

/// The length of an infinite wait.
const FAR: Duration = Duration::from_hours(24 * 365 * 200);

/// The caller that asks for a retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    /// The end of an attempt.
    Finish,
    /// An add, which keeps a waiting retry.
    Add {
        /// The item is queued or runs again after its work: this add merges with that.
        is_queued: bool,
    },
}

#[derive(Debug)]
pub(crate) struct RetryState<T, L, S> {
    pub(crate) limiter: L,
    pub(crate) backoffs: Backoffs<T, S>,
    pub(crate) rules: Rules,
}

impl<T: Hash + Eq + Clone, L: RateLimiter<T>, S: BuildHasher> RetryState<T, L, S> {
    /// Returns when an item that failed at `now` runs again. `None`: never.
    pub(crate) fn retry(
        &mut self,
        item: &T,
        now: Instant,
        ask: RetryRequest,
        by: Caller,
        discarded: &mut Vec<T>,
    ) -> Option<Instant> {
        let counts_early = self.rules.count_early_attempts || planted("early-attempt-counts");
        // An attempt can count before the back-off ends, an add only afterwards.
        let early = match by {
            Caller::Finish => self.backoffs.early(item, now),
            Caller::Add { .. } => self.backoffs.backing_off(item, now),
        };
        if !counts_early && let Some(window) = early {
            return self.early(item, now, window, ask, by);
        }
        if by == (Caller::Add { is_queued: true }) && !counts_early {
            return Some(now);
        }
        let wait = self.limiter.next_delay(item, now);
        let delay = ask.combined(wait, now);
        discarded.append(&mut self.limiter.take_discarded());
        if delay.is_zero() {
            // An outcome replaces the waiting retry, an add keeps it and its back-off.
            if by == Caller::Finish {
                self.backoffs.close(item, discarded);
            }
            return Some(now);
        }
        let until = end_of(now, delay);
        self.backoffs.begin(item, until, now, discarded);
        self.waits_until(item, until, now);
        now.checked_add(delay)
    }

    /// As [`retry`](Self::retry), for an item that failed before its time.
    fn early(
        &mut self,
        item: &T,
        now: Instant,
        window: Backoff,
        ask: RetryRequest,
        by: Caller,
    ) -> Option<Instant> {
        let Backoff { until, counts_from, .. } = window;
        // An outcome replaces the waiting retry, an add keeps it. Neither adds to an earlier delay.
        let limit = if by == Caller::Finish { counts_from } else { until };
        let asked = ask.combined_early(limit, now);
        let at = asked.unwrap_or_else(|| end_of(now, Duration::MAX));
        let until = if by == Caller::Finish { at } else { until.min(at) };
        let counts_from = match ask.not_before {
            Some(floor) => counts_from.max(floor),
            None => counts_from.min(at),
        };
        self.backoffs.change(item, until, counts_from);
        self.waits_until(item, at, now);
        asked
    }

    /// Returns when an item runs again whose attempt does not count. `None`: never.
    pub(crate) fn uncounted(
        &mut self,
        item: &T,
        now: Instant,
        delay: Duration,
        discarded: &mut Vec<T>,
    ) -> Option<Instant> {
        let until = end_of(now, delay);
        self.waits_until(item, until, now);
        self.backoffs.end_by(item, until, now, discarded);
        now.checked_add(delay)
    }

    /// The number of counted attempts, without expired records.
    pub(crate) fn attempts(&mut self, item: &T, now: Instant, discarded: &mut Vec<T>) -> u32 {
        self.age(now, discarded);
        self.limiter.num_requeues(item)
    }

    fn age(&mut self, now: Instant, discarded: &mut Vec<T>) {
        self.limiter.sweep(now);
        discarded.append(&mut self.limiter.take_discarded());
    }

    /// Tells the limiter that the item waits until then.
    pub(crate) fn waits_until(&mut self, item: &T, until: Instant, now: Instant) {
        if until > now {
            self.limiter.keep_until(item, until, now);
        }
    }

    /// Ends the back-off of an item that has no deadline any more.
    pub(crate) fn end_back_off(&mut self, item: &T, now: Instant, discarded: &mut Vec<T>) {
        self.backoffs.end_by(item, now, now, discarded);
        self.limiter.keep_until(item, now, now);
    }

    pub(crate) fn sweep(&mut self, now: Instant, discarded: &mut Vec<T>) {
        self.backoffs.sweep(now, discarded);
        self.age(now, discarded);
    }

    pub(crate) fn forget(&mut self, item: &T, discarded: &mut Vec<T>) {
        self.limiter.forget(item);
        discarded.append(&mut self.limiter.take_discarded());
        self.backoffs.close(item, discarded);
    }

    /// Returns how an add without a delay joins a waiting retry, and how a user's request.
    pub(crate) fn event(
        &mut self,
        item: &T,
        now: Instant,
        discarded: &mut Vec<T>,
    ) -> (ImmediateAdd, ImmediateAdd) {
        let own = self.rules.immediate_add;
        let is_backing_off = self.backoffs.open(item, now).is_some();
        // The record of its back-off may have been evicted.
        let may_back_off = is_backing_off || self.backoffs.is_crowded();
        match self.rules.during_backoff {
            DuringBackoff::Clear => {
                self.forget(item, discarded);
                (if may_back_off { ImmediateAdd::Merge } else { own }, own)
            }
            DuringBackoff::Defer if is_backing_off => (ImmediateAdd::Defer, ImmediateAdd::Defer),
            DuringBackoff::Defer if may_back_off => (ImmediateAdd::Defer, own),
            DuringBackoff::Keep | DuringBackoff::Defer => (own, own),
        }
    }
}
