//! When failures are tried again: one limiter for both queues, so that together they stay below one
//! rate.

use std::time::Duration;

use wq_ratelimit::{ExponentialBackoff, InvalidLimit, MaxOf, Shared, TokenBucket};

/// The limiter of both queues: per key exponential, and a bucket over all of them.
pub(crate) type Limiter = Shared<String, MaxOf<ExponentialBackoff<String>, TokenBucket>>;

/// When and how often failures are tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    /// The first pause.
    pub base: Duration,
    /// The longest pause.
    pub max: Duration,
    /// Retries a second.
    pub qps: u32,
    /// Retries at once.
    pub burst: u32,
}

impl Retries {
    /// One limiter to be shared by clones.
    pub(crate) fn limiter(&self) -> Result<Limiter, InvalidLimit> {
        let backoff = ExponentialBackoff::new(self.base, self.max)?;
        Ok(Shared::new(MaxOf::new(backoff, TokenBucket::per_second(self.qps, self.burst)?)))
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use wq_ratelimit::RateLimiter as _;

    use super::*;

    fn retries(base: u64, max: u64, qps: u32, burst: u32) -> Limiter {
        let seconds = Duration::from_secs;
        Retries { base: seconds(base), max: seconds(max), qps, burst }.limiter().unwrap()
    }

    #[test]
    fn base_and_max_both_have_an_effect() {
        let mut limiter = retries(1, 5, 1000, 1000);
        let now = Instant::now().into_std();
        let key = "claim".to_owned();
        let waits: Vec<u64> = (0..5).map(|_| limiter.next_delay(&key, now).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 5, 5]);
        limiter.forget(&key);
        assert_eq!(limiter.next_delay(&key, now).as_secs(), 1);
    }

    #[test]
    fn both_queues_draw_from_one_bucket() {
        let mut claims = retries(1, 1, 1, 2);
        let mut volumes = claims.clone();
        let now = Instant::now().into_std();
        let mut waits = Vec::new();
        for index in 0..3 {
            waits.push(claims.next_delay(&format!("claim-{index}"), now).as_secs());
            waits.push(volumes.next_delay(&format!("volume-{index}"), now).as_secs());
        }
        assert_eq!(waits, [1, 1, 1, 2, 3, 4]);
    }
}
