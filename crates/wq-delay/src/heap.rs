//! `DelayHeap`: which items wait, until when, and who is due. Pure: no lock, no clock, no waker; `now` is an argument.
//!
//! An 8-ary heap of `(deadline, sequence, slot)` beside a slab of the items and one hash table of slot numbers. What is
//! compared stands in the heap itself, eight siblings in two cache lines; what is written each time a node moves, where
//! a slot's node is, in an array of its own. With a million items nearly all time is waiting for memory. Deadlines are exact
//! nanoseconds on the queue's own time line.

use crate::planted::planted;
use crate::tick::Tick;
use crate::wish::{Term, Wish};
use hashbrown::HashTable;
use std::borrow::Borrow;
use std::num::NonZeroU64;
use wq_core::{ItemHash, QuietAdd};

mod nodes;
#[cfg(test)]
mod tests;

use nodes::{Node, Nodes};

/// So many nodes are taken from the heap before the items behind them are looked at.
const CHUNK: usize = 32;
/// End of the free list.
const NONE: u32 = u32::MAX;
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
    pub(crate) fn into_add(self) -> QuietAdd<T, O> {
        let Self { item, hash, order, limit, .. } = self;
        QuietAdd { item, hash, order, is_revocable: limit.is_revocable() }
    }
}

#[derive(Debug)]
enum Slot<T, O> {
    Free { next: u32 },
    Held { item: T, order: O, limit: Limit },
}

/// Of a held slot: where its node is, and the hash that the table knows it by.
#[derive(Debug, Clone, Copy)]
struct Place {
    position: u32,
    hash: ItemHash,
}

/// How far debounced adds may put an item off, and in the highest bit whether all that asked for it is revocable. Never
/// zero, so that a free slot costs no extra word.
#[derive(Debug, Clone, Copy)]
struct Limit(NonZeroU64);

impl Limit {
    const REVOCABLE: u64 = 1 << 63;
    /// From here on (292 years) there is no limit.
    const FAR: u64 = Self::REVOCABLE - 1;

    fn of(term: Term, is_revocable: bool) -> Self {
        let mark = if is_revocable { Self::REVOCABLE } else { 0 };
        Self(NonZeroU64::new(term.limit.0.min(Self::FAR) | mark).unwrap_or(NonZeroU64::MIN))
    }

    fn tick(self) -> Tick {
        match self.0.get() & Self::FAR {
            Self::FAR => Tick::NEVER,
            limit => Tick(limit),
        }
    }

    fn is_revocable(self) -> bool {
        self.0.get() & Self::REVOCABLE != 0
    }
}

/// The items that wait, ordered by deadline, each at most once.
#[derive(Debug)]
pub(crate) struct DelayHeap<T, O> {
    nodes: Nodes,
    slots: Vec<Slot<T, O>>,
    /// One for each slot.
    places: Vec<Place>,
    first_free: u32,
    table: HashTable<u32>,
    next_sequence: u32,
    /// Items that came while the heap was nearly empty, and for which none has gone yet.
    came: usize,
    /// Items that went for one of those; see `give_back`.
    passed: usize,
    /// So much room is never given back.
    reserved: usize,
}

impl<T, O> DelayHeap<T, O> {
    /// With room for so many items, if there is memory for that.
    pub(crate) fn with_room(reserved: usize) -> Option<Self> {
        let nodes = Nodes::try_with_capacity(reserved)?;
        let reserved = nodes.capacity(); // Whole families: a little more than was asked for.
        let (mut slots, mut places, mut table) = (Vec::new(), Vec::new(), HashTable::new());
        slots.try_reserve_exact(reserved).ok()?;
        places.try_reserve_exact(reserved).ok()?;
        table.try_reserve(reserved, |_| 0).ok()?; // There is nothing in it to hash.
        Some(Self {
            nodes,
            slots,
            places,
            first_free: NONE,
            table,
            next_sequence: 0,
            came: 0,
            passed: 0,
            reserved,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.len() == 0
    }

    /// The deadline of the item that is due first.
    pub(crate) fn earliest(&self) -> Option<Tick> {
        self.nodes.first().map(|node| node.deadline)
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
        if let Some(slot) = offer.as_ref().and_then(|item| self.find(hash, item)) {
            return self.insert_again(slot, order, wish, merge);
        }
        let Some(item) = offer.take() else { return Inserted::Kept };
        let term = wish.term();
        let held = Slot::Held { item, order, limit: Limit::of(term, wish.is_revocable()) };
        let slot = self.settle_in(held, hash);
        let sequence = self.take_sequence();
        self.enter(Node { deadline: term.deadline, slot, sequence });
        Inserted::New
    }

    /// An insertion of an item that waits.
    fn insert_again(&mut self, slot: u32, order: O, wish: Wish, merge: impl FnOnce(&mut O, O)) -> Inserted {
        let Some(Slot::Held { order: held, limit, .. }) = self.slots.get_mut(slot as usize) else {
            return Inserted::Kept; // unreachable: the table names held slots only
        };
        merge(held, order);
        let position = self.places[slot as usize].position as usize;
        let old = self.nodes.at(position).deadline;
        let term = wish.after(Term { deadline: old, limit: limit.tick() });
        *limit = Limit::of(term, limit.is_revocable() && wish.is_revocable());
        if term.deadline == old {
            return Inserted::Kept;
        }
        self.reposition(position, term.deadline);
        Inserted::Moved
    }

    /// Takes a waiting item out.
    pub(crate) fn remove<Q>(&mut self, hash: ItemHash, item: &Q) -> Option<Waiting<T, O>>
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let slot = self.find(hash, item)?;
        self.take_at(self.position_of(slot))
    }

    /// Takes a waiting item out if all that asked for it is revocable.
    pub(crate) fn revoke<Q>(&mut self, hash: ItemHash, item: &Q) -> Option<Waiting<T, O>>
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let slot = self.find(hash, item)?;
        match self.slots.get(slot as usize) {
            Some(Slot::Held { limit, .. }) if limit.is_revocable() => self.take_at(self.position_of(slot)),
            _ => None,
        }
    }

    /// Moves the deadline of a waiting item to `until` if that is later. False: the item does not wait.
    pub(crate) fn postpone<Q>(&mut self, hash: ItemHash, item: &Q, until: Tick) -> bool
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        self.refresh_sequences();
        let Some(slot) = self.find(hash, item) else { return false };
        let position = self.position_of(slot);
        let Some(Slot::Held { limit, .. }) = self.slots.get_mut(slot as usize) else {
            return false; // unreachable: the table names held slots only
        };
        let old = self.nodes.at(position).deadline;
        let term = Term { deadline: old, limit: limit.tick() }.postponed(until);
        *limit = Limit::of(term, limit.is_revocable());
        if term.deadline != old {
            self.reposition(position, term.deadline);
        }
        true
    }

    /// When the item will be due.
    pub(crate) fn deadline<Q>(&self, hash: ItemHash, item: &Q) -> Option<Tick>
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let slot = self.find(hash, item)?;
        Some(self.nodes.at(self.position_of(slot)).deadline)
    }

    /// Merges an order into a waiting item's. The order is handed back if the item does not wait.
    pub(crate) fn merge_into(
        &mut self,
        hash: ItemHash,
        item: &T,
        order: O,
        merge: impl FnOnce(&mut O, O),
    ) -> Result<(), O> {
        let Some(slot) = self.find(hash, item) else { return Err(order) };
        match self.slots.get_mut(slot as usize) {
            Some(Slot::Held { order: held, limit, .. }) => {
                let term = Term { deadline: Tick(0), limit: limit.tick() };
                *limit = Limit::of(term, false);
                if !planted("joined-order-is-lost") {
                    merge(held, order);
                }
                Ok(())
            }
            _ => Err(order),
        }
    }

    /// The next item whose deadline is at or before `now`: earliest first, ties in insertion order.
    pub(crate) fn pop_due(&mut self, now: Tick) -> Option<Waiting<T, O>> {
        let mut one = Vec::with_capacity(1);
        self.pop_all_due(now, 1, &mut one);
        one.pop()
    }

    /// Moves the items whose deadline is at or before `now` to `due`, as [`pop_due`](Self::pop_due) would one by one, and at
    /// most so many.
    ///
    /// What an item takes with it lies in four places, each far from those of the next item. Each is visited for several
    /// items in a row, so that the machine waits for their memory together.
    pub(crate) fn pop_all_due(&mut self, now: Tick, most: usize, due: &mut Vec<Waiting<T, O>>) {
        let mut left = most;
        while left > 0 {
            let mut nodes = [None; CHUNK];
            let mut count = 0;
            while count < CHUNK.min(left)
                && self.nodes.first().is_some_and(|first| first.deadline.is_due(now))
            {
                nodes[count] = self.take_node(0);
                count += 1;
            }
            if count == 0 {
                return;
            }
            let nodes = nodes.iter().flatten();
            due.extend(nodes.clone().filter_map(|node| self.vacate(*node)));
            for node in nodes {
                self.strike(node.slot);
            }
            self.note_departures(count); // Only now: it may number all slots anew.
            left -= count;
        }
    }

    /// Puts an item back that was taken out, where it was in the order. Calls nothing of the item's.
    pub(crate) fn put_back(&mut self, waiting: Waiting<T, O>) {
        let Waiting { item, order, hash, deadline, sequence, limit } = waiting;
        let slot = self.settle_in(Slot::Held { item, order, limit }, hash);
        self.enter(Node { deadline, slot, sequence });
    }

    /// Everything that waits, in the order in which it would have come out. Gives all memory back: nothing comes after it.
    pub(crate) fn take_all(&mut self) -> Vec<Waiting<T, O>> {
        let nodes = std::mem::replace(&mut self.nodes, Nodes::with_capacity(0)).sorted();
        let mut slots = std::mem::take(&mut self.slots);
        let places = std::mem::take(&mut self.places);
        self.table = HashTable::new();
        self.first_free = NONE;
        self.next_sequence = 0;
        let mut all = Vec::with_capacity(nodes.len());
        for node in nodes {
            let Some(slot) = slots.get_mut(node.slot as usize) else { continue };
            if let Slot::Held { item, order, limit } = std::mem::replace(slot, Slot::Free { next: NONE }) {
                let hash = places[node.slot as usize].hash;
                all.push(Waiting {
                    item,
                    order,
                    hash,
                    deadline: node.deadline,
                    sequence: node.sequence,
                    limit,
                });
            }
        }
        all
    }

    /// Gives unused memory back.
    pub(crate) fn shrink(&mut self) {
        let mut old = std::mem::take(&mut self.slots);
        let old_places = std::mem::take(&mut self.places);
        let room = self.nodes.len().max(self.reserved);
        let mut slots = Vec::with_capacity(room);
        let mut places = Vec::with_capacity(room);
        self.table = HashTable::with_capacity(room);
        for position in 0..self.nodes.len() {
            let node = *self.nodes.at(position);
            let hash = old_places[node.slot as usize].hash;
            slots.push(std::mem::replace(&mut old[node.slot as usize], Slot::Free { next: NONE }));
            let slot = index(position);
            places.push(Place { position: slot, hash });
            self.table.insert_unique(hash.spread(), slot, |&slot| hash_of(&places, slot));
            self.nodes.at_mut(position).slot = slot;
        }
        (self.slots, self.places) = (slots, places);
        self.first_free = NONE;
        self.nodes.shrink_to(room);
        (self.came, self.passed) = (0, 0);
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.nodes.capacity().max(self.slots.capacity()).max(self.table.capacity())
    }

    fn find<Q>(&self, hash: ItemHash, item: &Q) -> Option<u32>
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let slots = &self.slots;
        let is_it = |&slot: &u32| match slots.get(slot as usize) {
            Some(Slot::Held { item: held, .. }) => held.borrow() == item,
            Some(Slot::Free { .. }) | None => false,
        };
        self.table.find(hash.spread(), is_it).copied()
    }

    /// Of a held slot.
    fn position_of(&self, slot: u32) -> usize {
        self.places[slot as usize].position as usize
    }

    /// Puts an item into the next slot, and that into the table.
    fn settle_in(&mut self, held: Slot<T, O>, hash: ItemHash) -> u32 {
        let place = Place { position: NONE, hash };
        let slot = match self.slots.get_mut(self.first_free as usize) {
            Some(free) => {
                let slot = self.first_free;
                if let Slot::Free { next } = std::mem::replace(free, held) {
                    self.first_free = next;
                }
                self.places[slot as usize] = place;
                slot
            }
            None => {
                self.slots.push(held);
                self.places.push(place);
                index(self.places.len() - 1)
            }
        };
        let places = &self.places;
        // Not by an entry: that makes room before it has looked for a place that was given up.
        self.table.insert_unique(hash.spread(), slot, |&slot| hash_of(places, slot));
        slot
    }

    fn enter(&mut self, node: Node) {
        let position = self.nodes.len();
        self.nodes.push(node);
        self.note_arrival();
        self.sift_up(position);
    }

    fn take_at(&mut self, position: usize) -> Option<Waiting<T, O>> {
        let node = self.take_node(position)?;
        let taken = self.vacate(node);
        self.strike(node.slot);
        self.note_departures(1);
        taken
    }

    /// Takes a node out of the heap: the first of three steps.
    fn take_node(&mut self, position: usize) -> Option<Node> {
        let last = self.nodes.pop()?;
        if position == self.nodes.len() {
            return Some(last);
        }
        let taken = std::mem::replace(self.nodes.at_mut(position), last);
        if planted("gap-not-settled") {
            self.note_position(position);
        } else if position == 0 {
            self.sink();
        } else {
            self.settle_at(position);
        }
        Some(taken)
    }

    /// Takes the item of a node out of its slot: the second.
    fn vacate(&mut self, node: Node) -> Option<Waiting<T, O>> {
        let free = Slot::Free { next: self.first_free };
        let Slot::Held { item, order, limit } = std::mem::replace(&mut self.slots[node.slot as usize], free)
        else {
            return None; // unreachable: nodes name held slots only
        };
        self.first_free = node.slot;
        let hash = self.places[node.slot as usize].hash;
        Some(Waiting { item, order, hash, deadline: node.deadline, sequence: node.sequence, limit })
    }

    /// Strikes a slot out of the table: the third.
    fn strike(&mut self, slot: u32) {
        let hash = self.places[slot as usize].hash;
        if let Ok(entry) = self.table.find_entry(hash.spread(), |&other| other == slot) {
            entry.remove();
        }
    }

    /// Whether so little of the memory is in use that some may be given back.
    fn is_nearly_empty(&self) -> bool {
        let capacity = self.nodes.capacity();
        capacity > SMALL.max(self.reserved) && self.nodes.len() < capacity / 8
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

    /// Gives the node at `position` a new deadline, behind all that share it.
    fn reposition(&mut self, position: usize, deadline: Tick) {
        if planted("moved-deadline-stays") {
            return;
        }
        let sequence = self.take_sequence();
        let node = self.nodes.at_mut(position);
        (node.deadline, node.sequence) = (deadline, sequence);
        self.settle_at(position);
    }

    fn take_sequence(&mut self) -> u32 {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        sequence
    }

    /// Called before any insertion: when the sequence numbers are used up (once in 2^32 insertions), those that live are
    /// numbered afresh, in the same order. A sorted array is a heap.
    fn refresh_sequences(&mut self) {
        if self.next_sequence < u32::MAX {
            return;
        }
        for (position, node) in self.nodes.sorted().into_iter().enumerate() {
            self.put(position, Node { sequence: index(position), ..node });
        }
        self.next_sequence = index(self.nodes.len());
    }

    /// Settles the node at the root, which came from the end of the array and so belongs near the end: on the way down it is
    /// not compared with anything, which costs less than to find out where it would stop.
    fn sink(&mut self) {
        let node = *self.nodes.at(0);
        let mut hole = 0;
        while let Some((child, first)) = self.nodes.first_child(hole) {
            self.put(hole, first);
            hole = child;
        }
        *self.nodes.at_mut(hole) = node;
        self.sift_up(hole);
    }

    fn settle_at(&mut self, position: usize) {
        let position = self.sift_up(position);
        self.sift_down(position);
    }

    fn sift_up(&mut self, mut position: usize) -> usize {
        let node = *self.nodes.at(position);
        while position > 0 {
            let parent = Nodes::parent(position);
            let other = *self.nodes.at(parent);
            if !node.before(&other) {
                break;
            }
            self.put(position, other);
            position = parent;
        }
        self.put(position, node);
        position
    }

    fn sift_down(&mut self, mut position: usize) {
        let node = *self.nodes.at(position);
        while let Some((child, first)) = self.nodes.first_child(position) {
            if !first.before(&node) {
                break;
            }
            self.put(position, first);
            position = child;
        }
        self.put(position, node);
    }

    fn put(&mut self, position: usize, node: Node) {
        *self.nodes.at_mut(position) = node;
        self.places[node.slot as usize].position = index(position);
    }

    /// Writes down where a node is.
    fn note_position(&mut self, at: usize) {
        self.places[self.nodes.at(at).slot as usize].position = index(at);
    }
}

/// The stored hash of a held slot: growing the table never calls the user's `Hash`.
fn hash_of(places: &[Place], slot: u32) -> u64 {
    places.get(slot as usize).map_or(0, |place| place.hash.spread())
}

/// An index as it is stored.
///
/// # Panics
///
/// Beyond 2^32 - 2 waiting items, which take more than 200 GB.
fn index(position: usize) -> u32 {
    match u32::try_from(position) {
        Ok(index) if index < NONE => index,
        _ => panic!("a delaying queue holds at most {} waiting items", NONE - 1),
    }
}
