//! Chains: doubly linked lists whose links lie in their members, and these in a slice. Each step takes constant time. Pure.

use crate::steps::step;

/// No member.
pub(crate) const NIL: u32 = u32::MAX;

/// The neighbours of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    before: u32,
    after: u32,
}

impl Link {
    pub(crate) const NONE: Self = Self { before: NIL, after: NIL };

    /// Members have new indices: `to` says which, by the old one.
    pub(crate) fn renumber(&mut self, to: &[u32]) {
        renumber(&mut self.before, to);
        renumber(&mut self.after, to);
    }
}

/// Gives the new index of a member, if there is one. One that is in no chain may have neighbours that are gone.
pub(crate) fn renumber(index: &mut u32, to: &[u32]) {
    step();
    *index = to.get(*index as usize).copied().unwrap_or(NIL);
}

/// What can be in a chain, in one at a time.
pub(crate) trait Member {
    fn link(&mut self) -> &mut Link;
}

/// The ends of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chain {
    first: u32,
    last: u32,
}

impl Chain {
    pub(crate) const EMPTY: Self = Self { first: NIL, last: NIL };

    #[inline]
    pub(crate) const fn is_empty(self) -> bool {
        self.first == NIL
    }

    /// `NIL` if it is empty, as the last.
    #[inline]
    pub(crate) const fn first(self) -> u32 {
        self.first
    }

    /// Puts a member that is in no chain at the end.
    #[inline]
    pub(crate) fn push_back<M: Member>(&mut self, members: &mut [M], index: u32) {
        step();
        *members[index as usize].link() = Link { before: self.last, after: NIL };
        match self.last {
            NIL => self.first = index,
            last => members[last as usize].link().after = index,
        }
        self.last = index;
    }

    /// Puts a member that is in no chain before one of this chain.
    pub(crate) fn insert_before<M: Member>(&mut self, members: &mut [M], index: u32, other: u32) {
        step();
        let before = std::mem::replace(&mut members[other as usize].link().before, index);
        *members[index as usize].link() = Link { before, after: other };
        match before {
            NIL => self.first = index,
            before => members[before as usize].link().after = index,
        }
    }

    /// Takes out a member of this chain.
    #[inline]
    pub(crate) fn remove<M: Member>(&mut self, members: &mut [M], index: u32) {
        step();
        let Link { before, after } = *members[index as usize].link();
        match before {
            NIL => self.first = after,
            before => members[before as usize].link().after = after,
        }
        match after {
            NIL => self.last = before,
            after => members[after as usize].link().before = before,
        }
    }

    #[inline]
    pub(crate) fn move_to_back<M: Member>(&mut self, members: &mut [M], index: u32) {
        if self.last != index {
            self.remove(members, index);
            self.push_back(members, index);
        }
    }

    pub(crate) fn renumber(&mut self, to: &[u32]) {
        renumber(&mut self.first, to);
        renumber(&mut self.last, to);
    }
}
