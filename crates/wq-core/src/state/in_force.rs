//! In force: which slot a ticket is good for. Nearly always the one that it names; that of an item that has moved is found by
//! its hash and the generation, which no other hand-out in force has.

use std::time::Instant;

use super::slab::Slot;
use super::{Finished, State, Ticket};
use crate::backlog::Backlog;
use crate::snapshot::Phase;

impl<T, B: Backlog> State<T, B> {
    /// Whether this hand-out has not ended yet.
    pub(crate) fn is_in_force(&self, ticket: Ticket) -> bool {
        self.slot_in_force(ticket).is_some()
    }

    /// Where the item of this hand-out is, if that has not ended yet.
    pub(super) fn slot_in_force(&self, ticket: Ticket) -> Option<u32> {
        if self.is_of(ticket, ticket.slot()) { Some(ticket.slot()) } else { self.slot_after_moves(ticket) }
    }

    fn is_of(&self, ticket: Ticket, index: u32) -> bool {
        match self.slab.get(index) {
            Some(Slot::Held { meta, .. }) => {
                meta.generation() == ticket.generation() && meta.phase() != Phase::Queued
            }
            _ => false,
        }
    }

    /// An entry that is leaving the table may name a slot that is another's by now: that one is asked, too.
    fn slot_after_moves(&self, ticket: Ticket) -> Option<u32> {
        self.table.find(ticket.hash, |index| match self.slab.get(index) {
            Some(Slot::Held { hash, .. }) if *hash == ticket.hash => self.is_of(ticket, index),
            _ => false,
        })
    }

    /// Ends the hand-out of an item that is not where it was handed out.
    #[cold]
    #[inline(never)]
    pub(super) fn done_elsewhere(&mut self, ticket: Ticket, now: Option<Instant>) -> Finished<T> {
        let Some(index) = self.slot_after_moves(ticket) else { return Finished::Stale };
        let Some(Slot::Held { meta, .. }) = self.slab.get(index) else { return Finished::Stale };
        self.done(Ticket::new(index, meta.generation(), ticket.hash), now)
    }
}
