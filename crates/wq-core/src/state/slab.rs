//! Slab: the items of a queue, each in a slot with its hash, phase and generation. Free slots are linked through
//! themselves.

use crate::hasher::ItemHash;
use crate::snapshot::Phase;

/// The end of the free list, and one more than the highest index a slot can have.
const NIL: u32 = u32::MAX;

/// Phase and generation in one word, and of an item that is to run again whether all who asked for that may take it back.
/// The generation is that of the hand-out in force; of a queued item it means nothing.
#[derive(Clone, Copy)]
pub(super) struct Meta(u32);

/// Generations count hand-outs of the whole queue and wrap at 2^30: a guard forgotten for that many hand-outs could be
/// taken for a live one, and so could one whose item has moved, of the item that is in its old slot then.
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

    /// To run again, for adds alone that may be taken back.
    pub(super) const fn revocably_dirty(self) -> Self {
        Self(self.0 | 0b11)
    }

    #[inline]
    pub(super) const fn is_revocably_dirty(self) -> bool {
        self.0 & 0b11 == 0b11
    }

    /// The phase, if this is the generation: nearly always found by the first comparison.
    #[inline(always)]
    pub(super) const fn phase_in(self, generation: u32) -> Option<Phase> {
        match self.0 ^ (generation << Self::PHASE_BITS) {
            1 => Some(Phase::Processing),
            0 => Some(Phase::Queued),
            2 | 3 => Some(Phase::ProcessingDirty),
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

/// One place of the slab: 16 bytes for a `u64` under `Fifo`, the hash being never zero.
pub(super) enum Slot<T, O> {
    /// The index of the next free slot, or `NIL`.
    Free(u32),
    Held {
        item: T,
        /// What the adds made while the item was processing have asked for; default in the other phases.
        order: O,
        hash: ItemHash,
        meta: Meta,
    },
}

pub(super) struct Slab<T, O> {
    slots: Vec<Slot<T, O>>,
    first_free: u32,
    /// Slots from here on are not linked when they become free, so that the end of the slab empties and can be given
    /// back; `NIL` when the slab is as small as it should be.
    retire_from: u32,
    /// How many free slots are not linked.
    retired: usize,
}

/// What is in the way of giving back, and where it can go.
pub(super) struct Move {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) hash: ItemHash,
    pub(super) is_queued: bool,
}

/// Where free slots go.
pub(super) struct Freed<'a> {
    first_free: &'a mut u32,
    retire_from: u32,
    retired: &'a mut usize,
}

impl Freed<'_> {
    /// Frees the slot, which has this index, and hands out what was in it, so that it can be dropped elsewhere.
    #[inline(always)]
    pub(super) fn take<T, O>(&mut self, slot: &mut Slot<T, O>, index: u32) -> Option<T> {
        match std::mem::replace(slot, Slot::Free(*self.first_free)) {
            Slot::Held { item, .. } => {
                if index < self.retire_from {
                    *self.first_free = index;
                } else {
                    *self.retired += 1;
                }
                Some(item)
            }
            Slot::Free(next) => {
                *slot = Slot::Free(next);
                None
            }
        }
    }
}

impl<T, O> Slab<T, O> {
    pub(super) const fn new() -> Self {
        Self { slots: Vec::new(), first_free: NIL, retire_from: NIL, retired: 0 }
    }

    /// The index that the next `insert` will use.
    ///
    /// # Panics
    ///
    /// When 2^32 - 1 items are held at once.
    #[inline(always)]
    pub(super) fn next_index(&mut self) -> u32 {
        if (self.first_free as usize) < self.slots.len() { self.first_free } else { self.fresh_index() }
    }

    /// Of a slot that was retired, or is yet to be.
    #[inline]
    fn fresh_index(&mut self) -> u32 {
        if self.retired > 0 {
            self.call_back();
            if self.first_free != NIL {
                return self.first_free;
            }
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

    /// Frees a held slot and hands out what was in it, so that it can be dropped elsewhere.
    #[inline(always)]
    pub(super) fn free(&mut self, index: u32) -> Option<T> {
        let slot = self.slots.get_mut(index as usize)?;
        let mut freed = Freed {
            first_free: &mut self.first_free,
            retire_from: self.retire_from,
            retired: &mut self.retired,
        };
        freed.take(slot, index)
    }

    /// A slot with the place for free ones: for one who looks at it, and then frees it.
    #[inline(always)]
    pub(super) fn with_place(&mut self, index: u32) -> Option<(&mut Slot<T, O>, Freed<'_>)> {
        let Self { slots, first_free, retire_from, retired } = self;
        let slot = slots.get_mut(index as usize)?;
        Some((slot, Freed { first_free, retire_from: *retire_from, retired }))
    }

    /// Whether the slot is to be given back, and another is free to take its item.
    #[inline]
    pub(super) const fn is_retired(&self, index: u32) -> bool {
        index >= self.retire_from && self.first_free != NIL
    }

    /// Moves the item of a retired slot to a free one that is in use, and says to which.
    pub(super) fn move_down(&mut self, from: u32) -> u32 {
        let to = self.first_free;
        let Some(&Slot::Free(next)) = self.get(to) else { return from };
        let Some(slot) = self.get_mut(from) else { return from };
        let held = std::mem::replace(slot, Slot::Free(NIL));
        if let Some(slot) = self.get_mut(to) {
            *slot = held;
        }
        self.first_free = next;
        self.retired += 1;
        to
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

    /// What was asked of the item in this slot while it was processing, if anything was.
    pub(super) fn order_of_again(&self, index: u32) -> Option<&O> {
        match self.get(index)? {
            Slot::Held { order, meta, .. } if meta.phase() == Phase::ProcessingDirty => Some(order),
            _ => None,
        }
    }

    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Retires all but `enough` slots, if these are less than half of those in use: the high ones are used no more once they are
    /// free, unless the low ones run out, so that the end empties. `held` slots are held. Takes time in proportion to `enough`.
    pub(super) fn retire(&mut self, held: usize, enough: usize) {
        let limit = self.slots.len().min(self.retire_from as usize);
        if limit / 2 > enough {
            self.retire_from = u32::try_from(enough).unwrap_or(NIL);
            self.first_free = NIL;
            self.retired = self.slots.len() - held - self.link(0, enough);
        }
    }

    /// What is held in retired slots, the highest first, and where each can move, as long as there is room; up to so many that
    /// are queued.
    pub(super) fn moves(&self, most_queued: usize) -> Vec<Move> {
        let (mut moves, mut queued, mut to) = (Vec::new(), 0, self.first_free);
        for from in (self.retire_from as usize..self.slots.len()).rev() {
            let Some(Slot::Free(next)) = self.get(to).filter(|_| queued < most_queued) else { break };
            if let Some(Slot::Held { hash, meta, .. }) = self.slots.get(from) {
                let is_queued = meta.phase() == Phase::Queued;
                queued += usize::from(is_queued);
                moves.push(Move { from: u32::try_from(from).unwrap_or(NIL), to, hash: *hash, is_queued });
                to = *next;
            }
        }
        moves
    }

    /// Gives back the free slots at the end, in time proportional to them.
    pub(super) fn give_back_the_end(&mut self) {
        while self.slots.len() > self.retire_from as usize && matches!(self.slots.last(), Some(Slot::Free(_)))
        {
            self.slots.pop();
            self.retired -= 1;
        }
        if self.slots.len() <= self.retire_from as usize {
            self.retire_from = NIL;
        }
        if self.slots.capacity() / 2 > self.slots.len() {
            self.slots.shrink_to_fit();
        }
    }

    /// Takes as many retired slots into use again as there are in use.
    #[cold]
    fn call_back(&mut self) {
        while self.first_free == NIL && self.retired > 0 {
            let from = self.retire_from as usize;
            let to = from.saturating_mul(2).max(1).min(self.slots.len());
            self.retired -= self.link(from, to);
            self.retire_from = if to == self.slots.len() { NIL } else { u32::try_from(to).unwrap_or(NIL) };
        }
    }

    /// Links the free slots of a range so that the lowest are used first, before those that are linked; says how many.
    fn link(&mut self, from: usize, to: usize) -> usize {
        let mut linked = 0;
        for place in (from..to).rev() {
            if let Some(Slot::Free(next)) = self.slots.get_mut(place) {
                *next = self.first_free;
                self.first_free = u32::try_from(place).unwrap_or(NIL);
                linked += 1;
            }
        }
        linked
    }

    /// Every free slot is linked once, or retired and high.
    #[cfg(test)]
    pub(super) fn check(&self) {
        let free = (0..NIL).zip(&self.slots).filter(|(_, slot)| matches!(slot, Slot::Free(_)));
        let (mut unlinked, mut next) =
            (free.map(|(index, _)| index).collect::<std::collections::BTreeSet<_>>(), self.first_free);
        while let Some(Slot::Free(after)) = self.get(next) {
            assert!(unlinked.remove(&next), "{next} is linked twice");
            next = *after;
        }
        assert_eq!((next, unlinked.len()), (NIL, self.retired));
        assert!(unlinked.iter().all(|index| *index >= self.retire_from));
    }
}
