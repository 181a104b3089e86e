//! `Jittered`: spreads the waits of another limiter.

use crate::invalid_limit::InvalidLimit;
use crate::limiter::RateLimiter;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, Instant};

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
