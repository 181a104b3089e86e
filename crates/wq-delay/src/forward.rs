//! The verbs of the core queue, forwarded by hand. Each means what it means there; those that look at queued items first
//! move what is due.

use crate::parking::wait_until;
use crate::queue::{DelayingQueue, ImmediateAdd};
use crate::tick::Tick;
use std::borrow::Borrow;
use std::fmt;
use std::future::Future;
use std::hash::{BuildHasher, Hash};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use wq_core::{
    Added, AddedAll, Backlog, Counts, DefaultHasher, Fifo, Gauges, ItemHash, Phase, QueueReader, Rejected,
    RejectedReason, Snapshot, Survey,
};

impl<T: Hash + Eq, B: Backlog, S: BuildHasher> DelayingQueue<T, B, S> {
    /// Adds an item, to be handed out once after this call. If it is delayed too, the builder's
    /// [`immediate_add`](crate::Builder::immediate_add) says what becomes of that.
    ///
    /// Otherwise as [`wq_core::WorkQueue::add`]. With [`ImmediateAdd::Defer`] an add that joins a waiting request is
    /// [`Added::Merged`].
    ///
    /// # Panics
    ///
    /// If `Hash` or `Eq` of the item panics.
    #[doc(alias = "Add")]
    pub fn add(&self, item: T) -> Added {
        self.add_with(item, B::Order::default())
    }

    /// As [`add`](Self::add), with an order for the backlog.
    ///
    /// # Panics
    ///
    /// As [`add`](Self::add), and if the backlog panics.
    pub fn add_with(&self, item: T, order: B::Order) -> Added {
        self.add_now(item, order)
    }

    /// As [`add`](Self::add), by reference: the item is only made if it is not queued yet, or if the policy has to look
    /// at what is delayed.
    ///
    /// # Panics
    ///
    /// As [`add`](Self::add), and if `From` panics.
    pub fn add_ref<Q>(&self, item: &Q) -> Added
    where
        T: Borrow<Q> + for<'q> From<&'q Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.add_ref_with(item, B::Order::default())
    }

    /// As [`add_ref`](Self::add_ref), with an order for the backlog.
    ///
    /// # Panics
    ///
    /// As [`add_ref`](Self::add_ref), and if the backlog panics.
    pub fn add_ref_with<Q>(&self, item: &Q, order: B::Order) -> Added
    where
        T: Borrow<Q> + for<'q> From<&'q Q>,
        Q: Hash + Eq + ?Sized,
    {
        match self.shared.immediate_add {
            ImmediateAdd::Keep => self.core.add_ref_with(item, order),
            ImmediateAdd::Merge | ImmediateAdd::Defer => self.add_now(T::from(item), order),
        }
    }

    /// Adds an item unless the queue is full. Delayed items take no room.
    ///
    /// With [`ImmediateAdd::Merge`] the delayed request joins the add once that has gone through: its order is the later one of
    /// the two that are merged, and an item that a worker takes in this very moment may run a second time for it.
    ///
    /// # Errors
    ///
    /// [`Rejected`] hands the item back if there is no room, and after shutdown.
    ///
    /// # Panics
    ///
    /// As [`add`](Self::add).
    pub fn try_add(&self, item: T) -> Result<Added, Rejected<T>>
    where
        T: Clone,
    {
        self.try_add_with(item, B::Order::default())
    }

    /// As [`try_add`](Self::try_add), with an order for the backlog.
    ///
    /// # Errors
    ///
    /// As [`try_add`](Self::try_add).
    ///
    /// # Panics
    ///
    /// As [`add_with`](Self::add_with).
    pub fn try_add_with(&self, item: T, order: B::Order) -> Result<Added, Rejected<T>>
    where
        T: Clone,
    {
        let order = match self.joins_delayed(&item, order) {
            Ok(()) => return Ok(Added::Merged),
            Err(order) => order,
        };
        self.shared.move_due(&self.core, None);
        let taken_along = self.to_take_along(&item);
        let added = self.core.try_add_with(item, order)?;
        self.merge_taken(taken_along);
        Ok(added)
    }

    /// Adds an item as soon as there is room, as [`try_add`](Self::try_add) understands it.
    ///
    /// # Errors
    ///
    /// [`Rejected`] hands the item back if the queue is shut down, before or while this waits.
    ///
    /// # Panics
    ///
    /// As [`add`](Self::add), when called and when polled.
    ///
    /// # Cancel safety
    ///
    /// A future dropped before it is ready has added nothing and changed no deadline; it drops the item, which
    /// [`AddWait::into_item`] hands back.
    pub fn add_wait(&self, item: T) -> AddWait<'_, T, B, S>
    where
        T: Clone,
    {
        self.add_wait_with(item, B::Order::default())
    }

    /// As [`add_wait`](Self::add_wait), with an order for the backlog.
    ///
    /// # Errors
    ///
    /// As [`add_wait`](Self::add_wait).
    ///
    /// # Panics
    ///
    /// As [`add_with`](Self::add_with).
    ///
    /// # Cancel safety
    ///
    /// As [`add_wait`](Self::add_wait).
    pub fn add_wait_with(&self, item: T, order: B::Order) -> AddWait<'_, T, B, S>
    where
        T: Clone,
    {
        AddWait { queue: self, offered: Some((item, order)), core: None, taken_along: None }
    }

    /// As [`add_wait`](Self::add_wait), blocking the thread. Threads and tasks that wait for room stand in one line.
    ///
    /// # Errors
    ///
    /// [`Rejected`] hands the item back if the queue is shut down, before or while this waits.
    ///
    /// # Panics
    ///
    /// As [`add`](Self::add).
    pub fn add_wait_blocking(&self, item: T) -> Result<Added, Rejected<T>>
    where
        T: Clone,
    {
        self.add_wait_blocking_with(item, B::Order::default())
    }

    /// As [`add_wait_blocking`](Self::add_wait_blocking), with an order for the backlog.
    ///
    /// # Errors
    ///
    /// As [`add_wait_blocking`](Self::add_wait_blocking).
    ///
    /// # Panics
    ///
    /// As [`add_with`](Self::add_with).
    pub fn add_wait_blocking_with(&self, item: T, order: B::Order) -> Result<Added, Rejected<T>>
    where
        T: Clone,
    {
        self.add_wait_until(item, order, Tick::NEVER)
    }

    /// As [`add_wait_blocking`](Self::add_wait_blocking), for at most this long by the queue's timer. With a zero time-out it
    /// takes the room that is there.
    ///
    /// # Errors
    ///
    /// [`Rejected`] hands the item back if no room came in time, and if the queue is shut down, before or while this waits.
    ///
    /// # Panics
    ///
    /// As [`add`](Self::add). If the time is over and the waker of another, or the observer, panics, the item is dropped.
    pub fn add_wait_timeout(&self, item: T, timeout: Duration) -> Result<Added, Rejected<T>>
    where
        T: Clone,
    {
        self.add_wait_timeout_with(item, timeout, B::Order::default())
    }

    /// As [`add_wait_timeout`](Self::add_wait_timeout), with an order for the backlog.
    ///
    /// # Errors
    ///
    /// As [`add_wait_timeout`](Self::add_wait_timeout).
    ///
    /// # Panics
    ///
    /// As [`add_wait_timeout`](Self::add_wait_timeout), and if the backlog panics.
    pub fn add_wait_timeout_with(
        &self,
        item: T,
        timeout: Duration,
        order: B::Order,
    ) -> Result<Added, Rejected<T>>
    where
        T: Clone,
    {
        self.add_wait_until(item, order, self.shared.now().after(timeout))
    }

    fn add_wait_until(&self, item: T, order: B::Order, deadline: Tick) -> Result<Added, Rejected<T>>
    where
        T: Clone,
    {
        let mut adding = self.add_wait_with(item, order);
        if let Some(result) = wait_until(&self.shared, &mut adding, deadline) {
            return result;
        }
        let item = adding.into_item();
        if let Some(observer) = &self.shared.observer {
            observer.refused();
        }
        item.map_or(Ok(Added::Merged), |item| Err(Rejected::new(item, RejectedReason::TimedOut)))
    }

    /// Adds items in their order. With [`ImmediateAdd::Keep`] under one lock, as [`wq_core::WorkQueue::add_all`], which runs
    /// the iterator first. With another policy as [`add`](Self::add) for each, as the iterator comes to it.
    ///
    /// # Panics
    ///
    /// With [`ImmediateAdd::Keep`] as [`wq_core::WorkQueue::add_all`]. Otherwise if the iterator panics, or `Hash` or `Eq` of an
    /// item; the items before it have then been added.
    pub fn add_all(&self, items: impl IntoIterator<Item = T>) -> AddedAll {
        self.add_all_with(items.into_iter().map(|item| (item, B::Order::default())))
    }

    /// As [`add_all`](Self::add_all), with an order for each item.
    ///
    /// # Panics
    ///
    /// As [`add_all`](Self::add_all), and if the backlog panics.
    pub fn add_all_with(&self, items: impl IntoIterator<Item = (T, B::Order)>) -> AddedAll {
        if self.shared.immediate_add == ImmediateAdd::Keep {
            return self.core.add_all_with(items);
        }
        items.into_iter().map(|(item, order)| self.add_now(item, order)).collect()
    }

    /// Whether the item is queued or in flight. A delayed item that is not due is not: see
    /// [`deadline`](Self::deadline).
    ///
    /// # Panics
    ///
    /// If `Hash` or `Eq` of the item panics.
    #[must_use]
    pub fn contains<Q>(&self, item: &Q) -> bool
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.shared.move_due(&self.core, None);
        self.core.contains(item)
    }

    /// Whether the item is queued, in flight or both; `None` if it is delayed, or not here. Out of date as soon as it is
    /// known. Moves no more of what is due than an add: what is due before this item, if that is due.
    ///
    /// # Panics
    ///
    /// If `Hash` or `Eq` of the item panics. As all verbs that queue what is due, as [`move_due`](Self::move_due).
    #[must_use]
    pub fn phase<Q>(&self, item: &Q) -> Option<Phase>
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = self.core.item_hash(item);
        self.settle_now(hash, item);
        self.core.phase(item)
    }

    /// Whether the item is here at all: delayed, queued or in flight, looked at in one moment.
    ///
    /// # Panics
    ///
    /// If `Hash` or `Eq` of the item panics.
    #[must_use]
    pub fn holds<Q>(&self, item: &Q) -> bool
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = self.core.item_hash(item);
        self.look(|pending, _| pending.heap.deadline(hash, item).is_some() || self.core.contains(item))
    }

    /// Takes a queued item out. `None` if it is not queued; one that is in flight or delayed is left alone: see
    /// [`cancel`](Self::cancel).
    ///
    /// # Panics
    ///
    /// If `Hash` or `Eq` of the item panics.
    pub fn remove<Q>(&self, item: &Q) -> Option<T>
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.shared.move_due(&self.core, None);
        self.core.remove(item)
    }

    /// Ends the processing of an item whose guard was forgotten, as [`wq_core::WorkQueue::abandon`].
    ///
    /// # Panics
    ///
    /// If `Hash` or `Eq` of the item panics.
    pub fn abandon<Q>(&self, item: &Q) -> bool
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.core.abandon(item)
    }

    /// How many items are queued, those that are due among them: neither those in flight nor those delayed.
    ///
    /// # Panics
    ///
    /// As [`move_due`](Self::move_due).
    #[must_use]
    #[doc(alias = "Len")]
    pub fn len(&self) -> usize {
        self.counts().queued
    }

    /// Whether no item is queued. Items may be in flight or delayed.
    ///
    /// # Panics
    ///
    /// As [`move_due`](Self::move_due).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many items are where, counted under one lock. See [`delayed_len`](Self::delayed_len) for the rest.
    ///
    /// # Panics
    ///
    /// As [`move_due`](Self::move_due).
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.shared.move_due(&self.core, None);
        self.core.counts()
    }

    /// What the backlog tells of the items that still have to be handed out, those that are due among them, as
    /// [`wq_core::WorkQueue::survey`].
    ///
    /// # Panics
    ///
    /// As [`move_due`](Self::move_due), and if the backlog does.
    #[must_use]
    pub fn survey(&self) -> B::Found
    where
        B: Survey,
    {
        self.shared.move_due(&self.core, None);
        self.core.survey()
    }

    /// As [`survey`](Self::survey), added to what was found before, and with the gauges of the same moment, as
    /// [`wq_core::WorkQueue::survey_into`].
    ///
    /// # Panics
    ///
    /// As [`move_due`](Self::move_due), and if the backlog does.
    pub fn survey_into(&self, found: &mut B::Found) -> Gauges
    where
        B: Survey,
    {
        self.shared.move_due(&self.core, None);
        self.core.survey_into(found)
    }

    /// What a scrape of metrics reads of what is queued, those that are due among them, and in flight, as
    /// [`wq_core::WorkQueue::gauges`].
    ///
    /// # Panics
    ///
    /// As [`move_due`](Self::move_due), and if the backlog does.
    #[must_use]
    pub fn gauges(&self) -> Gauges {
        self.shared.move_due(&self.core, None);
        self.core.gauges()
    }

    /// Merges an order into that of an item that still has to be handed out: queued or to run again, as
    /// [`wq_core::WorkQueue::reorder`], or delayed, whose deadline stays. One that is delayed besides is looked at in one moment,
    /// and its order merged in both places. Says whether there was such an item.
    ///
    /// # Panics
    ///
    /// If `Hash` or `Eq` of the item panics, or the backlog.
    pub fn reorder<Q>(&self, item: &Q, order: B::Order) -> bool
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = self.core.item_hash(item);
        self.settled(|pending, _| {
            let is_delayed = pending.heap.reorder(hash, item, order.clone(), B::merge);
            self.core.reorder(item, order) || is_delayed
        })
    }

    /// Clones everything that is queued or in flight, under one lock: as [`wq_core::WorkQueue::snapshot`], which says what `Clone` may
    /// not do there.
    ///
    /// # Panics
    ///
    /// If `Clone` of an item panics; the queue is as before.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<T>
    where
        T: Clone,
    {
        self.shared.move_due(&self.core, None);
        self.core.snapshot()
    }

    /// What an add with [`ImmediateAdd::Defer`] does first: joins a waiting request, or gets its order back.
    fn joins_delayed(&self, item: &T, order: B::Order) -> Result<(), B::Order> {
        if self.shared.immediate_add != ImmediateAdd::Defer {
            return Err(order);
        }
        let hash = self.core.item_hash(item);
        self.settle_now(hash, item);
        self.look(|pending, _| pending.heap.merge_into(hash, item, order, B::merge))
    }

    fn to_take_along(&self, item: &T) -> Option<(ItemHash, T)>
    where
        T: Clone,
    {
        (self.shared.immediate_add == ImmediateAdd::Merge).then(|| (self.core.item_hash(item), item.clone()))
    }

    fn merge_taken(&self, taken_along: Option<(ItemHash, T)>) {
        if let Some((hash, item)) = taken_along {
            self.take_along(hash, item);
        }
    }
}

impl<T, B: Backlog, S> DelayingQueue<T, B, S> {
    /// The name given to the builder.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.core.name()
    }

    /// What reads the queue below for metrics without keeping it alive, as [`wq_core::WorkQueue::reader`]. It moves nothing: an
    /// item that is due and that nobody has looked for is delayed still.
    #[must_use]
    pub fn reader(&self) -> QueueReader<T, B> {
        self.core.reader()
    }

    /// How many items are in the hands of guards.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.core.in_flight()
    }

    /// Stops handing out items until [`resume`](Self::resume) or shutdown. Items go on becoming due.
    pub fn pause(&self) {
        self.core.pause();
    }

    /// Ends a pause.
    pub fn resume(&self) {
        self.core.resume();
    }

    /// Whether hand-outs are paused.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.core.is_paused()
    }

    /// Whether the queue was shut down.
    #[must_use]
    #[doc(alias = "ShuttingDown")]
    pub fn is_shutting_down(&self) -> bool {
        self.core.is_shutting_down()
    }
}

impl<T: Eq, B: Backlog, S> DelayingQueue<T, B, S> {
    /// Gives back memory that is not in use, if that is more than an eighth. A queue does this by itself too, after a while of low
    /// occupancy.
    ///
    /// What is delayed is put in order and moved to a smaller place meanwhile, and nobody else can use the queue: 10
    /// milliseconds for 100,000 items that stay, 180 for a million, 2.5 seconds for ten million (measured on a server's
    /// processor).
    pub fn shrink(&self) {
        self.shared.lock().heap.shrink();
        self.core.shrink();
    }
}

/// The future of [`DelayingQueue::add_wait`].
///
/// # Panics
///
/// When polled again after it was ready.
#[must_use = "futures do nothing unless polled"]
pub struct AddWait<'q, T, B: Backlog = Fifo, S = DefaultHasher> {
    queue: &'q DelayingQueue<T, B, S>,
    /// Until the first poll.
    offered: Option<(T, B::Order)>,
    /// From the first poll on, unless the add has joined a delayed one.
    core: Option<wq_core::AddWait<'q, T, B>>,
    taken_along: Option<(ItemHash, T)>,
}

impl<T, B: Backlog, S> AddWait<'_, T, B, S> {
    /// Gives up, and hands the item back; `None` if this was ready. As [`wq_core::AddWait::into_item`].
    ///
    /// # Panics
    ///
    /// If the waker of the next in line panics; the item is then dropped.
    #[must_use = "the item was not added"]
    pub fn into_item(self) -> Option<T> {
        let waited = self.core.and_then(wq_core::AddWait::into_item);
        waited.or_else(|| self.offered.map(|(item, _)| item))
    }
}

/// Nothing in it is ever pinned.
impl<T, B: Backlog, S> Unpin for AddWait<'_, T, B, S> {}

impl<T: Hash + Eq + Clone, B: Backlog, S: BuildHasher> Future for AddWait<'_, T, B, S> {
    type Output = Result<Added, Rejected<T>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if let Some((item, order)) = this.offered.take() {
            let order = match this.queue.joins_delayed(&item, order) {
                Ok(()) => return Poll::Ready(Ok(Added::Merged)),
                Err(order) => order,
            };
            this.queue.move_due();
            this.taken_along = this.queue.to_take_along(&item);
            this.core = Some(this.queue.core.add_wait_with(item, order));
        }
        let Some(core) = &mut this.core else {
            panic!("AddWait was polled after it was ready");
        };
        let added = std::task::ready!(Pin::new(core).poll(context));
        let taken_along = this.taken_along.take();
        if added.is_ok() {
            this.queue.merge_taken(taken_along);
        }
        Poll::Ready(added)
    }
}

impl<T, B: Backlog, S> fmt::Debug for AddWait<'_, T, B, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AddWait").field("core", &self.core).finish_non_exhaustive()
    }
}
