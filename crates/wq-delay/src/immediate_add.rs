//! Adds without a delay, by the policy for an item that waits for its deadline.

use std::hash::{BuildHasher, Hash};

use wq_core::{Added, Backlog, DeferredWakes, ItemHash};

use crate::heap::Waiting;
use crate::policy::ImmediateAdd;
use crate::queue::DelayingQueue;
use crate::shared::Pending;
use crate::wakes::Wakes;

impl<T: Hash + Eq, B: Backlog, S: BuildHasher> DelayingQueue<T, B, S> {
    /// Adds an item without a delay, by the queue's policy.
    pub(crate) fn add_now(&self, item: T, order: B::Order) -> Added {
        let policy = self.shared.immediate_add;
        self.add_by(policy, policy, item, order)
    }

    /// Adds an item: by the policy `retry` if it waits for a retry alone, and by the policy `other`
    /// otherwise.
    pub(crate) fn add_by(
        &self,
        retry: ImmediateAdd,
        other: ImmediateAdd,
        item: T,
        order: B::Order,
    ) -> Added {
        if (retry, other) == (ImmediateAdd::Keep, ImmediateAdd::Keep) {
            return self.core.add_with(item, order);
        }
        let hash = self.core.item_hash(&item);
        self.settle_now(hash, &item);
        let _waited; // Dropped after the lock.
        let mut wakes = Wakes::new();
        let mut adds = self.core.defer_wakes();
        let mut pending = self.shared.lock();
        let slot = pending.heap.find(hash, &item);
        let by = slot.map(|slot| if pending.heap.is_retry(slot) { retry } else { other });
        match (slot, by) {
            (Some(slot), Some(ImmediateAdd::Merge)) => {
                let added;
                (added, _waited) =
                    self.take_along(&mut pending, slot, item, Some(order), &mut adds);
                self.shared.changed(&mut pending, &self.core, &mut wakes);
                added
            }
            (Some(slot), Some(ImmediateAdd::Defer)) => {
                pending.heap.join(slot, order, B::merge);
                drop(pending); // Before the item.
                Added::Merged
            }
            _ => {
                drop(pending);
                self.core.add_with(item, order)
            }
        }
    }

    /// Adds an item together with its delayed add. With two adds, a worker between them would run
    /// the item twice. If the add panics, the item is still delayed.
    fn take_along(
        &self,
        pending: &mut Pending<T, B>,
        slot: u32,
        item: T,
        order: Option<B::Order>,
        adds: &mut DeferredWakes<'_, T, B, S>,
    ) -> (Added, Option<Waiting<T, B::Order>>) {
        let mut merged = pending.heap.order(slot).cloned().unwrap_or_default();
        if let Some(order) = order {
            B::merge(&mut merged, order);
        }
        let added = adds.add(item, merged);
        (added, pending.heap.remove_at(slot))
    }

    /// Merges the delayed add into a bounded add, with [`ImmediateAdd::Merge`].
    pub(crate) fn join_added(&self, hash: ItemHash, item: T) {
        self.settle_now(hash, &item);
        let _waited; // Dropped after the lock.
        let mut wakes = Wakes::new();
        let mut adds = self.core.defer_wakes();
        let mut pending = self.shared.lock();
        if let Some(slot) = pending.heap.find(hash, &item) {
            (_, _waited) = self.take_along(&mut pending, slot, item, None, &mut adds);
            self.shared.changed(&mut pending, &self.core, &mut wakes);
        }
    }
}
