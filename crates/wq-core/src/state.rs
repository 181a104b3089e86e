//! State: which item is in which phase, and which comes next. Pure and single-threaded: it knows no lock, no waker and
//! no clock (`now` is an argument, and `None` where nobody measures).
//!
//! User code that runs in here: `Eq`, `Borrow`, `Clone` and `From` of items, which may panic and change nothing then, and the
//! backlog with its orders, which may lose items then. `Drop` of an item never runs in here: what is no longer needed is handed out, or left with the caller.

mod view;
mod shrink;
mod slab;
mod stamps;
mod occupancy;
#[cfg(test)]
mod tests;

use std::borrow::Borrow;
use std::mem;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use crate::added::Added;
use crate::backlog::{Backlog, SlotId};
use crate::hasher::ItemHash;
use crate::offer::Offer;
use crate::planted::planted;
use crate::snapshot::Phase;
use crate::table::{SlotEntry, SlotTable};
use occupancy::Occupancy;
use slab::{Meta, Slab, Slot};
use stamps::Stamps;

/// What a guard must show to end its hand-out: done hashes and compares nothing, and begins with the table without
/// having read the slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    /// The slot in the lower half, the generation in the upper: two words go through registers, three do not.
    place: u64,
    hash: ItemHash,
}

impl Ticket {
    #[inline]
    fn new(slot: u32, generation: u32, hash: ItemHash) -> Self {
        Self { place: u64::from(generation) << 32 | u64::from(slot), hash }
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
    const fn slot(self) -> u32 {
        self.place as u32
    }

    #[inline]
    const fn generation(self) -> u32 {
        (self.place >> 32) as u32
    }
}

/// An item handed out.
#[derive(Debug)]
pub(crate) struct Got<T, O> {
    pub(crate) item: T,
    pub(crate) order: O,
    pub(crate) ticket: Ticket,
    pub(crate) waited: Option<Duration>,
}

/// The answer to a get.
#[derive(Debug)]
pub(crate) enum Take<G> {
    Got(G),
    /// Nothing to hand out now, or paused.
    Nothing,
    /// Shut down and empty.
    Ended,
}

/// What the end of a hand-out led to.
#[derive(Debug)]
#[must_use]
pub(crate) enum Finished<T> {
    /// The item has left the queue, and is handed out to be dropped outside the lock.
    Left { item: T, worked: Option<Duration> },
    /// The item had been added again and is queued once more.
    Requeued { worked: Option<Duration> },
    /// The hand-out had been ended before, by `abandon`.
    Stale,
}

/// Invariant: an item is in `table` exactly when its slot is held, and its id is in `backlog` exactly when its phase is
/// `Queued`; `queued` and `run_again` count the phases, and what is held and not queued is in flight.
pub(crate) struct State<T, B: Backlog> {
    table: SlotTable,
    slab: Slab<T, B::Order>,
    backlog: B,
    queued: usize,
    /// Of another width than `queued`: two neighbours of one width are stored as one, and a store that is wider or narrower
    /// than the load after it is waited for.
    run_again: u32,
    /// Of the last hand-out.
    generation: u32,
    capacity: Option<NonZeroUsize>,
    /// Invariant: never true together with `shutting_down`.
    paused: bool,
    shutting_down: bool,
    stamps: Stamps,
    occupancy: Occupancy,
}

impl<T, B: Backlog> State<T, B> {
    pub(crate) fn new(backlog: B, capacity: Option<NonZeroUsize>) -> Self {
        Self {
            table: SlotTable::new(),
            slab: Slab::new(),
            backlog,
            queued: 0,
            run_again: 0,
            generation: 0,
            capacity,
            paused: false,
            shutting_down: false,
            stamps: Stamps::default(),
            occupancy: Occupancy::default(),
        }
    }

    pub(crate) fn pause(&mut self) {
        self.paused = !self.shutting_down;
    }

    pub(crate) fn resume(&mut self) {
        self.paused = false;
    }

    pub(crate) fn shutdown(&mut self) {
        self.shutting_down = true;
        self.paused = false;
    }

    /// Takes the item out of `offer` if the queue did not hold it yet, and leaves it there otherwise. `None`: there is no
    /// room, and `bounded` asked to respect that.
    #[inline(always)]
    pub(crate) fn add(
        &mut self,
        offer: &mut impl Offer<T>,
        hash: ItemHash,
        order: B::Order,
        bounded: bool,
        now: Option<Instant>,
    ) -> Option<Added> {
        if !self.is_open() {
            return Some(Added::ShutDown);
        }
        let full = bounded && !self.has_room();
        self.add_open(offer, hash, order, full, now)
    }

    /// Whether adds are let in. To be asked before one, or before many under one lock.
    #[inline(always)]
    pub(crate) fn is_open(&mut self) -> bool {
        if self.shutting_down {
            return false;
        }
        if self.occupancy.is_low() && self.table.len() == 0 {
            self.shrink(); // Here, where nothing is half done if the backlog panics.
        }
        true
    }

    /// An add to a queue that is [open](Self::is_open), and `full` if it asked to respect the bound and there is no room.
    #[inline(always)]
    pub(crate) fn add_open(
        &mut self,
        offer: &mut impl Offer<T>,
        hash: ItemHash,
        order: B::Order,
        full: bool,
        now: Option<Instant>,
    ) -> Option<Added> {
        let slab = &self.slab;
        let entry = self.table.entry(
            hash,
            |index| match slab.get(index) {
                Some(Slot::Held { item, hash: other, .. }) => *other == hash && offer.is(item),
                _ => false,
            },
            || slab.hashes(),
        );
        match entry {
            SlotEntry::Held(index) => self.add_again(index, order, full, now),
            SlotEntry::Vacant(_) if full => None,
            SlotEntry::Vacant(place) => {
                let index = self.slab.next_index();
                // First the steps that may panic.
                offer.make();
                let none = B::Order::default();
                self.backlog.push(SlotId::from_index(index), order);
                let Some(item) = offer.take() else { return Some(Added::Merged) }; // Not reached: it was made.
                let meta = Meta::new(Phase::Queued, 0);
                self.slab.insert(Slot::Held { item, order: none, hash, meta });
                place.insert(index);
                self.queued += 1;
                self.occupancy.entered(self.table.len(), self.slab.slots());
                self.stamps.added(index, now);
                Some(Added::Queued)
            }
        }
    }

    /// An add of an item that is held.
    fn add_again(&mut self, index: u32, new: B::Order, full: bool, now: Option<Instant>) -> Option<Added> {
        let Some(Slot::Held { meta, order, .. }) = self.slab.get_mut(index) else {
            return Some(Added::Merged);
        };
        match meta.phase() {
            Phase::Queued => {
                self.backlog.touch(SlotId::from_index(index), &new);
                Some(Added::Merged)
            }
            Phase::ProcessingDirty => {
                B::merge(order, new);
                Some(Added::Merged)
            }
            Phase::Processing if full => None,
            Phase::Processing => {
                *order = new;
                *meta = meta.with_phase(Phase::ProcessingDirty);
                self.run_again += 1;
                self.stamps.added(index, now);
                Some(Added::Deferred)
            }
        }
    }

    /// Hands out the next item: a clone of it, the original stays to recognise adds by.
    #[inline(always)]
    pub(crate) fn get(&mut self, now: Option<Instant>) -> Take<Got<T, B::Order>>
    where
        T: Clone,
    {
        if !self.paused
            && let Some((id, order)) = self.backlog.pop()
            && let Some(got) = self.hand_out(id, order, now)
        {
            return Take::Got(got);
        }
        if self.shutting_down { Take::Ended } else { Take::Nothing }
    }

    #[inline(always)]
    fn hand_out(&mut self, id: SlotId, order: B::Order, now: Option<Instant>) -> Option<Got<T, B::Order>>
    where
        T: Clone,
    {
        let index = id.index();
        // A backlog that pops what is not queued hands out nothing.
        let Some(Slot::Held { item, hash, meta, .. }) = self.slab.get_queued(index) else { return None };
        // If the clone panics the item is queued still, and goes to the tail: an item that can never be cloned
        // does not stand in the way of the others.
        let mut popped = Popped { backlog: &mut self.backlog, id, order: Some(order) };
        let item = item.clone();
        let order = popped.order.take().unwrap_or_default();
        drop(popped);
        let generation = Meta::next_generation(self.generation);
        self.generation = generation;
        let phase = if planted("pop-without-mark") { Phase::Queued } else { Phase::Processing };
        *meta = Meta::new(phase, generation);
        let ticket = Ticket::new(index, generation, *hash);
        self.queued -= 1;
        let waited = self.stamps.got(index, now);
        Some(Got { item, order, ticket, waited })
    }

    /// Ends a hand-out. Only the ticket of the hand-out in force has an effect.
    #[inline(always)]
    pub(crate) fn done(&mut self, ticket: Ticket, now: Option<Instant>) -> Finished<T> {
        let index = ticket.slot();
        let Some((slot, first_free)) = self.slab.with_free_list(index) else { return Finished::Stale };
        let Slot::Held { meta, order, .. } = slot else { return Finished::Stale };
        let phase = match meta.phase_in(ticket.generation()) {
            Some(Phase::ProcessingDirty) if planted("done-clears-dirty") => {
                self.run_again -= 1;
                Phase::Processing
            }
            Some(phase) => phase,
            None => return Finished::Stale,
        };
        match phase {
            Phase::Queued => Finished::Stale,
            Phase::ProcessingDirty => {
                self.backlog.push(SlotId::from_index(index), mem::take(order));
                if planted("requeue-to-head") {
                    for _ in 0..self.queued {
                        self.backlog.pop().into_iter().for_each(|(id, order)| self.backlog.push(id, order));
                    }
                }
                *meta = Meta::new(Phase::Queued, 0);
                self.run_again -= 1;
                self.queued += 1;
                Finished::Requeued { worked: self.stamps.done(index, now) }
            }
            Phase::Processing => {
                let worked = self.stamps.done(index, now);
                self.table.strike(ticket.hash, index);
                let Some(item) = slab::free(slot, first_free, index) else { return Finished::Stale };
                self.stamps.left(index);
                self.occupancy.left();
                Finished::Left { item, worked }
            }
        }
    }

    /// Ends the hand-out of an item whose guard was forgotten, as `done` would. `Stale` if nobody holds it.
    pub(crate) fn abandon<Q>(&mut self, item: &Q, hash: ItemHash, now: Option<Instant>) -> Finished<T>
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        match self.find(item, hash) {
            Some((_, meta)) if meta.phase() == Phase::Queued => Finished::Stale,
            Some((slot, meta)) => self.done(Ticket::new(slot, meta.generation(), hash), now),
            None => Finished::Stale,
        }
    }

    /// Takes a queued item out.
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

    /// Takes out what is queued, in its order, and clones of what would have run again, into `taken`, which is empty
    /// before, at a shutdown; guards in flight then end without a requeue. If a clone panics nothing has changed.
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
                self.stamps.waits_no_more(index);
            }
        }
    }

    #[inline]
    fn find<Q>(&self, item: &Q, hash: ItemHash) -> Option<(u32, Meta)>
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let found = self.table.find(hash, |index| match self.slab.get(index) {
            Some(Slot::Held { item: held, hash: other, .. }) => *other == hash && held.borrow() == item,
            _ => false,
        })?;
        match self.slab.get(found) {
            Some(Slot::Held { meta, .. }) => Some((found, *meta)),
            _ => None,
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

    /// Takes an item out of table and slab. The caller has counted it.
    #[inline(always)]
    fn forget(&mut self, index: u32, hash: ItemHash) -> Option<T> {
        self.table.strike(hash, index);
        let item = self.slab.free(index);
        self.stamps.left(index);
        self.occupancy.left();
        item
    }
}

/// An id on its way from the backlog to a holder; goes back when the way is not finished.
struct Popped<'a, B: Backlog> {
    backlog: &'a mut B,
    id: SlotId,
    order: Option<B::Order>,
}

impl<B: Backlog> Drop for Popped<'_, B> {
    fn drop(&mut self) {
        if let Some(order) = self.order.take() {
            self.backlog.push(self.id, order);
        }
    }
}
