//! `PerItemBucket`: a token bucket for each item.

use crate::invalid_limit::InvalidLimit;
use crate::limiter::{RateLimiter, recorded};
use crate::rate::Rate;
use crate::records::{DEFAULT_MAX_ITEMS, MIN_IDLE, Records};
use std::hash::{BuildHasher, Hash};
use std::time::{Duration, Instant};
use wq_delay::DefaultHasher;

/// Per item: a bucket as [`TokenBucket`](crate::TokenBucket). [`forget`](RateLimiter::forget) fills
/// it again.
///
/// A full bucket that is unused for its time to fill (at least ten minutes) can be forgotten, with
/// its attempts. At most 262 144 items are remembered, always the half of that number that was used
/// last. Other items may restart with a full bucket.
#[derive(Debug, Clone)]
pub struct PerItemBucket<T, S = DefaultHasher> {
    rate: Rate,
    /// The start of the buckets' time line, at the first use.
    start: Option<Instant>,
    buckets: Records<T, ItemBucket, S>,
}

#[derive(Debug, Clone, Copy, Default)]
struct ItemBucket {
    full_at: u64,
    attempts: u32,
}

impl<T> PerItemBucket<T> {
    /// Makes a bucket for each item: `tokens` per `per`, and `burst` at once.
    ///
    /// # Errors
    ///
    /// If an argument is zero, or a bucket takes more than 584 years to fill.
    pub fn new(tokens: u32, per: Duration, burst: u32) -> Result<Self, InvalidLimit> {
        let rate = Rate::new(tokens, per, burst)?;
        let idle = rate.depth().max(MIN_IDLE);
        let buckets = Records::new(DefaultHasher::default(), idle, DEFAULT_MAX_ITEMS);
        Ok(Self { rate, start: None, buckets })
    }
}

impl<T, S> PerItemBucket<T, S> {
    /// Sets the hasher of items. Call it before the first use: it forgets all buckets.
    #[must_use]
    pub fn hasher<H>(self, hasher: H) -> PerItemBucket<T, H> {
        let Self { rate, start, buckets } = self;
        PerItemBucket { rate, start, buckets: buckets.with_hasher(hasher) }
    }

    /// Remembers at most `max_items` items, always the half of that number that was used last. Call
    /// it before the first use: it may forget all buckets.
    ///
    /// # Errors
    ///
    /// If `max_items` is below 2.
    pub fn bounded(mut self, max_items: usize) -> Result<Self, InvalidLimit> {
        let idle = self.buckets.idle();
        self.buckets.bound(max_items, idle, Duration::ZERO)?;
        Ok(self)
    }

    fn tick(&mut self, now: Instant) -> u64 {
        let start = *self.start.get_or_insert(now);
        u64::try_from(now.saturating_duration_since(start).as_nanos()).unwrap_or(u64::MAX)
    }
}

impl<T: Hash + Eq + Clone, S: BuildHasher> RateLimiter<T> for PerItemBucket<T, S> {
    fn next_delay(&mut self, item: &T, now: Instant) -> Duration {
        let tick = self.tick(now);
        // As in `TokenBucket`: an earlier `now` does not move the token's instant.
        let before_start =
            self.start.map_or(Duration::ZERO, |start| start.saturating_duration_since(now));
        let bucket = self.buckets.entry(item, now, |bucket| bucket.full_at > tick);
        let (full_at, wait) = self.rate.take(bucket.full_at, tick);
        bucket.full_at = full_at;
        bucket.attempts = bucket.attempts.saturating_add(1);
        wait.saturating_add(before_start)
    }

    fn num_requeues(&self, item: &T) -> u32 {
        self.buckets.get(item).map_or(0, |bucket| bucket.attempts)
    }

    fn sweep(&mut self, now: Instant) {
        let tick = self.tick(now);
        self.buckets.sweep(now, |bucket| bucket.full_at > tick);
    }

    recorded!(self, self.buckets);
}
