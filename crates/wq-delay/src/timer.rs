//! Timer: the only source of time of a delaying queue. Its implementations are in `*_timer.rs`.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

/// A clock, and two ways to wait for it: as a future and as a parked thread.
///
/// An item never comes out before [`now`](Self::now) has reached its deadline. The timer's grain
/// decides how late it comes out.
///
/// The queue calls no method of a timer while it holds a lock.
pub trait Timer: Debug + Send + Sync {
    /// The present time. Must never go backwards.
    fn now(&self) -> Instant;

    /// Completes once [`now`](Self::now) has reached `deadline`. Completing early is harmless: the
    /// queue reads the clock and waits again. Completing late makes items late.
    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Future<Output = ()> + Send>>;

    /// Blocks the calling thread until `deadline`, or until [`unpark`](std::thread::Thread::unpark)
    /// before or after this call. `None` is no deadline. Returning early is harmless.
    fn park_until(&self, deadline: Option<Instant>);

    /// Whether [`sleep_until`](Self::sleep_until) completes by itself. If not, only blocking
    /// getters keep the time, and [`Builder::build`](crate::Builder::build) refuses the timer.
    fn wakes_tasks(&self) -> bool {
        true
    }
}

impl<C: Timer + ?Sized> Timer for Arc<C> {
    fn now(&self) -> Instant {
        (**self).now()
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        (**self).sleep_until(deadline)
    }

    fn park_until(&self, deadline: Option<Instant>) {
        (**self).park_until(deadline);
    }

    fn wakes_tasks(&self) -> bool {
        (**self).wakes_tasks()
    }
}
