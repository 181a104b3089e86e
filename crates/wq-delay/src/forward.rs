//! The verbs of the core queue, forwarded. Verbs that look at queued items move due items first.

use crate::policy::ImmediateAdd;
use crate::queue::DelayingQueue;
use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use wq_core::{Added, AddedAll, Backlog, Counts, Phase, Rejected, Snapshot};

impl<T: Hash + Eq, B: Backlog, S: BuildHasher> DelayingQueue<T, B, S> {
    /// Adds an item, which is handed out once after this call. Never waits, and ignores the
    /// capacity.
    ///
    /// The builder's [`immediate_add`](crate::Builder::immediate_add) decides about the deadline of
    /// a delayed item. With [`ImmediateAdd::Defer`] an add that joins a delayed one is
    /// [`Added::Merged`]. Otherwise as [`wq_core::WorkQueue::add`].
    ///
    /// ```
    /// use std::time::Duration;
    /// use wq_delay::{DelayingQueue, ManualTimer};
    ///
    /// let queue = DelayingQueue::builder().timer(ManualTimer::new()).build()?;
    /// queue.add_after("a", Duration::from_secs(5));
    /// queue.add("a"); // Runs now, and once more in five seconds.
    /// assert_eq!(*queue.try_get()?.item(), "a");
    /// assert_eq!(queue.delayed_len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "Add")]
    pub fn add(&self, item: T) -> Added {
        self.add_with(item, B::Order::default())
    }

    /// As [`add`](Self::add), with an order for the backlog.
    pub fn add_with(&self, item: T, order: B::Order) -> Added {
        self.add_now(item, order)
    }

    /// Adds an item unless the queue is full. Delayed items need no room.
    ///
    /// With [`ImmediateAdd::Merge`] a second step merges the delayed add into this one. A worker
    /// that takes the item between the steps runs it a second time.
    ///
    /// # Errors
    ///
    /// [`Rejected`] returns the item if there is no room, and after shutdown.
    ///
    /// # Panics
    ///
    /// If `Eq` of an item panics in the second step: the item was added, and is still delayed.
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

    /// Adds items in order.
    ///
    /// With [`ImmediateAdd::Keep`] it takes one lock, as [`wq_core::WorkQueue::add_all`]. With
    /// another policy it calls [`add`](Self::add) for each item of the iterator.
    ///
    /// # Panics
    ///
    /// If the iterator, or `Hash` or `Eq` of an item panics. With [`ImmediateAdd::Keep`] as
    /// [`wq_core::WorkQueue::add_all`]; otherwise the items before it were added.
    pub fn add_all(&self, items: impl IntoIterator<Item = T>) -> AddedAll {
        self.add_all_with(items.into_iter().map(|item| (item, B::Order::default())))
    }

    /// As [`add_all`](Self::add_all), with an order for each item.
    pub fn add_all_with(&self, items: impl IntoIterator<Item = (T, B::Order)>) -> AddedAll {
        if self.shared.immediate_add == ImmediateAdd::Keep {
            return self.core.add_all_with(items);
        }
        items.into_iter().map(|(item, order)| self.add_now(item, order)).collect()
    }

    /// The phase of this item. `None` if it is delayed, or if the queue does not hold it. Other
    /// threads can change it at any time.
    ///
    /// Moves due items only until this item is not due any more.
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

    /// Removes a queued item and returns it. `None` if it is not queued: items in flight or delayed
    /// stay. See [`cancel`](Self::cancel).
    pub fn remove<Q>(&self, item: &Q) -> Option<T>
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.shared.move_due(&self.core, None);
        self.core.remove(item)
    }

    /// Ends the processing of an item whose guard was forgotten, as
    /// [`wq_core::WorkQueue::abandon`].
    pub fn abandon<Q>(&self, item: &Q) -> bool
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.core.abandon(item)
    }

    /// The number of items in each phase, at one moment. [`delayed_len`](Self::delayed_len) counts
    /// the delayed ones.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.shared.move_due(&self.core, None);
        self.core.counts()
    }

    /// Clones every item that is queued or in flight, as [`wq_core::WorkQueue::snapshot`]: it
    /// blocks other calls meanwhile, and `Clone` must not call the queue.
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

    /// Stops hand-outs until [`resume`](Self::resume) or shutdown. Items still become due.
    pub fn pause(&self) {
        self.core.pause();
    }

    /// Ends a pause.
    pub fn resume(&self) {
        self.core.resume();
    }

    /// Whether the queue is shut down. A shutdown is final.
    #[must_use]
    #[doc(alias = "ShuttingDown")]
    pub fn is_shutting_down(&self) -> bool {
        self.core.is_shutting_down()
    }
}
