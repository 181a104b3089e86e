//! `TokenBucket`: a rate limit over all items.

use crate::invalid_limit::InvalidLimit;
use crate::limiter::RateLimiter;
use crate::planted::planted;
use crate::platform::AtomicU64;
use crate::rate::Rate;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// One bucket for all items: `burst` tokens, refilled at a constant rate. Clones share it.
///
/// Each attempt takes a token. If none is left, it reserves the next future token and waits for it,
/// as in x/time/rate. In any window `w` at most `burst + rate * w` attempts become due. The wait
/// has no bound: see [`WithMaxWait`](crate::WithMaxWait). A reservation is never given back.
///
/// The equivalents of client-go's rates (`rate.Limit`, tokens per second):
///
/// | `rate.NewLimiter` | here |
/// | --- | --- |
/// | `(10, 100)` | `per_second(10, 100)` |
/// | `(0.5, burst)` | `new(1, Duration::from_secs(2), burst)` |
/// | `(2.5, burst)` | `new(5, Duration::from_secs(2), burst)` |
/// | `(rate.Every(interval), burst)` | `new(1, interval, burst)` |
/// | `(rate.Inf, burst)`: no limit | leave the bucket out of [`MaxOf`](crate::MaxOf) |
/// | `(0, burst)` | refused: nothing is let through after the burst |
///
/// ```
/// use std::time::{Duration, Instant};
/// use wq_ratelimit::TokenBucket;
///
/// let bucket = TokenBucket::per_second(10, 2)?;
/// let now = Instant::now();
/// let waits: Vec<u128> = (0..4).map(|_| bucket.reserve(now).as_millis()).collect();
/// assert_eq!(waits, [0, 0, 100, 200]);
/// # Ok::<(), wq_ratelimit::InvalidLimit>(())
/// ```
#[derive(Debug, Clone)]
#[doc(alias = "TypedBucketRateLimiter")]
#[doc(alias = "BucketRateLimiter")]
pub struct TokenBucket {
    shared: Arc<Bucket>,
}

#[derive(Debug)]
struct Bucket {
    rate: Rate,
    /// The start of the bucket's time line, at its first use.
    start: OnceLock<Instant>,
    full_at: AtomicU64,
}

impl TokenBucket {
    /// Makes a bucket of `tokens` per `per`, and `burst` at once.
    ///
    /// # Errors
    ///
    /// If an argument is zero, or the bucket takes more than 584 years to fill.
    pub fn new(tokens: u32, per: Duration, burst: u32) -> Result<Self, InvalidLimit> {
        Rate::new(tokens, per, burst).map(Self::of)
    }

    /// Makes a bucket of `tokens` per second, and `burst` at once.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn per_second(tokens: u32, burst: u32) -> Result<Self, InvalidLimit> {
        Self::new(tokens, Duration::from_secs(1), burst)
    }

    pub(crate) fn of(rate: Rate) -> Self {
        Self {
            shared: Arc::new(Bucket { rate, start: OnceLock::new(), full_at: AtomicU64::new(0) }),
        }
    }

    /// Takes a token, and returns how long to wait for it from `now` on. If `now` is earlier than
    /// in another call, the token's instant stays the same and the wait is longer.
    #[inline]
    pub fn reserve(&self, now: Instant) -> Duration {
        let start = *self.shared.start.get_or_init(|| now);
        match now.checked_duration_since(start) {
            Some(since) => self.take(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)),
            None => self.take(0).saturating_add(start.saturating_duration_since(now)),
        }
    }

    /// Takes a token at this time after the start, in nanoseconds.
    #[inline]
    fn take(&self, now: u64) -> Duration {
        let Bucket { rate, full_at, .. } = &*self.shared;
        let mut held = full_at.load(Ordering::Relaxed);
        loop {
            let (next, wait) = rate.take(held, now);
            if planted("token-taken-twice") {
                full_at.store(next, Ordering::Relaxed);
                return wait;
            }
            // Relaxed: no other memory depends on this number.
            match full_at.compare_exchange_weak(held, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return wait,
                Err(current) => held = current,
            }
        }
    }
}

impl<T> RateLimiter<T> for TokenBucket {
    fn next_delay(&mut self, _: &T, now: Instant) -> Duration {
        self.reserve(now)
    }

    fn forget(&mut self, _: &T) {}

    /// Always 0: a bucket stores no items.
    fn num_requeues(&self, _: &T) -> u32 {
        0
    }
}
