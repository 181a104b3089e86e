//! Pool: things with an index that others keep. An index is used again after its thing is gone. Pure.

use crate::chain::NIL;

/// Below this number of places nothing is given back.
const FEW: usize = 64;

#[derive(Clone, Debug)]
pub(crate) struct Pool<M> {
    members: Vec<M>,
    /// Indices whose member means nothing.
    free: Vec<u32>,
}

impl<M> Pool<M> {
    pub(crate) const fn new() -> Self {
        Self { members: Vec::new(), free: Vec::new() }
    }

    pub(crate) fn insert(&mut self, member: M) -> u32 {
        match self.free.pop() {
            Some(index) => {
                self.members[index as usize] = member;
                index
            }
            None => {
                self.members.push(member);
                u32::try_from(self.members.len() - 1).unwrap_or(NIL) // There are fewer than items.
            }
        }
    }

    pub(crate) fn free(&mut self, index: u32) {
        self.free.push(index);
    }

    #[inline]
    pub(crate) fn get(&self, index: u32) -> Option<&M> {
        self.members.get(index as usize)
    }

    #[inline]
    pub(crate) fn at(&mut self, index: u32) -> &mut M {
        &mut self.members[index as usize]
    }

    /// All places, also those whose member means nothing.
    #[inline]
    pub(crate) fn members(&mut self) -> &mut [M] {
        &mut self.members
    }

    /// How many there are, also those whose member means nothing.
    pub(crate) fn places(&self) -> usize {
        self.members.len()
    }

    /// Whether most places are free, and not only a few.
    pub(crate) fn is_mostly_free(&self) -> bool {
        let used = self.members.len() - self.free.len();
        self.members.capacity() >= FEW && used <= self.members.capacity() / 4
    }

    /// Gives back memory if most places are free. The members then have new indices: what each old one became, `NIL` for a
    /// free one.
    pub(crate) fn shrink(&mut self) -> Option<Vec<u32>> {
        let used = self.members.len() - self.free.len();
        if !self.is_mostly_free() {
            return None;
        }
        let mut to = vec![0; self.members.len()];
        for index in self.free.drain(..) {
            to[index as usize] = NIL;
        }
        for (next, index) in (0..).zip(to.iter_mut().filter(|index| **index != NIL)) {
            *index = next;
        }
        let mut kept = to.iter().map(|index| *index != NIL);
        self.members.retain(|_| kept.next().unwrap_or_default());
        self.members.shrink_to(2 * used);
        self.free.shrink_to_fit();
        Some(to)
    }
}
