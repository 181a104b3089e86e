//! `Remembered`: the number of items that a limiter remembers, and has dropped by itself.

/// The number of items that a limiter remembers, and has dropped by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Remembered {
    /// Items remembered.
    pub items: usize,
    /// Items forgotten because they were unused for the idle time.
    pub expired: u64,
    /// Items forgotten earlier, because more than half of the bound were in use. Above zero, a
    /// failing item may have restarted its back-off: raise the bound.
    pub evicted: u64,
}

impl Remembered {
    #[must_use]
    pub(crate) const fn and(self, other: Self) -> Self {
        Self {
            items: self.items.saturating_add(other.items),
            expired: self.expired.saturating_add(other.expired),
            evicted: self.evicted.saturating_add(other.evicted),
        }
    }
}

/// The stores of a queue: [`RateLimitingQueue::remembered`](crate::RateLimitingQueue::remembered).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stores {
    /// The limiter's record of failed items.
    pub failures: Remembered,
    /// The items that back off, or did recently. The queue forgets back-offs for age, and when
    /// there are more than 262 144: at least the half that failed last stays known.
    ///
    /// A forgotten item keeps its waiting retry, but its next failure counts even before its time.
    pub backoffs: Remembered,
}
