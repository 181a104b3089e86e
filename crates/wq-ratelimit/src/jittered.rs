//! `Jittered`: spreads the waits of another limiter.

use crate::invalid_limit::InvalidLimit;
use crate::limiter::{RateLimiter, pass_on};
use crate::random::Random;
use std::time::{Duration, Instant};

/// Spreads the waits of another limiter, so that items that failed together run again apart.
///
/// | | evenly between | |
/// | --- | --- | --- |
/// | [`new(limiter, percent)`](Self::new) | `d` and `d + percent% of d` | as apimachinery's `wait.Jitter` |
/// | [`equal(limiter)`](Self::equal) | `d / 2` and `d` | |
/// | [`full(limiter)`](Self::full) | zero and `d` | spreads the most |
///
/// `d` is the wait. The last two names are Marc Brooker's (Exponential Backoff And Jitter, 2015).
///
/// A clone draws its own sequence, but with a [`seed`](Self::seed) it continues the same one.
#[derive(Debug, Clone)]
pub struct Jittered<L> {
    limiter: L,
    spread: Spread,
    random: Random,
}

#[derive(Debug, Clone, Copy)]
enum Spread {
    Longer { percent: u8 },
    Equal,
    Full,
}

impl<L> Jittered<L> {
    /// Makes each wait up to `percent` per cent longer.
    ///
    /// # Errors
    ///
    /// If `percent` is 0 or above 100.
    pub fn new(limiter: L, percent: u8) -> Result<Self, InvalidLimit> {
        if !(1..=100).contains(&percent) {
            return Err(InvalidLimit::new(
                "percent",
                percent,
                "1 to 100",
                "leave Jittered out for no jitter",
            ));
        }
        Ok(Self::of(limiter, Spread::Longer { percent }))
    }

    /// Makes each wait at most half shorter.
    #[must_use]
    pub fn equal(limiter: L) -> Self {
        Self::of(limiter, Spread::Equal)
    }

    /// Makes each wait shorter, down to zero.
    #[must_use]
    pub fn full(limiter: L) -> Self {
        Self::of(limiter, Spread::Full)
    }

    fn of(limiter: L, spread: Spread) -> Self {
        Self { limiter, spread, random: Random::new() }
    }

    /// Sets the seed. Equal seeds give equal sequences.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { random: Random::seeded(seed), ..self }
    }

    fn spread(&mut self, delay: Duration) -> Duration {
        let half = delay / 2;
        let (least, span) = match self.spread {
            Spread::Longer { percent } => (delay, percent_of(delay, percent)),
            Spread::Equal => (delay.saturating_sub(half), half),
            Spread::Full => (Duration::ZERO, delay),
        };
        least.saturating_add(self.random.up_to(span))
    }
}

/// Rounded down.
fn percent_of(delay: Duration, percent: u8) -> Duration {
    let nanos = delay.as_nanos().saturating_mul(u128::from(percent)) / 100;
    // `Random::up_to` takes at most 584 years.
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

impl<T, L: RateLimiter<T>> RateLimiter<T> for Jittered<L> {
    fn next_delay(&mut self, item: &T, now: Instant) -> Duration {
        let delay = self.limiter.next_delay(item, now);
        self.spread(delay)
    }

    pass_on!(self, self.limiter);
}
