//! `TokenBucket`: so many per second over all items.

use crate::invalid_limit::InvalidLimit;
use crate::limiter::RateLimiter;
use crate::planted::planted;
use crate::platform::AtomicU64;
use crate::rate::Rate;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// One bucket for all items: `burst` tokens, and so many more per time. Clones share it, without a lock.
///
/// Each attempt takes a token; if none is left it takes one of the future, and waits for that (a reservation, as in
/// x/time/rate). So in any window `w` at most `burst + rate * w` attempts become due, and there is no longest wait: see
/// [`WithMaxWait`](crate::WithMaxWait). A reservation is never given back.
///
/// A rate of client-go (`rate.Limit`, tokens per second) is written so:
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
/// Whole nanoseconds; an interval that is none is rounded up. 584 years after its first use the time of a bucket ends: a token after
/// which it would not be full again by then never comes, and the wait for it is [`Duration::MAX`].
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
    /// Where the time line of the bucket begins: at its first use.
    start: OnceLock<Instant>,
    full_at: AtomicU64,
}

impl TokenBucket {
    /// `tokens` per `per`, and `burst` at once.
    ///
    /// # Errors
    ///
    /// If one of them is zero, or the bucket would take more than 584 years to fill.
    pub fn new(tokens: u32, per: Duration, burst: u32) -> Result<Self, InvalidLimit> {
        Rate::new(tokens, per, burst).map(Self::of)
    }

    /// `tokens` per second, and `burst` at once.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn per_second(tokens: u32, burst: u32) -> Result<Self, InvalidLimit> {
        Self::new(tokens, Duration::from_secs(1), burst)
    }

    pub(crate) fn of(rate: Rate) -> Self {
        Self { shared: Arc::new(Bucket { rate, start: OnceLock::new(), full_at: AtomicU64::new(0) }) }
    }

    /// Takes a token, and says how long to wait for it, from `now` on. Where `now` is older than another's was, as that
    /// of a thread that was overtaken, or after a clock has gone back, the token is there at the same instant, and the
    /// wait for it longer by as much:
    ///
    /// ```
    /// # use std::time::{Duration, Instant};
    /// # use wq_ratelimit::TokenBucket;
    /// let (second, hour) = (Duration::from_secs(1), Duration::from_secs(3600));
    /// let bucket = TokenBucket::new(1, second, 1)?;
    /// let now = Instant::now();
    /// assert_eq!(bucket.reserve(now + hour), Duration::ZERO);
    /// assert_eq!(bucket.reserve(now), hour + second);
    /// # Ok::<(), wq_ratelimit::InvalidLimit>(())
    /// ```
    #[inline]
    pub fn reserve(&self, now: Instant) -> Duration {
        let Bucket { rate, start, full_at } = &*self.shared;
        let start = *start.get_or_init(|| now);
        let before_start = start.saturating_duration_since(now);
        let now = u64::try_from(now.saturating_duration_since(start).as_nanos()).unwrap_or(u64::MAX);
        let mut held = full_at.load(Ordering::Relaxed);
        loop {
            let (next, wait) = rate.take(held, now);
            if planted("token-taken-twice") {
                full_at.store(next, Ordering::Relaxed);
                return wait;
            }
            // Relaxed: the number stands for itself, nothing else is read through it.
            match full_at.compare_exchange_weak(held, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return wait.saturating_add(before_start),
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

    /// Always 0: a bucket knows no items.
    fn num_requeues(&self, _: &T) -> u32 {
        0
    }
}
