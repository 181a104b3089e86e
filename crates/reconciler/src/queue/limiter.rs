//! The limiter of a controller, behind a lock so that it outlives the queues of its terms. Also the
//! default limiter.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use wq_ratelimit::{ExponentialBackoff, Jittered, RateLimiter, Shared};

use crate::Key;

/// A limiter, shared by the queues of one controller's terms. Its lock is held only inside its own
/// methods.
pub(crate) struct Limiter<K>(Shared<K, Box<dyn RateLimiter<K> + Send>>);

impl<K: Key> Limiter<K> {
    pub(crate) fn new(limiter: impl RateLimiter<K> + Send + 'static) -> Self {
        Self(Shared::new(Box::new(limiter)))
    }

    /// The default limiter: each key on its own, 5 ms doubling to 5 min, up to 10 % longer by
    /// jitter. No bucket over all keys, so that a failing key does not delay the others.
    pub(crate) fn standard() -> Self {
        let backoff = ExponentialBackoff::new(Duration::from_millis(5), Duration::from_secs(300))
            .expect("5 ms is not zero, and less than 5 min")
            // Names come from tenants: std's keyed hash, not a fast one.
            .hasher(RandomState::new());
        Self::new(Jittered::new(backoff, 10).expect("10 is between 1 and 100"))
    }

    /// Forgets the failures of a key that a term did not finish.
    pub(crate) fn forget_left(&self, key: &K) {
        let mut limiter = self.0.clone(); // With what it drops, after its lock.
        if catch_unwind(AssertUnwindSafe(|| limiter.forget(key))).is_err() {
            tracing::error!("the limiter or a key panicked at the end of a term");
        }
    }
}

impl<K> Clone for Limiter<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K> fmt::Debug for Limiter<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiter").finish_non_exhaustive()
    }
}

impl<K: Key> RateLimiter<K> for Limiter<K> {
    fn next_delay(&mut self, key: &K, now: Instant) -> Duration {
        self.0.next_delay(key, now)
    }

    fn keep_until(&mut self, key: &K, until: Instant, now: Instant) {
        self.0.keep_until(key, until, now);
    }

    fn forget(&mut self, key: &K) {
        self.0.forget(key);
    }

    fn num_requeues(&self, key: &K) -> u32 {
        self.0.num_requeues(key)
    }

    fn take_discarded(&mut self) -> Vec<K> {
        self.0.take_discarded()
    }

    fn sweep(&mut self, now: Instant) {
        self.0.sweep(now);
    }
}
