//! `Control`: what a rate limiting queue knows beyond the delaying one, and when an item runs again. Pure: `now` is an
//! argument.

use crate::limiter::RateLimiter;
use crate::outcome::{Combine, Outcome};
use crate::planted::planted;
use crate::windows::{Window, Windows};
use std::hash::{BuildHasher, Hash};
use std::iter::successors;
use std::time::{Duration, Instant};
use wq_delay::ImmediateAdd;

/// What an add without a delay, an event, does to the back-off of a failed item; see
/// [`Builder::during_backoff`](crate::Builder::during_backoff).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum DuringBackoff {
    /// The item runs now, its retry still waits unless [`immediate_add`](crate::Builder::immediate_add) says otherwise, and its
    /// back-off stays as it is: if it fails before its time, that does not count.
    #[default]
    Keep,
    /// The item runs now, in place of its retry, and its attempts are forgotten: what has changed deserves a fresh start.
    ///
    /// Only a retry that [outcomes](crate::Outcome) alone have asked for gives way. Where a user has asked too
    /// (`add_after`, `add_rate_limited`), [`immediate_add`](crate::Builder::immediate_add) says what becomes of it.
    Clear,
    /// The item waits for its retry, and the event with it: nothing shortens a back-off. The event makes the
    /// retry a request of its own: it comes at that deadline, whatever an outcome says in the meantime.
    ///
    /// An event that comes while the item is being worked on runs it again at once, unless a retry waits
    /// beside the work: then the event joins that retry.
    ///
    /// An event can join a back-off without an end (`RetryWith` a delay of [`Duration::MAX`]). It then never
    /// comes, until somebody [cancels](crate::RateLimitingQueue::cancel) what waits.
    ///
    /// An item waits for one deadline. If a user asks for the item with a delay too,
    /// [`second_add`](crate::Builder::second_add) says which deadline the event waits for.
    Defer,
}

/// What the settings of the queue say.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rules {
    pub(crate) count_early_attempts: bool,
    pub(crate) during_backoff: DuringBackoff,
    pub(crate) immediate_add: ImmediateAdd,
}

/// What a failed attempt asks for. Nothing: what the limiter says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ask {
    /// A delay of the caller's, and what is made of it and the limiter's.
    pub(crate) own: Option<(Duration, Combine)>,
    pub(crate) not_before: Option<Instant>,
}

impl Ask {
    /// Nothing, if it is no outcome that asks the limiter.
    pub(crate) fn of(outcome: Outcome) -> Self {
        let limiter = Self::default();
        match outcome {
            Outcome::RetryWith { delay, combine } => Self { own: Some((delay, combine)), ..limiter },
            Outcome::RetryNotBefore(floor) => Self { not_before: Some(floor), ..limiter },
            Outcome::Success | Outcome::GiveUp | Outcome::RetryAfter(_) | Outcome::Retry => limiter,
        }
    }

    /// What is made of the limiter's wait.
    fn combined(self, wait: Duration, now: Instant) -> Duration {
        let wait = match self.own {
            None => wait,
            Some((own, Combine::Min)) => wait.min(own),
            Some((own, Combine::Max)) => wait.max(own),
            Some((own, Combine::Sum)) => wait.saturating_add(own),
            Some((own, Combine::Override)) => own,
        };
        wait.max(self.not_before.map_or(Duration::ZERO, |floor| floor.saturating_duration_since(now)))
    }

    /// The same of an attempt that came before its time: until then the limiter has had it wait. `None`: for ever.
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

/// When a wait is over; of one that never is, an instant in some hundred years.
pub(crate) fn end_of(now: Instant, wait: Duration) -> Instant {
    let far = || successors(Some(FAR), |far| Some(*far / 2)).find_map(|far| now.checked_add(far));
    now.checked_add(wait).or_else(far).unwrap_or(now)
}

/// Beyond this a back-off has no end that matters.
const FAR: Duration = Duration::from_hours(24 * 365 * 200);

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// The end of an attempt.
    Finish,
    /// Somebody who adds the item: what it waits for already is not put off.
    Add {
        /// The item waits for nothing but somebody to take it, or the end of the work on it: this add joins it.
        is_queued: bool,
    },
}

#[derive(Debug)]
pub(crate) struct Control<T, L, S> {
    pub(crate) limiter: L,
    pub(crate) windows: Windows<T, S>,
    pub(crate) rules: Rules,
}

impl<T: Hash + Eq + Clone, L: RateLimiter<T>, S: BuildHasher> Control<T, L, S> {
    /// The item failed at `now`: when it runs again. `None`: never.
    pub(crate) fn retry(
        &mut self,
        item: &T,
        now: Instant,
        ask: Ask,
        by: By,
        discarded: &mut Vec<T>,
    ) -> Option<Instant> {
        let counts_early = self.rules.count_early_attempts || planted("early-attempt-counts");
        // An attempt counts from a time on, an add as soon as the item backs off no longer.
        let early = match by {
            By::Finish => self.windows.early(item, now),
            By::Add { .. } => self.windows.backing_off(item, now),
        };
        if !counts_early && let Some(window) = early {
            return self.early(item, now, window, ask, by);
        }
        if by == (By::Add { is_queued: true }) && !counts_early {
            return Some(now);
        }
        let wait = self.limiter.next_delay(item, now);
        let delay = ask.combined(wait, now);
        discarded.append(&mut self.limiter.take_discarded());
        if delay.is_zero() {
            // An outcome replaces the retry that waits; an add leaves it, and its back-off.
            if by == By::Finish {
                self.windows.close(item, discarded);
            }
            return Some(now);
        }
        let until = end_of(now, delay);
        self.windows.begin(item, until, now, discarded);
        self.waits_until(item, until, now);
        now.checked_add(delay)
    }

    /// The item failed before its time.
    fn early(&mut self, item: &T, now: Instant, window: Window, ask: Ask, by: By) -> Option<Instant> {
        let Window { until, counts_from, .. } = window;
        // An outcome replaces the retry that waits, an add lets it wait; neither adds to what an earlier one has asked for.
        let limit = if by == By::Finish { counts_from } else { until };
        let asked = ask.combined_early(limit, now);
        let at = asked.unwrap_or_else(|| end_of(now, Duration::MAX));
        let until = if by == By::Finish { at } else { until.min(at) };
        let counts_from = match ask.not_before {
            Some(floor) => counts_from.max(floor),
            None => counts_from.min(at),
        };
        self.windows.change(item, until, counts_from);
        self.waits_until(item, at, now);
        asked
    }

    /// The work on the item is to go on after this time, and does not count. `None`: never.
    pub(crate) fn uncounted(
        &mut self,
        item: &T,
        now: Instant,
        delay: Duration,
        discarded: &mut Vec<T>,
    ) -> Option<Instant> {
        let until = end_of(now, delay);
        self.waits_until(item, until, now);
        self.windows.end_by(item, until, now, discarded);
        now.checked_add(delay)
    }

    /// How many attempts are counted. What is too old counts no longer, whether others have failed since or not.
    pub(crate) fn attempts(&mut self, item: &T, now: Instant, discarded: &mut Vec<T>) -> u32 {
        self.age(now, discarded);
        self.limiter.num_requeues(item)
    }

    fn age(&mut self, now: Instant, discarded: &mut Vec<T>) {
        self.limiter.sweep(now);
        discarded.append(&mut self.limiter.take_discarded());
    }

    /// Something waits that brings the item back then.
    pub(crate) fn waits_until(&mut self, item: &T, until: Instant, now: Instant) {
        if until > now {
            self.limiter.keep_until(item, until, now);
        }
    }

    /// Nothing waits any longer that brings the item back.
    pub(crate) fn end_back_off(&mut self, item: &T, now: Instant, discarded: &mut Vec<T>) {
        self.windows.end_by(item, now, now, discarded);
        self.limiter.keep_until(item, now, now);
    }

    /// Removes what is no longer needed, where no failure does.
    pub(crate) fn sweep(&mut self, now: Instant, discarded: &mut Vec<T>) {
        self.windows.sweep(now, discarded);
        self.age(now, discarded);
    }

    /// Gives back memory that is not in use.
    pub(crate) fn shrink(&mut self, now: Instant, discarded: &mut Vec<T>) {
        self.age(now, discarded);
        self.limiter.shrink();
        self.windows.shrink(now, discarded);
    }

    pub(crate) fn forget(&mut self, item: &T, discarded: &mut Vec<T>) {
        self.limiter.forget(item);
        discarded.append(&mut self.limiter.take_discarded());
        self.windows.close(item, discarded);
    }

    /// The item is added without a delay: how that joins a retry that it waits for, and how what a user
    /// has asked for.
    pub(crate) fn event(
        &mut self,
        item: &T,
        now: Instant,
        discarded: &mut Vec<T>,
    ) -> (ImmediateAdd, ImmediateAdd) {
        let own = self.rules.immediate_add;
        let is_backing_off = self.windows.open(item, now).is_some();
        // Others may have taken the place of one that does.
        let may_back_off = is_backing_off || self.windows.is_crowded();
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
