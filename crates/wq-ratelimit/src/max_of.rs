//! `MaxOf`: the longer wait of two limiters.

use crate::limiter::RateLimiter;
use crate::remembered::Remembered;
use std::time::{Duration, Instant};

/// The longer wait of two limiters. Nests: `MaxOf::new(a, MaxOf::new(b, c))`. Both count each
/// attempt: a bucket spends a token even if the other limiter's wait is longer.
#[derive(Debug, Clone)]
#[doc(alias = "TypedMaxOfRateLimiter")]
#[doc(alias = "MaxOfRateLimiter")]
pub struct MaxOf<A, B> {
    first: A,
    second: B,
}

impl<A, B> MaxOf<A, B> {
    /// Combines two limiters.
    #[must_use]
    pub const fn new(first: A, second: B) -> Self {
        Self { first, second }
    }
}

impl<T, A: RateLimiter<T>, B: RateLimiter<T>> RateLimiter<T> for MaxOf<A, B> {
    fn next_delay(&mut self, item: &T, now: Instant) -> Duration {
        self.first.next_delay(item, now).max(self.second.next_delay(item, now))
    }

    fn keep_until(&mut self, item: &T, until: Instant, now: Instant) {
        self.first.keep_until(item, until, now);
        self.second.keep_until(item, until, now);
    }

    fn forget(&mut self, item: &T) {
        self.first.forget(item);
        self.second.forget(item);
    }

    fn num_requeues(&self, item: &T) -> u32 {
        self.first.num_requeues(item).max(self.second.num_requeues(item))
    }

    fn remembered(&self) -> Remembered {
        self.first.remembered().and(self.second.remembered())
    }

    fn take_discarded(&mut self) -> Vec<T> {
        let mut discarded = self.first.take_discarded();
        discarded.append(&mut self.second.take_discarded());
        discarded
    }

    fn sweep(&mut self, now: Instant) {
        self.first.sweep(now);
        self.second.sweep(now);
    }
}
