//! `Action`: what a reconcile that went well wants next.

use std::time::Duration;

/// What happens to a key after a reconcile that went well. Its count of failures is cleared in
/// either case.
///
/// Each run's action replaces what an earlier run of the same key had asked for.
#[doc(alias = "Result")]
#[doc(alias = "RequeueAfter")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Action {
    requeue: Option<Duration>,
}

impl Action {
    /// Run again when a source names the key again, not before.
    pub fn await_change() -> Self {
        Self { requeue: None }
    }

    /// Run again after this time, or sooner if a source names the key.
    ///
    /// Below the controller's least interval
    /// ([`Controller::min_requeue`](crate::Controller::min_requeue), 10 ms unless set) that
    /// interval counts, so that a zero cannot make a hot loop.
    pub fn requeue(after: Duration) -> Self {
        Self { requeue: Some(after) }
    }

    /// The time asked for; `None` for [`await_change`](Self::await_change).
    pub fn requeue_after(&self) -> Option<Duration> {
        self.requeue
    }
}
