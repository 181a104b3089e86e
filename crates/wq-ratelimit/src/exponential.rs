//! `ExponentialBackoff`: each failure of an item doubles its wait.

use crate::invalid_limit::InvalidLimit;
use crate::limiter::{RateLimiter, recorded};
use crate::planted::planted;
use crate::records::{DEFAULT_MAX_ITEMS, MIN_IDLE, Records};
use std::hash::{BuildHasher, Hash};
use std::time::{Duration, Instant};
use wq_delay::DefaultHasher;

/// Per item: waits `min(base * 2^n, max)` after `n` earlier attempts, as client-go does.
///
/// Forgets an item that had no attempt for twice `max` (at least ten minutes) after its last wait.
/// Remembers at most 262 144 items, always the half of that number that failed last.
/// [`bounded`](Self::bounded) sets other bounds.
///
/// ```
/// use std::time::{Duration, Instant};
/// use wq_ratelimit::{ExponentialBackoff, RateLimiter};
///
/// let mut backoff = ExponentialBackoff::new(Duration::from_millis(5), Duration::from_millis(15))?;
/// let now = Instant::now();
/// let delays: Vec<u128> = (0..4).map(|_| backoff.next_delay(&"a", now).as_millis()).collect();
/// assert_eq!(delays, [5, 10, 15, 15]);
/// # Ok::<(), wq_ratelimit::InvalidLimit>(())
/// ```
#[derive(Debug, Clone)]
#[doc(alias = "TypedItemExponentialFailureRateLimiter")]
#[doc(alias = "ItemExponentialFailureRateLimiter")]
pub struct ExponentialBackoff<T, S = DefaultHasher> {
    base: Duration,
    max: Duration,
    attempts: Records<T, u32, S>,
}

impl<T> ExponentialBackoff<T> {
    /// Waits `base` after the first attempt, and at most `max`.
    ///
    /// # Errors
    ///
    /// If `base` is zero, or larger than `max`.
    pub fn new(base: Duration, max: Duration) -> Result<Self, InvalidLimit> {
        InvalidLimit::unless_within(base, max)?;
        Ok(Self::checked(base, max))
    }

    pub(crate) fn checked(base: Duration, max: Duration) -> Self {
        let idle = max.saturating_mul(2).max(MIN_IDLE);
        Self {
            base,
            max,
            attempts: Records::new(DefaultHasher::default(), idle, DEFAULT_MAX_ITEMS),
        }
    }
}

impl<T, S> ExponentialBackoff<T, S> {
    /// Sets the hasher of items. Call it before the first use: it forgets all records.
    #[must_use]
    pub fn hasher<H>(self, hasher: H) -> ExponentialBackoff<T, H> {
        let Self { base, max, attempts } = self;
        ExponentialBackoff { base, max, attempts: attempts.with_hasher(hasher) }
    }

    /// Remembers at most `max_items` items, each for at least `idle` after its last attempt or its
    /// wait in a queue, and less than twice that.
    ///
    /// The half of `max_items` that failed last is always remembered. Other items may restart their
    /// back-off, even while they wait. Call it before the first use: it may forget all records.
    ///
    /// # Errors
    ///
    /// If `max_items` is below 2, or `idle` is neither more than `max` nor [`Duration::MAX`].
    pub fn bounded(mut self, max_items: usize, idle: Duration) -> Result<Self, InvalidLimit> {
        self.attempts.bound(max_items, idle, self.max)?;
        Ok(self)
    }
}

impl<T: Hash + Eq + Clone, S: BuildHasher> RateLimiter<T> for ExponentialBackoff<T, S> {
    #[inline]
    fn next_delay(&mut self, item: &T, now: Instant) -> Duration {
        let attempts = self.attempts.entry(item, now, |_| false);
        let before = *attempts;
        *attempts = before.saturating_add(1);
        doubled(self.base, before).min(self.max)
    }

    fn num_requeues(&self, item: &T) -> u32 {
        self.attempts.get(item).copied().unwrap_or(0)
    }

    fn sweep(&mut self, now: Instant) {
        self.attempts.sweep(now, |_| false);
    }

    recorded!(self, self.attempts);
}

const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// `base * 2^times`, saturating.
fn doubled(base: Duration, times: u32) -> Duration {
    let nanos = base.as_nanos();
    if planted("doubling-overflows") {
        return Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX).wrapping_shl(times));
    }
    // The common case needs no division of 128 bits.
    if let Ok(nanos) = u64::try_from(nanos)
        && times < nanos.leading_zeros()
    {
        return Duration::from_nanos(nanos << times);
    }
    if times >= nanos.leading_zeros() {
        return Duration::MAX;
    }
    let nanos = nanos << times;
    let seconds = u64::try_from(nanos / NANOS_PER_SECOND);
    let rest = u32::try_from(nanos % NANOS_PER_SECOND);
    match (seconds, rest) {
        (Ok(seconds), Ok(rest)) => Duration::new(seconds, rest),
        _ => Duration::MAX,
    }
}
