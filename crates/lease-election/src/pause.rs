//! Pause: how long the elector waits between two terms.

use std::time::Duration;

/// Counts the terms in a row that were lost at once.
#[derive(Debug, Default)]
pub(crate) struct Pauses {
    short: u32,
}

impl Pauses {
    /// The pause after a term that `lasted` this long, and was `lost` or ended with its work.
    ///
    /// After work that returned by itself: one `interval`. After a loss: none. After a loss within
    /// an `interval` (something takes each term away): one `interval`, doubled each time in a row,
    /// at most `cap`.
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
        // Work that returned by itself does not reset the count.
        assert_eq!(pauses.after(false, S, 2 * S, 15 * S), 2 * S);
        assert_eq!(pauses.after(true, S, 2 * S, 15 * S), 4 * S);
        for _ in 0..100 {
            assert!(pauses.after(true, Duration::ZERO, Duration::MAX, 15 * S) <= 15 * S);
        }
    }
}
