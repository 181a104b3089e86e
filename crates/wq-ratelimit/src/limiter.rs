//! `RateLimiter`: the question a queue asks before it retries an item.

use std::time::{Duration, Instant};

/// Says how long an item has to wait before it runs again, and remembers that it asked.
///
/// A limiter holds no clock (`now` is given) and no lock (`&mut self`): the queue has both. Its methods run under the
/// queue's limiter lock, as `Hash` and `Eq` of items do, and must not call the queue.
#[doc(alias = "TypedRateLimiter")]
pub trait RateLimiter<T> {
    /// Records one more attempt of `item`, and says how long to wait before the next.
    ///
    /// `now` does not go backwards between calls; if it does, a limiter may answer as if time had stood still.
    #[doc(alias = "When")]
    fn next_delay(&mut self, item: &T, now: Instant) -> Duration;

    /// Forgets the attempts of `item`: the next one counts as the first. Reservations already made stay made.
    #[doc(alias = "Forget")]
    fn forget(&mut self, item: &T);

    /// How many attempts of `item` were recorded since it was last forgotten.
    #[doc(alias = "NumRequeues")]
    fn num_requeues(&self, item: &T) -> u32;

    /// Hands out the items whose records were dropped since the last call, so that the caller can drop them outside its
    /// lock. A limiter that stores no items has none.
    fn take_discarded(&mut self) -> Vec<T> {
        Vec::new()
    }
}

impl<T, L: RateLimiter<T> + ?Sized> RateLimiter<T> for Box<L> {
    fn next_delay(&mut self, item: &T, now: Instant) -> Duration {
        (**self).next_delay(item, now)
    }

    fn forget(&mut self, item: &T) {
        (**self).forget(item);
    }

    fn num_requeues(&self, item: &T) -> u32 {
        (**self).num_requeues(item)
    }

    fn take_discarded(&mut self) -> Vec<T> {
        (**self).take_discarded()
    }
}
