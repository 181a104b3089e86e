//! `Random`: random durations for limiters that spread waits. A seed gives one sequence.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

/// `SplitMix64` (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
#[derive(Debug)]
pub(crate) struct Random {
    state: u64,
    is_seeded: bool,
}

/// A clone draws its own sequence, but with a seed it continues the same one.
impl Clone for Random {
    fn clone(&self) -> Self {
        if self.is_seeded { Self { ..*self } } else { Self::new() }
    }
}

impl Random {
    pub(crate) fn new() -> Self {
        Self { state: RandomState::new().build_hasher().finish(), is_seeded: false }
    }

    pub(crate) const fn seeded(seed: u64) -> Self {
        Self { state: seed, is_seeded: true }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A duration from zero to `span` inclusive, and at most 584 years.
    pub(crate) fn up_to(&mut self, span: Duration) -> Duration {
        let nanos = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        // The upper half of the product of a 64 bit number and one of at most 2^64 fits 64 bits.
        let drawn = ((u128::from(nanos) + 1) * u128::from(self.next())) >> 64;
        Duration::from_nanos(u64::try_from(drawn).unwrap_or(nanos))
    }
}
