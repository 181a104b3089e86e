//! DeferredWakes: adds whose wake-ups come later, for a layer that adds while it holds its own
//! lock.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::time::Instant;

use crate::added::{Added, AddedAll};
use crate::backlog::{Backlog, Fifo};
use crate::hasher::{DefaultHasher, ItemHash};
use crate::queue::WorkQueue;
use crate::shared::Core;
use crate::transition::Transition;
use crate::waiters::Wakes;

impl<T, B: Backlog, S> WorkQueue<T, B, S> {
    /// Starts adds that run no code of others: wake-ups, observer calls and drops of items wait
    /// until the returned value is dropped.
    ///
    /// For a layer that adds while it holds a lock of its own. Call this before taking that lock:
    /// the value is then dropped after it. It reads the clock, so this call is the time of the
    /// adds.
    ///
    /// ```
    /// use wq_core::{Added, WorkQueue};
    ///
    /// let queue = WorkQueue::new();
    /// let mut adds = queue.defer_wakes();
    /// assert_eq!(adds.add("a", ()), Added::Queued); // Queued, but no getter wakes.
    /// drop(adds); // Now one does.
    /// assert_eq!(queue.counts().queued, 1);
    /// ```
    pub fn defer_wakes(&self) -> DeferredWakes<'_, T, B, S> {
        let now = self.shared.now();
        DeferredWakes { queue: self, now, wakes: Wakes::new(), told: Vec::new(), left: Vec::new() }
    }

    /// The hash by which this queue finds an item, for [`HashedAdd`]. Another queue has other
    /// hashes.
    #[inline]
    pub fn item_hash<Q>(&self, item: &Q) -> ItemHash
    where
        T: Borrow<Q>,
        Q: Hash + ?Sized,
        S: BuildHasher,
    {
        ItemHash::of(item, &self.hasher)
    }
}

/// An add of [`DeferredWakes::add_all`].
#[derive(Debug, Clone, Copy)]
pub struct HashedAdd<T, O> {
    /// The item.
    pub item: T,
    /// The [`item_hash`](WorkQueue::item_hash) of the item by the same queue. With another hash
    /// the queue may fail to find the item.
    pub hash: ItemHash,
    /// Its order for the backlog.
    pub order: O,
}

/// Adds to a queue, and the wake-ups, observer calls and drops that they have deferred. Made by
/// [`WorkQueue::defer_wakes`].
#[must_use = "getters are not woken until this is dropped"]
pub struct DeferredWakes<'q, T, B: Backlog = Fifo, S = DefaultHasher> {
    queue: &'q WorkQueue<T, B, S>,
    /// The time of the adds, if there is an observer.
    now: Option<Instant>,
    wakes: Wakes,
    told: Vec<Added>,
    left: Vec<Option<T>>,
}

impl<T: Hash + Eq, B: Backlog, S: BuildHasher> DeferredWakes<'_, T, B, S> {
    /// As [`WorkQueue::add_with`]. The item is in the queue when this returns.
    pub fn add(&mut self, item: T, order: B::Order) -> Added {
        let hash = self.queue.item_hash(&item);
        let queue = self.queue;
        self.add_locked(&mut queue.shared.lock(), HashedAdd { item, hash, order })
    }

    /// As [`add`](Self::add) for each item, under one lock.
    ///
    /// The iterator runs under the lock: it must be quick and must not call the queue.
    ///
    /// # Panics
    ///
    /// If `Eq` of an item or the iterator panics: the items before were added, and the iterator is
    /// not asked for more.
    pub fn add_all(&mut self, adds: impl IntoIterator<Item = HashedAdd<T, B::Order>>) -> AddedAll {
        let queue = self.queue;
        let mut core = queue.shared.lock();
        adds.into_iter().map(|add| self.add_locked(&mut core, add)).collect()
    }

    fn add_locked(&mut self, core: &mut Core<T, B>, add: HashedAdd<T, B::Order>) -> Added {
        let HashedAdd { item, hash, order } = add;
        let now = self.now;
        self.left.push(Some(item)); // So that no panic drops it under the lock.
        let Some(item) = self.left.last_mut() else { return Added::Merged };
        // Without a bound there is always an answer.
        let added = core.state.add(item, hash, order, false, now).unwrap_or(Added::ShutDown);
        core.tell(Transition::of_add(added), &mut self.wakes);
        if item.is_none() {
            self.left.pop();
        }
        if now.is_some() {
            self.told.push(added);
        }
        added
    }
}

impl<T, B: Backlog, S> Drop for DeferredWakes<'_, T, B, S> {
    fn drop(&mut self) {
        if self.wakes.is_empty() && self.told.is_empty() {
            return;
        }
        std::mem::take(&mut self.wakes).fire();
        self.queue
            .shared
            .observe(|observer| self.told.iter().for_each(|&added| observer.added(added)));
    }
}

impl<T, B: Backlog, S> fmt::Debug for DeferredWakes<'_, T, B, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeferredWakes").field("adds", &self.told.len()).finish_non_exhaustive()
    }
}
