//! The bounds of a size, and saturating arithmetic on them.

/// The least and the greatest size of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) min: u64,
    pub(super) max: u64,
}

pub(super) const UNKNOWN: Size = Size { min: 0, max: u64::MAX };

impl Size {
    pub(super) const fn exactly(size: u64) -> Self {
        Self { min: size, max: size }
    }

    pub(super) const fn plus(self, other: Self) -> Self {
        Self { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    pub(super) const fn times(self, other: Self) -> Self {
        Self { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    pub(super) fn or(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// The greatest cost of reading a text of this size.
    pub(super) fn traversal(self) -> u64 {
        factor(self.max, 0.1)
    }
}

/// A cost times a factor, rounded up.
pub(super) fn factor(cost: u64, by: f64) -> u64 {
    let product = (cost as f64 * by).ceil();
    if product >= 18_446_744_073_709_551_616.0 { u64::MAX } else { product as u64 }
}

/// The size of a text in which parts were replaced.
pub(super) fn replaced(text: Size, old: Size, new: Size) -> Size {
    let (count, kept) = if old.min == 0 {
        (text.max.saturating_add(1), text.max)
    } else if new.max <= old.min {
        (0, text.max)
    } else {
        (text.max.div_ceil(old.min), 0)
    };
    Size { min: 0, max: count.saturating_mul(new.max).saturating_add(kept) }
}
