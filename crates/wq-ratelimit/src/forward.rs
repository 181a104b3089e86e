//! The verbs of the queues below but for the adds, forwarded by hand. Each means what it means there.

use crate::limiter::RateLimiter;
use crate::queue::RateLimitingQueue;
use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use std::time::{Duration, Instant};
use wq_delay::{Backlog, Counts, DelayReader, Drained, Gauges, NotDrained, Phase, Snapshot, Survey};

impl<T: Hash + Eq + Clone, L: RateLimiter<T>, B: Backlog, S: BuildHasher> RateLimitingQueue<T, L, B, S> {
    /// Gives back memory that is not in use, of the queue, the limiter and what is remembered of items that back off.
    pub fn shrink(&self) {
        self.inner.queue.shrink();
        let now = self.now();
        self.inner.controlled(|control, discarded| control.shrink(now, discarded));
    }

    /// Takes a delayed item out: it does not come out at its deadline, and backs off no longer. Its attempts stay counted.
    pub fn cancel<Q>(&self, item: &Q) -> Option<T>
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let item = self.inner.queue.cancel(item)?;
        self.inner.end_back_off(&item);
        Some(item)
    }

    /// When a delayed item will be due. `None` if it is not delayed, or was due already.
    #[must_use]
    pub fn deadline<Q>(&self, item: &Q) -> Option<Instant>
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.inner.queue.deadline(item)
    }

    /// How many items wait for their deadline.
    #[must_use]
    pub fn delayed_len(&self) -> usize {
        self.inner.queue.delayed_len()
    }

    /// Queues what is due; see [`wq_delay::DelayingQueue::move_due`].
    pub fn move_due(&self) {
        self.inner.queue.move_due();
    }

    /// Whether the item is queued or in flight.
    #[must_use]
    pub fn contains<Q>(&self, item: &Q) -> bool
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.inner.queue.contains(item)
    }

    /// Whether the item is queued, in flight or both; `None` if it is delayed, or not here.
    #[must_use]
    pub fn phase<Q>(&self, item: &Q) -> Option<Phase>
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.inner.queue.phase(item)
    }

    /// Takes a queued item out. `None` if it is not queued; one that is in flight or delayed is left alone. If no retry of it
    /// waits beside, it backs off no longer. Its attempts stay counted.
    pub fn remove<Q>(&self, item: &Q) -> Option<T>
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let removed = self.inner.queue.remove(item)?;
        // Its retry may wait beside what was queued.
        if self.deadline(item).is_none() {
            self.inner.end_back_off(&removed);
        }
        Some(removed)
    }

    /// Ends the processing of an item whose guard was forgotten, as if the guard had ended now. Says whether somebody held
    /// the item; that holder's guard has no effect any more (one that is finishing at this very moment may still).
    pub fn abandon<Q>(&self, item: &Q) -> bool
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.inner.queue.abandon(item)
    }

    /// How many items are queued, those that are due among them: neither those in flight nor those delayed.
    #[must_use]
    #[doc(alias = "Len")]
    pub fn len(&self) -> usize {
        self.inner.queue.len()
    }

    /// Whether no item is queued. Items may be in flight or delayed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inner.queue.is_empty()
    }

    /// How many items are where, counted under one lock. See [`delayed_len`](Self::delayed_len) for the rest.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.inner.queue.counts()
    }

    /// What the backlog tells of the items that still have to be handed out, as [`wq_delay::DelayingQueue::survey`].
    #[must_use]
    pub fn survey(&self) -> B::Found
    where
        B: Survey,
    {
        self.inner.queue.survey()
    }

    /// As [`survey`](Self::survey), added to what was found before, and with the gauges of the same moment.
    pub fn survey_into(&self, found: &mut B::Found) -> Gauges
    where
        B: Survey,
    {
        self.inner.queue.survey_into(found)
    }

    /// What a scrape of metrics reads of what is queued and in flight, as [`wq_delay::DelayingQueue::gauges`].
    #[must_use]
    pub fn gauges(&self) -> Gauges {
        self.inner.queue.gauges()
    }

    /// Clones everything that is queued or in flight, under one lock: as wq-core's `WorkQueue::snapshot`, which says what `Clone` may
    /// not do there.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<T> {
        self.inner.queue.snapshot()
    }

    /// Takes no more items, now or for later. What is queued is still handed out; items whose deadline has not come are
    /// dropped from the queue and handed back, in the order of their deadlines.
    ///
    /// Items that fail after this call are handed back by [`finish`](crate::ProcessingGuard::finish). Call [`drained`](Self::drained) first where
    /// all retries are to run.
    #[doc(alias = "ShutDown")]
    #[must_use = "these items wait for their deadline, and the queue does not hand them out any more"]
    pub fn shutdown(&self) -> Vec<T> {
        self.inner.queue.shutdown()
    }

    /// Shuts down and hands back all work that nobody has begun: queued, to run again, delayed. Guards in flight end
    /// without a requeue.
    #[must_use = "these items will not be handed out any more"]
    pub fn shutdown_now(&self) -> Vec<T> {
        self.inner.queue.shutdown_now()
    }

    /// Waits until nothing is queued, in flight or (unless the builder's
    /// [`drain_awaits_delayed`](crate::Builder::drain_awaits_delayed) says otherwise) delayed, all in one moment.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it only looks.
    #[doc(alias = "ShutDownWithDrain")]
    pub fn drained(&self) -> Drained<'_, T, B, S> {
        self.inner.queue.drained()
    }

    /// As [`drained`](Self::drained), blocking the thread for at most this long by the queue's timer.
    ///
    /// # Errors
    ///
    /// [`NotDrained`] says what is left.
    pub fn drained_timeout(&self, timeout: Duration) -> Result<(), NotDrained<T>>
    where
        T: Clone,
    {
        self.inner.queue.drained_timeout(timeout)
    }
}

impl<T, L, B: Backlog, S> RateLimitingQueue<T, L, B, S> {
    /// The present, by the queue's timer.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.inner.queue.now()
    }

    /// The name given to the builder.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.inner.queue.name()
    }

    /// What reads this queue for metrics without keeping it alive.
    #[must_use]
    pub fn reader(&self) -> DelayReader<T, B> {
        self.inner.queue.reader()
    }

    /// Stops handing out items until [`resume`](Self::resume) or shutdown. Items go on becoming due.
    pub fn pause(&self) {
        self.inner.queue.pause();
    }

    /// Ends a pause.
    pub fn resume(&self) {
        self.inner.queue.resume();
    }

    /// Whether the queue was shut down.
    #[must_use]
    #[doc(alias = "ShuttingDown")]
    pub fn is_shutting_down(&self) -> bool {
        self.inner.queue.is_shutting_down()
    }
}
