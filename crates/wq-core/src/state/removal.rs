//! Removal: how queued items leave the state without a hand-out, one by one or all at a shutdown.

use std::borrow::Borrow;

use super::State;
use super::slab::Slot;
use crate::backlog::{Backlog, SlotId};
use crate::hasher::ItemHash;
use crate::snapshot::Phase;

impl<T, B: Backlog> State<T, B> {
    /// Removes a queued item.
    pub(crate) fn remove<Q>(&mut self, item: &Q, hash: ItemHash) -> Option<(T, B::Order)>
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let (index, meta) = self.find(item, hash)?;
        if meta.phase() != Phase::Queued {
            return None;
        }
        let order = self.backlog.remove(SlotId::from_index(index)).unwrap_or_default();
        self.queued -= 1;
        let item = self.forget(index, hash)?;
        Some((item, order))
    }

    /// Moves the queued items into `taken`, in the backlog's order, then clones of the items that
    /// would run again. Called at a shutdown, with an empty `taken`.
    ///
    /// Guards in flight then end without a requeue. If a clone panics, nothing has changed.
    pub(crate) fn take_all(&mut self, taken: &mut Vec<T>)
    where
        T: Clone,
    {
        taken.reserve(self.queued + self.run_again as usize);
        let mut again: Vec<u32> = Vec::with_capacity(self.run_again as usize);
        for (index, item, _, meta) in self.slab.held() {
            if meta.phase() == Phase::ProcessingDirty {
                taken.push(item.clone());
                again.push(index);
            }
        }
        while let Some((id, _)) = self.backlog.pop() {
            taken.extend(self.take_queued(id.index()));
        }
        taken.rotate_left(again.len());
        for index in again {
            if let Some(Slot::Held { order, meta, .. }) = self.slab.get_mut(index) {
                *order = B::Order::default();
                *meta = meta.with_phase(Phase::Processing);
                self.run_again -= 1;
                self.timestamps.waits_no_more(index);
            }
        }
    }

    fn take_queued(&mut self, index: u32) -> Option<T> {
        let Some(&Slot::Held { hash, meta, .. }) = self.slab.get(index) else { return None };
        if meta.phase() != Phase::Queued {
            return None;
        }
        self.queued -= 1;
        self.forget(index, hash)
    }

    /// Removes an item from table and slab. The caller has updated the counts.
    #[inline(always)]
    fn forget(&mut self, index: u32, hash: ItemHash) -> Option<T> {
        self.table.remove(hash, index);
        let item = self.slab.free(index);
        self.timestamps.left(index);
        self.occupancy.left();
        item
    }
}
