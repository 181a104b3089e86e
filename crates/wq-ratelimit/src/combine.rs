//! Limiters made of limiters: `MaxOf`, `WithMaxWait`, `Jittered`, `Shared`.

use crate::invalid_limit::InvalidLimit;
use crate::limiter::RateLimiter;
use parking_lot::Mutex;
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longer wait of two limiters. Nests: `MaxOf::new(a, MaxOf::new(b, c))`.
///
/// Both are asked each time, so both remember: with a bucket among them, an item that the other delays for longer has
/// taken its token all the same.
#[derive(Debug, Clone)]
#[doc(alias = "TypedMaxOfRateLimiter")]
#[doc(alias = "MaxOfRateLimiter")]
pub struct MaxOf<A, B> {
    first: A,
    second: B,
}

impl<A, B> MaxOf<A, B> {
    /// The longer of these two.
    #[must_use]
    pub const fn new(first: A, second: B) -> Self {
        Self { first, second }
    }
}

impl<T, A: RateLimiter<T>, B: RateLimiter<T>> RateLimiter<T> for MaxOf<A, B> {
    fn next_delay(&mut self, item: &T, now: Instant) -> Duration {
        self.first.next_delay(item, now).max(self.second.next_delay(item, now))
    }

    fn forget(&mut self, item: &T) {
        self.first.forget(item);
        self.second.forget(item);
    }

    fn num_requeues(&self, item: &T) -> u32 {
        self.first.num_requeues(item).max(self.second.num_requeues(item))
    }

    fn take_discarded(&mut self) -> Vec<T> {
        let mut discarded = self.first.take_discarded();
        discarded.append(&mut self.second.take_discarded());
        discarded
    }
}

/// Caps the wait of another limiter. Only the answer: the debt of a bucket behind it grows on.
#[derive(Debug, Clone)]
#[doc(alias = "TypedWithMaxWaitRateLimiter")]
#[doc(alias = "WithMaxWaitRateLimiter")]
pub struct WithMaxWait<L> {
    limiter: L,
    max_wait: Duration,
}

impl<L> WithMaxWait<L> {
    /// At most `max_wait`, whatever `limiter` says. Zero: never a wait.
    #[must_use]
    pub const fn new(limiter: L, max_wait: Duration) -> Self {
        Self { limiter, max_wait }
    }
}

impl<T, L: RateLimiter<T>> RateLimiter<T> for WithMaxWait<L> {
    fn next_delay(&mut self, item: &T, now: Instant) -> Duration {
        self.limiter.next_delay(item, now).min(self.max_wait)
    }

    fn forget(&mut self, item: &T) {
        self.limiter.forget(item);
    }

    fn num_requeues(&self, item: &T) -> u32 {
        self.limiter.num_requeues(item)
    }

    fn take_discarded(&mut self) -> Vec<T> {
        self.limiter.take_discarded()
    }
}

/// Lengthens each wait of another limiter by a random part of it, so that items that failed together do not come back
/// together: from `d` to `d + percent% of d`, never shorter than `d` (as `wait.Jitter` of k8s.io/apimachinery).
#[derive(Debug, Clone)]
pub struct Jittered<L> {
    limiter: L,
    percent: u8,
    random: u64,
}

impl<L> Jittered<L> {
    /// Up to `percent` per cent longer, with a seed of this process's own.
    ///
    /// # Errors
    ///
    /// If `percent` is 0 or above 100.
    pub fn new(limiter: L, percent: u8) -> Result<Self, InvalidLimit> {
        Self::seeded(limiter, percent, RandomState::new().build_hasher().finish())
    }

    /// As [`new`](Self::new); the same seed gives the same sequence.
    ///
    /// # Errors
    ///
    /// If `percent` is 0 or above 100.
    pub fn seeded(limiter: L, percent: u8, seed: u64) -> Result<Self, InvalidLimit> {
        if !(1..=100).contains(&percent) {
            return Err(InvalidLimit::new("percent", percent, "1 to 100; leave Jittered out for no jitter"));
        }
        Ok(Self { limiter, percent, random: seed })
    }

    /// `SplitMix64` (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
    fn next_random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

impl<T, L: RateLimiter<T>> RateLimiter<T> for Jittered<L> {
    fn next_delay(&mut self, item: &T, now: Instant) -> Duration {
        let delay = self.limiter.next_delay(item, now);
        let span = delay.as_nanos().saturating_mul(u128::from(self.percent)) / 100;
        // At most 584 years of jitter: both factors fit 64 bits, and so does the upper half of their product.
        let span = u64::try_from(span).unwrap_or(u64::MAX);
        let extra = (u128::from(span) * u128::from(self.next_random())) >> 64;
        delay.saturating_add(Duration::from_nanos(u64::try_from(extra).unwrap_or(u64::MAX)))
    }

    fn forget(&mut self, item: &T) {
        self.limiter.forget(item);
    }

    fn num_requeues(&self, item: &T) -> u32 {
        self.limiter.num_requeues(item)
    }

    fn take_discarded(&mut self) -> Vec<T> {
        self.limiter.take_discarded()
    }
}

/// One limiter for several queues: clones share it behind a lock.
///
/// They share its records too: an item of the same name in two queues is one item to it, and `forget` in one resets the
/// other. A [`TokenBucket`](crate::TokenBucket) needs no `Shared`: its own clones share it.
pub struct Shared<L> {
    limiter: Arc<Mutex<L>>,
}

impl<L> Shared<L> {
    /// Shares this limiter.
    #[must_use]
    pub fn new(limiter: L) -> Self {
        Self { limiter: Arc::new(Mutex::new(limiter)) }
    }
}

impl<L> Clone for Shared<L> {
    fn clone(&self) -> Self {
        Self { limiter: Arc::clone(&self.limiter) }
    }
}

impl<L> fmt::Debug for Shared<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("handles", &Arc::strong_count(&self.limiter)).finish_non_exhaustive()
    }
}

impl<T, L: RateLimiter<T>> RateLimiter<T> for Shared<L> {
    fn next_delay(&mut self, item: &T, now: Instant) -> Duration {
        self.limiter.lock().next_delay(item, now)
    }

    fn forget(&mut self, item: &T) {
        self.limiter.lock().forget(item);
    }

    fn num_requeues(&self, item: &T) -> u32 {
        self.limiter.lock().num_requeues(item)
    }

    fn take_discarded(&mut self) -> Vec<T> {
        self.limiter.lock().take_discarded()
    }
}
