//! Occupancy: when memory that is kept for reuse is to be given back.

/// Below this number of slots nothing is given back by itself.
const SHRINK_FROM: usize = 1024;

/// Counts since memory was last looked at.
#[derive(Debug, Default)]
pub(super) struct Occupancy {
    /// The most items held at once.
    peak: usize,
    /// The items that have left.
    left: usize,
}

impl Occupancy {
    #[inline]
    pub(super) fn entered(&mut self, held: usize) {
        self.peak = self.peak.max(held);
    }

    /// An item has left. Whether to give memory back: when, for as many departures as a quarter of the slots, less than
    /// an eighth of the slots was used.
    #[inline]
    pub(super) fn left(&mut self, held: usize, slots: usize) -> bool {
        self.left += 1;
        if self.left < SHRINK_FROM || self.left < slots / 4 {
            return false;
        }
        let is_low = slots >= SHRINK_FROM && self.peak < slots / 8;
        self.begin(held);
        is_low
    }

    pub(super) fn begin(&mut self, held: usize) {
        *self = Self { peak: held, left: 0 };
    }

    /// How many slots are enough for so many items.
    pub(super) fn enough(held: usize) -> usize {
        held.saturating_mul(2).max(SHRINK_FROM / 16)
    }
}
