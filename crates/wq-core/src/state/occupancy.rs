//! Occupancy: decides when memory that is kept for reuse is released.

/// Below this number of slots the queue releases nothing by itself.
const FEW_SLOTS: usize = 1024;

/// The number of items that come and go at low occupancy before an empty queue releases memory.
const PASSAGES: usize = 1024;

/// A queue that is not empty also waits for one passage for each of so many slots. It then looks at
/// each slot, so a passage costs it a look at so many.
const SLOTS_A_PASSAGE: usize = 8;

/// Counts items that come and then go, while less than an eighth of the slots is in use.
///
/// A burst counts nothing while it only comes or only goes: the memory of recurring bursts is kept.
#[derive(Debug, Default)]
pub(super) struct Occupancy {
    /// Items that came at low occupancy, minus the items that have gone since.
    came: usize,
    passed: usize,
}

impl Occupancy {
    /// An item has come.
    #[inline]
    pub(super) const fn entered(&mut self, held: usize, slots: usize) {
        if slots < FEW_SLOTS {
            return;
        }
        if held >= slots / 8 {
            self.begin();
        } else {
            self.came += 1;
        }
    }

    /// An item has gone.
    #[inline]
    pub(super) const fn left(&mut self) {
        if self.came > 0 {
            self.came -= 1;
            self.passed += 1;
        }
    }

    /// Whether enough items have passed to release memory, in an empty queue at least.
    #[inline]
    pub(super) const fn is_low(&self) -> bool {
        self.passed >= PASSAGES
    }

    /// Whether enough items have passed to release memory in a queue that is not empty.
    pub(super) const fn is_low_for(&self, slots: usize) -> bool {
        self.passed >= slots / SLOTS_A_PASSAGE
    }

    pub(super) const fn begin(&mut self) {
        *self = Self { came: 0, passed: 0 };
    }
}
