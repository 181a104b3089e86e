//! DelayHeap: the delayed items by name and by deadline. Pure: no lock, no clock, no waker.
//!
//! `table` finds the slot of an item, `timeline` the item that is due next. The timeline is sorted
//! only as far as it must be known soon. Nearly all time is spent waiting for memory: a new or
//! moved node is appended, and all data of an item is in its slot.

use crate::deadline::{Deadline, DeadlineRequest};
use crate::tick::Tick;
use std::borrow::Borrow;
use wq_core::{HashedAdd, ItemHash};

mod calendar;
mod bucket;
mod buckets;
mod nodes;
mod occupancy;
mod bucket_index;
mod slots;
mod table;
mod timeline;
#[cfg(test)]
mod tests;

use occupancy::Occupancy;
use slots::{Held, Limit};
use table::{Table, Vacancy};
use timeline::{CHUNK, Timeline};

/// Below this capacity, the heap never releases memory by itself.
const SMALL: usize = 1024;

/// What an insertion did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inserted {
    New,
    Moved,
    Kept,
}

/// An item that was removed from the heap.
#[derive(Debug)]
pub(crate) struct Waiting<T, O> {
    pub(crate) item: T,
    pub(crate) order: O,
    pub(crate) hash: ItemHash,
    pub(crate) deadline: Tick,
    sequence: u32,
    limit: Limit,
}

impl<T, O> Waiting<T, O> {
    fn of(held: Held<T, O>) -> Self {
        let Held { item, order, limit, deadline, hash, sequence } = held;
        Self { item, order, hash, deadline, sequence, limit }
    }

    pub(crate) fn into_add(self) -> HashedAdd<T, O> {
        let Self { item, hash, order, .. } = self;
        HashedAdd { item, hash, order }
    }
}

/// The delayed items, ordered by deadline, each at most once.
#[derive(Debug)]
pub(crate) struct DelayHeap<T, O> {
    timeline: Timeline<T, O>,
    /// The slots of the items.
    table: Table,
    occupancy: Occupancy,
    /// Memory for this many items is never released.
    reserved: usize,
}

impl<T, O> DelayHeap<T, O> {
    /// With room for this many items. `None` if memory is short.
    pub(crate) fn with_room(reserved: usize) -> Option<Self> {
        let timeline = Timeline::try_with_room(reserved)?;
        let table = Table::try_with_capacity(reserved)?;
        Some(Self { timeline, table, occupancy: Occupancy::default(), reserved })
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.table.len() == 0
    }

    /// The deadline of the item that is due first.
    pub(crate) fn earliest(&self) -> Option<Tick> {
        self.timeline.earliest()
    }
}

impl<T: Eq, O> DelayHeap<T, O> {
    /// Takes an item out of `offer`. If the item is delayed already, merges the order and leaves
    /// the item in `offer`, so that the caller drops it after the lock.
    pub(crate) fn insert(
        &mut self,
        hash: ItemHash,
        offer: &mut Option<T>,
        order: O,
        request: DeadlineRequest,
        merge: impl FnOnce(&mut O, O),
    ) -> Inserted {
        self.timeline.refresh_sequences();
        let place = offer.as_ref().map(|item| self.look(hash, item));
        if let Some(Ok(slot)) = place {
            return self.insert_again(slot, order, request, merge);
        }
        let (Some(item), Some(Err(vacancy))) = (offer.take(), place) else { return Inserted::Kept };
        let deadline = request.deadline();
        let limit = Limit::of(deadline, request.is_retry());
        let sequence = self.timeline.take_sequence();
        self.settle_in(
            Held { item, order, limit, deadline: deadline.due, hash, sequence },
            vacancy,
        );
        Inserted::New
    }

    /// Merges another add into an item that is delayed already.
    fn insert_again(
        &mut self,
        slot: u32,
        order: O,
        request: DeadlineRequest,
        merge: impl FnOnce(&mut O, O),
    ) -> Inserted {
        let Some(held) = self.timeline.get_mut(slot) else {
            return Inserted::Kept; // unreachable: the table names held slots only
        };
        merge(&mut held.order, order);
        let is_retry = request.is_retry() && held.limit.is_retry();
        let deadline = if is_retry {
            request.deadline() // A retry replaces the other.
        } else {
            request.after(Deadline { due: held.deadline, limit: held.limit.tick() })
        };
        held.limit = Limit::of(deadline, is_retry);
        if deadline.due == held.deadline {
            return Inserted::Kept;
        }
        self.move_to(slot, deadline.due);
        Inserted::Moved
    }

    /// Removes an item.
    pub(crate) fn remove<Q>(&mut self, hash: ItemHash, item: &Q) -> Option<Waiting<T, O>>
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let slot = self.find(hash, item)?;
        self.remove_at(slot)
    }

    /// Removes an item if only a retry has asked for it.
    pub(crate) fn remove_retry<Q>(&mut self, hash: ItemHash, item: &Q) -> Option<Waiting<T, O>>
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let slot = self.find(hash, item)?;
        if self.is_retry(slot) { self.remove_at(slot) } else { None }
    }

    /// Whether only a retry has asked for the item in this slot.
    pub(crate) fn is_retry(&self, slot: u32) -> bool {
        self.timeline.get(slot).is_some_and(|held| held.limit.is_retry())
    }

    pub(crate) fn order(&self, slot: u32) -> Option<&O> {
        self.timeline.get(slot).map(|held| &held.order)
    }

    /// Removes the item in this slot. Calls no code of the item.
    pub(crate) fn remove_at(&mut self, slot: u32) -> Option<Waiting<T, O>> {
        let hash = self.timeline.get(slot)?.hash;
        self.table.remove(hash, slot);
        let held = self.timeline.remove(slot, self.table.len())?;
        self.note_departures(1);
        Some(Waiting::of(held))
    }

    pub(crate) fn deadline<Q>(&self, hash: ItemHash, item: &Q) -> Option<Tick>
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let slot = self.find(hash, item)?;
        self.timeline.get(slot).map(|held| held.deadline)
    }

    /// Merges the order of a user's add into that of the item in this slot.
    pub(crate) fn join(&mut self, slot: u32, order: O, merge: impl FnOnce(&mut O, O)) {
        if let Some(held) = self.timeline.get_mut(slot) {
            held.limit = held.limit.of_user();
            merge(&mut held.order, order);
        }
    }

    /// Moves at most `most` items that are due at `now` to `due`, in the order of their deadlines,
    /// ties in insertion order.
    pub(crate) fn pop_all_due(&mut self, now: Tick, most: usize, due: &mut Vec<Waiting<T, O>>) {
        let mut left = most;
        while left > 0 {
            let first = due.len();
            let mut taken = [0; CHUNK];
            let popped = self.timeline.pop_due(now, left, |slot, held| {
                taken[due.len() - first] = slot;
                due.push(Waiting::of(held));
            });
            if popped == 0 {
                break;
            }
            for (slot, waiting) in taken.iter().zip(&due[first..]) {
                self.table.remove(waiting.hash, *slot);
            }
            left -= due.len() - first;
        }
        self.timeline.settle(self.table.len());
        self.note_departures(most - left); // Last: it may move all items to other slots.
    }

    /// Puts back a due item, at its old place in the order. Calls no code of the item.
    pub(crate) fn put_back(&mut self, due: Waiting<T, O>) {
        let Waiting { item, order, hash, deadline, sequence, limit } = due;
        self.settle_in(
            Held { item, order, limit, deadline, hash, sequence },
            self.table.vacancy(hash),
        );
    }

    /// Removes all items, in the order of their deadlines, and releases all memory.
    pub(crate) fn take_all(&mut self) -> Vec<Waiting<T, O>> {
        self.table = Table::default();
        self.timeline.take_all().map(Waiting::of).collect()
    }

    /// Releases unused memory if that is more than an eighth of the memory in use.
    pub(crate) fn shrink(&mut self) {
        let room = self.table.len().max(self.reserved);
        if self.timeline.slots.capacity() <= room + room / 8 {
            return;
        }
        // There was room for more, so there is memory for this.
        let mut table = Table::try_with_capacity(room).unwrap_or_default();
        self.timeline.compact(room, self.reserved, |held, slot| {
            table.insert(table.vacancy(held.hash), held.hash, slot);
        });
        self.table = table;
        self.occupancy.reset();
    }

    /// The memory for items, in the part that has most of it.
    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        let Timeline { calendar, slots, .. } = &self.timeline;
        // The calendar has room for a live and a stale node of each item, and a third in partly
        // empty blocks.
        slots.capacity().max(self.table.capacity()).max(calendar.capacity() / 3)
    }

    /// The slot of an item, until the next change.
    pub(crate) fn find<Q>(&self, hash: ItemHash, item: &Q) -> Option<u32>
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        self.look(hash, item).ok()
    }

    /// The item's slot, or else where to insert one in the table.
    fn look<Q>(&self, hash: ItemHash, item: &Q) -> Result<u32, Vacancy>
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        self.table.find(hash, |slot| {
            self.timeline.get(slot).is_some_and(|held| held.item.borrow() == item)
        })
    }

    /// Inserts an item that is not in the heap.
    fn settle_in(&mut self, held: Held<T, O>, vacancy: Vacancy) {
        let hash = held.hash;
        let slot = self.timeline.insert(held);
        self.table.insert(vacancy, hash, slot);
        self.occupancy.arrive(self.is_nearly_empty());
    }

    /// Whether so little of the memory is in use that some should be released.
    fn is_nearly_empty(&self) -> bool {
        let capacity = self.timeline.slots.capacity();
        capacity > SMALL.max(self.reserved) && self.len() < capacity / 8
    }

    fn note_departures(&mut self, items: usize) {
        if self.occupancy.leave(items) && self.is_nearly_empty() {
            self.shrink();
        }
    }

    /// Gives an item a new deadline, behind all items that share it.
    fn move_to(&mut self, slot: u32, deadline: Tick) {
        self.timeline.move_to(slot, deadline, self.table.len() - 1);
    }
}
