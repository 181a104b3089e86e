//! `RateLimiter`: the question a queue asks before it retries an item.

use crate::remembered::Remembered;
use std::time::{Duration, Instant};

/// Says how long an item has to wait before it runs again, and remembers that it asked.
///
/// A limiter holds no clock (`now` is given) and no lock (`&mut self`): the queue has both. Its methods run under the
/// queue's limiter lock, as `Hash` and `Eq` of items do, and must not call the queue.
#[doc(alias = "TypedRateLimiter")]
pub trait RateLimiter<T> {
    /// Records one more attempt of `item`, and says how long to wait before the next.
    ///
    /// `now` does not go backwards between calls. If it does, a limiter may answer as if time had stood still, or, as a
    /// bucket, by the instants that it has promised: the wait for those is then longer.
    #[doc(alias = "When")]
    fn next_delay(&mut self, item: &T, now: Instant) -> Duration;

    /// The item waits until then, which may be longer than this limiter has said: what is remembered of it is not to be
    /// forgotten for age before it had its chance. A queue says so after it has asked for a delay. An instant that is not after
    /// `now` says that it waits no longer, and that its age counts from `now` on.
    fn keep_until(&mut self, item: &T, until: Instant, now: Instant) {
        let _ = (item, until, now);
    }

    /// Forgets the attempts of `item`: the next one counts as the first. Reservations already made stay made.
    #[doc(alias = "Forget")]
    fn forget(&mut self, item: &T);

    /// How many attempts of `item` were recorded since it was last forgotten.
    #[doc(alias = "NumRequeues")]
    fn num_requeues(&self, item: &T) -> u32;

    /// How much is remembered. A limiter that stores no items has nothing.
    fn remembered(&self) -> Remembered {
        Remembered::default()
    }

    /// Shows each item that is remembered, in no particular order, perhaps more than once.
    fn each_remembered(&self, visit: &mut dyn FnMut(&T)) {
        let _ = visit;
    }

    /// Hands out the items whose records were dropped since the last call, so that the caller can drop them outside its
    /// lock. A limiter that stores no items has none.
    fn take_discarded(&mut self) -> Vec<T> {
        Vec::new()
    }

    /// Forgets what is too old. A queue says so now and then, so that this happens also where nothing fails any more, and before
    /// it asks how many attempts were recorded. A limiter that stores no items has nothing to forget.
    fn sweep(&mut self, now: Instant) {
        let _ = now;
    }

    /// Gives back memory that is not in use. A limiter that stores no items has none.
    fn shrink(&mut self) {}
}

/// The methods that a limiter passes on as they are to the one it is made around.
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

        fn each_remembered(&$self, visit: &mut dyn FnMut(&T)) {
            $limiter.each_remembered(visit);
        }

        fn take_discarded(&mut $self) -> Vec<T> {
            $limiter.take_discarded()
        }

        fn sweep(&mut $self, now: Instant) {
            $limiter.sweep(now);
        }

        fn shrink(&mut $self) {
            $limiter.shrink();
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

/// The methods of a limiter that says it all by its [`Records`](crate::records::Records).
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

        fn each_remembered(&$self, visit: &mut dyn FnMut(&T)) {
            $records.each(visit);
        }

        fn take_discarded(&mut $self) -> Vec<T> {
            $records.take_discarded()
        }

        fn shrink(&mut $self) {
            $records.shrink();
        }
    };
}
pub(crate) use recorded;
