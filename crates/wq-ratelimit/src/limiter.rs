//! `RateLimiter`: decides how long a failed item waits.

use crate::remembered::Remembered;
use std::time::{Duration, Instant};

/// Decides how long an item waits before it runs again, and counts its attempts.
///
/// A limiter has no clock (`now` is an argument) and no lock (`&mut self`). Its methods run under
/// the queue's limiter lock and must not call the queue.
#[doc(alias = "TypedRateLimiter")]
pub trait RateLimiter<T> {
    /// Counts an attempt of `item`, and returns the wait before the next one. If `now` goes
    /// backwards between calls, the wait can be longer.
    #[doc(alias = "When")]
    fn next_delay(&mut self, item: &T, now: Instant) -> Duration;

    /// Keeps the record of an item that waits until then, perhaps longer than this limiter has
    /// said. An instant that is not after `now` ends the wait.
    fn keep_until(&mut self, item: &T, until: Instant, now: Instant) {
        let _ = (item, until, now);
    }

    /// Forgets the attempts of `item`: the next one counts as the first.
    #[doc(alias = "Forget")]
    fn forget(&mut self, item: &T);

    /// The number of attempts of `item` since it was last forgotten.
    #[doc(alias = "NumRequeues")]
    fn num_requeues(&self, item: &T) -> u32;

    /// The number of remembered items. Zero if the limiter stores none.
    fn remembered(&self) -> Remembered {
        Remembered::default()
    }

    /// Returns the items dropped since the last call. The caller drops them outside its lock.
    fn take_discarded(&mut self) -> Vec<T> {
        Vec::new()
    }

    /// Forgets old records. A queue calls it now and then, and before `num_requeues`.
    fn sweep(&mut self, now: Instant) {
        let _ = now;
    }
}

/// The methods that a limiter forwards to the limiter that it wraps.
macro_rules! pass_on {
    ($self:ident, $limiter:expr) => {
        fn keep_until(&mut $self, item: &T, until: Instant, now: Instant) {
            $limiter.keep_until(item, until, now);
        }

        fn forget(&mut $self, item: &T) {
            $limiter.forget(item);
        }

        fn num_requeues(&$self, item: &T) -> u32 {
            $limiter.num_requeues(item)
        }

        fn remembered(&$self) -> $crate::Remembered {
            $limiter.remembered()
        }

        fn take_discarded(&mut $self) -> Vec<T> {
            $limiter.take_discarded()
        }

        fn sweep(&mut $self, now: Instant) {
            $limiter.sweep(now);
        }

    };
}
pub(crate) use pass_on;

impl<T, L: RateLimiter<T> + ?Sized> RateLimiter<T> for Box<L> {
    fn next_delay(&mut self, item: &T, now: Instant) -> Duration {
        (**self).next_delay(item, now)
    }

    pass_on!(self, (**self));
}

/// The methods that a limiter forwards to its [`Records`](crate::records::Records).
macro_rules! recorded {
    ($self:ident, $records:expr) => {
        fn keep_until(&mut $self, item: &T, until: Instant, now: Instant) {
            $records.keep_until(item, until, now);
        }

        fn forget(&mut $self, item: &T) {
            $records.remove(item);
        }

        fn remembered(&$self) -> $crate::Remembered {
            $records.remembered()
        }

        fn take_discarded(&mut $self) -> Vec<T> {
            $records.take_discarded()
        }

    };
}
pub(crate) use recorded;
