//! `IntrusiveList`: a doubly linked list whose links lie in its members, and these in a slice. Each
//! operation takes constant time. Pure.

/// The index of no member.
pub(crate) const NIL: u32 = u32::MAX;

/// The neighbours of a member.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    before: u32,
    after: u32,
}

impl Link {
    pub(crate) const NONE: Self = Self { before: NIL, after: NIL };
}

/// A value that can be in one list at a time.
pub(crate) trait Member {
    fn link(&mut self) -> &mut Link;
}

/// The ends of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IntrusiveList {
    first: u32,
    last: u32,
}

impl IntrusiveList {
    pub(crate) const EMPTY: Self = Self { first: NIL, last: NIL };

    #[inline]
    pub(crate) const fn is_empty(self) -> bool {
        self.first == NIL
    }

    /// `NIL` if the list is empty.
    #[inline]
    pub(crate) const fn first(self) -> u32 {
        self.first
    }

    /// Appends a member that is in no list.
    #[inline]
    pub(crate) fn push_back<M: Member>(&mut self, members: &mut [M], index: u32) {
        *members[index as usize].link() = Link { before: self.last, after: NIL };
        match self.last {
            NIL => self.first = index,
            last => members[last as usize].link().after = index,
        }
        self.last = index;
    }

    /// Removes a member of this list.
    #[inline]
    pub(crate) fn remove<M: Member>(&mut self, members: &mut [M], index: u32) {
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
}
