//! Timeline: the delayed items, each in a slot, in the order in which they are due.

use super::calendar::CalendarQueue;
use super::nodes::Node;
use super::slots::{Held, Slots, index};
use crate::tick::Tick;

/// How many nodes are popped before their items are read.
pub(super) const CHUNK: usize = 32;

#[derive(Debug)]
pub(super) struct Timeline<T, O> {
    pub(super) calendar: CalendarQueue,
    pub(super) slots: Slots<T, O>,
    pub(super) next_sequence: u32,
}

impl<T, O> Timeline<T, O> {
    /// With room for this many items. `None` if memory is short.
    pub(super) fn try_with_room(items: usize) -> Option<Self> {
        let (calendar, slots) =
            (CalendarQueue::try_with_room(items)?, Slots::try_with_capacity(items)?);
        Some(Self { calendar, slots, next_sequence: 0 })
    }

    /// The deadline of the item that is due first.
    pub(super) fn earliest(&self) -> Option<Tick> {
        self.calendar.first().map(|node| node.deadline)
    }

    #[inline]
    pub(super) fn get(&self, slot: u32) -> Option<&Held<T, O>> {
        self.slots.get(slot)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, slot: u32) -> Option<&mut Held<T, O>> {
        self.slots.get_mut(slot)
    }

    /// The next sequence. Call [`refresh_sequences`](Self::refresh_sequences) before.
    pub(super) fn take_sequence(&mut self) -> u32 {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        sequence
    }

    /// Renumbers all nodes if the numbers are used up: once in 2^32 insertions.
    pub(super) fn refresh_sequences(&mut self) {
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
        self.calendar.clear();
        let slots = &self.slots;
        self.calendar.fill(&nodes, |slot, sequence| slots.deadline(slot, sequence));
        self.next_sequence = index(nodes.len());
    }

    /// Inserts an item. Returns its slot.
    pub(super) fn insert(&mut self, held: Held<T, O>) -> u32 {
        let (deadline, sequence) = (held.deadline, held.sequence);
        let room = self.slots.capacity();
        let slot = self.slots.insert(held);
        let slots = &self.slots;
        if slots.capacity() != room {
            // If memory is short, the calendar tries again when it needs room.
            let _ = self.calendar.try_make_room(slots.capacity());
        }
        self.calendar.push(Node { deadline, slot, sequence }, |slot, sequence| {
            slots.deadline(slot, sequence)
        });
        slot
    }

    /// Removes an item. `others` items stay.
    pub(super) fn remove(&mut self, slot: u32, others: usize) -> Option<Held<T, O>> {
        let held = self.slots.take(slot)?;
        let node = Node { deadline: held.deadline, slot, sequence: held.sequence };
        let slots = &self.slots;
        self.calendar.forget(node, others, |slot, sequence| slots.deadline(slot, sequence));
        Some(held)
    }

    /// Gives an item a new deadline, behind all items that share it. `others` items stay.
    pub(super) fn move_to(&mut self, slot: u32, deadline: Tick, others: usize) {
        let sequence = self.take_sequence();
        let Some(held) = self.slots.get_mut(slot) else { return };
        let old = Node { deadline: held.deadline, slot, sequence: held.sequence };
        (held.deadline, held.sequence) = (deadline, sequence);
        let slots = &self.slots;
        self.calendar.forget(old, others, |slot, sequence| slots.deadline(slot, sequence));
        self.calendar.push(Node { deadline, slot, sequence }, |slot, sequence| {
            slots.deadline(slot, sequence)
        });
    }

    /// Removes due items, in order. Returns the number of popped nodes: at most [`CHUNK`] and
    /// `most`. Call [`settle`](Self::settle) afterwards.
    ///
    /// Node, slot and table entry of an item lie far apart. Reading each kind for several items in
    /// a row lets the processor wait for their memory at the same time.
    pub(super) fn pop_due(
        &mut self,
        now: Tick,
        most: usize,
        mut item: impl FnMut(u32, Held<T, O>),
    ) -> usize {
        let mut nodes = [None; CHUNK];
        let mut count = 0;
        let slots = &self.slots;
        while count < CHUNK.min(most)
            && self.calendar.first().is_some_and(|first| first.deadline.is_due(now))
        {
            nodes[count] = self.calendar.pop(|slot, sequence| slots.deadline(slot, sequence));
            count += 1;
        }
        for node in nodes.iter().flatten() {
            if self.slots.deadline(node.slot, node.sequence).is_some() {
                self.slots.take(node.slot).into_iter().for_each(|held| item(node.slot, held));
            }
        }
        count
    }

    /// Makes the first node live again after [`pop_due`](Self::pop_due). `items` are delayed.
    pub(super) fn settle(&mut self, items: usize) {
        let slots = &self.slots;
        self.calendar.settle(items, |slot, sequence| slots.deadline(slot, sequence));
    }

    /// Removes all items, in order, and releases all memory.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Held<T, O>> {
        let nodes = self.sorted();
        let mut slots = std::mem::take(&mut self.slots);
        self.calendar = CalendarQueue::default();
        self.next_sequence = 0;
        nodes.into_iter().filter_map(move |node| slots.take(node.slot))
    }

    /// Moves all items to a calendar with room for `reserved` items and to slots with room for
    /// `items`. Calls `moved` with each item and its new slot.
    pub(super) fn compact(
        &mut self,
        items: usize,
        reserved: usize,
        mut moved: impl FnMut(&Held<T, O>, u32),
    ) {
        let mut nodes = self.sorted();
        // There was room for more, so there is memory for this.
        let mut slots = Slots::try_with_capacity(items).unwrap_or_default();
        for node in &mut nodes {
            let Some(held) = self.slots.take(node.slot) else { continue };
            node.slot = slots.insert(held);
            slots.get(node.slot).into_iter().for_each(|held| moved(held, node.slot));
        }
        self.slots = slots;
        self.calendar = CalendarQueue::try_with_room(reserved).unwrap_or_default();
        let _ = self.calendar.try_make_room(items);
        let slots = &self.slots;
        self.calendar.fill(&nodes, |slot, sequence| slots.deadline(slot, sequence));
    }

    /// The nodes of all items, sorted.
    pub(super) fn sorted(&self) -> Vec<Node> {
        self.calendar.sorted(|slot, sequence| self.slots.deadline(slot, sequence))
    }
}
