//! In hand: what the holder of a ticket may ask beside `done`, and adds that a layer above may take back as long as their item is in
//! hand and nobody else has added it since.

use std::mem;
use std::time::Instant;

use super::slab::Slot;
use super::{State, Ticket};
use crate::added::Added;
use crate::backlog::Backlog;
use crate::hasher::ItemHash;
use crate::snapshot::Phase;

impl<T: Eq, B: Backlog> State<T, B> {
    /// As [`add`](Self::add) without a bound. If the item is in hand, and all adds since it was handed out were such ones,
    /// [`revoke`](Self::revoke) takes them back.
    pub(crate) fn add_revocable(
        &mut self,
        item: &mut Option<T>,
        hash: ItemHash,
        order: B::Order,
        now: Option<Instant>,
    ) -> Added {
        if !self.is_open() {
            return Added::ShutDown;
        }
        let held = item.as_ref().and_then(|item| self.find(item, hash));
        let revocable =
            held.filter(|(_, meta)| meta.phase() == Phase::Processing || meta.is_revocably_dirty());
        let added = self.add_open(item, hash, order, false, now).unwrap_or(Added::ShutDown);
        if let Some((index, _)) = revocable
            && let Some(Slot::Held { meta, .. }) = self.slab.get_mut(index)
        {
            *meta = meta.revocably_dirty();
        }
        added
    }
}

impl<T, B: Backlog> State<T, B> {
    /// Whether this hand-out has not ended yet.
    pub(crate) fn is_in_force(&self, ticket: Ticket) -> bool {
        match self.slab.get(ticket.slot()) {
            Some(Slot::Held { meta, .. }) => {
                meta.generation() == ticket.generation() && meta.phase() != Phase::Queued
            }
            _ => false,
        }
    }

    /// The slot of this hand-out, if that has not ended yet.
    fn slot_in_force(&mut self, ticket: Ticket) -> Option<&mut Slot<T, B::Order>> {
        if self.is_in_force(ticket) { self.slab.get_mut(ticket.slot()) } else { None }
    }

    /// Takes back what would have the item of this hand-out run again, if all of it is revocable.
    pub(crate) fn revoke(&mut self, ticket: Ticket) -> Option<B::Order> {
        let Some(Slot::Held { order, meta, .. }) = self.slot_in_force(ticket) else { return None };
        if !meta.is_revocably_dirty() {
            return None;
        }
        *meta = meta.with_phase(Phase::Processing);
        let order = mem::take(order);
        self.run_again -= 1;
        self.stamps.waits_no_more(ticket.slot());
        Some(order)
    }
}
