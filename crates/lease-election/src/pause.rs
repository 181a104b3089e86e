//! Pause: how long is waited between two terms. Pure.

use std::time::Duration;

/// Counts the terms in a row that were lost at once.
#[derive(Debug, Default)]
pub(crate) struct Pauses {
    short: u32,
}

impl Pauses {
    /// The pause after a term that `lasted` this long, and ended by its work or (`lost`) before it.
    ///
    /// After work that returned by itself one `interval`. None after a term that was lost, unless
    /// it was over within an interval: then somebody or something takes each term away, and one
    /// interval is waited, twice as long each time, at most `cap`.
    pub(crate) fn after(
        &mut self,
        lost: bool,
        lasted: Duration,
        interval: Duration,
        cap: Duration,
    ) -> Duration {
        let short = lasted < interval;
        if !short {
            self.short = 0;
        }
        match (lost, short) {
            (false, _) => interval,
            (true, false) => Duration::ZERO,
            (true, true) => {
                let pause = interval.saturating_mul(1 << self.short.min(16)).min(cap);
                self.short = self.short.saturating_add(1);
                pause
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    #[test]
    fn terms_lost_at_once_are_followed_by_ever_longer_pauses_and_one_that_lasted_ends_that() {
        let mut pauses = Pauses::default();
        let mut lost = |lasted| pauses.after(true, lasted, 2 * S, 15 * S);
        assert_eq!(
            [lost(S), lost(S), lost(S), lost(S), lost(S)],
            [2 * S, 4 * S, 8 * S, 15 * S, 15 * S]
        );
        assert_eq!(lost(2 * S), Duration::ZERO);
        assert_eq!(lost(S), 2 * S);
        // Work that returned by itself says nothing about what takes terms away.
        assert_eq!(pauses.after(false, S, 2 * S, 15 * S), 2 * S);
        assert_eq!(pauses.after(true, S, 2 * S, 15 * S), 4 * S);
        for _ in 0..100 {
            assert!(pauses.after(true, Duration::ZERO, Duration::MAX, 15 * S) <= 15 * S);
        }
    }
}
