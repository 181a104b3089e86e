//! `Shared`: one limiter for several queues, behind a lock.

use crate::limiter::RateLimiter;
use crate::platform::Mutex;
use crate::remembered::Remembered;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One limiter for several queues: clones share it behind a lock.
///
/// They share its records too: an item of the same name in two queues is one item to it. A failure in one queue makes
/// the wait in the other longer and counts there, and `forget` in one ends what the limiter knows, for both.
///
/// What a queue knows by itself is its own: until when an item backs off.
///
/// A [`TokenBucket`](crate::TokenBucket) needs no `Shared`: its own clones share it, as those of a
/// [`MaxOf`](crate::MaxOf) share the bucket in it.
///
/// Items that the limiter forgets are never dropped under the lock.
///
/// ```
/// use std::time::Duration;
/// use wq_ratelimit::{ExponentialBackoff, ManualTimer, Outcome, RateLimitingQueue, Shared};
///
/// let backoff = ExponentialBackoff::new(Duration::from_secs(1), Duration::from_secs(60))?;
/// let shared = Shared::new(backoff);
/// let queue = || RateLimitingQueue::builder().limiter(shared.clone()).timer(ManualTimer::new()).build();
/// let (claims, volumes) = (queue()?, queue()?);
/// claims.add("a");
/// claims.try_get()?.finish(Outcome::Retry)?;
/// assert_eq!(volumes.num_requeues(&"a"), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Shared<T, L> {
    limiter: Arc<Mutex<L>>,
    /// What the limiter has dropped in calls of this handle, and nobody has taken yet.
    discarded: Vec<T>,
}

impl<T, L: RateLimiter<T>> Shared<T, L> {
    /// Shares this limiter.
    #[must_use]
    pub fn new(limiter: L) -> Self {
        Self { limiter: Arc::new(Mutex::new(limiter)), discarded: Vec::new() }
    }

    /// Runs under the lock. What the limiter has dropped leaves it with the lock: the next to have it would drop it under it.
    fn with<R>(&mut self, ask: impl FnOnce(&mut L) -> R) -> R {
        let mut limiter = self.limiter.lock();
        self.discarded.append(&mut limiter.take_discarded()); // Of one who has panicked.
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
        f.debug_struct("Shared").field("handles", &Arc::strong_count(&self.limiter)).finish_non_exhaustive()
    }
}

impl<T, L: RateLimiter<T>> RateLimiter<T> for Shared<T, L> {
    fn next_delay(&mut self, item: &T, now: Instant) -> Duration {
        self.discarded.clear(); // Left by an owner who does not take them; before the lock.
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

    fn each_remembered(&self, visit: &mut dyn FnMut(&T)) {
        self.limiter.lock().each_remembered(visit);
    }

    fn take_discarded(&mut self) -> Vec<T> {
        std::mem::take(&mut self.discarded)
    }

    fn sweep(&mut self, now: Instant) {
        self.discarded.clear(); // As above.
        self.with(|limiter| limiter.sweep(now));
    }

    fn shrink(&mut self) {
        self.limiter.lock().shrink();
    }
}
