//! `Control`: what a rate limiting queue knows beyond the delaying one, and when an item runs again. Pure: `now` is an
//! argument.

use crate::limiter::RateLimiter;
use crate::windows::Windows;
use std::hash::{BuildHasher, Hash};
use std::time::{Duration, Instant};

/// When an item is to be added again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    Now,
    After(Duration),
    At(Instant),
}

#[derive(Debug)]
pub(crate) struct Control<T, L, S> {
    pub(crate) limiter: L,
    pub(crate) windows: Windows<T, S>,
    pub(crate) count_early_attempts: bool,
}

impl<T: Hash + Eq + Clone, L: RateLimiter<T>, S: BuildHasher> Control<T, L, S> {
    /// The item failed at `now`: when it runs again, `floor` at the earliest.
    pub(crate) fn retry(
        &mut self,
        item: &T,
        now: Instant,
        floor: Option<Instant>,
        discarded: &mut Vec<T>,
    ) -> When {
        if !self.count_early_attempts
            && let Some(until) = self.windows.open(item, now)
        {
            return match floor {
                Some(floor) if floor > until => {
                    self.windows.set(item, floor, now, discarded);
                    When::At(floor)
                }
                _ => When::At(until),
            };
        }
        let delay = self.limiter.next_delay(item, now);
        discarded.append(&mut self.limiter.take_discarded());
        let floor = floor.map_or(Duration::ZERO, |floor| floor.saturating_duration_since(now));
        let delay = delay.max(floor);
        if delay.is_zero() {
            return When::Now;
        }
        match now.checked_add(delay) {
            Some(until) => {
                self.windows.set(item, until, now, discarded);
                When::At(until)
            }
            None => When::After(delay),
        }
    }

    pub(crate) fn forget(&mut self, item: &T, discarded: &mut Vec<T>) {
        self.limiter.forget(item);
        discarded.append(&mut self.limiter.take_discarded());
        self.windows.close(item, discarded);
    }
}
