//! The adds that no limiter is asked about, now or for later: those of the queues below, forwarded by hand, but for what an event does
//! to a back-off.

use crate::limiter::RateLimiter;
use crate::queue::RateLimitingQueue;
use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use std::time::{Duration, Instant};
use wq_delay::{Added, AddedAll, Backlog, Debounce, Rejected, Scheduled};

impl<T, L, B, S> RateLimitingQueue<T, L, B, S>
where
    T: Hash + Eq + Clone,
    L: RateLimiter<T>,
    B: Backlog,
    S: BuildHasher,
{
    /// Adds an item, to be handed out once after this call. If it is backing off, the builder's
    /// [`during_backoff`](crate::Builder::during_backoff) says what becomes of that; if it is delayed for another reason,
    /// [`immediate_add`](crate::Builder::immediate_add) does. With
    /// [`DuringBackoff::Clear`](crate::DuringBackoff::Clear) also if it is delayed for another reason too.
    #[doc(alias = "Add")]
    #[inline]
    pub fn add(&self, item: T) -> Added {
        self.add_with(item, B::Order::default())
    }

    /// As [`add`](Self::add), with an order for the backlog.
    #[inline]
    pub fn add_with(&self, item: T, order: B::Order) -> Added {
        if self.inner.minds_events() {
            return self.inner.add_event(item, order);
        }
        self.inner.queue.add_with(item, order)
    }

    /// As [`add`](Self::add), by reference: the item is only made if it is not queued yet.
    #[inline]
    pub fn add_ref<Q>(&self, item: &Q) -> Added
    where
        T: Borrow<Q> + for<'q> From<&'q Q>,
        Q: Hash + Eq + ?Sized,
    {
        if self.inner.minds_events() {
            return self.add_with(T::from(item), B::Order::default());
        }
        self.inner.queue.add_ref(item)
    }

    /// Adds items in their order, under one lock if the policies of the builder are the default ones: as
    /// [`wq_delay::DelayingQueue::add_all`] then. Otherwise as [`add`](Self::add) for each, as the iterator comes to it.
    pub fn add_all(&self, items: impl IntoIterator<Item = T>) -> AddedAll {
        self.add_all_with(items.into_iter().map(|item| (item, B::Order::default())))
    }

    /// As [`add_all`](Self::add_all), with an order for each item.
    pub fn add_all_with(&self, items: impl IntoIterator<Item = (T, B::Order)>) -> AddedAll {
        if self.inner.minds_events() {
            return items.into_iter().map(|(item, order)| self.add_with(item, order)).collect();
        }
        self.inner.queue.add_all_with(items)
    }
}

impl<T: Hash + Eq + Clone, L: RateLimiter<T>, B: Backlog, S: BuildHasher> RateLimitingQueue<T, L, B, S> {
    /// Adds an item unless the queue is full. Delayed items take no room.
    ///
    /// # Errors
    ///
    /// [`Rejected`] hands the item back if there is no room, and after shutdown.
    pub fn try_add(&self, item: T) -> Result<Added, Rejected<T>> {
        self.inner.queue.try_add(item)
    }

    /// Adds an item once this delay is over, whatever the limiter would say. Counts no attempt.
    #[doc(alias = "AddAfter")]
    pub fn add_after(&self, item: T, delay: Duration) -> Scheduled {
        self.inner.queue.add_after(item, delay)
    }

    /// As [`add_after`](Self::add_after), with an order for the backlog.
    pub fn add_after_with(&self, item: T, delay: Duration, order: B::Order) -> Scheduled {
        self.inner.queue.add_after_with(item, delay, order)
    }

    /// Adds an item once the timer's clock shows this instant; at once if it does already. Counts no attempt.
    pub fn add_at(&self, item: T, deadline: Instant) -> Scheduled {
        self.inner.queue.add_at(item, deadline)
    }

    /// Adds an item once it has been quiet, as [`wq_delay::DelayingQueue::add_debounced`]. Counts no attempt. One that is
    /// backing off comes at the end of its back-off at the latest, or earlier.
    pub fn add_debounced(&self, item: T, debounce: Debounce) -> Scheduled {
        self.inner.queue.add_debounced(item, debounce)
    }
}
