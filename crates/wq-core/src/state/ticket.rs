//! Ticket: the name of a hand-out.

use crate::hasher::ItemHash;

/// Identifies a hand-out. `done` hashes and compares nothing, and searches the table before it
/// reads the slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    /// The slot in the lower half, the generation in the upper. Two words fit in registers, three
    /// do not.
    place: u64,
    pub(super) hash: ItemHash,
}

impl Ticket {
    #[inline]
    pub(super) fn new(slot: u32, generation: u32, hash: ItemHash) -> Self {
        Self { place: u64::from(generation) << 32 | u64::from(slot), hash }
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
    pub(super) const fn slot(self) -> u32 {
        self.place as u32
    }

    #[inline]
    pub(super) const fn generation(self) -> u32 {
        (self.place >> 32) as u32
    }
}
