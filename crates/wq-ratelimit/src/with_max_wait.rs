//! `WithMaxWait`: a cap on the wait of another limiter.

use crate::limiter::{RateLimiter, pass_on};
use std::time::{Duration, Instant};

/// Caps the wait of another limiter. A bucket behind it still reserves tokens beyond the cap.
#[derive(Debug, Clone)]
#[doc(alias = "TypedWithMaxWaitRateLimiter")]
#[doc(alias = "WithMaxWaitRateLimiter")]
pub struct WithMaxWait<L> {
    limiter: L,
    max_wait: Duration,
}

impl<L> WithMaxWait<L> {
    /// Caps the wait of `limiter` at `max_wait`. Zero: no wait.
    #[must_use]
    pub const fn new(limiter: L, max_wait: Duration) -> Self {
        Self { limiter, max_wait }
    }
}

impl<T, L: RateLimiter<T>> RateLimiter<T> for WithMaxWait<L> {
    fn next_delay(&mut self, item: &T, now: Instant) -> Duration {
        self.limiter.next_delay(item, now).min(self.max_wait)
    }

    pass_on!(self, self.limiter);
}
