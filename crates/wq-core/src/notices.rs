//! Notices: what an add leaves to be done once nobody holds a lock any more. For the layers above, which add while they
//! hold a lock of their own.

use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::time::Instant;

use crate::added::Added;
use crate::backlog::{Backlog, Fifo};
use crate::hasher::ItemHash;
use crate::news::News;
use crate::queue::WorkQueue;
use crate::shared::Shared;
use crate::state::State;
use crate::waiters::Wakes;

impl<T, B: Backlog, S> WorkQueue<T, B, S> {
    /// An empty collection of notices for [`add_quietly`](Self::add_quietly). Make it before you take your lock, so that
    /// it is dropped after it.
    pub fn notices(&self) -> Notices<'_, T, B> {
        Notices { shared: self.shared_ref(), wakes: Wakes::new(), told: Vec::new(), left: Vec::new() }
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
        // Without a bound there is always an answer.
        self.quietly(item, notices, |state, item, hash, now| {
            state.add(item, hash, order, false, now).unwrap_or(Added::ShutDown)
        })
    }

    /// As [`add_quietly`](Self::add_quietly), of one who may take it back: if the item is in hand, and all that was added of
    /// it since was added so, [`ProcessingGuard::revoke`](crate::ProcessingGuard::revoke) does. For the retries of a layer
    /// above, which the end of the work on their item replaces.
    ///
    /// # Panics
    ///
    /// As [`add_with`](Self::add_with).
    pub fn add_revocable_quietly(&self, item: T, order: B::Order, notices: &mut Notices<'_, T, B>) -> Added {
        self.quietly(item, notices, |state, item, hash, now| state.add_revocable(item, hash, order, now))
    }

    fn quietly(
        &self,
        item: T,
        notices: &mut Notices<'_, T, B>,
        add: impl FnOnce(&mut State<T, B>, &mut Option<T>, ItemHash, Option<Instant>) -> Added,
    ) -> Added {
        let hash = ItemHash::of(&item, &self.hasher);
        let now = self.shared.now();
        notices.left.push(Some(item)); // From here on it is not dropped in here, whatever panics.
        let Some(item) = notices.left.last_mut() else { return Added::Merged };
        let mut core = self.shared.lock();
        let added = add(&mut core.state, item, hash, now);
        core.tell(News::of_add(added), &mut notices.wakes);
        drop(core);
        if item.is_none() {
            notices.left.pop();
        }
        if now.is_some() {
            notices.told.push(added);
        }
        added
    }
}

/// What adds have left to be done: getters to wake, events to tell, items to drop. Done when this is dropped.
#[must_use = "getters are not woken until the notices are dropped"]
pub struct Notices<'q, T, B: Backlog = Fifo> {
    shared: &'q Shared<T, B>,
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
}

impl<T, B: Backlog> Drop for Notices<'_, T, B> {
    fn drop(&mut self) {
        std::mem::take(&mut self.wakes).fire();
        self.shared.observe(|observer| self.told.iter().for_each(|&added| observer.added(added)));
    }
}

impl<T, B: Backlog> fmt::Debug for Notices<'_, T, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notices").field("is_empty", &self.is_empty()).finish_non_exhaustive()
    }
}
