//! Occupancy: when a heap that had a peak releases memory by itself.

/// This many items pass a nearly empty heap before it releases memory.
const PASSAGES: usize = 1024;

/// Counts the items that arrive at a nearly empty heap and then leave. A burst that only arrives,
/// or only leaves, counts nothing: a heap that fills and empties in turn keeps its memory.
#[derive(Debug, Default)]
pub(super) struct Occupancy {
    /// The number of items that arrived while the heap was nearly empty and have not left.
    arrived: usize,
    pub(super) passed: usize,
}

impl Occupancy {
    pub(super) const fn arrive(&mut self, is_nearly_empty: bool) {
        if is_nearly_empty {
            self.arrived += 1;
        } else {
            self.reset();
        }
    }

    /// Returns whether enough items have passed.
    pub(super) fn leave(&mut self, items: usize) -> bool {
        let items = items.min(self.arrived);
        self.arrived -= items;
        self.passed += items;
        items > 0 && self.passed >= PASSAGES
    }

    pub(super) const fn reset(&mut self) {
        (self.arrived, self.passed) = (0, 0);
    }
}
