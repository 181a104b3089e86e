//! `RateLimitingQueue`: the handle, the retry verbs, and the end of an item's work.

use crate::builder::{Builder, NoLimiter};
use crate::control::{Control, When};
use crate::limiter::RateLimiter;
use crate::outcome::Outcome;
use parking_lot::Mutex;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;
use std::time::{Duration, Instant};
use wq_delay::{Backlog, DefaultHasher, DelayingQueue, Fifo, Scheduled};

/// A delaying queue that knows how long a failed item has to wait.
///
/// A worker ends its work on an item with one call, [`ProcessingGuard::finish`](crate::ProcessingGuard::finish). All that
/// [`wq_delay::DelayingQueue`] promises holds.
///
/// Only attempts that really ran their course count: an event that brings a failed item back before its time neither
/// raises its back-off nor shortens it, unless the builder's
/// [`count_early_attempts`](crate::Builder::count_early_attempts) asks for it.
///
/// A clone is another handle to the same queue. `Hash`, `Eq` and `Clone` of items and the limiter run under locks of the
/// queue and must not call it.
#[doc(alias = "RateLimitingInterface")]
#[doc(alias = "TypedRateLimitingInterface")]
pub struct RateLimitingQueue<T, L, B: Backlog = Fifo, S = DefaultHasher> {
    pub(crate) inner: Arc<Inner<T, L, B, S>>,
}

pub(crate) struct Inner<T, L, B: Backlog, S> {
    pub(crate) queue: DelayingQueue<T, B, S>,
    /// Never held together with a lock of the queue.
    pub(crate) control: Mutex<Control<T, L, S>>,
}

impl<T> RateLimitingQueue<T, NoLimiter> {
    /// Begins the settings of a queue. A [`limiter`](Builder::limiter) and a [`timer`](Builder::timer) must be among them.
    #[doc(alias = "NewTypedRateLimitingQueue")]
    #[doc(alias = "TypedRateLimitingQueueConfig")]
    pub fn builder() -> Builder<T> {
        Builder::new()
    }
}

impl<T, L, B, S> RateLimitingQueue<T, L, B, S>
where
    T: Hash + Eq + Clone,
    L: RateLimiter<T>,
    B: Backlog,
    S: BuildHasher,
{
    /// Adds an item when the limiter allows it, and counts an attempt.
    ///
    /// An item that is backing off keeps its time: nothing is counted then and no token is taken, so that many such adds
    /// of one item cost the others nothing. After shutdown nothing is counted either.
    ///
    /// # Panics
    ///
    /// If `Hash` or `Eq` of the item, or the limiter, panics.
    #[doc(alias = "AddRateLimited")]
    pub fn add_rate_limited(&self, item: T) -> Scheduled {
        self.add_rate_limited_with(item, B::Order::default())
    }

    /// As [`add_rate_limited`](Self::add_rate_limited), with an order for the backlog.
    ///
    /// # Panics
    ///
    /// As [`add_rate_limited`](Self::add_rate_limited), and if the backlog panics.
    pub fn add_rate_limited_with(&self, item: T, order: B::Order) -> Scheduled {
        self.inner.retry(item, order, None)
    }

    /// Forgets the attempts of an item: the next counts as the first. Does not take the item out of the queue, and does
    /// not end its work.
    ///
    /// # Panics
    ///
    /// If `Hash` or `Eq` of the item, or the limiter, panics.
    #[doc(alias = "Forget")]
    pub fn forget(&self, item: &T) {
        self.inner.forget(item);
    }

    /// How many attempts of an item were counted since it was last forgotten.
    ///
    /// # Panics
    ///
    /// If `Hash` or `Eq` of the item, or the limiter, panics.
    #[must_use]
    #[doc(alias = "NumRequeues")]
    pub fn num_requeues(&self, item: &T) -> u32 {
        self.inner.control.lock().limiter.num_requeues(item)
    }
}

/// What a guard needs of its queue, without the types of the limiter and the hasher.
pub(crate) trait Ending<T, B: Backlog> {
    fn end(&self, item: &T, order: &B::Order, outcome: Outcome) -> Option<Scheduled>;
    fn num_requeues(&self, item: &T) -> u32;
    fn move_due(&self);
}

impl<T, L, B, S> Ending<T, B> for Inner<T, L, B, S>
where
    T: Hash + Eq + Clone,
    L: RateLimiter<T>,
    B: Backlog,
    S: BuildHasher,
{
    fn end(&self, item: &T, order: &B::Order, outcome: Outcome) -> Option<Scheduled> {
        match outcome {
            Outcome::Success | Outcome::GiveUp => {
                self.forget(item);
                None
            }
            Outcome::Retry => Some(self.retry(item.clone(), order.clone(), None)),
            Outcome::RetryNotBefore(floor) => Some(self.retry(item.clone(), order.clone(), Some(floor))),
            Outcome::RetryAfter(delay) => Some(self.queue.add_after_with(item.clone(), delay, order.clone())),
        }
    }

    fn num_requeues(&self, item: &T) -> u32 {
        self.control.lock().limiter.num_requeues(item)
    }

    fn move_due(&self) {
        self.queue.move_due();
    }
}

impl<T, L, B, S> Inner<T, L, B, S>
where
    T: Hash + Eq + Clone,
    L: RateLimiter<T>,
    B: Backlog,
    S: BuildHasher,
{
    fn retry(&self, item: T, order: B::Order, floor: Option<Instant>) -> Scheduled {
        if self.queue.is_shutting_down() {
            return Scheduled::ShutDown;
        }
        let now = self.queue.now();
        let mut discarded = Vec::new(); // Dropped after the lock.
        let when = self.control.lock().retry(&item, now, floor, &mut discarded);
        if let Some(floor) = floor {
            // A retry from before may still wait, if an event has brought the item here in the meantime.
            self.queue.postpone(&item, floor);
        }
        match when {
            When::Now => self.queue.add_after_with(item, Duration::ZERO, order),
            When::After(delay) => self.queue.add_after_with(item, delay, order),
            When::At(deadline) => self.queue.add_at_with(item, deadline, order),
        }
    }

    fn forget(&self, item: &T) {
        let mut discarded = Vec::new(); // Dropped after the lock.
        self.control.lock().forget(item, &mut discarded);
    }
}

impl<T, L, B: Backlog, S> Clone for RateLimitingQueue<T, L, B, S> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<T, L, B: Backlog, S> fmt::Debug for RateLimitingQueue<T, L, B, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let backing_off = self.inner.control.lock().windows.len();
        f.debug_struct("RateLimitingQueue")
            .field("queue", &self.inner.queue)
            .field("backing_off_at_most", &backing_off)
            .finish_non_exhaustive()
    }
}
