//! Shrink: memory that is not in use is given back, and what is in the way of that, in high slots, moves to low ones.

use super::State;
use super::occupancy::Occupancy;
use crate::backlog::{Backlog, SlotId};
use crate::hasher::ItemHash;

impl<T, B: Backlog> State<T, B> {
    #[cold]
    #[inline(never)]
    pub(super) fn give_back(&mut self) {
        self.occupancy.begin();
        if Occupancy::is_worth_it(self.slab.slots()) {
            self.shrink();
        }
    }

    /// Gives back memory that is not in use.
    pub(crate) fn shrink(&mut self) {
        self.shrink_to(Occupancy::enough(self.table.len()));
    }

    pub(super) fn shrink_to(&mut self, enough: usize) {
        self.slab.retire(self.table.len(), enough);
        self.empty_the_end();
        self.slab.give_back_the_end();
        // To move the table all slots are looked at: it is worth that many adds.
        let enough = enough.max(self.slab.slots() / 16);
        self.table.shrink_to(enough, self.slab.hashes());
        self.stamps.shrink(self.slab.slots());
        self.backlog.shrink();
        self.occupancy.begin();
    }

    /// Moves what is held in retired slots. A backlog that knows an item by no other name keeps its slot, and all below: what is
    /// looked at is given back, but for one. Others are told of all at once, but for the first.
    ///
    /// If the backlog panics nothing has moved of what it was told of.
    fn empty_the_end(&mut self) {
        if self.move_retired(1) {
            self.move_retired(usize::MAX);
        }
    }

    /// Moves what is held in retired slots, up to so many that are queued and all above those. Whether the backlog knows queued ones by their new names.
    fn move_retired(&mut self, most_queued: usize) -> bool {
        let moves = self.slab.moves(most_queued);
        let queued = moves.iter().rev().filter(|way| way.is_queued);
        let names: Vec<_> =
            queued.map(|way| (SlotId::from_index(way.from), SlotId::from_index(way.to))).collect();
        let is_renamed = !names.is_empty() && self.backlog.rename(&names);
        for way in moves.iter().take_while(|way| is_renamed || !way.is_queued) {
            let to = self.move_down(way.from, way.hash);
            debug_assert_eq!(to, way.to, "the backlog was told of this one");
        }
        is_renamed
    }

    /// An item runs again, in a slab that may have to be given back. If its slot is in the way of that it moves, also where the
    /// backlog could not rename it later. Says where it stands.
    #[cold]
    #[inline(never)]
    pub(super) fn stays_in_large(&mut self, from: u32, hash: ItemHash) -> u32 {
        self.occupancy.ran_again(self.table.len(), self.slab.slots());
        if self.slab.is_retired(from) { self.move_down(from, hash) } else { from }
    }

    /// Moves an item to the first free slot: where it stands.
    fn move_down(&mut self, from: u32, hash: ItemHash) -> u32 {
        let to = self.slab.move_down(from);
        self.table.redirect(hash, from, to);
        self.stamps.moved(from, to);
        to
    }
}
