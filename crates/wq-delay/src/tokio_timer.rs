//! `TokioTimer`: tokio's clock, real or paused.

use crate::parking::thread_waker;
use crate::timer::Timer;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::Context;
use std::time::Instant;
use tokio::runtime::{Handle, TryCurrentError};

/// The clock of one tokio runtime. In tests with `start_paused = true` it follows the paused clock.
///
/// Sleeps are rounded up by tokio to whole milliseconds, so an item comes out up to about a millisecond late, never
/// early. Blocking getters (in [`spawn_blocking`](tokio::task::spawn_blocking), or on a thread of their own) follow the
/// same clock, which goes on only while the runtime is driven: with a current-thread runtime that nobody blocks on they sleep
/// past their deadlines.
#[derive(Clone)]
pub struct TokioTimer {
    runtime: Handle,
}

impl TokioTimer {
    /// The clock of this runtime. Its time driver must be enabled
    /// ([`enable_time`](tokio::runtime::Builder::enable_time)).
    #[must_use]
    pub fn new(runtime: Handle) -> Self {
        Self { runtime }
    }

    /// The clock of the runtime that runs the caller.
    ///
    /// # Errors
    ///
    /// The caller runs in no tokio runtime: call it from a task, or use [`TokioTimer::new`] with a handle.
    pub fn current() -> Result<Self, TryCurrentError> {
        Handle::try_current().map(Self::new)
    }
}

impl Timer for TokioTimer {
    fn now(&self) -> Instant {
        // A paused clock is found through the runtime that is entered, so a thread outside must enter it.
        let _inside = self.runtime.enter();
        tokio::time::Instant::now().into_std()
    }

    /// # Panics
    ///
    /// If the runtime's time driver is not enabled (said by tokio).
    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let _inside = self.runtime.enter();
        Box::pin(tokio::time::sleep_until(deadline.into()))
    }

    fn park_until(&self, deadline: Option<Instant>) {
        let Some(deadline) = deadline else {
            std::thread::park();
            return;
        };
        let mut sleep = self.sleep_until(deadline);
        if sleep.as_mut().poll(&mut Context::from_waker(&thread_waker())).is_pending() {
            std::thread::park();
        }
    }
}

impl fmt::Debug for TokioTimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokioTimer").finish_non_exhaustive()
    }
}
