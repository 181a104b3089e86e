//! `DelayHeap`: which items wait, until when, and who is due. Pure: no lock, no clock, no waker; `now` is an argument.
//!
//! Slots of the items, one hash table of slot numbers, and an agenda of `(deadline, sequence, slot)`, which is in order only as
//! far as has to be known soon. With a million items nearly all time is waiting for memory: an item that comes or whose deadline
//! moves is written at the end of something, and all that it has stands in its slot. Deadlines are exact nanoseconds on the
//! queue's own time line.

use crate::tick::Tick;
use crate::wish::{Term, Wish};
use std::borrow::Borrow;
use wq_core::{ItemHash, QuietAdd};

mod agenda;
mod guide;
mod leaves;
mod nodes;
mod order;
mod slots;
mod table;
#[cfg(test)]
mod tests;

use agenda::Agenda;
use nodes::Node;
use slots::{Held, Limit, Slots, index};
use table::{Table, Vacancy};

/// So many nodes are taken from the agenda before the items behind them are looked at.
const CHUNK: usize = 32;
/// Below this capacity, memory is never given back by itself.
const SMALL: usize = 1024;
/// So many items come and go before a nearly empty heap gives memory back.
const PASSAGES: usize = 1024;

/// What an insertion did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inserted {
    New,
    Moved,
    Kept,
}

/// An item taken out of the heap.
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

    pub(crate) fn has_revocable_deadline(&self) -> bool {
        self.limit.is_revocable() || self.limit.is_joined()
    }

    pub(crate) fn into_add(self) -> QuietAdd<T, O> {
        let Self { item, hash, order, limit, .. } = self;
        QuietAdd { item, hash, order, is_revocable: limit.is_revocable() }
    }
}

/// The items that wait, ordered by deadline, each at most once.
#[derive(Debug)]
pub(crate) struct DelayHeap<T, O> {
    agenda: Agenda,
    slots: Slots<T, O>,
    /// The held slots.
    table: Table,
    next_sequence: u32,
    /// Items that came while the heap was nearly empty, and for which none has gone yet.
    came: usize,
    /// Items that went for one of those; see `note_departures`.
    passed: usize,
    /// So much room is never given back.
    reserved: usize,
}

impl<T, O> DelayHeap<T, O> {
    /// With room for so many items, if there is memory for that.
    pub(crate) fn with_room(reserved: usize) -> Option<Self> {
        let slots = Slots::try_with_capacity(reserved)?;
        let agenda = Agenda::try_with_room(reserved)?;
        let table = Table::try_with_capacity(reserved)?;
        Some(Self { agenda, slots, table, next_sequence: 0, came: 0, passed: 0, reserved })
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.table.len() == 0
    }

    /// The deadline of the item that is due first.
    pub(crate) fn earliest(&self) -> Option<Tick> {
        self.agenda.first().map(|node| node.deadline)
    }
}

impl<T: Eq, O> DelayHeap<T, O> {
    /// Takes an item out of `offer`, or merges it with the one that waits already and leaves it there, so that the caller
    /// drops it outside of its lock.
    pub(crate) fn insert(
        &mut self,
        hash: ItemHash,
        offer: &mut Option<T>,
        order: O,
        wish: Wish,
        merge: impl FnOnce(&mut O, O),
    ) -> Inserted {
        self.refresh_sequences();
        let place = offer.as_ref().map(|item| self.look(hash, item));
        if let Some(Ok(slot)) = place {
            return self.insert_again(slot, order, wish, merge);
        }
        let (Some(item), Some(Err(vacancy))) = (offer.take(), place) else { return Inserted::Kept };
        let term = wish.term();
        let limit = Limit::of(term, wish.is_revocable());
        let sequence = self.take_sequence();
        self.settle_in(Held { item, order, limit, deadline: term.deadline, hash, sequence }, vacancy);
        Inserted::New
    }

    /// An insertion of an item that waits.
    fn insert_again(&mut self, slot: u32, order: O, wish: Wish, merge: impl FnOnce(&mut O, O)) -> Inserted {
        let Some(held) = self.slots.get_mut(slot) else {
            return Inserted::Kept; // unreachable: the table names held slots only
        };
        merge(&mut held.order, order);
        let term = wish.after(Term { deadline: held.deadline, limit: held.limit.tick() });
        held.limit = if wish.is_revocable() { held.limit.moved(term) } else { Limit::of(term, false) };
        if term.deadline == held.deadline {
            return Inserted::Kept;
        }
        self.move_to(slot, term.deadline);
        Inserted::Moved
    }

    /// Takes a waiting item out.
    pub(crate) fn remove<Q>(&mut self, hash: ItemHash, item: &Q) -> Option<Waiting<T, O>>
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        self.remove_if(hash, item, |_| true)
    }

    /// Takes a waiting item out if all that asked for it is revocable.
    pub(crate) fn revoke<Q>(&mut self, hash: ItemHash, item: &Q) -> Option<Waiting<T, O>>
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        self.remove_if(hash, item, |held| held.limit.is_revocable())
    }

    /// Takes a waiting item out if its deadline is revocable, and somebody has joined it.
    pub(crate) fn take_joined<Q>(&mut self, hash: ItemHash, item: &Q) -> Option<Waiting<T, O>>
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        self.remove_if(hash, item, |held| held.limit.is_joined())
    }

    /// Whether the item waits for a deadline that is revocable, whoever has joined it.
    pub(crate) fn has_revocable_deadline<Q>(&self, hash: ItemHash, item: &Q) -> bool
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let held = self.find(hash, item).and_then(|slot| self.slots.get(slot));
        held.is_some_and(|held| held.limit.is_revocable() || held.limit.is_joined())
    }

    fn remove_if<Q>(
        &mut self,
        hash: ItemHash,
        item: &Q,
        goes: impl FnOnce(&Held<T, O>) -> bool,
    ) -> Option<Waiting<T, O>>
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let slot = self.find(hash, item)?;
        if !self.slots.get(slot).is_some_and(goes) {
            return None;
        }
        let held = self.slots.take(slot)?;
        self.table.strike(hash, slot);
        let node = Node { deadline: held.deadline, slot, sequence: held.sequence };
        let (slots, others) = (&self.slots, self.table.len());
        self.agenda.forget(node, others, |slot, sequence| slots.deadline(slot, sequence));
        self.note_departures(1);
        Some(Waiting::of(held))
    }

    /// Moves the deadline of a waiting item to `until` if that is later. What it was; `None`: the item does not wait.
    pub(crate) fn postpone<Q>(&mut self, hash: ItemHash, item: &Q, until: Tick) -> Option<Tick>
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        self.postpone_if(hash, item, until, |_| true)
    }

    /// The same, of an item whose deadline is revocable, or `from`.
    pub(crate) fn postpone_again<Q>(
        &mut self,
        hash: ItemHash,
        item: &Q,
        from: Tick,
        until: Tick,
    ) -> Option<Tick>
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        self.postpone_if(hash, item, until, |Held { limit, deadline, .. }| {
            limit.is_revocable() || limit.is_joined() || *deadline == from
        })
    }

    fn postpone_if<Q>(
        &mut self,
        hash: ItemHash,
        item: &Q,
        until: Tick,
        goes: impl FnOnce(&Held<T, O>) -> bool,
    ) -> Option<Tick>
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        self.refresh_sequences();
        let slot = self.find(hash, item)?;
        let held = self.slots.get_mut(slot).filter(|held| goes(held))?;
        let before = held.deadline;
        let term = Term { deadline: before, limit: held.limit.tick() }.postponed(until);
        held.limit = held.limit.moved(term);
        if term.deadline != before {
            self.move_to(slot, term.deadline);
        }
        Some(before)
    }

    /// When the item will be due.
    pub(crate) fn deadline<Q>(&self, hash: ItemHash, item: &Q) -> Option<Tick>
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let slot = self.find(hash, item)?;
        self.slots.get(slot).map(|held| held.deadline)
    }

    /// Merges an order into a waiting item's. The order is handed back if the item does not wait.
    pub(crate) fn merge_into(
        &mut self,
        hash: ItemHash,
        item: &T,
        order: O,
        merge: impl FnOnce(&mut O, O),
    ) -> Result<(), O> {
        let Some(held) = self.find(hash, item).and_then(|slot| self.slots.get_mut(slot)) else {
            return Err(order);
        };
        held.limit = held.limit.joined();
        merge(&mut held.order, order);
        Ok(())
    }

    /// The same, but nobody asks for the item by it. False: it does not wait.
    pub(crate) fn reorder<Q>(
        &mut self,
        hash: ItemHash,
        item: &Q,
        order: O,
        merge: impl FnOnce(&mut O, O),
    ) -> bool
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let Some(held) = self.find(hash, item).and_then(|slot| self.slots.get_mut(slot)) else {
            return false;
        };
        merge(&mut held.order, order);
        true
    }

    /// Moves the items whose deadline is at or before `now` to `due`, at most so many: earliest first, ties in insertion
    /// order.
    ///
    /// What an item takes with it lies in several places, each far from those of the next item. Each is visited for several
    /// items in a row, so that the machine waits for their memory together.
    pub(crate) fn pop_all_due(&mut self, now: Tick, most: usize, due: &mut Vec<Waiting<T, O>>) {
        let mut left = most;
        while left > 0 {
            let mut nodes = [None; CHUNK];
            let mut count = 0;
            let slots = &self.slots;
            while count < CHUNK.min(left)
                && self.agenda.first().is_some_and(|first| first.deadline.is_due(now))
            {
                nodes[count] = self.agenda.pop(|slot, sequence| slots.deadline(slot, sequence));
                count += 1;
            }
            if count == 0 {
                break;
            }
            let first = due.len();
            let mut taken = [0; CHUNK];
            for node in nodes.iter().flatten() {
                if self.slots.deadline(node.slot, node.sequence).is_some() {
                    taken[due.len() - first] = node.slot;
                    due.extend(self.slots.take(node.slot).map(Waiting::of));
                }
            }
            for (slot, waiting) in taken.iter().zip(&due[first..]) {
                self.table.strike(waiting.hash, *slot);
            }
            left -= due.len() - first;
        }
        let slots = &self.slots;
        self.agenda.settle(self.table.len(), |slot, sequence| slots.deadline(slot, sequence));
        self.note_departures(most - left); // Only now: it may number all slots anew.
    }

    /// Puts an item back that was due, where it was in the order. Calls nothing of the item's.
    pub(crate) fn put_back(&mut self, due: Waiting<T, O>) {
        let Waiting { item, order, hash, deadline, sequence, limit } = due;
        self.settle_in(Held { item, order, limit, deadline, hash, sequence }, self.table.vacancy(hash));
    }

    /// Puts an item back that was removed, where it was in the order. Calls nothing of the item's.
    pub(crate) fn undo_removal(&mut self, removed: Waiting<T, O>) {
        // A node of its may be left, and would be in force again in the slot that it names. Which that was is not known: the
        // highest is in the same leaf, also where the leaf begins with that node.
        let slots = &self.slots;
        let node = Node { deadline: removed.deadline, slot: u32::MAX, sequence: removed.sequence };
        self.agenda.purge(node, |slot, sequence| slots.deadline(slot, sequence));
        self.put_back(removed);
    }

    /// Everything that waits, in the order in which it would have come out. Gives all memory back: nothing comes after it.
    pub(crate) fn take_all(&mut self) -> Vec<Waiting<T, O>> {
        let nodes = self.sorted();
        let mut slots = std::mem::take(&mut self.slots);
        self.agenda = Agenda::default();
        self.table = Table::default();
        self.next_sequence = 0;
        nodes.into_iter().filter_map(|node| slots.take(node.slot)).map(Waiting::of).collect()
    }

    /// Gives unused memory back, if that is more than an eighth of what is in use.
    pub(crate) fn shrink(&mut self) {
        let room = self.table.len().max(self.reserved);
        if self.slots.capacity() <= room + room / 8 {
            return;
        }
        let mut nodes = self.sorted();
        // Room was there for more.
        let mut slots = Slots::try_with_capacity(room).unwrap_or_default();
        let mut table = Table::try_with_capacity(room).unwrap_or_default();
        for node in &mut nodes {
            let Some(held) = self.slots.take(node.slot) else { continue };
            let hash = held.hash;
            node.slot = slots.insert(held);
            table.insert(table.vacancy(hash), hash, node.slot);
        }
        (self.slots, self.table) = (slots, table);
        self.agenda = Agenda::try_with_room(self.reserved).unwrap_or_default();
        let _ = self.agenda.try_make_room(room);
        let slots = &self.slots;
        self.agenda.fill(&nodes, |slot, sequence| slots.deadline(slot, sequence));
        (self.came, self.passed) = (0, 0);
    }

    /// For how many items there is room, in the part that has most of it.
    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        // Beside each node in force another may be stale, and room for a third is in blocks that are not full.
        self.slots.capacity().max(self.table.capacity()).max(self.agenda.capacity() / 3)
    }

    fn find<Q>(&self, hash: ItemHash, item: &Q) -> Option<u32>
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        self.look(hash, item).ok()
    }

    /// The item's slot, or else where in the table that would be put.
    fn look<Q>(&self, hash: ItemHash, item: &Q) -> Result<u32, Vacancy>
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        self.table.find(hash, |slot| self.slots.get(slot).is_some_and(|held| held.item.borrow() == item))
    }

    /// Puts an item into the next slot, that into the table, and its node into the agenda.
    fn settle_in(&mut self, held: Held<T, O>, vacancy: Vacancy) {
        let (hash, deadline, sequence) = (held.hash, held.deadline, held.sequence);
        let room = self.slots.capacity();
        let slot = self.slots.insert(held);
        let slots = &self.slots;
        if slots.capacity() != room {
            // If there is none, the agenda tries again when it needs some.
            let _ = self.agenda.try_make_room(slots.capacity());
        }
        self.table.insert(vacancy, hash, slot);
        self.agenda.push(Node { deadline, slot, sequence }, |slot, sequence| slots.deadline(slot, sequence));
        self.note_arrival();
    }

    /// Whether so little of the memory is in use that some may be given back.
    fn is_nearly_empty(&self) -> bool {
        let capacity = self.slots.capacity();
        capacity > SMALL.max(self.reserved) && self.len() < capacity / 8
    }

    fn note_arrival(&mut self) {
        if self.is_nearly_empty() {
            self.came += 1;
        } else {
            (self.came, self.passed) = (0, 0);
        }
    }

    /// Frees memory after a thousand items that came to a nearly empty heap and went. A burst that only comes counts nothing,
    /// nor does one that only goes: a heap that fills and empties in turn keeps its memory, one that had a single peak does
    /// not.
    fn note_departures(&mut self, items: usize) {
        let items = items.min(self.came);
        if items == 0 {
            return;
        }
        self.came -= items;
        self.passed += items;
        if self.passed >= PASSAGES && self.is_nearly_empty() {
            self.shrink();
        }
    }

    /// Gives a waiting item a new deadline, behind all that share it.
    fn move_to(&mut self, slot: u32, deadline: Tick) {
        let sequence = self.take_sequence();
        let Some(held) = self.slots.get_mut(slot) else { return };
        let old = Node { deadline: held.deadline, slot, sequence: held.sequence };
        (held.deadline, held.sequence) = (deadline, sequence);
        let (slots, others) = (&self.slots, self.table.len() - 1);
        self.agenda.forget(old, others, |slot, sequence| slots.deadline(slot, sequence));
        self.agenda.push(Node { deadline, slot, sequence }, |slot, sequence| slots.deadline(slot, sequence));
    }

    fn take_sequence(&mut self) -> u32 {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        sequence
    }

    /// Called before any insertion: when the sequence numbers are used up (once in 2^32 insertions), those that live are
    /// numbered afresh, in the same order.
    fn refresh_sequences(&mut self) {
        if self.next_sequence < u32::MAX {
            return;
        }
        let mut nodes = self.sorted();
        for (sequence, node) in nodes.iter_mut().enumerate() {
            node.sequence = index(sequence);
            if let Some(held) = self.slots.get_mut(node.slot) {
                held.sequence = node.sequence;
            }
        }
        self.agenda.clear();
        let slots = &self.slots;
        self.agenda.fill(&nodes, |slot, sequence| slots.deadline(slot, sequence));
        self.next_sequence = index(nodes.len());
    }

    /// The nodes of all that waits, in their order.
    fn sorted(&self) -> Vec<Node> {
        self.agenda.sorted(|slot, sequence| self.slots.deadline(slot, sequence))
    }
}
