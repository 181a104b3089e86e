//! Slots: the delayed items with their data, each in a slot. Free slots form a linked list.

use std::num::NonZeroU64;

use wq_core::ItemHash;

use crate::deadline::Deadline;
use crate::tick::Tick;

/// End of the free list.
pub(super) const NONE: u32 = u32::MAX;

/// 32 bytes for a `u64` under `Fifo`, because `Limit` is never zero.
#[derive(Debug)]
pub(super) enum Slot<T, O> {
    Free { next: u32 },
    Held(Held<T, O>),
}

/// A delayed item.
#[derive(Debug)]
pub(super) struct Held<T, O> {
    pub(super) item: T,
    pub(super) order: O,
    pub(super) limit: Limit,
    pub(super) deadline: Tick,
    /// The key in the table.
    pub(super) hash: ItemHash,
    /// The sequence of the live node. Other nodes of this slot are stale.
    pub(super) sequence: u32,
}

/// How far debounced adds may postpone an item. The highest bit: only a retry has asked for the
/// item. Never zero, so that a free slot needs no extra word.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit(NonZeroU64);

impl Limit {
    const RETRY: u64 = 1 << 63;
    /// Limits from here on (292 years) never come.
    const FAR: u64 = Self::RETRY - 1;

    #[inline]
    pub(super) fn of(deadline: Deadline, is_retry: bool) -> Self {
        let mark = if is_retry { Self::RETRY } else { 0 };
        Self(NonZeroU64::new(deadline.limit.0.min(Self::FAR) | mark).unwrap_or(NonZeroU64::MIN))
    }

    #[inline]
    pub(super) fn tick(self) -> Tick {
        match self.0.get() & Self::FAR {
            Self::FAR => Tick::NEVER,
            limit => Tick(limit),
        }
    }

    /// Whether only a retry has asked for the item.
    pub(super) fn is_retry(self) -> bool {
        self.0.get() & Self::RETRY != 0
    }

    /// The same limit, of an item that a user has asked for.
    pub(super) fn of_user(self) -> Self {
        Self(NonZeroU64::new(self.0.get() & Self::FAR).unwrap_or(NonZeroU64::MIN))
    }
}

#[derive(Debug)]
pub(super) struct Slots<T, O> {
    slots: Vec<Slot<T, O>>,
    first_free: u32,
}

impl<T, O> Default for Slots<T, O> {
    fn default() -> Self {
        Self { slots: Vec::new(), first_free: NONE }
    }
}

impl<T, O> Slots<T, O> {
    /// With room for this many. `None` if memory is short.
    pub(super) fn try_with_capacity(slots: usize) -> Option<Self> {
        let mut room = Self::default();
        room.slots.try_reserve_exact(slots).ok()?;
        Some(room)
    }

    pub(super) const fn capacity(&self) -> usize {
        self.slots.capacity()
    }

    /// The number of slots, with the free ones.
    #[cfg(test)]
    pub(super) const fn len(&self) -> usize {
        self.slots.len()
    }

    #[inline]
    pub(super) fn get(&self, slot: u32) -> Option<&Held<T, O>> {
        match self.slots.get(slot as usize) {
            Some(Slot::Held(held)) => Some(held),
            Some(Slot::Free { .. }) | None => None,
        }
    }

    #[inline]
    pub(super) fn get_mut(&mut self, slot: u32) -> Option<&mut Held<T, O>> {
        match self.slots.get_mut(slot as usize) {
            Some(Slot::Held(held)) => Some(held),
            Some(Slot::Free { .. }) | None => None,
        }
    }

    /// The deadline of the item in this slot, if the node with this sequence is live.
    #[inline]
    pub(super) fn deadline(&self, slot: u32, sequence: u32) -> Option<Tick> {
        self.get(slot).filter(|held| held.sequence == sequence).map(|held| held.deadline)
    }

    /// Puts an item into a free slot and returns the slot.
    ///
    /// # Panics
    ///
    /// Beyond 2^32 - 1 delayed items, which take more than 200 GB.
    #[inline]
    pub(super) fn insert(&mut self, held: Held<T, O>) -> u32 {
        let slot = self.first_free;
        if let Some(free) = self.slots.get_mut(slot as usize) {
            if let Slot::Free { next } = std::mem::replace(free, Slot::Held(held)) {
                self.first_free = next;
            }
            return slot;
        }
        let slot = index(self.slots.len());
        self.slots.push(Slot::Held(held));
        slot
    }

    /// Removes an item from its slot.
    #[inline]
    pub(super) fn take(&mut self, slot: u32) -> Option<Held<T, O>> {
        let place = self.slots.get_mut(slot as usize)?;
        match std::mem::replace(place, Slot::Free { next: self.first_free }) {
            Slot::Held(held) => {
                self.first_free = slot;
                Some(held)
            }
            Slot::Free { next } => {
                *place = Slot::Free { next };
                None
            }
        }
    }

    /// The free slots, in the order of the list.
    #[cfg(test)]
    pub(super) fn free(&self) -> impl Iterator<Item = u32> {
        let next = |slot: u32| match self.slots.get(slot as usize) {
            Some(Slot::Free { next }) => Some(*next),
            Some(Slot::Held(_)) => panic!("the free list names a held slot"),
            None => None,
        };
        std::iter::successors(Some(self.first_free), move |slot| next(*slot))
            .filter(|slot| *slot != NONE)
    }
}

/// A position as it is stored.
///
/// # Panics
///
/// Beyond 2^32 - 2, the last position.
#[inline]
pub(super) fn index(position: usize) -> u32 {
    match u32::try_from(position) {
        Ok(index) if index < NONE => index,
        _ => panic!("a delaying queue holds at most {} waiting items", NONE),
    }
}
