//! `Pool`: values with a stable index. The index of a freed value is reused. Pure.

use crate::list::NIL;

#[derive(Clone, Debug)]
pub(crate) struct Pool<M> {
    /// A freed value stays until its index is reused.
    members: Vec<M>,
    free: Vec<u32>,
}

impl<M> Pool<M> {
    pub(crate) const fn new() -> Self {
        Self { members: Vec::new(), free: Vec::new() }
    }

    pub(crate) fn insert(&mut self, member: M) -> u32 {
        if let Some(index) = self.free.pop() {
            self.members[index as usize] = member;
            return index;
        }
        self.members.push(member);
        u32::try_from(self.members.len() - 1).unwrap_or(NIL) // There are fewer than items.
    }

    /// Returns a freed value as it was left, for a new use.
    pub(crate) fn reuse(&mut self) -> Option<u32> {
        self.free.pop()
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

    /// All values, the freed ones among them.
    #[inline]
    pub(crate) fn members(&mut self) -> &mut [M] {
        &mut self.members
    }
}
