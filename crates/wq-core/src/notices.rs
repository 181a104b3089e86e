//! Notices: what an add leaves to be done once nobody holds a lock any more. For the layers above, which add while they
//! hold a lock of their own.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::time::Instant;

use crate::added::{Added, AddedAll};
use crate::backlog::{Backlog, Fifo};
use crate::hasher::ItemHash;
use crate::news::News;
use crate::queue::WorkQueue;
use crate::shared::{Core, Shared};
use crate::waiters::Wakes;

impl<T, B: Backlog, S> WorkQueue<T, B, S> {
    /// An empty collection of notices for [`add_quietly`](Self::add_quietly). Make it before you take your lock, so that
    /// it is dropped after it, and the clock is read before it: the time of the adds is that of this call.
    pub fn notices(&self) -> Notices<'_, T, B> {
        let shared = self.shared_ref();
        Notices { shared, now: shared.now(), wakes: Wakes::new(), told: Vec::new(), left: Vec::new() }
    }
}

impl<T: Hash + Eq, B: Backlog, S: BuildHasher> WorkQueue<T, B, S> {
    /// As [`add_with`](Self::add_with), but calls no code of others: to wake getters, tell the observer and drop an item
    /// that was there already is left to `notices`, which must be of this queue.
    ///
    /// For a caller that holds a lock of its own. The item is in the queue when this returns.
    ///
    /// # Panics
    ///
    /// As [`add_with`](Self::add_with).
    pub fn add_quietly(&self, item: T, order: B::Order, notices: &mut Notices<'_, T, B>) -> Added {
        let hash = self.item_hash(&item);
        notices.add(&mut self.shared.lock(), QuietAdd { item, hash, order })
    }

    /// As [`add_quietly`](Self::add_quietly) for each, under one lock, with hashes that are known already.
    ///
    /// The iterator is run under the lock: it must be quick, and must not call the queue. It is asked for no further item
    /// once one has panicked.
    ///
    /// # Panics
    ///
    /// If `Eq` of an item, the backlog or the iterator panics; the items before the one at fault have then been added.
    pub fn add_all_quietly(
        &self,
        adds: impl IntoIterator<Item = QuietAdd<T, B::Order>>,
        notices: &mut Notices<'_, T, B>,
    ) -> AddedAll {
        let mut core = self.shared.lock();
        adds.into_iter().map(|add| notices.add(&mut core, add)).collect()
    }

    /// What a layer above is to find the item by, and give to [`add_all_quietly`](Self::add_all_quietly). It holds for this
    /// queue alone.
    ///
    /// # Panics
    ///
    /// If `Hash` of the item panics.
    #[inline]
    pub fn item_hash<Q>(&self, item: &Q) -> ItemHash
    where
        T: Borrow<Q>,
        Q: Hash + ?Sized,
    {
        ItemHash::of(item, &self.hasher)
    }
}

/// One add of [`add_all_quietly`](WorkQueue::add_all_quietly).
#[derive(Debug, Clone, Copy)]
pub struct QuietAdd<T, O> {
    /// The item.
    pub item: T,
    /// What [`item_hash`](WorkQueue::item_hash) of the same queue says of the item. With another hash the queue may take an item
    /// that it holds for another.
    pub hash: ItemHash,
    /// Its order for the backlog.
    pub order: O,
}

/// What adds have left to be done: getters to wake, events to tell, items to drop. Done when this is dropped.
#[must_use = "getters are not woken until the notices are dropped"]
pub struct Notices<'q, T, B: Backlog = Fifo> {
    shared: &'q Shared<T, B>,
    /// When the adds are made, if there is an observer.
    now: Option<Instant>,
    wakes: Wakes,
    told: Vec<Added>,
    left: Vec<Option<T>>,
}

impl<T, B: Backlog> Notices<'_, T, B> {
    /// Does what is to be done; dropping does the same.
    pub fn deliver(self) {
        drop(self);
    }

    /// Whether there is nothing to be done.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.wakes.is_empty() && self.told.is_empty() && self.left.is_empty()
    }

    fn add(&mut self, core: &mut Core<T, B>, add: QuietAdd<T, B::Order>) -> Added
    where
        T: Eq,
    {
        let QuietAdd { item, hash, order } = add;
        let now = self.now;
        self.left.push(Some(item)); // From here on it is not dropped in here, whatever panics.
        let Some(item) = self.left.last_mut() else { return Added::Merged };
        // Without a bound there is always an answer.
        let added = core.state.add(item, hash, order, false, now).unwrap_or(Added::ShutDown);
        core.tell(News::of_add(added), &mut self.wakes);
        if item.is_none() {
            self.left.pop();
        }
        if now.is_some() {
            self.told.push(added);
        }
        added
    }
}

impl<T, B: Backlog> Drop for Notices<'_, T, B> {
    fn drop(&mut self) {
        if self.wakes.is_empty() && self.told.is_empty() {
            return;
        }
        std::mem::take(&mut self.wakes).fire();
        self.shared.observe(|observer| self.told.iter().for_each(|&added| observer.added(added)));
    }
}

impl<T, B: Backlog> fmt::Debug for Notices<'_, T, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notices").field("is_empty", &self.is_empty()).finish_non_exhaustive()
    }
}
