//! `Order`: the leaves sorted by time, and the deadline that each begins with, for the search.

use crate::tick::Tick;

#[cfg(test)]
mod tests;

/// The earliest leaf comes first. Most changes at either end move no other leaf.
#[derive(Debug)]
pub(super) struct Order<L> {
    begins: Vec<Tick>,
    leaves: Vec<L>,
    /// The number of unused places at the front of both arrays.
    gap: usize,
}

impl<L> Default for Order<L> {
    fn default() -> Self {
        Self { begins: Vec::new(), leaves: Vec::new(), gap: 0 }
    }
}

impl<L: Copy> Order<L> {
    /// Makes room for this many leaves. `None` if memory is short.
    pub(super) fn try_make_room(&mut self, leaves: usize) -> Option<()> {
        let more = leaves.saturating_sub(self.begins.len());
        self.begins.try_reserve_exact(more).ok()?;
        self.leaves.try_reserve_exact(more).ok()
    }

    /// How many leaves begin at this deadline or before.
    #[inline]
    pub(super) fn until(&self, deadline: Tick) -> usize {
        let begins = self.begins();
        if begins.last().is_none_or(|last| *last <= deadline) {
            return begins.len(); // Deadlines that rise, and equal ones, end here.
        }
        begins.partition_point(|begin| *begin <= deadline)
    }

    /// Asserts what holds after every operation.
    #[cfg(test)]
    pub(super) fn check(&self) {
        let begins = self.begins();
        assert!(begins.is_sorted() && begins.len() == self.leaves().len());
        let near = |Tick(begin): &Tick| [begin.saturating_sub(1), *begin, begin.saturating_add(1)];
        for deadline in begins.iter().flat_map(near).chain([0, u64::MAX]).map(Tick) {
            let expected = begins.iter().filter(|begin| **begin <= deadline).count();
            assert_eq!(self.until(deadline), expected);
        }
    }

    #[inline]
    pub(super) fn begins(&self) -> &[Tick] {
        &self.begins[self.gap..]
    }

    #[inline]
    pub(super) fn leaves(&self) -> &[L] {
        &self.leaves[self.gap..]
    }

    #[inline]
    pub(super) fn leaves_mut(&mut self) -> &mut [L] {
        &mut self.leaves[self.gap..]
    }

    /// Inserts a leaf before all others.
    pub(super) fn put_first(&mut self, begin: Tick, leaf: L) {
        if self.gap == 0 {
            // One move of all leaves makes room for many earlier ones.
            let spare = self.begins.capacity().min(self.leaves.capacity()) - self.begins.len();
            self.gap = (self.begins.len() / 8).min(spare).max(1);
            self.begins.splice(..0, std::iter::repeat_n(begin, self.gap));
            self.leaves.splice(..0, std::iter::repeat_n(leaf, self.gap));
        }
        self.gap -= 1;
        (self.begins[self.gap], self.leaves[self.gap]) = (begin, leaf);
    }

    /// Inserts leaves at this position.
    pub(super) fn insert(&mut self, at: usize, leaves: &[(Tick, L)]) {
        if self.begins.len() + leaves.len() > self.begins.capacity().min(self.leaves.capacity()) {
            self.close_gap();
        }
        let at = self.gap + at;
        self.begins.splice(at..at, leaves.iter().map(|(begin, _)| *begin));
        self.leaves.splice(at..at, leaves.iter().map(|(_, leaf)| *leaf));
    }

    /// Removes the leaf at this position.
    pub(super) fn remove(&mut self, at: usize) -> L {
        if at > 0 {
            self.begins.remove(self.gap + at);
            return self.leaves.remove(self.gap + at);
        }
        let first = self.leaves[self.gap];
        self.gap += 1;
        if self.gap > self.begins.len() / 2 {
            self.close_gap();
        }
        first
    }

    /// Removes all leaves and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.begins.clear();
        self.leaves.clear();
        self.gap = 0;
    }

    fn close_gap(&mut self) {
        self.begins.drain(..self.gap);
        self.leaves.drain(..self.gap);
        self.gap = 0;
    }
}
