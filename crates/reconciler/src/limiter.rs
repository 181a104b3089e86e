//! The limiter of a controller: any, behind a lock, so that it outlives the queues of its terms. And the standard one.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::Key;

/// A limiter, shared by the queues of one controller's terms. Its lock is held only inside its own methods.
pub(crate) struct Limiter<K>(Arc<Mutex<dyn RateLimiter<K> + Send>>);

impl<K: Key> Limiter<K> {
    pub(crate) fn new(limiter: impl RateLimiter<K> + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(limiter)))
    }

    pub(crate) fn forget(&self, key: &K) {
        self.0.lock().forget(key);
    }
}

impl<K> Clone for Limiter<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K> fmt::Debug for Limiter<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiter").finish_non_exhaustive()
    }
}

impl<K: Key> RateLimiter<K> for Limiter<K> {
    fn next_delay(&mut self, key: &K, now: Instant) -> Duration {
        self.0.lock().next_delay(key, now)
    }

    fn forget(&mut self, key: &K) {
        self.0.lock().forget(key);
    }

    fn num_requeues(&self, key: &K) -> u32 {
        self.0.lock().num_requeues(key)
    }
}

pub trait RateLimiter<K> { fn next_delay(&mut self, key: &K, now: Instant) -> Duration; fn forget(&mut self, key: &K); fn num_requeues(&self, key: &K) -> u32; }
struct Exp<K>(std::collections::HashMap<K, u32>);
impl<K: Key> RateLimiter<K> for Exp<K> {
 fn next_delay(&mut self, key: &K, _: Instant) -> Duration { let n = self.0.entry(key.clone()).or_default(); let d = Duration::from_millis(5).saturating_mul(1 << (*n).min(20)).min(Duration::from_secs(300)); *n += 1; d }
 fn forget(&mut self, key: &K) { self.0.remove(key); }
 fn num_requeues(&self, key: &K) -> u32 { self.0.get(key).copied().unwrap_or(0) }
}
impl<K: Key> Limiter<K> { pub(crate) fn standard() -> Self { Self::new(Exp(Default::default())) } }
