//! Add: adds without a limiter, forwarded to the queue below unless they can change a back-off.

use crate::limiter::RateLimiter;
use crate::queue::RateLimitingQueue;
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
    /// Adds an item, which is handed out once after this call. Never waits. If the item backs off,
    /// [`during_backoff`](crate::Builder::during_backoff) decides about its retry. For other
    /// delayed items [`immediate_add`](crate::Builder::immediate_add) decides.
    ///
    /// ```
    /// # use wq_ratelimit::{RateLimitingQueue as Queue, *};
    /// # let queue = Queue::builder().limiter(item_default()).timer(ManualTimer::new()).build()?;
    /// queue.add("a");
    /// assert_eq!(*queue.try_get()?.item(), "a");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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

    /// Adds items in their order. With the default policies it takes one lock, as
    /// [`wq_delay::DelayingQueue::add_all`]. With others it calls [`add`](Self::add) for each item.
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

impl<T: Hash + Eq + Clone, L: RateLimiter<T>, B: Backlog, S: BuildHasher>
    RateLimitingQueue<T, L, B, S>
{
    /// Adds an item unless the queue is full. Delayed items need no room.
    ///
    /// # Errors
    ///
    /// [`Rejected`] returns the item if there is no room, and after shutdown.
    pub fn try_add(&self, item: T) -> Result<Added, Rejected<T>> {
        self.inner.queue.try_add(item)
    }

    /// Adds an item after this delay. Asks no limiter and counts no attempt. An item that is
    /// delayed already keeps the earlier deadline, unless
    /// [`second_add`](crate::Builder::second_add) says otherwise.
    ///
    /// ```
    /// # use {std::time::Duration, wq_ratelimit::{RateLimitingQueue as Queue, *}};
    /// # let timer = ManualTimer::new();
    /// # let queue = Queue::builder().limiter(item_default()).timer(timer.clone()).build()?;
    /// queue.add_after("a", Duration::from_secs(5));
    /// assert!(queue.try_get().is_err());
    /// timer.advance(Duration::from_secs(5));
    /// assert_eq!(*queue.try_get()?.item(), "a");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "AddAfter")]
    pub fn add_after(&self, item: T, delay: Duration) -> Scheduled {
        self.inner.queue.add_after(item, delay)
    }

    /// As [`add_after`](Self::add_after), with an order for the backlog.
    pub fn add_after_with(&self, item: T, delay: Duration, order: B::Order) -> Scheduled {
        self.inner.queue.add_after_with(item, delay, order)
    }

    /// As [`add_after`](Self::add_after), at this instant of the timer's clock. An instant in the
    /// past adds the item at once.
    ///
    /// ```
    /// # use {std::time::*, wq_ratelimit::{RateLimitingQueue as Q, item_default as wait, *}};
    /// # let queue = Q::builder().limiter(wait()).timer(ManualTimer::new()).build().unwrap();
    /// let deadline = queue.now() + Duration::from_secs(5);
    /// queue.add_at("a", deadline);
    /// assert_eq!(queue.deadline("a"), Some(deadline));
    /// ```
    pub fn add_at(&self, item: T, deadline: Instant) -> Scheduled {
        self.inner.queue.add_at(item, deadline)
    }

    /// Adds an item once it has been quiet, as [`wq_delay::DelayingQueue::add_debounced`]. Counts
    /// no attempt. An item that backs off comes at the end of its back-off at the latest.
    pub fn add_debounced(&self, item: T, debounce: Debounce) -> Scheduled {
        self.inner.queue.add_debounced(item, debounce)
    }
}
