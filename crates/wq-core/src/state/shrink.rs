//! Shrink: releases unused memory, on request, or at an add to an empty queue after low occupancy.

use super::State;
use crate::backlog::Backlog;

impl<T, B: Backlog> State<T, B> {
    /// Releases the free slots at the end of the slab, and unused memory of all other parts.
    #[cold]
    #[inline(never)]
    pub(crate) fn shrink(&mut self) {
        self.occupancy.begin();
        self.slab.shrink();
        // Leaves half of the table free, so that repeated shrinks seldom move it.
        self.table.shrink_to(2 * self.table.len(), self.slab.hashes());
        self.stamps.shrink(self.slab.slots());
        self.backlog.shrink();
    }
}
