//! `DelayHeap`: which items wait, until when, and who is due. Pure: no lock, no clock, no waker; `now` is an argument.
//!
//! An 8-ary heap of `(deadline, sequence, slot)` with the deadline inline, beside a slab of the items and one hash
//! table of slot numbers. Comparing inside the heap array instead of through the slab is what makes it fast;
//! eight children share two cache lines. Deadlines are exact nanoseconds on the queue's own time line.

use crate::planted::planted;
use crate::tick::Tick;
use crate::wish::{Term, Wish};
use hashbrown::HashTable;
use std::borrow::Borrow;
use std::num::NonZeroU64;

#[cfg(test)]
mod tests;

/// Children per heap node.
const ARITY: usize = 8;
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Waiting<T, O> {
    pub(crate) item: T,
    pub(crate) order: O,
    pub(crate) deadline: Tick,
    /// Whether all that asked for it is revocable.
    pub(crate) is_revocable: bool,
}

/// One heap node: 16 bytes.
#[derive(Debug, Clone, Copy)]
struct Node {
    deadline: Tick,
    /// Insertion number: equal deadlines come out in the order of adding.
    sequence: u32,
    slot: u32,
}

impl Node {
    fn before(&self, other: &Self) -> bool {
        if planted("ties-in-any-order") {
            return self.deadline < other.deadline;
        }
        (self.deadline, self.sequence) < (other.deadline, other.sequence)
    }
}

#[derive(Debug)]
enum Slot<T, O> {
    Free { next: u32 },
    Held { item: T, order: O, hash: ShortHash, position: u32, limit: Limit },
}

/// A hash folded to 32 bits: it makes room for the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ShortHash(u32);

impl ShortHash {
    #[expect(clippy::cast_possible_truncation, reason = "both halves are folded into the lower one")]
    fn of(hash: u64) -> Self {
        Self((hash ^ (hash >> 32)) as u32)
    }

    /// As the table wants it: it takes the bucket from the low bits and a tag from the seven highest.
    fn spread(self) -> u64 {
        u64::from(self.0) << 32 | u64::from(self.0)
    }
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
    nodes: Vec<Node>,
    slots: Vec<Slot<T, O>>,
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
    /// With room for so many items.
    pub(crate) fn with_capacity(reserved: usize) -> Self {
        Self {
            nodes: Vec::with_capacity(reserved),
            slots: Vec::with_capacity(reserved),
            first_free: NONE,
            table: HashTable::with_capacity(reserved),
            next_sequence: 0,
            came: 0,
            passed: 0,
            reserved,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The deadline of the item that is due first.
    pub(crate) fn earliest(&self) -> Option<Tick> {
        self.nodes.first().map(|node| node.deadline)
    }
}

impl<T: Eq, O> DelayHeap<T, O> {
    /// Adds an item, or merges it with the one that waits already. A duplicate item is handed back, so that the caller
    /// drops it outside of its lock.
    pub(crate) fn insert(
        &mut self,
        hash: u64,
        item: T,
        order: O,
        wish: Wish,
        merge: impl FnOnce(&mut O, O),
    ) -> (Inserted, Option<T>) {
        self.refresh_sequences();
        let hash = ShortHash::of(hash);
        if let Some(slot) = self.find(hash, &item) {
            let Some(Slot::Held { order: held, position, limit, .. }) = self.slots.get_mut(slot as usize)
            else {
                return (Inserted::Kept, Some(item)); // unreachable: the table names held slots only
            };
            merge(held, order);
            let position = *position as usize;
            let old = self.nodes[position].deadline;
            let term = wish.after(Term { deadline: old, limit: limit.tick() });
            *limit = Limit::of(term, limit.is_revocable() && wish.is_revocable());
            if term.deadline == old {
                return (Inserted::Kept, Some(item));
            }
            self.reposition(position, term.deadline);
            return (Inserted::Moved, Some(item));
        }
        let sequence = self.take_sequence();
        let position = self.nodes.len();
        let term = wish.term();
        let held = Slot::Held {
            item,
            order,
            hash,
            position: index(position),
            limit: Limit::of(term, wish.is_revocable()),
        };
        let slot = self.occupy(held);
        let slots = &self.slots;
        self.table.insert_unique(hash.spread(), slot, |&slot| hash_of(slots, slot));
        self.nodes.push(Node { deadline: term.deadline, sequence, slot });
        self.note_arrival();
        self.sift_up(position);
        (Inserted::New, None)
    }

    /// Takes a waiting item out.
    pub(crate) fn remove<Q>(&mut self, hash: u64, item: &Q) -> Option<Waiting<T, O>>
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let slot = self.find(ShortHash::of(hash), item)?;
        let position = self.position_of(slot)?;
        self.take_at(position)
    }

    /// Takes a waiting item out if all that asked for it is revocable.
    pub(crate) fn revoke<Q>(&mut self, hash: u64, item: &Q) -> Option<Waiting<T, O>>
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let slot = self.find(ShortHash::of(hash), item)?;
        match self.slots.get(slot as usize) {
            Some(Slot::Held { position, limit, .. }) if limit.is_revocable() => {
                let position = *position as usize;
                self.take_at(position)
            }
            _ => None,
        }
    }

    /// Moves the deadline of a waiting item to `until` if that is later. False: the item does not wait.
    pub(crate) fn postpone<Q>(&mut self, hash: u64, item: &Q, until: Tick) -> bool
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        self.refresh_sequences();
        let Some(slot) = self.find(ShortHash::of(hash), item) else { return false };
        let Some(Slot::Held { position, limit, .. }) = self.slots.get_mut(slot as usize) else {
            return false; // unreachable: the table names held slots only
        };
        let position = *position as usize;
        let old = self.nodes[position].deadline;
        let term = Term { deadline: old, limit: limit.tick() }.postponed(until);
        *limit = Limit::of(term, limit.is_revocable());
        if term.deadline != old {
            self.reposition(position, term.deadline);
        }
        true
    }

    /// When the item will be due.
    pub(crate) fn deadline<Q>(&self, hash: u64, item: &Q) -> Option<Tick>
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let position = self.find(ShortHash::of(hash), item).and_then(|slot| self.position_of(slot))?;
        Some(self.nodes[position].deadline)
    }

    /// Merges an order into a waiting item's. The order is handed back if the item does not wait.
    pub(crate) fn merge_into(
        &mut self,
        hash: u64,
        item: &T,
        order: O,
        merge: impl FnOnce(&mut O, O),
    ) -> Result<(), O> {
        let Some(slot) = self.find(ShortHash::of(hash), item) else { return Err(order) };
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
        let first = self.nodes.first()?;
        if !first.deadline.is_due(now) {
            return None;
        }
        self.take_at(0)
    }

    /// Everything that waits, in the order in which it would have come out. Gives all memory back: nothing comes after it.
    pub(crate) fn take_all(&mut self) -> Vec<Waiting<T, O>> {
        let mut nodes = std::mem::take(&mut self.nodes);
        nodes.sort_unstable_by_key(|node| (node.deadline, node.sequence));
        let mut slots = std::mem::take(&mut self.slots);
        self.table = HashTable::new();
        self.first_free = NONE;
        self.next_sequence = 0;
        let mut all = Vec::with_capacity(nodes.len());
        for node in nodes {
            let Some(slot) = slots.get_mut(node.slot as usize) else { continue };
            if let Slot::Held { item, order, limit, .. } = std::mem::replace(slot, Slot::Free { next: NONE })
            {
                let is_revocable = limit.is_revocable();
                all.push(Waiting { item, order, deadline: node.deadline, is_revocable });
            }
        }
        all
    }

    /// Gives unused memory back.
    pub(crate) fn shrink(&mut self) {
        let mut old = std::mem::take(&mut self.slots);
        let room = self.nodes.len().max(self.reserved);
        let mut slots = Vec::with_capacity(room);
        self.table = HashTable::with_capacity(room);
        for (position, node) in self.nodes.iter_mut().enumerate() {
            let Some(slot) = old.get_mut(node.slot as usize) else { continue };
            let held = std::mem::replace(slot, Slot::Free { next: NONE });
            node.slot = index(position);
            if let Slot::Held { item, order, hash, limit, .. } = held {
                slots.push(Slot::Held { item, order, hash, position: node.slot, limit });
                let slots = &slots;
                self.table.insert_unique(hash.spread(), node.slot, |&slot| hash_of(slots, slot));
            }
        }
        self.slots = slots;
        self.first_free = NONE;
        self.nodes.shrink_to(room);
        (self.came, self.passed) = (0, 0);
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.nodes.capacity().max(self.slots.capacity()).max(self.table.capacity())
    }

    fn find<Q>(&self, hash: ShortHash, item: &Q) -> Option<u32>
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let slots = &self.slots;
        self.table
            .find(hash.spread(), |&slot| match slots.get(slot as usize) {
                Some(Slot::Held { item: held, hash: held_hash, .. }) => {
                    *held_hash == hash && held.borrow() == item
                }
                _ => false,
            })
            .copied()
    }

    fn position_of(&self, slot: u32) -> Option<usize> {
        match self.slots.get(slot as usize) {
            Some(Slot::Held { position, .. }) => Some(*position as usize),
            _ => None,
        }
    }

    fn occupy(&mut self, slot: Slot<T, O>) -> u32 {
        if self.first_free == NONE {
            let fresh = index(self.slots.len());
            self.slots.push(slot);
            return fresh;
        }
        let reused = self.first_free;
        let free = std::mem::replace(&mut self.slots[reused as usize], slot);
        self.first_free = match free {
            Slot::Free { next } => next,
            Slot::Held { .. } => NONE, // unreachable: the free list names free slots only
        };
        reused
    }

    fn take_at(&mut self, position: usize) -> Option<Waiting<T, O>> {
        let node = self.nodes.swap_remove(position);
        if position < self.nodes.len() {
            if planted("gap-not-settled") {
                self.note_position(position);
            } else {
                self.settle_at(position);
            }
        }
        let free = Slot::Free { next: self.first_free };
        let Slot::Held { item, order, hash, limit, .. } =
            std::mem::replace(&mut self.slots[node.slot as usize], free)
        else {
            return None; // unreachable: nodes name held slots only
        };
        self.first_free = node.slot;
        if let Ok(entry) = self.table.find_entry(hash.spread(), |&slot| slot == node.slot) {
            entry.remove();
        }
        self.give_back();
        Some(Waiting { item, order, deadline: node.deadline, is_revocable: limit.is_revocable() })
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
    fn give_back(&mut self) {
        if self.came == 0 {
            return;
        }
        self.came -= 1;
        self.passed += 1;
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
        let node = &mut self.nodes[position];
        node.deadline = deadline;
        node.sequence = sequence;
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
        self.nodes.sort_unstable_by_key(|node| (node.deadline, node.sequence));
        for position in 0..self.nodes.len() {
            self.nodes[position].sequence = index(position);
            self.note_position(position);
        }
        self.next_sequence = index(self.nodes.len());
    }

    fn settle_at(&mut self, position: usize) {
        let position = self.sift_up(position);
        self.sift_down(position);
    }

    fn sift_up(&mut self, mut position: usize) -> usize {
        let node = self.nodes[position];
        while position > 0 {
            let parent = (position - 1) / ARITY;
            if !node.before(&self.nodes[parent]) {
                break;
            }
            self.nodes[position] = self.nodes[parent];
            self.note_position(position);
            position = parent;
        }
        self.nodes[position] = node;
        self.note_position(position);
        position
    }

    fn sift_down(&mut self, mut position: usize) {
        let node = self.nodes[position];
        loop {
            let first = position * ARITY + 1;
            let Some(children) = self.nodes.get(first..self.nodes.len().min(first + ARITY)) else { break };
            let mut least = None;
            let mut best = node;
            for (offset, child) in children.iter().enumerate() {
                if child.before(&best) {
                    best = *child;
                    least = Some(first + offset);
                }
            }
            let Some(child) = least else { break };
            self.nodes[position] = best;
            self.note_position(position);
            position = child;
        }
        self.nodes[position] = node;
        self.note_position(position);
    }

    /// Writes a node's position back into its slot.
    fn note_position(&mut self, at: usize) {
        let slot = self.nodes[at].slot as usize;
        if let Some(Slot::Held { position, .. }) = self.slots.get_mut(slot) {
            *position = index(at);
        }
    }
}

/// The stored hash of a held slot: growing the table never calls the user's `Hash`.
fn hash_of<T, O>(slots: &[Slot<T, O>], slot: u32) -> u64 {
    match slots.get(slot as usize) {
        Some(Slot::Held { hash, .. }) => hash.spread(),
        _ => 0,
    }
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
