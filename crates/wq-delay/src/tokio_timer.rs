//! TokioTimer: tokio's clock, real or paused.

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
/// tokio rounds sleeps up to milliseconds: an item comes out up to about 1 ms late, never early.
///
/// Blocking getters follow the same clock, in [`spawn_blocking`](tokio::task::spawn_blocking) or on
/// a thread of their own. Their sleeps end only while the runtime is driven: a current-thread
/// runtime needs a `block_on`.
#[derive(Clone)]
pub struct TokioTimer {
    runtime: Handle,
}

impl TokioTimer {
    /// The clock of this runtime, whose [time driver](tokio::runtime::Builder::enable_time) must be
    /// enabled.
    #[must_use]
    pub fn new(runtime: Handle) -> Self {
        Self { runtime }
    }

    /// The clock of the runtime that runs the caller.
    ///
    /// # Errors
    ///
    /// The caller runs in no tokio runtime: call it from a task, or use [`TokioTimer::new`] with a
    /// handle.
    pub fn current() -> Result<Self, TryCurrentError> {
        Handle::try_current().map(Self::new)
    }
}

impl Timer for TokioTimer {
    fn now(&self) -> Instant {
        // tokio finds a paused clock only inside its runtime.
        let _inside = self.runtime.enter();
        tokio::time::Instant::now().into_std()
    }

    /// # Panics
    ///
    /// If the time driver of the runtime is not enabled.
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
