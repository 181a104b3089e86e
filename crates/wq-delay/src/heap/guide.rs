//! `Guide`: between which places of a sorted array another deadline belongs. A search of the whole array is a dozen steps, each
//! of which waits for the one before.
//!
//! The time from the first to the last, or nearly, is cut into equal spans; of each it is known how many deadlines are before it.
//! That is exact after every change: a guide is never wrong. Where most deadlines fall into one span it says little.

use std::ops::Range;

use crate::tick::Tick;

/// Into so many spans the time is cut.
const SPANS: usize = if cfg!(test) { 8 } else { 1024 };
/// Of so many deadlines the last does not matter, and so many changes do not.
const FEW: usize = 16;

/// It is told all changes of the array.
#[derive(Debug, Default)]
pub(super) struct Guide {
    /// Of each span how many deadlines are before it; then how many there are. Empty: there was no memory for it.
    before: Vec<u32>,
    /// Where the second span begins is one span later. What is before that is in the first.
    origin: u64,
    /// A span takes 2 to the power of this, but for the first and the last, which have no end.
    shift: u32,
    /// So often the array has changed since the time was cut.
    changes: usize,
}

impl Guide {
    /// Makes room, if there is memory. From then on it has to be told all changes of the array.
    pub(super) fn try_make_room(&mut self, deadlines: &[Tick]) -> Option<()> {
        if self.before.is_empty() {
            self.before.try_reserve_exact(SPANS + 1).ok()?;
            self.before.resize(SPANS + 1, 0);
            self.cut(deadlines);
        }
        Some(())
    }

    /// How many deadlines are at this time or before: at least, and at most. `None` without memory.
    #[inline]
    pub(super) fn range(&self, deadline: Tick) -> Option<Range<usize>> {
        let span = self.span(deadline);
        match (self.before.get(span), self.before.get(span + 1)) {
            (Some(least), Some(most)) => Some(*least as usize..*most as usize),
            _ => None,
        }
    }

    /// One has come.
    pub(super) fn put(&mut self, deadline: Tick) {
        self.changes += 1;
        self.later(deadline).iter_mut().for_each(|before| *before += 1);
    }

    /// One has gone.
    pub(super) fn take(&mut self, deadline: Tick) {
        self.changes += 1;
        self.later(deadline).iter_mut().for_each(|before| *before -= 1);
    }

    /// All have gone.
    pub(super) fn clear(&mut self) {
        self.before.fill(0);
        self.changes = 0;
    }

    /// Cuts the time anew if the deadlines have changed by a quarter.
    pub(super) fn renew(&mut self, deadlines: &[Tick]) {
        if self.changes > FEW + deadlines.len() / 4 {
            self.cut(deadlines);
        }
    }

    fn cut(&mut self, deadlines: &[Tick]) {
        self.changes = 0;
        let Some(last) = deadlines.len().checked_sub(1) else { return };
        let (first, last, most) = (deadlines[0].0, deadlines[last].0, deadlines[last - last / FEW].0);
        // A few that are far away do not make the spans longer for all.
        let time = (last - first).min((most - first).saturating_mul(2));
        self.origin = first;
        self.shift = (u64::BITS - time.leading_zeros()).saturating_sub(SPANS.ilog2());
        self.before.fill(0);
        for deadline in deadlines {
            let span = self.span(*deadline);
            if let Some(before) = self.before.get_mut(span + 1) {
                *before += 1;
            }
        }
        let mut sum = 0;
        for before in &mut self.before {
            sum += *before;
            *before = sum;
        }
    }

    /// What must hold after every operation.
    #[cfg(test)]
    pub(super) fn check(&self, deadlines: &[Tick]) {
        for (span, before) in self.before.iter().enumerate() {
            let earlier = deadlines.iter().filter(|deadline| self.span(**deadline) < span).count();
            assert_eq!(*before as usize, earlier, "before span {span}");
        }
    }

    /// What is said of the spans that are later than this deadline's.
    fn later(&mut self, deadline: Tick) -> &mut [u32] {
        let span = self.span(deadline);
        self.before.get_mut(span + 1..).unwrap_or_default()
    }

    #[inline]
    fn span(&self, deadline: Tick) -> usize {
        let spans = deadline.0.saturating_sub(self.origin) >> self.shift;
        usize::try_from(spans).map_or(SPANS - 1, |span| span.min(SPANS - 1))
    }
}
