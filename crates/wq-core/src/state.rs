//! State: which item is in which phase, and which comes next. Pure and single-threaded: it knows no lock, no waker and
//! no clock (`now` is an argument, and `None` where nobody measures).
//!
//! User code that runs in here: `Eq` and `Clone` of items, and the backlog. Each may panic; none then leaves the books
//! wrong. `Drop` of an item never runs in here: what is no longer needed is handed out, or left with the caller.

mod slab;
#[cfg(test)]
mod tests;

use std::borrow::Borrow;
use std::mem;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use crate::added::Added;
use crate::backlog::{Backlog, SlotId};
use crate::hasher::ItemHash;
use crate::snapshot::{Counts, Phase, Seen};
use slab::{Meta, Slab, Slot};

/// Ids in a row that a backlog may pop wrongly before a get gives up: a backlog that lies may not hold the lock for ever.
const MAX_WRONG_POPS: usize = 64;

/// Below this number of slots nothing is given back by itself.
const SHRINK_FROM: usize = 1024;

/// What a guard must show to end its hand-out: done hashes and compares nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    slot: u32,
    generation: u32,
    hash: ItemHash,
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

#[derive(Clone, Copy, Debug, Default)]
struct Stamp {
    /// When the add was made that the item waits for.
    added: Option<Instant>,
    /// When the item was handed out.
    got: Option<Instant>,
}

/// Invariant: an item is in `table` exactly when its slot is held, and its id is in `backlog` exactly when its phase is
/// `Queued`; `queued`, `in_flight` and `run_again` count the phases.
pub(crate) struct State<T, B: Backlog> {
    table: HashTable<u32>,
    slab: Slab<T, B::Order>,
    backlog: B,
    queued: usize,
    in_flight: usize,
    run_again: usize,
    /// Of the last hand-out.
    generation: u32,
    capacity: Option<NonZeroUsize>,
    /// Invariant: never true together with `shutting_down`.
    paused: bool,
    shutting_down: bool,
    /// By slot; empty in a queue that nobody measures.
    stamps: Vec<Stamp>,
    /// The most items held at once, and the items that left, since memory was last looked at.
    peak: usize,
    left: usize,
}

impl<T, B: Backlog> State<T, B> {
    pub(crate) fn new(backlog: B, capacity: Option<NonZeroUsize>) -> Self {
        Self {
            table: HashTable::new(),
            slab: Slab::new(),
            backlog,
            queued: 0,
            in_flight: 0,
            run_again: 0,
            generation: 0,
            capacity,
            paused: false,
            shutting_down: false,
            stamps: Vec::new(),
            peak: 0,
            left: 0,
        }
    }

    #[inline]
    pub(crate) fn counts(&self) -> Counts {
        Counts { queued: self.queued, in_flight: self.in_flight, to_run_again: self.run_again }
    }

    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.queued == 0 && self.in_flight == 0
    }

    /// Whether a get would be handed an item.
    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        self.queued > 0 && !self.paused
    }

    /// Whether an add that respects the capacity would be let in. Always, without a capacity.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.capacity.is_none_or(|capacity| self.queued + self.run_again < capacity.get())
    }

    pub(crate) fn capacity(&self) -> Option<NonZeroUsize> {
        self.capacity
    }

    pub(crate) fn is_shutting_down(&self) -> bool {
        self.shutting_down
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.paused
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

    /// Takes the item out of `item` if the queue did not hold it yet, and leaves it there otherwise. `None`: there is no
    /// room, and `bounded` asked to respect that.
    #[inline]
    pub(crate) fn add(
        &mut self,
        item: &mut Option<T>,
        hash: ItemHash,
        order: B::Order,
        bounded: bool,
        now: Option<Instant>,
    ) -> Option<Added>
    where
        T: Eq,
    {
        if self.shutting_down {
            return Some(Added::ShutDown);
        }
        let full = bounded && !self.has_room();
        let Some(wanted) = item.as_ref() else {
            return Some(Added::Merged); // Not reached: every caller brings an item.
        };
        let slab = &self.slab;
        let entry = self.table.entry(
            hash.spread(),
            |&index| match slab.get(index) {
                Some(Slot::Held { item, hash: other, .. }) => *other == hash && item == wanted,
                _ => false,
            },
            |&index| slab.spread_hash(index),
        );
        match entry {
            Entry::Occupied(found) => {
                let index = *found.get();
                self.add_again(index, order, full, now)
            }
            Entry::Vacant(_) if full => None,
            Entry::Vacant(place) => {
                let index = self.slab.next_index();
                // First the one step that may panic.
                self.backlog.push(SlotId::from_index(index), order);
                let Some(item) = item.take() else { return Some(Added::Merged) };
                let meta = Meta::new(Phase::Queued, 0);
                self.slab.insert(Slot::Held { item, order: B::Order::default(), hash, meta });
                place.insert(index);
                self.queued += 1;
                self.peak = self.peak.max(self.table.len());
                self.stamp_added(index, now);
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
                self.stamp_added(index, now);
                Some(Added::Deferred)
            }
        }
    }

    /// Hands out the next item: a clone of it, the original stays to recognise adds by.
    #[inline]
    pub(crate) fn get(&mut self, now: Option<Instant>) -> Take<Got<T, B::Order>>
    where
        T: Clone,
    {
        if !self.paused {
            for _ in 0..MAX_WRONG_POPS {
                let Some((id, order)) = self.backlog.pop() else { break };
                if let Some(got) = self.hand_out(id, order, now) {
                    return Take::Got(got);
                }
            }
        }
        if self.shutting_down { Take::Ended } else { Take::Nothing }
    }

    #[inline]
    fn hand_out(&mut self, id: SlotId, order: B::Order, now: Option<Instant>) -> Option<Got<T, B::Order>>
    where
        T: Clone,
    {
        let index = id.index();
        let Some(Slot::Held { item, hash, meta, .. }) = self.slab.get_mut(index) else { return None };
        if meta.phase() != Phase::Queued {
            return None;
        }
        // If the clone panics the item is queued still, and goes to the tail: an item that can never be cloned
        // does not stand in the way of the others.
        let mut popped = Popped { backlog: &mut self.backlog, id, order: Some(order) };
        let item = item.clone();
        let order = popped.order.take().unwrap_or_default();
        drop(popped);
        let generation = Meta::next_generation(self.generation);
        self.generation = generation;
        *meta = Meta::new(Phase::Processing, generation);
        let ticket = Ticket { slot: index, generation, hash: *hash };
        self.queued -= 1;
        self.in_flight += 1;
        let waited = now.map(|now| {
            let stamp = self.stamp(index);
            stamp.got = Some(now);
            stamp.added.take().map_or(Duration::ZERO, |added| now.saturating_duration_since(added))
        });
        Some(Got { item, order, ticket, waited })
    }

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

    /// Ends a hand-out. Only the ticket of the hand-out in force has an effect.
    #[inline]
    pub(crate) fn done(&mut self, ticket: Ticket, now: Option<Instant>) -> Finished<T> {
        let index = ticket.slot;
        let Some(Slot::Held { order, meta, .. }) = self.slab.get_mut(index) else { return Finished::Stale };
        if meta.generation() != ticket.generation {
            return Finished::Stale;
        }
        match meta.phase() {
            Phase::Queued => Finished::Stale,
            Phase::ProcessingDirty => {
                self.backlog.push(SlotId::from_index(index), mem::take(order));
                *meta = Meta::new(Phase::Queued, 0);
                self.in_flight -= 1;
                self.run_again -= 1;
                self.queued += 1;
                Finished::Requeued { worked: self.worked(index, now) }
            }
            Phase::Processing => {
                let worked = self.worked(index, now);
                let Some(item) = self.forget(index, ticket.hash) else { return Finished::Stale };
                self.in_flight -= 1;
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
            Some((slot, meta)) => self.done(Ticket { slot, generation: meta.generation(), hash }, now),
            None => Finished::Stale,
        }
    }

    /// Where an item is.
    pub(crate) fn phase<Q>(&self, item: &Q, hash: ItemHash) -> Option<Phase>
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        self.find(item, hash).map(|(_, meta)| meta.phase())
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
        let item = self.forget(index, hash)?;
        self.queued -= 1;
        Some((item, order))
    }

    /// Takes out what is queued, in its order, and clones of what would have run again, into `taken`, which is empty
    /// before; guards in flight then end without a requeue. If a clone panics nothing has changed.
    pub(crate) fn take_all(&mut self, taken: &mut Vec<T>)
    where
        T: Clone,
    {
        taken.reserve(self.queued + self.run_again);
        let mut again: Vec<u32> = Vec::with_capacity(self.run_again);
        for (index, item, _, meta) in self.slab.held() {
            if meta.phase() == Phase::ProcessingDirty {
                taken.push(item.clone());
                again.push(index);
            }
        }
        let mut wrong_pops = 0;
        while wrong_pops < MAX_WRONG_POPS
            && let Some((id, _)) = self.backlog.pop()
        {
            match self.take_queued(id.index()) {
                Some(item) => taken.push(item),
                None => wrong_pops += 1,
            }
        }
        if self.queued > 0 {
            // The backlog has lost them; the queue has not.
            let lost: Vec<u32> = self.slab.held().map(|(index, ..)| index).collect();
            taken.extend(lost.into_iter().filter_map(|index| self.take_queued(index)));
        }
        taken.rotate_left(again.len());
        for index in again {
            if let Some(Slot::Held { order, meta, .. }) = self.slab.get_mut(index) {
                *order = B::Order::default();
                *meta = meta.with_phase(Phase::Processing);
                self.run_again -= 1;
                if let Some(stamp) = self.stamps.get_mut(index as usize) {
                    stamp.added = None;
                }
            }
        }
    }

    /// Clones everything into `items`.
    pub(crate) fn see(&self, items: &mut Vec<Seen<T>>, now: Option<Instant>)
    where
        T: Clone,
    {
        let age = |since: Option<Instant>| Some(now?.saturating_duration_since(since?));
        items.reserve(self.table.len());
        for (index, item, _, meta) in self.slab.held() {
            let stamp = self.stamps.get(index as usize).copied().unwrap_or_default();
            let phase = meta.phase();
            let processing = if phase == Phase::Queued { None } else { age(stamp.got) };
            items.push(Seen { item: item.clone(), phase, waiting: age(stamp.added), processing });
        }
    }

    /// Clones the items in flight into `items`.
    pub(crate) fn see_in_flight(&self, items: &mut Vec<T>)
    where
        T: Clone,
    {
        items.reserve(self.in_flight);
        let in_hand = self.slab.held().filter(|(_, _, _, meta)| meta.phase() != Phase::Queued);
        in_hand.for_each(|(_, item, _, _)| items.push(item.clone()));
    }

    /// Gives back memory that is not in use.
    pub(crate) fn shrink(&mut self) {
        self.slab.shrink(self.table.len().saturating_mul(2).max(SHRINK_FROM / 16));
        let slab = &self.slab;
        self.table.shrink_to_fit(|&index| slab.spread_hash(index));
        self.stamps.truncate(self.slab.slots());
        self.stamps.shrink_to_fit();
        self.backlog.shrink();
        self.peak = self.table.len();
        self.left = 0;
    }

    #[inline]
    fn find<Q>(&self, item: &Q, hash: ItemHash) -> Option<(u32, Meta)>
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let found = self.table.find(hash.spread(), |&index| match self.slab.get(index) {
            Some(Slot::Held { item: held, hash: other, .. }) => *other == hash && held.borrow() == item,
            _ => false,
        });
        match self.slab.get(*found?) {
            Some(Slot::Held { meta, .. }) => Some((*found?, *meta)),
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
    #[inline]
    fn forget(&mut self, index: u32, hash: ItemHash) -> Option<T> {
        if let Ok(entry) = self.table.find_entry(hash.spread(), |&other| other == index) {
            entry.remove();
        }
        let item = self.slab.free(index);
        if let Some(stamp) = self.stamps.get_mut(index as usize) {
            *stamp = Stamp::default();
        }
        self.left += 1;
        if self.left >= SHRINK_FROM {
            self.look_at_memory();
        }
        item
    }

    /// Gives memory back when, for as many departures as a quarter of the slots, at most an eighth of them was used.
    #[cold]
    fn look_at_memory(&mut self) {
        let slots = self.slab.slots();
        if self.left < slots / 4 {
            return;
        }
        if slots >= SHRINK_FROM && self.peak < slots / 8 {
            self.shrink();
        }
        self.peak = self.table.len();
        self.left = 0;
    }

    #[inline]
    fn stamp_added(&mut self, index: u32, now: Option<Instant>) {
        if now.is_some() {
            self.stamp(index).added = now;
        }
    }

    fn worked(&mut self, index: u32, now: Option<Instant>) -> Option<Duration> {
        let now = now?;
        let got = self.stamp(index).got.take();
        Some(got.map_or(Duration::ZERO, |got| now.saturating_duration_since(got)))
    }

    fn stamp(&mut self, index: u32) -> &mut Stamp {
        let index = index as usize;
        if self.stamps.len() <= index {
            self.stamps.resize(index + 1, Stamp::default());
        }
        &mut self.stamps[index]
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
            let index = got.ticket.slot;
            if let Some(Slot::Held { meta, .. }) = self.state.slab.get_mut(index) {
                self.state.backlog.push(SlotId::from_index(index), mem::take(&mut got.order));
                *meta = Meta::new(Phase::Queued, 0);
                self.state.in_flight -= 1;
                self.state.queued += 1;
            }
        }
    }
}
