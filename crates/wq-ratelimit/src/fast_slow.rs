//! `FastSlow`: a few quick tries for each item, then slow ones.

use crate::invalid_limit::InvalidLimit;
use crate::limiter::{RateLimiter, recorded};
use crate::records::{DEFAULT_MAX_ITEMS, MIN_IDLE, Records};
use std::hash::{BuildHasher, Hash};
use std::time::{Duration, Instant};
use wq_delay::DefaultHasher;

/// Per item: `fast` for the first so many attempts, `slow` from then on.
///
/// Remembers items as [`ExponentialBackoff`](crate::ExponentialBackoff) does, with `slow` for its `max`.
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
    /// Waits `fast` after each of the first `fast_attempts` attempts, `slow` after all others. None fast: slow from the
    /// start.
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
    /// What hashes items. To be called before the first use: it forgets all records.
    #[must_use]
    pub fn hasher<H>(self, hasher: H) -> FastSlow<T, H> {
        let Self { fast, slow, fast_attempts, attempts } = self;
        FastSlow { fast, slow, fast_attempts, attempts: attempts.with_hasher(hasher) }
    }

    /// Remembers at most `max_items` items, each for at least `idle` after its last attempt, and not for twice that.
    /// One that a queue has wait for its retry, for whatever reason, is remembered for `idle` after that. If more than half of
    /// `max_items` fail in that time, or wait, only that half of the bound is remembered for sure which failed last,
    /// and others may begin anew, also after a long wait: take twice as many as are to be remembered. To be called
    /// before the first use: more records than that half are forgotten as a whole.
    ///
    /// # Errors
    ///
    /// If `max_items` is below 2, or `idle` is not more than `slow` (nor [`Duration::MAX`], which never ends).
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
