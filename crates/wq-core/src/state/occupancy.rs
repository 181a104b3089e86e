//! Occupancy: when memory that is kept for reuse is to be given back.

/// Below this number of slots nothing is given back by itself.
const FEW_SLOTS: usize = 1024;

/// So many items come and go, at low occupancy, before memory is given back.
const PASSAGES: usize = 1024;

/// Counts items that come and then others that go, while less than an eighth of the slots is in use. A burst that only
/// comes counts nothing, nor does one that only goes: memory that burst after burst needs is kept.
#[derive(Debug, Default)]
pub(super) struct Occupancy {
    /// Items that came at low occupancy, and for which none has gone yet.
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

    /// Whether so many have passed that memory is to be given back.
    #[inline]
    pub(super) const fn is_low(&self) -> bool {
        self.passed >= PASSAGES
    }

    pub(super) const fn begin(&mut self) {
        *self = Self { came: 0, passed: 0 };
    }
}
