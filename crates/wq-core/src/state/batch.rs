//! Batch: handing out several items at once, all or, when a clone panics, none.

use std::mem;
use std::num::NonZeroUsize;
use std::time::Instant;

use super::slab::{Meta, Slot};
use super::{Got, State, Take, Ticket};
use crate::backlog::{Backlog, SlotId};
use crate::snapshot::Phase;

impl<T, B: Backlog> State<T, B> {
    /// Hands out up to `max` items into `batch`, which is empty before and, unless the answer is `Got`, after.
    pub(crate) fn get_batch(
        &mut self,
        max: NonZeroUsize,
        batch: &mut Vec<Got<T, B::Order>>,
        now: Option<Instant>,
    ) -> Take<()>
    where
        T: Clone,
    {
        let mut taken = Taken { state: self, batch, committed: false };
        while taken.batch.len() < max.get() {
            match taken.state.get(now) {
                Take::Got(got) => taken.batch.push(got),
                Take::Nothing | Take::Ended => break,
            }
        }
        taken.committed = true;
        if !taken.batch.is_empty() {
            Take::Got(())
        } else if taken.state.shutting_down {
            Take::Ended
        } else {
            Take::Nothing
        }
    }
}

/// A batch being taken: when a clone panics, those before it are queued again. The clones made stay in `batch`, to be
/// dropped outside the lock.
struct Taken<'a, T, B: Backlog> {
    state: &'a mut State<T, B>,
    batch: &'a mut Vec<Got<T, B::Order>>,
    committed: bool,
}

impl<T, B: Backlog> Drop for Taken<'_, T, B> {
    fn drop(&mut self) {
        if self.committed {
            return;
        }
        for got in self.batch.iter_mut() {
            self.state.put_back(got.ticket, mem::take(&mut got.order));
        }
    }
}

impl<T, B: Backlog> State<T, B> {
    /// Queues an item again that was handed out for nothing, at the tail. False: somebody has ended that hand-out already.
    #[cold]
    #[inline(never)]
    pub(crate) fn put_back(&mut self, ticket: Ticket, order: B::Order) -> bool {
        let Some(index) = self.slot_in_force(ticket) else { return false };
        let Some(Slot::Held { order: again, meta, .. }) = self.slab.get_mut(index) else { return false };
        let mut order = order;
        let runs_again = meta.phase() == Phase::ProcessingDirty;
        if runs_again {
            B::merge(&mut order, mem::take(again));
        }
        // What may panic comes first.
        self.backlog.push(SlotId::from_index(index), order);
        *meta = Meta::new(Phase::Queued, 0);
        self.run_again -= u32::from(runs_again);
        self.queued += 1;
        self.stamps.given_back(index);
        true
    }
}
