//! Retries: delayed adds of a layer above, which it can replace and cancel.

use crate::deadline::DeadlineRequest;
use crate::policy::ImmediateAdd;
use crate::queue::DelayingQueue;
use crate::scheduled::Scheduled;
use crate::tick::Tick;
use crate::wakes::Wakes;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::time::Instant;
use wq_core::{Added, Backlog, DefaultHasher, Fifo};

impl<T, B: Backlog, S> DelayingQueue<T, B, S> {
    /// The adds of a layer above that retries failed items.
    pub const fn retries(&self) -> Retries<'_, T, B, S> {
        Retries { queue: self }
    }
}

/// Delayed adds that a layer above can replace and cancel. Made by [`DelayingQueue::retries`].
///
/// An item waits for a retry alone until another add merges with it: the delayed add is then the
/// user's, and no retry replaces or cancels it.
pub struct Retries<'q, T, B: Backlog = Fifo, S = DefaultHasher> {
    queue: &'q DelayingQueue<T, B, S>,
}

impl<T: Hash + Eq, B: Backlog, S: BuildHasher> Retries<'_, T, B, S> {
    /// Adds an item at a deadline. `None` is a deadline that never comes.
    ///
    /// The retry replaces a waiting retry of the item. If a user has added the item with a delay,
    /// both merge as [`second_add`](crate::Builder::second_add) says. A retry that is due at once
    /// is added as with [`ImmediateAdd::Keep`].
    ///
    /// # Panics
    ///
    /// If the add of a due retry panics: the retry that it replaces is lost.
    pub fn add(&self, item: T, deadline: Option<Instant>, order: B::Order) -> Scheduled {
        let queue = self.queue;
        let now = queue.shared.now();
        let deadline = deadline.map_or(Tick::NEVER, |deadline| queue.shared.line.tick(deadline));
        if !deadline.is_due(now) {
            let request = DeadlineRequest::Retry(deadline, queue.shared.second_add);
            return queue.schedule(item, order, request, now);
        }
        queue.tell_retried();
        let mut order = order;
        if let Some(mut before) = self.take(&item) {
            B::merge(&mut before, order);
            order = before;
        }
        Scheduled::at_once(queue.core.add_with(item, order))
    }

    /// Cancels the retry that an item waits for. Returns whether there was one. A due retry is
    /// queued, and not canceled.
    pub fn cancel(&self, item: &T) -> bool {
        self.take(item).is_some()
    }

    /// Adds an item without a delay: by the policy `retry` if it waits for a retry alone, and by
    /// the policy `other` otherwise.
    pub fn add_event(
        &self,
        retry: ImmediateAdd,
        other: ImmediateAdd,
        item: T,
        order: B::Order,
    ) -> Added {
        self.queue.add_by(retry, other, item, order)
    }

    fn take(&self, item: &T) -> Option<B::Order> {
        let queue = self.queue;
        if queue.shared.lock().heap.is_empty() {
            return None; // Hashes nothing.
        }
        let hash = queue.core.item_hash(item);
        queue.settle_now(hash, item);
        let mut wakes = Wakes::new();
        let waiting = {
            let mut pending = queue.shared.lock();
            let waiting = pending.heap.remove_retry(hash, item)?;
            queue.shared.changed(&mut pending, &queue.core, &mut wakes);
            waiting
        };
        Some(waiting.order)
    }
}

impl<T, B: Backlog, S> fmt::Debug for Retries<'_, T, B, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retries").field("queue", self.queue).finish()
    }
}
