//! Occupancy: when memory that is kept for reuse is to be given back.

/// Below this number of slots nothing is given back by itself; above, after so many departures at the earliest.
const SHRINK_FROM: usize = 1024;

/// What is known since memory was last looked at.
#[derive(Debug)]
pub(super) struct Occupancy {
    /// The most items held at once.
    peak: usize,
    /// So many items leave before the next look.
    until_look: usize,
}

impl Occupancy {
    pub(super) const fn new() -> Self {
        Self { peak: 0, until_look: SHRINK_FROM }
    }

    #[inline]
    pub(super) fn entered(&mut self, held: usize) {
        self.peak = self.peak.max(held);
    }

    /// An item has left. Whether to give memory back: when, for so many departures, less than an eighth of the slots was
    /// used. As many adds as there are slots were made to come to that; so what giving back takes is little for each.
    #[inline]
    pub(super) fn left(&mut self, held: usize, slots: usize) -> bool {
        self.until_look = self.until_look.saturating_sub(1);
        self.until_look == 0 && self.look(held, slots)
    }

    #[cold]
    fn look(&mut self, held: usize, slots: usize) -> bool {
        let is_low = slots >= SHRINK_FROM && self.peak < slots / 8;
        self.begin(held);
        is_low
    }

    pub(super) const fn begin(&mut self, held: usize) {
        *self = Self { peak: held, until_look: SHRINK_FROM };
    }

    /// How many slots are enough for so many items.
    pub(super) fn enough(held: usize) -> usize {
        held.saturating_mul(2).max(SHRINK_FROM / 16)
    }
}
