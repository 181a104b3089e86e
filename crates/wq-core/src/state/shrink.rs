//! Shrink: memory that is not in use is given back: at an add to an empty queue after a while of low occupancy, or when asked for.

use super::State;
use crate::backlog::Backlog;

impl<T, B: Backlog> State<T, B> {
    /// Gives back the free slots at the end, and what is not in use of everything else.
    #[cold]
    #[inline(never)]
    pub(crate) fn shrink(&mut self) {
        self.occupancy.begin();
        self.slab.shrink();
        // Half of it is left free: who shrinks often does not move it often.
        self.table.shrink_to(2 * self.table.len(), self.slab.hashes());
        self.stamps.shrink(self.slab.slots());
        self.backlog.shrink();
    }
}
