//! `Remembered`: how much a limiter holds, and what it has let go by itself.

/// What a limiter's store of items holds, and how many it has dropped without being told to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Remembered {
    /// Items remembered.
    pub items: usize,
    /// Items forgotten because nobody asked about them for the idle time.
    pub expired: u64,
    /// Items forgotten before that because there were too many, which a limiter may find from more than half of its bound on. Above
    /// zero, a failing item may have begun its back-off anew: raise the bound.
    pub evicted: u64,
}

impl Remembered {
    /// Of two stores together.
    #[must_use]
    pub(crate) const fn and(self, other: Self) -> Self {
        Self {
            items: self.items.saturating_add(other.items),
            expired: self.expired.saturating_add(other.expired),
            evicted: self.evicted.saturating_add(other.evicted),
        }
    }
}
