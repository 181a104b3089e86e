//! `Rate`: the arithmetic of a token bucket, in whole nanoseconds. Pure.
//!
//! The generic cell rate algorithm: a bucket is one number, the time at which it will be full again. To take a token
//! moves that time on by one interval; the wait is how far it then lies beyond a full bucket's depth. Same answers as a
//! counter of tokens (x/time/rate), without a fraction.

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
            return Err(InvalidLimit::new(
                "tokens",
                tokens,
                "at least 1; a bucket that never fills lets nothing through",
            ));
        }
        if per.is_zero() {
            return Err(InvalidLimit::new("per", per, "at least 1ns; leave the limiter out for no limit"));
        }
        if burst == 0 {
            return Err(InvalidLimit::new(
                "burst",
                burst,
                "at least 1; nothing fits into a bucket without room",
            ));
        }
        let interval = per.as_nanos().div_ceil(u128::from(tokens));
        let depth = interval.saturating_mul(u128::from(burst));
        match (u64::try_from(interval), u64::try_from(depth)) {
            (Ok(interval), Ok(depth)) => Ok(Self { interval, depth }),
            _ => Err(InvalidLimit::new(
                "burst",
                burst,
                format!("so small that it fills in 584 years at {tokens} per {per:?}"),
            )),
        }
    }

    /// Ten per second, a hundred at once: client-go's default.
    pub(crate) const CONTROLLER: Self = Self { interval: 100_000_000, depth: 10_000_000_000 };

    /// Takes one token at `now` (nanoseconds) from a bucket that is full at `full_at`: when it is full then, and how long
    /// to wait for the token.
    pub(crate) fn take(self, full_at: u64, now: u64) -> (u64, Duration) {
        let full_at = full_at.max(now).saturating_add(self.interval);
        let due = full_at.saturating_sub(self.depth);
        (full_at, Duration::from_nanos(due.saturating_sub(now)))
    }

    pub(crate) fn depth(self) -> Duration {
        Duration::from_nanos(self.depth)
    }
}
