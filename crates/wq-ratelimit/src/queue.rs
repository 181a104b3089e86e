//! `RateLimitingQueue`: the handle, the retry verbs, and `Inner`, which all verbs go through.

use crate::limiter::RateLimiter;
use crate::outcome::Combine;
use crate::platform::Mutex;
use crate::remembered::Stores;
use crate::retry_state::{Caller, DuringBackoff, RetryRequest, RetryState};
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;
use std::time::{Duration, Instant};
use wq_delay::{Added, Backlog, DefaultHasher, DelayingQueue, Fifo, Phase, Scheduled};

/// A delaying queue that retries failed items after a back-off.
///
/// A worker ends an item with one call, [`finish`](crate::ProcessingGuard::finish). All guarantees
/// of [`wq_delay::DelayingQueue`] hold.
///
/// A failure before the end of the back-off does not count: an event has started that attempt.
/// [`during_backoff`](crate::Builder::during_backoff) and
/// [`count_early_attempts`](crate::Builder::count_early_attempts) change this rule.
///
/// A cancel or a forget that runs beside `finish` of the same item can lose its effect, but never
/// the item.
///
/// A clone is another handle to the same queue. `Hash`, `Eq` and `Clone` of items and the limiter
/// run under locks of the queue and must not call it.
#[doc(alias = "RateLimitingInterface")]
#[doc(alias = "TypedRateLimitingInterface")]
pub struct RateLimitingQueue<T, L, B: Backlog = Fifo, S = DefaultHasher> {
    pub(crate) inner: Arc<Inner<T, L, B, S>>,
}

pub(crate) struct Inner<T, L, B: Backlog, S> {
    pub(crate) queue: DelayingQueue<T, B, S>,
    /// A copy of the rule, which adds read without the lock.
    pub(crate) during_backoff: DuringBackoff,
    /// Never held together with a lock of the queue.
    pub(crate) retry_state: Mutex<RetryState<T, L, S>>,
}

impl<T, L, B, S> RateLimitingQueue<T, L, B, S>
where
    T: Hash + Eq + Clone,
    L: RateLimiter<T>,
    B: Backlog,
    S: BuildHasher,
{
    /// Adds an item after the limiter's wait, and counts an attempt. An item that waits already
    /// keeps the earlier deadline, unless [`second_add`](crate::Builder::second_add) says
    /// otherwise.
    ///
    /// Counts nothing and takes no token if the item backs off, is queued, or runs again after its
    /// work. With [`count_early_attempts`](crate::Builder::count_early_attempts) such adds count,
    /// as in client-go. Nothing counts after shutdown.
    ///
    /// ```
    /// # use {std::time::Duration, wq_ratelimit::{RateLimitingQueue as Queue, *}};
    /// # let timer = ManualTimer::new();
    /// # let queue = Queue::builder().limiter(item_default()).timer(timer.clone()).build()?;
    /// queue.add_rate_limited("a");
    /// assert_eq!(queue.num_requeues(&"a"), 1);
    /// timer.advance(Duration::from_millis(1)); // The limiter's first wait.
    /// assert_eq!(*queue.try_get()?.item(), "a");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "AddRateLimited")]
    pub fn add_rate_limited(&self, item: T) -> Scheduled {
        self.add_rate_limited_with(item, B::Order::default())
    }

    /// As [`add_rate_limited`](Self::add_rate_limited), with an order for the backlog.
    pub fn add_rate_limited_with(&self, item: T, order: B::Order) -> Scheduled {
        self.inner.add_asking(item, order, RetryRequest::default())
    }

    /// As [`add_rate_limited`](Self::add_rate_limited), with a delay of the caller that is combined
    /// with the limiter's wait. An item that waits already keeps the earlier deadline.
    ///
    /// `Combine::Min` is the rule of controller-runtime's priority queue for `After` with
    /// `RateLimited`.
    #[doc(alias = "AddWithOpts")]
    pub fn add_rate_limited_after(&self, item: T, delay: Duration, combine: Combine) -> Scheduled {
        let ask = RetryRequest { own: Some((delay, combine)), ..RetryRequest::default() };
        self.inner.add_asking(item, B::Order::default(), ask)
    }

    /// Forgets the attempts of an item: the next one counts as the first. The item itself stays
    /// queued, delayed or in flight.
    ///
    /// ```
    /// # use wq_ratelimit::{RateLimitingQueue as Q, item_default as wait, *};
    /// # let queue = Q::builder().limiter(wait()).timer(ManualTimer::new()).build().unwrap();
    /// queue.add_rate_limited("a");
    /// queue.forget(&"a");
    /// assert_eq!(queue.num_requeues(&"a"), 0);
    /// assert!(queue.deadline("a").is_some());
    /// ```
    #[doc(alias = "Forget")]
    pub fn forget(&self, item: &T) {
        self.inner.forget(item);
    }

    /// The number of attempts of an item that the limiter remembers.
    ///
    /// ```
    /// # use wq_ratelimit::{RateLimitingQueue as Queue, *};
    /// # let queue = Queue::builder().limiter(item_default()).timer(ManualTimer::new()).build()?;
    /// queue.add("a");
    /// queue.try_get()?.finish(Outcome::Retry)?;
    /// assert_eq!(queue.num_requeues(&"a"), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[doc(alias = "NumRequeues")]
    pub fn num_requeues(&self, item: &T) -> u32 {
        self.inner.attempts(item)
    }

    /// The number of failed items that the limiter and the queue remember, and have dropped by
    /// themselves.
    #[must_use]
    pub fn remembered(&self) -> Stores {
        let state = self.inner.retry_state.lock();
        Stores { failures: state.limiter.remembered(), backoffs: state.backoffs.remembered() }
    }
}

impl<T, L, B, S> Inner<T, L, B, S>
where
    T: Hash + Eq + Clone,
    L: RateLimiter<T>,
    B: Backlog,
    S: BuildHasher,
{
    /// Runs a step under the lock, and drops the discarded items after it.
    pub(crate) fn with_state<R>(
        &self,
        step: impl FnOnce(&mut RetryState<T, L, S>, &mut Vec<T>) -> R,
    ) -> R {
        let mut discarded = Vec::new();
        step(&mut self.retry_state.lock(), &mut discarded)
    }

    /// Counts a failed attempt, and returns when the item runs again. `None`: never.
    pub(crate) fn failed(&self, item: &T, ask: RetryRequest) -> Option<Instant> {
        let now = self.queue.now();
        self.with_state(|state, discarded| state.retry(item, now, ask, Caller::Finish, discarded))
    }

    /// Returns when the item runs again, and counts nothing. `None`: never.
    pub(crate) fn uncounted(&self, item: &T, delay: Duration) -> Option<Instant> {
        let now = self.queue.now();
        self.with_state(|state, discarded| state.uncounted(item, now, delay, discarded))
    }

    fn add_asking(&self, item: T, order: B::Order, ask: RetryRequest) -> Scheduled {
        let is_queued =
            matches!(self.queue.phase(&item), Some(Phase::Queued | Phase::ProcessingDirty));
        if self.queue.is_shutting_down() {
            return Scheduled::ShutDown;
        }
        let (now, by) = (self.queue.now(), Caller::Add { is_queued });
        let at = self.with_state(|state, discarded| state.retry(&item, now, ask, by, discarded));
        match at {
            Some(deadline) => self.queue.add_at_with(item, deadline, order),
            None => self.queue.add_after_with(item, Duration::MAX, order),
        }
    }

    pub(crate) fn attempts(&self, item: &T) -> u32 {
        let now = self.queue.now();
        self.with_state(|state, discarded| state.attempts(item, now, discarded))
    }

    pub(crate) fn forget(&self, item: &T) {
        let wants_sweep = self.with_state(|state, discarded| {
            state.forget(item, discarded);
            state.backoffs.wants_sweep()
        });
        if wants_sweep {
            self.sweep();
        }
    }

    /// Removes old records where no failure does.
    #[cold]
    fn sweep(&self) {
        let now = self.queue.now();
        self.with_state(|state, discarded| state.sweep(now, discarded));
    }

    /// Ends the back-off of an item that has no deadline any more.
    pub(crate) fn end_back_off(&self, item: &T) {
        let now = self.queue.now();
        self.with_state(|state, discarded| state.end_back_off(item, now, discarded));
    }

    #[cold]
    pub(crate) fn add_event(&self, item: T, order: B::Order) -> Added {
        if self.queue.is_shutting_down() {
            return self.queue.add_with(item, order);
        }
        let now = self.queue.now();
        let (retry, other) = self.with_state(|state, discarded| state.event(&item, now, discarded));
        self.queue.retries().add_event(retry, other, item, order)
    }
}

impl<T, L, B: Backlog, S> Inner<T, L, B, S> {
    /// Whether an add without a delay can change a back-off.
    #[inline]
    pub(crate) fn minds_events(&self) -> bool {
        self.during_backoff != DuringBackoff::Keep
    }
}

impl<T, L, B: Backlog, S> Clone for RateLimitingQueue<T, L, B, S> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<T, L, B: Backlog, S> fmt::Debug for RateLimitingQueue<T, L, B, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let backing_off = self.inner.retry_state.lock().backoffs.len();
        f.debug_struct("RateLimitingQueue")
            .field("queue", &self.inner.queue)
            .field("backing_off_at_most", &backing_off)
            .finish_non_exhaustive()
    }
}
