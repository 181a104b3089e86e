//! `Decorrelated`: back-off whose waits are drawn, each from the one before.

use crate::invalid_limit::InvalidLimit;
use crate::limiter::{RateLimiter, recorded};
use crate::random::Random;
use crate::records::{DEFAULT_MAX_ITEMS, MIN_IDLE, Records};
use std::hash::{BuildHasher, Hash};
use std::time::{Duration, Instant};
use wq_delay::DefaultHasher;

/// Per item: a wait drawn evenly between `base` and three times the one before, `max` at most ("decorrelated jitter" of
/// Marc Brooker, Exponential Backoff And Jitter, AWS Architecture Blog, 2015). Never below `base`, and not monotone.
///
/// Remembers items as [`ExponentialBackoff`](crate::ExponentialBackoff) does. A clone draws for itself; with a
/// [`seed`](Self::seed) it goes on as the one that it was cloned from.
#[derive(Debug, Clone)]
pub struct Decorrelated<T, S = DefaultHasher> {
    base: Duration,
    max: Duration,
    random: Random,
    items: Records<T, Drawn, S>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Drawn {
    last: Duration,
    attempts: u32,
}

impl<T> Decorrelated<T> {
    /// Waits between `base` and `max`.
    ///
    /// # Errors
    ///
    /// If `base` is zero, or larger than `max`.
    pub fn new(base: Duration, max: Duration) -> Result<Self, InvalidLimit> {
        InvalidLimit::unless_within(base, max)?;
        let idle = max.saturating_mul(2).max(MIN_IDLE);
        let items = Records::new(DefaultHasher::default(), idle, DEFAULT_MAX_ITEMS);
        Ok(Self { base, max, random: Random::new(), items })
    }
}

impl<T, S> Decorrelated<T, S> {
    /// Draws from this seed instead of one of the process's own: the same seed gives the same waits.
    #[must_use]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.random = Random::seeded(seed);
        self
    }

    /// What hashes items. To be called before the first use: it forgets all records.
    #[must_use]
    pub fn hasher<H>(self, hasher: H) -> Decorrelated<T, H> {
        let Self { base, max, random, items } = self;
        Decorrelated { base, max, random, items: items.with_hasher(hasher) }
    }

    /// Remembers at most `max_items` items, each for at least `idle` after its last attempt, and not for twice that.
    /// One that a queue has wait for its retry, for whatever reason, is remembered for `idle` after that. If more than half of
    /// `max_items` fail in that time, or wait, only that half of the bound is remembered for sure which failed last,
    /// and others may begin anew, also after a long wait: take twice as many as are to be remembered. To be called
    /// before the first use: more records than that half are forgotten as a whole.
    ///
    /// # Errors
    ///
    /// If `max_items` is below 2, or `idle` is not more than `max` (nor [`Duration::MAX`], which never ends).
    pub fn bounded(mut self, max_items: usize, idle: Duration) -> Result<Self, InvalidLimit> {
        self.items.bound(max_items, idle, self.max)?;
        Ok(self)
    }
}

impl<T: Hash + Eq + Clone, S: BuildHasher> RateLimiter<T> for Decorrelated<T, S> {
    fn next_delay(&mut self, item: &T, now: Instant) -> Duration {
        let drawn = self.items.entry(item, now, |_| false);
        drawn.attempts = drawn.attempts.saturating_add(1);
        let most = drawn.last.max(self.base).saturating_mul(3).min(self.max);
        drawn.last = self.base.saturating_add(self.random.up_to(most.saturating_sub(self.base)));
        drawn.last
    }

    fn num_requeues(&self, item: &T) -> u32 {
        self.items.get(item).map_or(0, |drawn| drawn.attempts)
    }

    fn sweep(&mut self, now: Instant) {
        self.items.sweep(now, |_| false);
    }

    recorded!(self, self.items);
}
