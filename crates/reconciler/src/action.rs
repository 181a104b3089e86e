//! `Action`: the next step of a key after a successful reconcile.

use std::time::Duration;

/// The next step of a key after a successful reconcile. The key's count of failures is cleared in
/// either case.
///
/// Each run's action replaces the request of an earlier run of the same key.
#[doc(alias = "Result")]
#[doc(alias = "RequeueAfter")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Action {
    requeue: Option<Duration>,
}

impl Action {
    /// Runs again only when a source names the key.
    pub fn await_change() -> Self {
        Self { requeue: None }
    }

    /// Runs again after this time, or sooner if a source names the key.
    ///
    /// A shorter time than [`Controller::min_requeue`](crate::Controller::min_requeue) (default 10
    /// ms) is raised to it, so that a zero does not cause a hot loop.
    pub fn requeue(after: Duration) -> Self {
        Self { requeue: Some(after) }
    }

    /// Returns the requested time; `None` for [`await_change`](Self::await_change).
    pub fn requeue_after(&self) -> Option<Duration> {
        self.requeue
    }
}
