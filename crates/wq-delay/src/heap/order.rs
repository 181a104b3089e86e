//! `Order`: the leaves one after the other, and the deadline that each begins with, for the search.

use crate::tick::Tick;

/// The earliest first. Those at both ends are put and taken without moving the others, most of the time.
#[derive(Debug)]
pub(super) struct Order<L> {
    begins: Vec<Tick>,
    leaves: Vec<L>,
    /// So many at the front are gone, or have not come yet.
    gap: usize,
}

impl<L> Default for Order<L> {
    fn default() -> Self {
        Self { begins: Vec::new(), leaves: Vec::new(), gap: 0 }
    }
}

impl<L: Copy> Order<L> {
    /// Makes room for so many, if there is memory.
    pub(super) fn try_make_room(&mut self, leaves: usize) -> Option<()> {
        let more = leaves.saturating_sub(self.begins.len());
        self.begins.try_reserve_exact(more).ok()?;
        self.leaves.try_reserve_exact(more).ok()
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

    /// Puts one before all others.
    pub(super) fn put_first(&mut self, begin: Tick, leaf: L) {
        if self.gap == 0 {
            // Room for others that come before it: all are moved once for so many.
            let spare = self.begins.capacity().min(self.leaves.capacity()) - self.begins.len();
            self.gap = (self.begins.len() / 8).min(spare).max(1);
            self.begins.splice(..0, std::iter::repeat_n(begin, self.gap));
            self.leaves.splice(..0, std::iter::repeat_n(leaf, self.gap));
        }
        self.gap -= 1;
        (self.begins[self.gap], self.leaves[self.gap]) = (begin, leaf);
    }

    /// Puts others behind the first so many.
    pub(super) fn insert(&mut self, at: usize, leaves: &[(Tick, L)]) {
        if self.begins.len() + leaves.len() > self.begins.capacity().min(self.leaves.capacity()) {
            self.close_gap();
        }
        let at = self.gap + at;
        self.begins.splice(at..at, leaves.iter().map(|(begin, _)| *begin));
        self.leaves.splice(at..at, leaves.iter().map(|(_, leaf)| *leaf));
    }

    /// Takes out the one that so many are before.
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

    /// The memory is kept.
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
