//! State: the phase of each item, and which item comes next. Pure and single-threaded.
//!
//! It knows no lock, no waker and no clock: `now` is an argument, and `None` without an observer.
//!
//! User code that runs here:
//!
//! - `Eq`, `Borrow`, `Clone` and `From` of items: a panic in them changes nothing.
//! - The backlog and its orders: a panic in them may lose items.
//!
//! `Drop` of an item never runs here: a method returns the item, or leaves it with the caller.

mod removal;
mod view;
mod slab;
mod ticket;
mod timestamps;
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
use crate::insert::Insert;
use crate::planted::planted;
use crate::snapshot::Phase;
use crate::table::{SlotEntry, SlotTable};
use occupancy::Occupancy;
use slab::{Meta, Slab, Slot};
use timestamps::Timestamps;

pub(crate) use ticket::Ticket;

/// An item handed out.
#[derive(Debug)]
pub(crate) struct Dequeued<T, O> {
    pub(crate) item: T,
    pub(crate) order: O,
    pub(crate) ticket: Ticket,
    pub(crate) waited: Option<Duration>,
}

/// The result of a get.
#[derive(Debug)]
pub(crate) enum Dequeue<G> {
    Item(G),
    /// Nothing is queued, or the queue is paused.
    Nothing,
    /// Shut down and empty.
    Ended,
}

/// The result of ending a hand-out.
#[derive(Debug)]
#[must_use]
pub(crate) enum Finished<T> {
    /// The item has left the queue. The caller drops it outside the lock.
    Left { item: T, worked: Option<Duration> },
    /// The item was added meanwhile and is queued again.
    Requeued { worked: Option<Duration> },
    /// The hand-out had ended before, by `abandon`.
    Stale,
}

/// Invariants:
///
/// - An item is in `table` exactly if its slot is held.
/// - Its id is in `backlog` exactly if its phase is `Queued`.
/// - `queued` and `run_again` count the items in these phases. A held item that is not queued is in
///   flight.
pub(crate) struct State<T, B: Backlog> {
    table: SlotTable,
    slab: Slab<T, B::Order>,
    backlog: B,
    queued: usize,
    /// Narrower than `queued`: the compiler would merge the stores of equal neighbours, and the
    /// next load of one of them would stall.
    run_again: u32,
    /// The generation of the last hand-out.
    generation: u32,
    capacity: Option<NonZeroUsize>,
    /// Invariant: never true together with `shutting_down`.
    paused: bool,
    shutting_down: bool,
    timestamps: Timestamps,
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
            timestamps: Timestamps::default(),
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

    /// Adds an item: takes it out of `insert` if the queue does not hold it yet. Returns `None` if
    /// `bounded` is set and the queue is full.
    #[inline(always)]
    pub(crate) fn add(
        &mut self,
        insert: &mut impl Insert<T>,
        hash: ItemHash,
        order: B::Order,
        bounded: bool,
        now: Option<Instant>,
    ) -> Option<Added> {
        if !self.is_open() {
            return Some(Added::ShutDown);
        }
        let full = bounded && !self.has_room();
        self.add_open(insert, hash, order, full, now)
    }

    /// Whether the queue accepts adds. Call it before an add, or once before many adds under one
    /// lock.
    #[inline(always)]
    pub(crate) fn is_open(&mut self) -> bool {
        if self.shutting_down {
            return false;
        }
        if self.occupancy.is_low() {
            self.release_memory(); // No change is half done here if the backlog panics.
        }
        true
    }

    /// Releases the memory behind the last held slot. Before, items gather in the lower slots.
    /// Generations go on: old guards stay stale.
    #[cold]
    #[inline(never)]
    fn release_memory(&mut self) {
        if self.table.len() > 0 && !self.occupancy.is_low_for(self.slab.slots()) {
            self.slab.use_lower_half();
            return;
        }
        self.slab.truncate();
        self.table.shrink(self.slab.hashes());
        self.timestamps.truncate(self.slab.slots());
        self.occupancy.begin();
        self.backlog.shrink();
    }

    /// Adds to a queue that is [open](Self::is_open). `full`: the add respects the capacity, and
    /// there is no room.
    #[inline(always)]
    pub(crate) fn add_open(
        &mut self,
        insert: &mut impl Insert<T>,
        hash: ItemHash,
        order: B::Order,
        full: bool,
        now: Option<Instant>,
    ) -> Option<Added> {
        let slab = &self.slab;
        let entry = self.table.entry(
            hash,
            |index| match slab.get(index) {
                Some(Slot::Held { item, hash: other, .. }) => *other == hash && insert.is(item),
                _ => false,
            },
            || slab.hashes(),
        );
        match entry {
            SlotEntry::Held(index) => self.add_again(index, order, full, now),
            SlotEntry::Vacant(_) if full => None,
            SlotEntry::Vacant(place) => {
                let index = self.slab.next_index();
                // The steps that may panic come first.
                insert.make();
                let none = B::Order::default();
                self.backlog.push(SlotId::from_index(index), order);
                let Some(item) = insert.take() else { return Some(Added::Merged) }; // Never: it was made.
                let meta = Meta::new(Phase::Queued, 0);
                self.slab.insert(Slot::Held { item, order: none, hash, meta });
                place.insert(index);
                self.queued += 1;
                self.occupancy.entered(self.table.len(), self.slab.slots());
                self.timestamps.added(index, now);
                Some(Added::Queued)
            }
        }
    }

    /// Adds an item that the queue holds already.
    fn add_again(
        &mut self,
        index: u32,
        new: B::Order,
        full: bool,
        now: Option<Instant>,
    ) -> Option<Added> {
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
                self.timestamps.added(index, now);
                Some(Added::Deferred)
            }
        }
    }

    /// Hands out a clone of the next item. The original stays in the queue to find later adds.
    #[inline(always)]
    pub(crate) fn get(&mut self, now: Option<Instant>) -> Dequeue<Dequeued<T, B::Order>>
    where
        T: Clone,
    {
        if !self.paused
            && let Some((id, order)) = self.backlog.pop()
            && let Some(got) = self.hand_out(id, order, now)
        {
            return Dequeue::Item(got);
        }
        if self.shutting_down { Dequeue::Ended } else { Dequeue::Nothing }
    }

    #[inline(always)]
    fn hand_out(
        &mut self,
        id: SlotId,
        order: B::Order,
        now: Option<Instant>,
    ) -> Option<Dequeued<T, B::Order>>
    where
        T: Clone,
    {
        let index = id.index();
        // A popped id whose item is not queued hands out nothing.
        let Some(Slot::Held { item, hash, meta, .. }) = self.slab.get_queued(index) else {
            return None;
        };
        // If the clone panics, the item stays queued and goes to the tail. An item that can never
        // be cloned then does not block the others.
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
        let waited = self.timestamps.got(index, now);
        Some(Dequeued { item, order, ticket, waited })
    }

    /// Ends a hand-out. Only the ticket in force has an effect.
    #[inline(always)]
    pub(crate) fn done(&mut self, ticket: Ticket, now: Option<Instant>) -> Finished<T> {
        let index = ticket.slot();
        let Some((slot, first_free)) = self.slab.with_free_list(index) else {
            return Finished::Stale;
        };
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
                        self.backlog
                            .pop()
                            .into_iter()
                            .for_each(|(id, order)| self.backlog.push(id, order));
                    }
                }
                *meta = Meta::new(Phase::Queued, 0);
                self.run_again -= 1;
                self.queued += 1;
                Finished::Requeued { worked: self.timestamps.done(index, now) }
            }
            Phase::Processing => {
                let worked = self.timestamps.done(index, now);
                self.table.remove(ticket.hash, index);
                let Some(item) = slab::free(slot, first_free, index) else {
                    return Finished::Stale;
                };
                self.timestamps.left(index);
                self.occupancy.left();
                Finished::Left { item, worked }
            }
        }
    }

    /// Ends the hand-out of an item whose guard was forgotten, as `done` would. `Stale` if the item
    /// is not in flight.
    pub(crate) fn abandon<Q>(
        &mut self,
        item: &Q,
        hash: ItemHash,
        now: Option<Instant>,
    ) -> Finished<T>
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

    #[inline]
    fn find<Q>(&self, item: &Q, hash: ItemHash) -> Option<(u32, Meta)>
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let found = self.table.find(hash, |index| match self.slab.get(index) {
            Some(Slot::Held { item: held, hash: other, .. }) => {
                *other == hash && held.borrow() == item
            }
            _ => false,
        })?;
        match self.slab.get(found) {
            Some(Slot::Held { meta, .. }) => Some((found, *meta)),
            _ => None,
        }
    }
}

/// An id on its way from the backlog to a holder. It goes back to the backlog if the clone panics.
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
