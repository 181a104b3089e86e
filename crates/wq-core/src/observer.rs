//! Observer: is notified of each event of a queue.

use std::sync::Arc;
use std::time::Duration;

use crate::added::Added;

/// Is notified of each event of a queue, after the event and outside the queue's lock.
///
/// It may take its time and may call the queue. Events of several threads can arrive in another
/// order than they happened.
///
/// Use it for counters and histograms. Read gauges (depth, unfinished work) from
/// [`QueueReader::gauges`](crate::QueueReader::gauges), where they agree with each other.
///
/// A pair `(first, second)` is an observer too, and notifies both in this order.
///
/// A queue with a [timed](Self::is_timed) observer reads the clock once in each operation, and in
/// each poll of a wait. Other queues read it for time-outs only, and once in a process to calibrate
/// the pause at a taken lock.
///
/// # Panics
///
/// A panic in a method reaches the caller of the queue, but the event has happened. It aborts the
/// program in a guard that is dropped by a panic.
#[doc(alias = "MetricsProvider")]
pub trait Observer: Send + Sync {
    /// Whether the observer needs durations. The queue asks once, when it is built.
    ///
    /// If no observer of a queue needs them, the queue measures no times. [`got`](Self::got) and
    /// [`done`](Self::done) then receive [`Duration::ZERO`], and gauges and snapshots have no
    /// times.
    fn is_timed(&self) -> bool {
        true
    }

    /// An item was added. client-go's metric `adds` counts [`Added::Queued`] and
    /// [`Added::Deferred`].
    fn added(&self, added: Added) {
        let _ = added;
    }

    /// A full queue refused an add.
    fn refused(&self) {}

    /// An item was handed out, `waited` after its add. client-go's metric `queue_duration`.
    fn got(&self, waited: Duration) {
        let _ = waited;
    }

    /// A guard ended its item, `worked` after the hand-out. client-go's metric `work_duration`.
    fn done(&self, worked: Duration) {
        let _ = worked;
    }

    /// Called after `done` if the item was added meanwhile and is queued again.
    fn requeued(&self) {}

    /// A queued item was taken out without being handed out: by `remove` or `shutdown_now`.
    fn removed(&self) {}

    /// An item will be added later, or was due at once. Called by layers that delay and retry,
    /// never by this crate. client-go's metric `retries`.
    fn retried(&self) {}

    /// A delayed item was queued, this `late` after its deadline. Called by layers that delay,
    /// never by this crate.
    fn due(&self, late: Duration) {
        let _ = late;
    }
}

macro_rules! pointed_to {
    ($pointer:ty) => {
        impl<O: Observer + ?Sized> Observer for $pointer {
            fn is_timed(&self) -> bool {
                (**self).is_timed()
            }

            fn added(&self, added: Added) {
                (**self).added(added);
            }

            fn refused(&self) {
                (**self).refused();
            }

            fn got(&self, waited: Duration) {
                (**self).got(waited);
            }

            fn done(&self, worked: Duration) {
                (**self).done(worked);
            }

            fn requeued(&self) {
                (**self).requeued();
            }

            fn removed(&self) {
                (**self).removed();
            }

            fn retried(&self) {
                (**self).retried();
            }

            fn due(&self, late: Duration) {
                (**self).due(late);
            }
        }
    };
}

pointed_to!(Arc<O>);
pointed_to!(Box<O>);

impl<A: Observer, B: Observer> Observer for (A, B) {
    fn is_timed(&self) -> bool {
        self.0.is_timed() || self.1.is_timed()
    }

    fn added(&self, added: Added) {
        self.0.added(added);
        self.1.added(added);
    }

    fn refused(&self) {
        self.0.refused();
        self.1.refused();
    }

    fn got(&self, waited: Duration) {
        self.0.got(waited);
        self.1.got(waited);
    }

    fn done(&self, worked: Duration) {
        self.0.done(worked);
        self.1.done(worked);
    }

    fn requeued(&self) {
        self.0.requeued();
        self.1.requeued();
    }

    fn removed(&self) {
        self.0.removed();
        self.1.removed();
    }

    fn retried(&self) {
        self.0.retried();
        self.1.retried();
    }

    fn due(&self, late: Duration) {
        self.0.due(late);
        self.1.due(late);
    }
}
