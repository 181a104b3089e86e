//! Revocable adds: those of a layer above, which it takes back when they have become pointless.

use crate::queue::DelayingQueue;
use crate::scheduled::Scheduled;
use crate::tick::Tick;
use crate::wish::Wish;
use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use std::time::Instant;
use wq_core::Backlog;

impl<T: Hash + Eq, B: Backlog, S: BuildHasher> DelayingQueue<T, B, S> {
    /// As [`add_at_with`](Self::add_at_with), for layers above: [`revoke`](Self::revoke) takes it back. `None` is a deadline
    /// that never comes. If it has come already the item is added as with [`ImmediateAdd::Keep`](crate::ImmediateAdd::Keep).
    ///
    /// # Panics
    ///
    /// As [`add_at_with`](Self::add_at_with).
    pub fn add_revocable(&self, item: T, deadline: Option<Instant>, order: B::Order) -> Scheduled {
        let now = self.shared.now();
        let deadline = deadline.map_or(Tick::NEVER, |deadline| self.shared.line.tick(deadline));
        self.schedule(item, order, Wish::Revocable(deadline, self.shared.second_add), now)
    }

    /// Takes a delayed item out if all that asked for it was [revocable](Self::add_revocable), with its order. Also
    /// one that is due, as long as nobody has queued it: unlike all other verbs this one does not look what is due. One that
    /// somebody has queued while the item was in hand is for its guard to [take back](wq_core::ProcessingGuard::revoke).
    ///
    /// # Panics
    ///
    /// As [`cancel`](Self::cancel).
    pub fn revoke<Q>(&self, item: &Q) -> Option<(T, B::Order)>
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let waiting = self.look(|pending, after| {
            if pending.heap.is_empty() {
                return None;
            }
            let waiting = pending.heap.revoke(self.core.item_hash(item), item);
            if waiting.is_some() {
                self.shared.changed(pending, &self.core, after);
            }
            waiting
        });
        waiting.map(|waiting| (waiting.item, waiting.order))
    }
}
