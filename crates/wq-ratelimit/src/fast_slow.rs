//! `FastSlow`: a short wait for an item's first attempts, a long one for the others.

use crate::invalid_limit::InvalidLimit;
use crate::limiter::{RateLimiter, recorded};
use crate::records::{DEFAULT_MAX_ITEMS, MIN_IDLE, Records};
use std::hash::{BuildHasher, Hash};
use std::time::{Duration, Instant};
use wq_delay::DefaultHasher;

/// Per item: a short wait for the first attempts, a long one for the others. Remembers items as
/// [`ExponentialBackoff`](crate::ExponentialBackoff) does, with `slow` for its `max`.
#[derive(Debug, Clone)]
#[doc(alias = "TypedItemFastSlowRateLimiter")]
#[doc(alias = "ItemFastSlowRateLimiter")]
pub struct FastSlow<T, S = DefaultHasher> {
    fast: Duration,
    slow: Duration,
    fast_attempts: u32,
    attempts: Records<T, u32, S>,
}

impl<T> FastSlow<T> {
    /// Waits `fast` after each of the first `fast_attempts` attempts, and `slow` after all others.
    ///
    /// # Errors
    ///
    /// If `slow` is zero, or shorter than `fast`.
    pub fn new(fast: Duration, slow: Duration, fast_attempts: u32) -> Result<Self, InvalidLimit> {
        if slow.is_zero() {
            return Err(InvalidLimit::new(
                "slow",
                slow,
                "at least 1ns",
                "add the item without a limiter for no wait",
            ));
        }
        if fast > slow {
            let bound = format!("at most slow, which is {slow:?}");
            return Err(InvalidLimit::new("fast", fast, bound, "swap the two"));
        }
        let idle = slow.saturating_mul(2).max(MIN_IDLE);
        let attempts = Records::new(DefaultHasher::default(), idle, DEFAULT_MAX_ITEMS);
        Ok(Self { fast, slow, fast_attempts, attempts })
    }
}

impl<T, S> FastSlow<T, S> {
    /// Sets the hasher of items. Call it before the first use: it forgets all records.
    #[must_use]
    pub fn hasher<H>(self, hasher: H) -> FastSlow<T, H> {
        let Self { fast, slow, fast_attempts, attempts } = self;
        FastSlow { fast, slow, fast_attempts, attempts: attempts.with_hasher(hasher) }
    }

    /// Sets the bounds of the store, as
    /// [`ExponentialBackoff::bounded`](crate::ExponentialBackoff::bounded).
    ///
    /// # Errors
    ///
    /// If `max_items` is below 2, or `idle` is neither more than `slow` nor [`Duration::MAX`].
    pub fn bounded(mut self, max_items: usize, idle: Duration) -> Result<Self, InvalidLimit> {
        self.attempts.bound(max_items, idle, self.slow)?;
        Ok(self)
    }
}

impl<T: Hash + Eq + Clone, S: BuildHasher> RateLimiter<T> for FastSlow<T, S> {
    fn next_delay(&mut self, item: &T, now: Instant) -> Duration {
        let attempts = self.attempts.entry(item, now, |_| false);
        *attempts = attempts.saturating_add(1);
        if *attempts <= self.fast_attempts { self.fast } else { self.slow }
    }

    fn num_requeues(&self, item: &T) -> u32 {
        self.attempts.get(item).copied().unwrap_or(0)
    }

    fn sweep(&mut self, now: Instant) {
        self.attempts.sweep(now, |_| false);
    }

    recorded!(self, self.attempts);
}
