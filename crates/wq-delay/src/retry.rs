//! Retry: delayed adds of a layer above, which it can replace and cancel.

use crate::deadline::DeadlineRequest;
use crate::queue::DelayingQueue;
use crate::scheduled::Scheduled;
use crate::tick::Tick;
use crate::wakes::Wakes;
use std::hash::{BuildHasher, Hash};
use std::time::Instant;
use wq_core::Backlog;

impl<T: Hash + Eq, B: Backlog, S: BuildHasher> DelayingQueue<T, B, S> {
    /// Adds an item at a deadline, for a layer above that retries failed items. `None` is a
    /// deadline that never comes.
    ///
    /// The retry replaces a waiting retry of the item. If a user has added the item with a delay,
    /// both merge as [`second_add`](crate::Builder::second_add) says, and remain the user's. Any
    /// later add that merges with a retry makes it the user's too.
    ///
    /// A retry that is due at once is added as with
    /// [`ImmediateAdd::Keep`](crate::ImmediateAdd::Keep).
    ///
    /// # Panics
    ///
    /// If the add of a due retry panics: the retry that it replaces is lost.
    pub fn add_retry(&self, item: T, deadline: Option<Instant>, order: B::Order) -> Scheduled {
        let now = self.shared.now();
        let deadline = deadline.map_or(Tick::NEVER, |deadline| self.shared.line.tick(deadline));
        if !deadline.is_due(now) {
            return self.schedule(
                item,
                order,
                DeadlineRequest::Retry(deadline, self.shared.second_add),
                now,
            );
        }
        self.tell_retried();
        let mut order = order;
        if let Some(mut before) = self.take_retry(&item) {
            B::merge(&mut before, order);
            order = before;
        }
        Scheduled::at_once(self.core.add_with(item, order))
    }

    /// Cancels the retry that an item waits for. Returns whether there was one: `false` if a user
    /// has added the item with a delay too.
    ///
    /// A due retry is queued, and not canceled.
    pub fn cancel_retry(&self, item: &T) -> bool {
        self.take_retry(item).is_some()
    }

    fn take_retry(&self, item: &T) -> Option<B::Order> {
        if self.shared.lock().heap.is_empty() {
            return None; // Hashes nothing.
        }
        let hash = self.core.item_hash(item);
        self.settle_now(hash, item);
        let mut wakes = Wakes::new();
        let waiting = {
            let mut pending = self.shared.lock();
            let waiting = pending.heap.remove_retry(hash, item)?;
            self.shared.changed(&mut pending, &self.core, &mut wakes);
            waiting
        };
        Some(waiting.order)
    }
}
