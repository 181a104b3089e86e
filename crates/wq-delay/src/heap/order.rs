//! `Order`: the leaves one after the other, and the deadline that each begins with, for the search.

use std::ops::Range;

use super::guide::Guide;
use crate::tick::Tick;

#[cfg(test)]
mod tests;

/// So many begins are compared without a jump between them.
const WINDOW: usize = if cfg!(test) { 2 } else { 8 };

/// The earliest first. Those at both ends are put and taken without moving the others, most of the time.
#[derive(Debug)]
pub(super) struct Order<L> {
    begins: Vec<Tick>,
    leaves: Vec<L>,
    /// So many at the front are gone, or have not come yet.
    gap: usize,
    guide: Guide,
}

impl<L> Default for Order<L> {
    fn default() -> Self {
        Self { begins: Vec::new(), leaves: Vec::new(), gap: 0, guide: Guide::default() }
    }
}

impl<L: Copy> Order<L> {
    /// Makes room for so many, if there is memory.
    pub(super) fn try_make_room(&mut self, leaves: usize) -> Option<()> {
        let more = leaves.saturating_sub(self.begins.len());
        self.begins.try_reserve_exact(more).ok()?;
        self.leaves.try_reserve_exact(more).ok()?;
        self.guide.try_make_room(&self.begins[self.gap..])
    }

    /// How many begin at this time or before.
    #[inline]
    pub(super) fn until(&self, deadline: Tick) -> usize {
        let begins = self.begins();
        if begins.last().is_none_or(|last| *last <= deadline) {
            return begins.len(); // As where deadlines only rise, or are all the same.
        }
        let guess = self.guess(deadline);
        if let Some(window) = begins.get(guess.start..).and_then(<[Tick]>::first_chunk::<WINDOW>)
            && deadline < window[WINDOW - 1]
        {
            let passed: usize = window.iter().map(|begin| usize::from(*begin <= deadline)).sum();
            return guess.start + passed;
        }
        self.search(guess, deadline)
    }

    #[inline(never)]
    fn search(&self, guess: Range<usize>, deadline: Tick) -> usize {
        guess.start + self.begins()[guess].partition_point(|begin| *begin <= deadline)
    }

    /// So many begin at this time or before: at least, and at most.
    #[inline]
    pub(super) fn guess(&self, deadline: Tick) -> Range<usize> {
        self.guide.range(deadline).unwrap_or_else(|| 0..self.begins().len())
    }

    /// What must hold after every operation.
    #[cfg(test)]
    pub(super) fn check(&self) {
        let begins = self.begins();
        assert!(begins.is_sorted() && begins.len() == self.leaves().len());
        self.guide.check(begins);
        let near = |Tick(begin): &Tick| [begin.saturating_sub(1), *begin, begin.saturating_add(1)];
        for deadline in begins.iter().flat_map(near).chain([0, u64::MAX]).map(Tick) {
            assert_eq!(self.until(deadline), begins.partition_point(|begin| *begin <= deadline));
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
        self.guide.put(begin);
        self.guide.renew(&self.begins[self.gap..]);
    }

    /// Puts others behind the first so many.
    pub(super) fn insert(&mut self, at: usize, leaves: &[(Tick, L)]) {
        if self.begins.len() + leaves.len() > self.begins.capacity().min(self.leaves.capacity()) {
            self.close_gap();
        }
        let at = self.gap + at;
        self.begins.splice(at..at, leaves.iter().map(|(begin, _)| *begin));
        self.leaves.splice(at..at, leaves.iter().map(|(_, leaf)| *leaf));
        leaves.iter().for_each(|(begin, _)| self.guide.put(*begin));
        self.guide.renew(&self.begins[self.gap..]);
    }

    /// Takes out the one that so many are before.
    pub(super) fn remove(&mut self, at: usize) -> L {
        self.guide.take(self.begins[self.gap + at]);
        let leaf = if at > 0 {
            self.begins.remove(self.gap + at);
            self.leaves.remove(self.gap + at)
        } else {
            let first = self.leaves[self.gap];
            self.gap += 1;
            if self.gap > self.begins.len() / 2 {
                self.close_gap();
            }
            first
        };
        self.guide.renew(&self.begins[self.gap..]);
        leaf
    }

    /// The memory is kept.
    pub(super) fn clear(&mut self) {
        self.begins.clear();
        self.leaves.clear();
        self.guide.clear();
        self.gap = 0;
    }

    fn close_gap(&mut self) {
        self.begins.drain(..self.gap);
        self.leaves.drain(..self.gap);
        self.gap = 0;
    }
}
