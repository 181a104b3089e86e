//! `RateLimitingQueue`: the handle and the retry verbs; and `Inner`, which all its verbs go through.

use crate::builder::{Builder, NoLimiter};
use crate::control::{Ask, By, Control, DuringBackoff};
use crate::limiter::RateLimiter;
use crate::outcome::Combine;
use crate::platform::Mutex;
use crate::remembered::Remembered;
use hashbrown::HashSet;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;
use std::time::{Duration, Instant};
use wq_delay::{Added, Backlog, DefaultHasher, DelayingQueue, Fifo, Phase, Scheduled};

/// A delaying queue that knows how long a failed item has to wait.
///
/// A worker ends its work on an item with one call, [`ProcessingGuard::finish`](crate::ProcessingGuard::finish). All that
/// [`wq_delay::DelayingQueue`] promises holds.
///
/// Only attempts that really ran their course count: an event that brings a failed item back before its time neither
/// raises its back-off nor shortens it, unless the builder's
/// [`during_backoff`](crate::Builder::during_backoff) or [`count_early_attempts`](crate::Builder::count_early_attempts)
/// asks for it.
///
/// Delayed items and records of failures are under two locks. Two verbs that change both for one item at the same moment may
/// interleave: a cancel or a forget beside the end of the work. No item is lost or handed to two workers by that. Its attempts,
/// its back-off and its deadline may be as if one of the two verbs had not been called.
///
/// Times are those of a program's life: a failure is remembered for 136 years at most, and a back-off without an end lasts for 200.
///
/// A clone is another handle to the same queue. `Hash`, `Eq` and `Clone` of items and the limiter run under locks of the
/// queue and must not call it; if they panic, see [the crate](crate#panics-in-user-code).
#[doc(alias = "RateLimitingInterface")]
#[doc(alias = "TypedRateLimitingInterface")]
pub struct RateLimitingQueue<T, L, B: Backlog = Fifo, S = DefaultHasher> {
    pub(crate) inner: Arc<Inner<T, L, B, S>>,
}

pub(crate) struct Inner<T, L, B: Backlog, S> {
    pub(crate) queue: DelayingQueue<T, B, S>,
    /// A copy of the rule, so that adds need not lock to see that there is nothing to do.
    pub(crate) during_backoff: DuringBackoff,
    /// Never held together with a lock of the queue.
    pub(crate) control: Mutex<Control<T, L, S>>,
}

impl<T: Send> RateLimitingQueue<T, NoLimiter> {
    /// Begins the settings of a queue. A [`limiter`](Builder::limiter) and a [`timer`](Builder::timer) must be among them. Items, the limiter, the
    /// backlog and the hasher must be `Send`: the getters need it.
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
    /// Adds an item when the limiter allows it, and counts an attempt. A wait of zero is an [`add`](Self::add) without a
    /// delay, as in client-go: if the item is delayed, [`immediate_add`](crate::Builder::immediate_add) says what becomes of
    /// that.
    ///
    /// An item that is backing off keeps its time, and one that is queued, or due, or runs again after the work that goes on,
    /// stays so: nothing is counted then and no token is taken, so that many such adds of one item cost the others nothing. (With
    /// [`count_early_attempts`](crate::Builder::count_early_attempts) each counts, as in client-go.) After shutdown nothing is
    /// counted either.
    #[doc(alias = "AddRateLimited")]
    pub fn add_rate_limited(&self, item: T) -> Scheduled {
        self.add_rate_limited_with(item, B::Order::default())
    }

    /// As [`add_rate_limited`](Self::add_rate_limited), with an order for the backlog.
    pub fn add_rate_limited_with(&self, item: T, order: B::Order) -> Scheduled {
        self.inner.add_asking(item, order, Ask::default())
    }

    /// As [`add_rate_limited`](Self::add_rate_limited), with a delay of the caller's, which is combined with the limiter's:
    /// `Combine::Min` is what controller-runtime's priority queue does with `After` and `RateLimited` together. Of an item
    /// that waits already the earlier time counts.
    #[doc(alias = "AddWithOpts")]
    pub fn add_rate_limited_after(&self, item: T, delay: Duration, combine: Combine) -> Scheduled {
        let ask = Ask { own: Some((delay, combine)), ..Ask::default() };
        self.inner.add_asking(item, B::Order::default(), ask)
    }

    /// Forgets the attempts of an item: the next counts as the first. Does not take the item out of the queue, and does
    /// not end its work.
    #[doc(alias = "Forget")]
    pub fn forget(&self, item: &T) {
        self.inner.forget(item);
    }

    /// [Forgets](Self::forget) all items that `predicate` wants, and says how many: for example those of a namespace that
    /// is gone. It sees clones of all that is remembered, outside of all locks; an attempt that is counted meanwhile may
    /// be forgotten with the rest.
    pub fn forget_where(&self, mut predicate: impl FnMut(&T) -> bool) -> usize {
        // Some are remembered for more than one reason.
        let mut items: HashSet<T, DefaultHasher> = self.inner.remembered_items().into_iter().collect();
        items.retain(|item| predicate(item));
        items.iter().for_each(|item| self.inner.forget(item));
        items.len()
    }

    /// How many attempts of an item were counted since it was last forgotten.
    #[must_use]
    #[doc(alias = "NumRequeues")]
    pub fn num_requeues(&self, item: &T) -> u32 {
        self.inner.attempts(item)
    }

    /// How many failed items the limiter remembers, and how many it has dropped by itself.
    #[must_use]
    pub fn remembered(&self) -> Remembered {
        self.inner.control.lock().limiter.remembered()
    }

    /// How many items are backing off, or have been lately, and how many of them the queue has forgotten by
    /// itself: for age, or because there were more than 262 144. At that number those that failed last are
    /// known, at least the half of them.
    ///
    /// An item that is not known keeps the retry that waits for it, and the next event still does to that
    /// retry what [`during_backoff`](crate::Builder::during_backoff) says. But its next failure counts, also
    /// before its time.
    #[must_use]
    pub fn remembered_backoffs(&self) -> Remembered {
        self.inner.control.lock().windows.remembered()
    }
}

impl<T, L, B, S> Inner<T, L, B, S>
where
    T: Hash + Eq + Clone,
    L: RateLimiter<T>,
    B: Backlog,
    S: BuildHasher,
{
    /// A step under the lock. What it discards is dropped after it.
    pub(crate) fn controlled<R>(&self, step: impl FnOnce(&mut Control<T, L, S>, &mut Vec<T>) -> R) -> R {
        let mut discarded = Vec::new();
        step(&mut self.control.lock(), &mut discarded)
    }

    /// Counts an attempt that failed, and says when the item runs again. `None`: never.
    pub(crate) fn failed(&self, item: &T, ask: Ask) -> Option<Instant> {
        let now = self.queue.now();
        self.controlled(|control, discarded| control.retry(item, now, ask, By::Finish, discarded))
    }

    /// The attempt does not count, and says itself how long the item waits. `None`: for ever.
    pub(crate) fn uncounted(&self, item: &T, delay: Duration) -> Option<Instant> {
        let now = self.queue.now();
        self.controlled(|control, discarded| control.uncounted(item, now, delay, discarded))
    }

    fn add_asking(&self, item: T, order: B::Order, ask: Ask) -> Scheduled {
        let is_queued = matches!(self.queue.phase(&item), Some(Phase::Queued | Phase::ProcessingDirty));
        if self.queue.is_shutting_down() {
            return Scheduled::ShutDown;
        }
        let (now, by) = (self.queue.now(), By::Add { is_queued });
        let at = self.controlled(|control, discarded| control.retry(&item, now, ask, by, discarded));
        match at {
            Some(deadline) => self.queue.add_at_with(item, deadline, order),
            None => self.queue.add_after_with(item, Duration::MAX, order),
        }
    }

    pub(crate) fn attempts(&self, item: &T) -> u32 {
        let now = self.queue.now();
        self.controlled(|control, discarded| control.attempts(item, now, discarded))
    }

    pub(crate) fn forget(&self, item: &T) {
        let wants_sweep = self.controlled(|control, discarded| {
            control.forget(item, discarded);
            control.windows.wants_sweep()
        });
        if wants_sweep {
            self.sweep();
        }
    }

    /// Where nothing fails any more, nothing else looks for what is too old.
    #[cold]
    fn sweep(&self) {
        let now = self.queue.now();
        self.controlled(|control, discarded| control.sweep(now, discarded));
    }

    /// Nothing waits of the item any more: it backs off no longer.
    pub(crate) fn end_back_off(&self, item: &T) {
        let now = self.queue.now();
        self.controlled(|control, discarded| control.end_back_off(item, now, discarded));
    }

    /// An add without a delay, where it may change a back-off.
    #[cold]
    pub(crate) fn add_event(&self, item: T, order: B::Order) -> Added {
        if self.queue.is_shutting_down() {
            return self.queue.add_with(item, order);
        }
        let now = self.queue.now();
        let (retry, other) = self.controlled(|control, discarded| control.event(&item, now, discarded));
        self.queue.add_by(retry, other, item, order)
    }

    fn remembered_items(&self) -> Vec<T> {
        let mut items = Vec::new(); // Dropped after the lock, if a clone panics.
        let control = self.control.lock();
        items.extend(control.windows.items().cloned());
        control.limiter.each_remembered(&mut |item| items.push(item.clone()));
        items
    }
}

impl<T, L, B: Backlog, S> Inner<T, L, B, S> {
    /// Whether an add without a delay has to look at the item's back-off.
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
        let backing_off = self.inner.control.lock().windows.len();
        f.debug_struct("RateLimitingQueue")
            .field("queue", &self.inner.queue)
            .field("backing_off_at_most", &backing_off)
            .finish_non_exhaustive()
    }
}
