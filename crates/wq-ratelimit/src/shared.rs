//! `Shared`: one limiter for several queues, behind a lock.

use crate::limiter::RateLimiter;
use crate::platform::Mutex;
use crate::remembered::Remembered;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One limiter for several queues. Clones share it behind a lock.
///
/// Equal items of two queues are one item to it: a failure in one queue counts in the other, and
/// `forget` forgets for both. Each queue has its own back-offs.
///
/// Clones of a [`TokenBucket`](crate::TokenBucket) share their tokens without `Shared`, also in
/// clones of a [`MaxOf`](crate::MaxOf).
///
/// ```
/// use std::time::Duration;
/// use wq_ratelimit::{ExponentialBackoff, ManualTimer, Outcome, RateLimitingQueue, Shared};
///
/// let backoff = ExponentialBackoff::new(Duration::from_secs(1), Duration::from_secs(60))?;
/// let shared = Shared::new(backoff);
/// let builder = || RateLimitingQueue::builder().limiter(shared.clone());
/// let claims = builder().timer(ManualTimer::new()).build()?;
/// let volumes = builder().timer(ManualTimer::new()).build()?;
/// claims.add("a");
/// claims.try_get()?.finish(Outcome::Retry)?;
/// assert_eq!(volumes.num_requeues(&"a"), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Shared<T, L> {
    limiter: Arc<Mutex<L>>,
    /// Items that the limiter has dropped in calls of this handle.
    discarded: Vec<T>,
}

impl<T, L: RateLimiter<T>> Shared<T, L> {
    /// Shares this limiter.
    #[must_use]
    pub fn new(limiter: L) -> Self {
        Self { limiter: Arc::new(Mutex::new(limiter)), discarded: Vec::new() }
    }

    /// Runs a call under the lock and takes the dropped items, so that no handle drops them under
    /// it.
    fn with<R>(&mut self, ask: impl FnOnce(&mut L) -> R) -> R {
        let mut limiter = self.limiter.lock();
        self.discarded.append(&mut limiter.take_discarded()); // Left by a panic.
        let answer = ask(&mut limiter);
        self.discarded.append(&mut limiter.take_discarded());
        answer
    }
}

impl<T, L> Clone for Shared<T, L> {
    fn clone(&self) -> Self {
        Self { limiter: Arc::clone(&self.limiter), discarded: Vec::new() }
    }
}

impl<T, L> fmt::Debug for Shared<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("handles", &Arc::strong_count(&self.limiter))
            .finish_non_exhaustive()
    }
}

impl<T, L: RateLimiter<T>> RateLimiter<T> for Shared<T, L> {
    fn next_delay(&mut self, item: &T, now: Instant) -> Duration {
        self.discarded.clear(); // Not taken by the owner. Dropped before the lock.
        self.with(|limiter| limiter.next_delay(item, now))
    }

    fn keep_until(&mut self, item: &T, until: Instant, now: Instant) {
        self.limiter.lock().keep_until(item, until, now);
    }

    fn forget(&mut self, item: &T) {
        self.discarded.clear(); // As above.
        self.with(|limiter| limiter.forget(item));
    }

    fn num_requeues(&self, item: &T) -> u32 {
        self.limiter.lock().num_requeues(item)
    }

    fn remembered(&self) -> Remembered {
        self.limiter.lock().remembered()
    }

    fn take_discarded(&mut self) -> Vec<T> {
        std::mem::take(&mut self.discarded)
    }

    fn sweep(&mut self, now: Instant) {
        self.discarded.clear(); // As above.
        self.with(|limiter| limiter.sweep(now));
    }
}
