//! Put back: an item that was handed out for nothing is queued again.

use std::mem;

use super::slab::{Meta, Slot};
use super::{State, Ticket};
use crate::backlog::{Backlog, SlotId};
use crate::snapshot::Phase;

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
