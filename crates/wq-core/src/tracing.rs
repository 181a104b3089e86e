//! Tracing: an observer that emits each event of a queue as a `tracing` event, at level trace.

use std::time::Duration;

use tracing::trace;

use crate::added::Added;
use crate::observer::Observer;

/// Emits each event of a queue to the thread's subscriber, at level trace and with target
/// `wq_core`.
///
/// Give it to [`Builder::observer`](crate::Builder::observer), alone or with another observer:
/// `(metrics, TraceEvents::new("claims"))`.
///
/// Events carry the name of the queue and durations in seconds, never items: an item may be secret
/// or long.
#[derive(Clone, Debug)]
pub struct TraceEvents {
    queue: String,
}

impl TraceEvents {
    /// An observer for the queue of this name.
    pub fn new(queue: impl Into<String>) -> Self {
        Self { queue: queue.into() }
    }
}

impl Observer for TraceEvents {
    fn added(&self, added: Added) {
        trace!(target: "wq_core", queue = self.queue, ?added, "added");
    }

    fn refused(&self) {
        trace!(target: "wq_core", queue = self.queue, "refused: the queue is full");
    }

    fn got(&self, waited: Duration) {
        trace!(target: "wq_core", queue = self.queue, waited = waited.as_secs_f64(), "got");
    }

    fn done(&self, worked: Duration) {
        trace!(target: "wq_core", queue = self.queue, worked = worked.as_secs_f64(), "done");
    }

    fn requeued(&self) {
        trace!(target: "wq_core", queue = self.queue, "requeued");
    }

    fn removed(&self) {
        trace!(target: "wq_core", queue = self.queue, "removed");
    }

    fn retried(&self) {
        trace!(target: "wq_core", queue = self.queue, "retried");
    }

    fn due(&self, late: Duration) {
        trace!(target: "wq_core", queue = self.queue, late = late.as_secs_f64(), "due");
    }
}
