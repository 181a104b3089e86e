//! ThreadTimer: the clock and the parked threads of std, for queues without an async runtime.

use crate::timer::Timer;
use std::future::{Future, pending};
use std::pin::Pin;
use std::time::Instant;

/// The clock of the operating system. Waits by parking the thread.
///
/// It cannot wake a task, so only blocking getters keep the time with it: build the queue with
/// [`Builder::build_blocking`](crate::Builder::build_blocking).
#[derive(Debug, Clone, Copy, Default)]
pub struct ThreadTimer;

impl Timer for ThreadTimer {
    #[expect(clippy::disallowed_methods, reason = "a timer is where the time comes from")]
    fn now(&self) -> Instant {
        Instant::now()
    }

    /// Never completes: see [`wakes_tasks`](Timer::wakes_tasks).
    fn sleep_until(&self, _: Instant) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(pending())
    }

    fn park_until(&self, deadline: Option<Instant>) {
        match deadline {
            None => std::thread::park(),
            Some(deadline) => {
                let left = deadline.saturating_duration_since(self.now());
                if !left.is_zero() {
                    std::thread::park_timeout(left);
                }
            }
        }
    }

    fn wakes_tasks(&self) -> bool {
        false
    }
}
