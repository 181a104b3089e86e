//! `Rate`: the arithmetic of a token bucket, in whole nanoseconds. Pure.
//!
//! It is the generic cell rate algorithm: a bucket is one number, the time at which it is full
//! again. Taking a token moves that time by one interval. The wait is the excess of that time over
//! the depth of the bucket. The results equal those of a token counter (x/time/rate), without
//! fractions.

use crate::invalid_limit::InvalidLimit;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rate {
    /// Nanoseconds between tokens, rounded up: never faster than asked for.
    interval: u64,
    /// Nanoseconds in which an empty bucket fills.
    depth: u64,
}

impl Rate {
    pub(crate) fn new(tokens: u32, per: Duration, burst: u32) -> Result<Self, InvalidLimit> {
        if tokens == 0 {
            let remedy = "a bucket that never fills lets nothing through";
            return Err(InvalidLimit::new("tokens", tokens, "at least 1", remedy));
        }
        if per.is_zero() {
            let remedy = "leave the limiter out for no limit";
            return Err(InvalidLimit::new("per", per, "at least 1ns", remedy));
        }
        if burst == 0 {
            let remedy = "nothing fits into a bucket without room";
            return Err(InvalidLimit::new("burst", burst, "at least 1", remedy));
        }
        let Ok(interval) = u64::try_from(per.as_nanos().div_ceil(u128::from(tokens))) else {
            let bound = "at most 584 years for each token";
            return Err(InvalidLimit::new("per", per, bound, "shorten it, or raise tokens"));
        };
        let Some(depth) = interval.checked_mul(u64::from(burst)) else {
            let bound = format!("so small that it fills in 584 years at {tokens} per {per:?}");
            return Err(InvalidLimit::new("burst", burst, bound, "lower it, or raise the rate"));
        };
        Ok(Self { interval, depth })
    }

    /// client-go's default: ten per second, a hundred at once.
    pub(crate) const CONTROLLER: Self = Self { interval: 100_000_000, depth: 10_000_000_000 };

    /// Takes a token at `now` from a bucket that is full at `full_at`. Returns the new `full_at`
    /// and the wait for the token. Beyond the end of the time line it takes none, and the wait is
    /// [`Duration::MAX`].
    pub(crate) fn take(self, full_at: u64, now: u64) -> (u64, Duration) {
        let Some(full_at) = full_at.max(now).checked_add(self.interval) else {
            return (full_at, Duration::MAX);
        };
        let due = full_at.saturating_sub(self.depth);
        (full_at, Duration::from_nanos(due.saturating_sub(now)))
    }

    pub(crate) fn depth(self) -> Duration {
        Duration::from_nanos(self.depth)
    }
}
