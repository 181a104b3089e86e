//! `Timer`: the one door through which time enters a delaying queue. The timers themselves are in `thread_timer`,
//! `tokio_timer` and `manual_timer`.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

/// A clock, and two ways to wait for it: as a future and as a parked thread.
///
/// A queue reads the time, and waits for it, through its timer alone. A queue is exact whatever the timer: an item never
/// comes out before `now()` has reached its deadline, and due items come out in the order of their deadlines. How late
/// is the timer's grain.
///
/// No method of a timer is called while a lock of the queue is held.
pub trait Timer: Debug + Send + Sync {
    /// The present. Must never go backwards.
    fn now(&self) -> Instant;

    /// Completes once [`now`](Self::now) has reached `deadline`. Completing early is harmless (the queue looks at the
    /// clock and waits again), completing late makes items late.
    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Future<Output = ()> + Send>>;

    /// Blocks the calling thread until `deadline` (`None`: for ever) or until somebody calls
    /// [`unpark`](std::thread::Thread::unpark) on it, before or after this call. Returning early is harmless.
    fn park_until(&self, deadline: Option<Instant>);

    /// Whether [`sleep_until`](Self::sleep_until) completes by itself. If not, only threads that block in a getter can
    /// keep the time of a queue, and [`Builder::build`](crate::Builder::build) refuses the timer.
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
