//! Observer: what happens in a queue, told to somebody who counts it.

use std::sync::Arc;
use std::time::Duration;

use crate::added::Added;

/// Told of each event of a queue, after the event and outside the queue's lock: it may take its time and may call the
/// queue. Events of several threads can reach it in another order than they happened in.
///
/// Feed counters and histograms with it. Gauges (depth, unfinished work) are to be read from
/// [`WorkQueue::gauges`](crate::WorkQueue::gauges) instead, where they agree with each other.
///
/// Two observers are one: `(first, second)` tells both, in this order.
///
/// A queue with an observer reads the clock once in each operation, and in each poll of one that waits; one without, or whose
/// observer [wants no times](Self::is_timed), reads it for time-outs alone, and once a process to learn how long a thread
/// should pause at a lock that is taken.
///
/// # Panics
///
/// A panic in a method reaches the caller of the queue; the event has happened all the same. In a guard that is dropped
/// by a panic it aborts the program.
#[doc(alias = "MetricsProvider")]
pub trait Observer: Send + Sync {
    /// Whether the durations are wanted. Asked once, when the queue is built. If no observer of a queue wants them, it reads no
    /// clock, and they cost little more than their own methods: [`got`](Self::got) and [`done`](Self::done) are told
    /// [`Duration::ZERO`], and gauges and snapshots know no times.
    fn is_timed(&self) -> bool {
        true
    }

    /// An add was made. [`Added::Queued`] and [`Added::Deferred`] are what client-go counts in its `adds` metric.
    fn added(&self, added: Added) {
        let _ = added;
    }

    /// An add was refused because the queue was full, at once or for all the time that the add was to wait.
    fn refused(&self) {}

    /// An item was handed out, `waited` after its add. Upstream's `queue_duration`.
    fn got(&self, waited: Duration) {
        let _ = waited;
    }

    /// A guard ended its item, `worked` after it was handed out. Upstream's `work_duration`.
    fn done(&self, worked: Duration) {
        let _ = worked;
    }

    /// After `done`: the item had been added meanwhile and is queued again.
    fn requeued(&self) {}

    /// A queued item was taken out without being handed out: by `remove` or `shutdown_now`.
    fn removed(&self) {}

    /// An item was set up to be added later, or was to be and is due at once. Never called by this crate: the layers that delay and
    /// retry call it. Upstream's `retries`.
    fn retried(&self) {}

    /// A delayed item was queued, this `late` after its deadline. Never called by this crate: the layers that delay call it.
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
