//! `Shared`: one limiter for several queues, behind a lock.

use crate::class::Class;
use crate::limiter::RateLimiter;
use crate::platform::Mutex;
use crate::remembered::Remembered;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One limiter for several queues: clones share it behind a lock.
///
/// They share its records too: an item of the same name in two queues is one item to it, and `forget` in one resets the
/// other. A [`TokenBucket`](crate::TokenBucket) needs no `Shared`: its own clones share it.
pub struct Shared<L> {
    limiter: Arc<Mutex<L>>,
}

impl<L> Shared<L> {
    /// Shares this limiter.
    #[must_use]
    pub fn new(limiter: L) -> Self {
        Self { limiter: Arc::new(Mutex::new(limiter)) }
    }
}

impl<L> Clone for Shared<L> {
    fn clone(&self) -> Self {
        Self { limiter: Arc::clone(&self.limiter) }
    }
}

impl<L> fmt::Debug for Shared<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("handles", &Arc::strong_count(&self.limiter)).finish_non_exhaustive()
    }
}

impl<T, L: RateLimiter<T>> RateLimiter<T> for Shared<L> {
    fn next_delay(&mut self, item: &T, now: Instant) -> Duration {
        self.limiter.lock().next_delay(item, now)
    }

    fn next_delay_as(&mut self, item: &T, class: Class, now: Instant) -> Duration {
        self.limiter.lock().next_delay_as(item, class, now)
    }

    fn forget(&mut self, item: &T) {
        self.limiter.lock().forget(item);
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
        self.limiter.lock().take_discarded()
    }

    fn shrink(&mut self) {
        self.limiter.lock().shrink();
    }
}
