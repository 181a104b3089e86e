//! The verbs of the core queue, forwarded by hand. Each means what it means there; those that look at queued items first
//! move what is due.

use crate::queue::{DelayingQueue, ImmediateAdd};
use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use wq_core::{Added, AddedAll, Backlog, Counts, Gauges, Phase, Rejected, Snapshot};

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
        match self.shared.immediate_add {
            ImmediateAdd::Keep => self.core.add_ref(item),
            ImmediateAdd::Merge | ImmediateAdd::Defer => self.add_now(T::from(item), B::Order::default()),
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
        if self.shared.immediate_add == ImmediateAdd::Defer {
            let hash = self.core.item_hash(&item);
            self.settle_now(hash, &item);
            let mut pending = self.shared.lock();
            if let Some(slot) = pending.heap.find(hash, &item) {
                pending.heap.join(slot, B::Order::default(), B::merge);
                drop(pending);
                return Ok(Added::Merged);
            }
        }
        self.shared.move_due(&self.core, None);
        let takes_along = self.shared.immediate_add == ImmediateAdd::Merge;
        let taken_along = takes_along.then(|| (self.core.item_hash(&item), item.clone()));
        let added = self.core.try_add(item)?;
        if let Some((hash, item)) = taken_along {
            self.join_added(hash, item);
        }
        Ok(added)
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
}

impl<T, B: Backlog, S> DelayingQueue<T, B, S> {
    /// The name given to the builder.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.core.name()
    }

    /// Stops handing out items until [`resume`](Self::resume) or shutdown. Items go on becoming due.
    pub fn pause(&self) {
        self.core.pause();
    }

    /// Ends a pause.
    pub fn resume(&self) {
        self.core.resume();
    }

    /// Whether the queue was shut down.
    #[must_use]
    #[doc(alias = "ShuttingDown")]
    pub fn is_shutting_down(&self) -> bool {
        self.core.is_shutting_down()
    }
}

impl<T: Eq, B: Backlog, S> DelayingQueue<T, B, S> {}
