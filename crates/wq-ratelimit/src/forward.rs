//! The other verbs of the queues below, forwarded by hand. Each means what it means there.

use crate::limiter::RateLimiter;
use crate::queue::RateLimitingQueue;
use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use std::time::Instant;
use wq_delay::{Backlog, Counts, DelayReader, Drained, Phase, Snapshot};

impl<T: Hash + Eq + Clone, L: RateLimiter<T>, B: Backlog, S: BuildHasher>
    RateLimitingQueue<T, L, B, S>
{
    /// Removes a delayed item and ends its back-off. Its attempts stay counted. Returns `None` if
    /// it is not delayed or is due.
    ///
    /// ```
    /// # use wq_ratelimit::{RateLimitingQueue as Q, item_default as wait, *};
    /// # let queue = Q::builder().limiter(wait()).timer(ManualTimer::new()).build().unwrap();
    /// queue.add_rate_limited("a");
    /// assert_eq!(queue.cancel("a"), Some("a"));
    /// assert_eq!((queue.delayed_len(), queue.num_requeues(&"a")), (0, 1));
    /// ```
    pub fn cancel<Q>(&self, item: &Q) -> Option<T>
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let item = self.inner.queue.cancel(item)?;
        self.inner.end_back_off(&item);
        Some(item)
    }

    /// The instant at which a delayed item is due. `None` if it is not delayed or is due.
    ///
    /// ```
    /// # use {std::time::*, wq_ratelimit::{RateLimitingQueue as Q, item_default as wait, *}};
    /// # let queue = Q::builder().limiter(wait()).timer(ManualTimer::new()).build().unwrap();
    /// queue.add_after("a", Duration::from_secs(5));
    /// assert_eq!(queue.deadline("a"), Some(queue.now() + Duration::from_secs(5)));
    /// ```
    #[must_use]
    pub fn deadline<Q>(&self, item: &Q) -> Option<Instant>
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.inner.queue.deadline(item)
    }

    /// The number of delayed items.
    #[must_use]
    pub fn delayed_len(&self) -> usize {
        self.inner.queue.delayed_len()
    }

    /// The phase of an item. `None` if it is delayed, or if the queue does not hold it.
    #[must_use]
    pub fn phase<Q>(&self, item: &Q) -> Option<Phase>
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.inner.queue.phase(item)
    }

    /// Removes a queued item. Returns `None` if it is not queued: an item in flight or delayed
    /// stays. If the item has no deadline either, its back-off ends. Its attempts stay counted.
    pub fn remove<Q>(&self, item: &Q) -> Option<T>
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let removed = self.inner.queue.remove(item)?;
        // A retry may wait beside the queued item.
        if self.deadline(item).is_none() {
            self.inner.end_back_off(&removed);
        }
        Some(removed)
    }

    /// Ends the processing of an item whose guard was forgotten. Returns whether the item was in
    /// flight. The guard then has no effect, unless its `finish` runs at the same time.
    pub fn abandon<Q>(&self, item: &Q) -> bool
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.inner.queue.abandon(item)
    }

    /// The number of items in each phase, at one moment, without the [delayed](Self::delayed_len).
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.inner.queue.counts()
    }

    /// Clones every queued item and every item in flight, as wq-core's `WorkQueue::snapshot`. Cost
    /// is linear in the recent peak size, and all other calls block meanwhile.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<T> {
        self.inner.queue.snapshot()
    }

    /// Refuses adds from now on, and returns the delayed items in the order of their deadlines.
    /// Queued items are still handed out.
    ///
    /// If an item fails after this call, [`finish`](crate::ProcessingGuard::finish) returns it as
    /// an error. Wait for [`drained`](Self::drained) first to run all retries.
    ///
    /// ```
    /// # use {std::time::*, wq_ratelimit::{RateLimitingQueue as Q, item_default as wait, *}};
    /// # let queue = Q::builder().limiter(wait()).timer(ManualTimer::new()).build().unwrap();
    /// queue.add_after("a", Duration::from_secs(5));
    /// assert_eq!(queue.shutdown(), ["a"]);
    /// assert!(queue.get_blocking().is_none());
    /// ```
    #[doc(alias = "ShutDown")]
    #[must_use = "these items wait for their deadline, and the queue does not hand them out any more"]
    pub fn shutdown(&self) -> Vec<T> {
        self.inner.queue.shutdown()
    }

    /// Shuts down and returns all items that no worker has started: queued, to run again, delayed.
    /// Guards in flight end without a requeue.
    #[must_use = "these items will not be handed out any more"]
    pub fn shutdown_now(&self) -> Vec<T> {
        self.inner.queue.shutdown_now()
    }

    /// Waits until, at one moment, nothing is queued, in flight or delayed. The builder's
    /// [`drain_awaits_delayed`](crate::Builder::drain_awaits_delayed) can exclude delayed items.
    ///
    /// ```
    /// # use wq_ratelimit::{RateLimitingQueue as Queue, *};
    /// # let queue = Queue::builder().limiter(item_default()).timer(ManualTimer::new()).build()?;
    /// queue.add("a");
    /// queue.try_get()?.finish(Outcome::Success)?;
    /// pollster::block_on(queue.drained());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it changes nothing.
    #[doc(alias = "ShutDownWithDrain")]
    pub fn drained(&self) -> Drained<'_, T, B, S> {
        self.inner.queue.drained()
    }
}

impl<T, L, B: Backlog, S> RateLimitingQueue<T, L, B, S> {
    /// The current time of the queue's timer.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.inner.queue.now()
    }

    /// The name given to the builder.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.inner.queue.name()
    }

    /// A reader for metrics that does not keep the queue alive.
    #[must_use]
    pub fn reader(&self) -> DelayReader<T, B> {
        self.inner.queue.reader()
    }

    /// Stops hand-outs until [`resume`](Self::resume) or shutdown. Delayed items still become due.
    pub fn pause(&self) {
        self.inner.queue.pause();
    }

    /// Ends a pause.
    pub fn resume(&self) {
        self.inner.queue.resume();
    }

    /// Whether the queue is shut down.
    #[must_use]
    #[doc(alias = "ShuttingDown")]
    pub fn is_shutting_down(&self) -> bool {
        self.inner.queue.is_shutting_down()
    }
}
