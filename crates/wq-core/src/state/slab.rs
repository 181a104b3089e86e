//! Slab: the items of a queue, each in a slot with its hash, phase and generation.
//!
//! Free slots form a linked list.

use crate::hasher::ItemHash;
use crate::snapshot::Phase;

/// The end of the free list. Also one more than the highest index of a slot.
const NIL: u32 = u32::MAX;

/// Phase and generation in one word. The generation is that of the hand-out in force; of a queued
/// item it means nothing.
#[derive(Clone, Copy)]
pub(super) struct Meta(u32);

/// Generations count the hand-outs of the whole queue and wrap at 2^30. A guard forgotten for
/// exactly that many hand-outs could pass for a live one.
const GENERATIONS: u32 = 1 << 30;

impl Meta {
    const PHASE_BITS: u32 = 2;

    #[inline]
    pub(super) const fn new(phase: Phase, generation: u32) -> Self {
        let phase = match phase {
            Phase::Queued => 0,
            Phase::Processing => 1,
            Phase::ProcessingDirty => 2,
        };
        Self(generation << Self::PHASE_BITS | phase)
    }

    #[inline]
    pub(super) const fn phase(self) -> Phase {
        match self.0 & 0b11 {
            0 => Phase::Queued,
            1 => Phase::Processing,
            _ => Phase::ProcessingDirty,
        }
    }

    /// The phase, if this is the generation: nearly always found by the first comparison.
    #[inline(always)]
    pub(super) const fn phase_in(self, generation: u32) -> Option<Phase> {
        match self.0 ^ (generation << Self::PHASE_BITS) {
            1 => Some(Phase::Processing),
            0 => Some(Phase::Queued),
            2 => Some(Phase::ProcessingDirty),
            _ => None,
        }
    }

    #[inline]
    pub(super) const fn generation(self) -> u32 {
        self.0 >> Self::PHASE_BITS
    }

    #[inline]
    pub(super) const fn with_phase(self, phase: Phase) -> Self {
        Self::new(phase, self.generation())
    }

    #[inline]
    pub(super) const fn next_generation(generation: u32) -> u32 {
        (generation + 1) % GENERATIONS
    }
}

/// One place of the slab: 16 bytes for a `u64` under `Fifo`, because the hash is never zero.
pub(super) enum Slot<T, O> {
    /// The index of the next free slot, or `NIL`.
    Free(u32),
    Held {
        item: T,
        /// The order of the adds made while the item is processed. Default in the other phases.
        order: O,
        hash: ItemHash,
        meta: Meta,
    },
}

pub(super) struct Slab<T, O> {
    slots: Vec<Slot<T, O>>,
    first_free: u32,
    /// Whether free slots of the upper half may be missing in the list.
    unlinked: bool,
}

/// Frees the slot with this index. Returns its item, so that the caller can drop it elsewhere.
#[inline(always)]
pub(super) fn free<T, O>(slot: &mut Slot<T, O>, first_free: &mut u32, index: u32) -> Option<T> {
    match std::mem::replace(slot, Slot::Free(*first_free)) {
        Slot::Held { item, .. } => {
            *first_free = index;
            Some(item)
        }
        Slot::Free(next) => {
            *slot = Slot::Free(next);
            None
        }
    }
}

impl<T, O> Slab<T, O> {
    pub(super) const fn new() -> Self {
        Self { slots: Vec::new(), first_free: NIL, unlinked: false }
    }

    /// Releases the free slots at the end.
    pub(super) fn truncate(&mut self) {
        let last = self.slots.iter().rposition(|slot| matches!(slot, Slot::Held { .. }));
        self.slots.truncate(last.map_or(0, |last| last + 1));
        self.slots.shrink_to_fit();
        self.link_free();
    }

    /// Takes free slots of the upper half from the front of the list, so that items leave the end.
    pub(super) fn use_lower_half(&mut self) {
        while self.first_free as usize >= self.slots.len() / 2
            && let Some(Slot::Free(next)) = self.get(self.first_free)
        {
            self.first_free = *next;
            self.unlinked = true;
        }
    }

    /// Links all free slots, the lowest first.
    fn link_free(&mut self) {
        (self.first_free, self.unlinked) = (NIL, false);
        for index in (0..self.slots.len()).rev() {
            if let Some(Slot::Free(next)) = self.slots.get_mut(index) {
                *next = std::mem::replace(&mut self.first_free, index as u32);
            }
        }
    }

    /// The index that the next `insert` uses.
    ///
    /// # Panics
    ///
    /// If 2^32 - 1 items are held at once.
    #[inline(always)]
    pub(super) fn next_index(&mut self) -> u32 {
        if self.first_free == NIL { self.fresh_index() } else { self.first_free }
    }

    #[inline]
    fn fresh_index(&mut self) -> u32 {
        if self.unlinked {
            self.link_free();
            return self.next_index();
        }
        let index = u32::try_from(self.slots.len()).unwrap_or(NIL);
        assert!(index != NIL, "a queue holds at most 2^32 - 1 items at once");
        index
    }

    /// Fills the slot that `next_index` named.
    #[inline(always)]
    pub(super) fn insert(&mut self, held: Slot<T, O>) {
        if let Some(slot) = self.slots.get_mut(self.first_free as usize) {
            if let Slot::Free(next) = *slot {
                self.first_free = next;
            }
            *slot = held;
        } else {
            self.slots.push(held);
        }
    }

    #[inline]
    pub(super) fn get(&self, index: u32) -> Option<&Slot<T, O>> {
        self.slots.get(index as usize)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut Slot<T, O>> {
        self.slots.get_mut(index as usize)
    }

    /// The slot of a queued item.
    #[inline(always)]
    pub(super) fn get_queued(&mut self, index: u32) -> Option<&mut Slot<T, O>> {
        self.get_mut(index)
            .filter(|slot| matches!(slot, Slot::Held { meta, .. } if meta.phase() == Phase::Queued))
    }

    /// Frees a held slot. Returns its item, so that the caller can drop it elsewhere.
    #[inline(always)]
    pub(super) fn free(&mut self, index: u32) -> Option<T> {
        let (slot, first_free) = self.with_free_list(index)?;
        free(slot, first_free, index)
    }

    /// A slot and the head of the free list, for a caller that reads the slot and then frees it.
    #[inline(always)]
    pub(super) fn with_free_list(&mut self, index: u32) -> Option<(&mut Slot<T, O>, &mut u32)> {
        let slot = self.slots.get_mut(index as usize)?;
        Some((slot, &mut self.first_free))
    }

    /// Held slots, by index.
    pub(super) fn held(&self) -> impl Iterator<Item = (u32, &T, ItemHash, Meta)> {
        (0..NIL).zip(&self.slots).filter_map(|(index, slot)| match slot {
            Slot::Held { item, hash, meta, .. } => Some((index, item, *hash, *meta)),
            Slot::Free(_) => None,
        })
    }

    /// The hashes of the held slots, by index.
    pub(super) fn hashes(&self) -> impl Iterator<Item = (ItemHash, u32)> {
        self.held().map(|(index, _, hash, _)| (hash, index))
    }

    /// The order of the adds made while the item is processed, if it will run again.
    pub(super) fn order_of_again(&self, index: u32) -> Option<&O> {
        match self.get(index)? {
            Slot::Held { order, meta, .. } if meta.phase() == Phase::ProcessingDirty => Some(order),
            _ => None,
        }
    }

    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Every free slot is linked once, but those of the upper half that may be missing.
    #[cfg(test)]
    pub(super) fn check(&self) {
        let free = self.slots.iter().filter(|slot| matches!(slot, Slot::Free(_))).count();
        let (mut linked, mut next) = (std::collections::BTreeSet::new(), self.first_free);
        while let Some(Slot::Free(after)) = self.get(next) {
            assert!(linked.insert(next), "{next} is linked twice");
            next = *after;
        }
        assert_eq!(next, NIL);
        assert!(linked.len() == free || self.unlinked);
    }
}
