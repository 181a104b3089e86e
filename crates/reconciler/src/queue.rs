//! The queue of one controller in one term: a queue of wq-ratelimit with the reasons of each key.
//! Turns the verdicts of `outcome` into calls of the queue.
//!
//! | keys of the start wait | changes wait | the next turn |
//! | --- | --- | --- |
//! | yes | no | of the key of the start that has waited longest |
//! | no | yes | of the change that has waited longest |
//! | yes | yes | of each in turn |
//!
//! So a change runs within two turns, however many keys of the start wait, and keys that never rest
//! at most double the time of the start.

mod backlog;
pub(crate) mod inbox;
pub(crate) mod limiter;
pub(crate) mod reasons;

use std::collections::hash_map::RandomState;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use wq_priority::{Order, Priority};
use wq_ratelimit::{
    Added, Combine, Observer, Outcome, OwnedProcessingGuard, RateLimitingQueue, Rejected,
    TokioTimer,
};

use crate::Key;
use crate::metrics::ControllerMetrics;
use crate::queue::backlog::{Note, Noted};
use crate::queue::limiter::Limiter;
use crate::queue::reasons::Reasons;
use crate::run::outcome::Verdict;

type Backlog = Noted<Priority>;
/// The priority of keys at the start, controller-runtime's `LowPriority`.
pub(crate) const INITIAL: i32 = -100;
/// Every second turn goes to the priority that has waited longest.
const AGING_INTERVAL: u32 = 2;

/// The delay of a retry if the limiter panics.
const UNTIMED: Duration = Duration::from_secs(1);

/// The table above.
pub(crate) fn order_of_turns() -> Priority {
    Priority::builder().aging_interval(AGING_INTERVAL).build().expect("2 is not zero")
}

/// A key that no queue can hold, because its own code (`Hash`, `Eq`, `Clone`) panics.
#[derive(Debug)]
pub(crate) struct Unqueueable;

// Names come from tenants: std's keyed hash, not a fast one.
type Inner<K> = RateLimitingQueue<K, Limiter<K>, Backlog, RandomState>;

/// Clones share one queue.
pub(crate) struct Queue<K: Key> {
    inner: Inner<K>,
}

/// The counts of a queue.
#[derive(Debug, Clone, Copy, Default)]
#[cfg_attr(not(feature = "admin"), expect(dead_code, reason = "ages are read by the admin server"))]
pub(crate) struct QueueCounts {
    /// Keys that are ready and that no worker has.
    pub(crate) ready: usize,
    /// Keys ready to run, or to run again after their active run.
    pub(crate) depth: usize,
    /// Keys that wait for their time.
    pub(crate) delayed: usize,
    /// The sum of the ages of all active runs.
    pub(crate) unfinished: Option<Duration>,
    /// The age of the oldest active run.
    pub(crate) longest: Option<Duration>,
}

/// A key that a worker processes.
pub(crate) struct Held<K: Key> {
    guard: OwnedProcessingGuard<K, Backlog>,
}

impl<K: Key> Queue<K> {
    pub(crate) fn new(name: &str, limiter: Limiter<K>, metrics: Arc<ControllerMetrics>) -> Self {
        let timer = TokioTimer::current().expect("terms run in a tokio runtime");
        let inner = RateLimitingQueue::builder()
            .name(name)
            .limiter(limiter)
            .timer(timer)
            .observer(ObserverOf(metrics))
            .backlog(Noted::new(order_of_turns()))
            .hasher(RandomState::new())
            .build()
            .expect("tokio's timer wakes tasks");
        Self { inner }
    }

    /// Adds a key. `false` if the queue has been stopped.
    pub(crate) fn add(&self, key: K, reasons: Reasons) -> bool {
        self.inner.add_with(key, Note { order: Order::default(), reasons }) != Added::ShutDown
    }

    /// Adds a key of an object that existed at the start: see the table above.
    pub(crate) fn add_initial(&self, key: K, reasons: Reasons) {
        self.inner.add_with(key, Note { order: Order::priority(INITIAL), reasons });
    }

    /// Adds a key after the limiter's delay, or after `UNTIMED` if the limiter panics. Returns an
    /// error if the key's own code panics.
    pub(crate) fn retry(&self, key: K) -> Result<(), Unqueueable> {
        let again = catch_unwind(AssertUnwindSafe(|| key.clone())).map_err(|_| Unqueueable)?;
        match catch_unwind(AssertUnwindSafe(|| self.inner.add_rate_limited(key))) {
            Ok(_) => Ok(()),
            Err(_) => self.again(again, UNTIMED, Reasons::retried()),
        }
    }

    /// Cancels the delay of a key. It runs now, and the end of the run says when it runs again.
    pub(crate) fn cancel(&self, key: &K) {
        drop(self.inner.cancel(key));
    }

    fn again(&self, key: K, after: Duration, reasons: Reasons) -> Result<(), Unqueueable> {
        let note = Note { order: Order::default(), reasons };
        match catch_unwind(AssertUnwindSafe(|| self.inner.add_after_with(key, after, note))) {
            Ok(_) => Ok(()),
            Err(_) => Err(Unqueueable),
        }
    }

    /// Requeues as `verdict` says, but without the limiter, after a panic of [`Held::finish`].
    pub(crate) fn finish_anyhow(&self, key: K, verdict: Verdict) -> Result<(), Unqueueable> {
        match verdict {
            Verdict::Rest | Verdict::Park(_) => Ok(()),
            Verdict::Retry => self.again(key, UNTIMED, Reasons::retried()),
            Verdict::RetryAfter(after) => self.again(key, after, Reasons::retried()),
            Verdict::Requeue(after) => self.again(key, after, Reasons::requeued()),
        }
    }

    /// Returns the next key; `None` after a stop.
    ///
    /// # Cancel safety
    ///
    /// No key is lost when the future is dropped.
    pub(crate) async fn get(&self) -> Option<Held<K>> {
        let guard = self.inner.get_owned().await?;
        Some(Held { guard })
    }

    /// Queues delayed keys when they are due, also while all workers are busy, so that queue
    /// durations start at the due time. Runs until the queue stops.
    pub(crate) async fn keep_time(&self) {
        self.inner.keep_time().await;
    }

    /// Stops the queue. Returns the keys that have not started, also delayed keys.
    pub(crate) fn stop(&self) -> Vec<K> {
        self.inner.shutdown_now()
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.inner.is_shutting_down()
    }

    /// The failed runs in a row of a key, and when it runs again; `None` if that is now.
    #[cfg(feature = "admin")]
    pub(crate) fn retry_of(&self, key: &K) -> (u32, Option<Duration>) {
        let deadline = self.inner.deadline(key);
        let left = deadline.map(|at| at.saturating_duration_since(self.inner.now()));
        (self.inner.num_requeues(key), left)
    }

    /// `delayed` is read before the others: a key that moves in between counts twice, or not.
    pub(crate) fn counts(&self) -> QueueCounts {
        let delayed = self.inner.delayed_len();
        let gauges = self.inner.reader().gauges().unwrap_or_default();
        QueueCounts {
            ready: gauges.counts.queued,
            depth: gauges.counts.depth(),
            delayed,
            unfinished: gauges.unfinished,
            longest: gauges.longest,
        }
    }
}

impl<K: Key> Held<K> {
    pub(crate) fn key(&self) -> &K {
        self.guard.item()
    }

    pub(crate) fn attempt(&self) -> u32 {
        self.guard.num_requeues()
    }

    /// Whether a failure now counts as an attempt: not before the retry.
    pub(crate) fn failure_counts(&self) -> bool {
        self.guard.failure_counts()
    }

    pub(crate) fn reasons(&self) -> Reasons {
        self.guard.order().reasons
    }

    /// Ends without a run: the pending retry or a later event runs the key.
    pub(crate) fn leave(self) {
        self.guard.done();
    }

    /// Delays the key by this time. Returns the key if the queue has stopped.
    pub(crate) fn postpone(self, queue: &Queue<K>, by: Duration, reasons: Reasons) -> Option<K> {
        let Self { guard } = self;
        let key = guard.item().clone();
        // Add first, so that the queue always holds the key.
        let note = Note { order: guard.order().order, reasons };
        let added = queue.inner.add_after_with(key.clone(), by, note);
        guard.done();
        (!added.is_accepted()).then_some(key)
    }

    /// Ends the run. Returns the key if it was to run again and the queue has been stopped.
    ///
    /// # Panics
    ///
    /// If the limiter or the key's own code panics. The run has ended then too, and the caller
    /// passes the key to [`Queue::finish_anyhow`].
    pub(crate) fn finish(self, queue: &Queue<K>, verdict: Verdict) -> Option<K> {
        let guard = self.guard;
        // A key of the start keeps its priority, so that many failing ones do not delay changes.
        let order = guard.order().order;
        let retried = Note { order, reasons: Reasons::retried() };
        let finished = match verdict {
            Verdict::Rest => guard.finish(Outcome::Success),
            Verdict::Requeue(after) => {
                queue.inner.forget(guard.item());
                let note = Note { order, reasons: Reasons::requeued() };
                guard.finish_with(Outcome::RetryAfter(after), note)
            }
            Verdict::Retry => guard.finish_with(Outcome::Retry, retried),
            Verdict::RetryAfter(delay) => {
                guard.finish_with(Outcome::RetryWith { delay, combine: Combine::Override }, retried)
            }
            Verdict::Park(_) => guard.finish(Outcome::GiveUp),
        };
        finished.err().map(Rejected::into_item)
    }
}

impl<K: Key> Clone for Queue<K> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

impl<K: Key> fmt::Debug for Queue<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").finish_non_exhaustive()
    }
}

/// Feeds a controller's metrics with the events of its queue.
struct ObserverOf(Arc<ControllerMetrics>);

impl Observer for ObserverOf {
    fn added(&self, added: Added) {
        if matches!(added, Added::Queued | Added::Deferred) {
            self.0.adds.up();
        }
    }

    fn got(&self, waited: Duration) {
        self.0.queue_duration.saw(waited);
    }

    fn done(&self, worked: Duration) {
        self.0.work_duration.saw(worked);
    }

    fn retried(&self) {
        self.0.retries.up();
    }
}
