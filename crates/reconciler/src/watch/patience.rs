//! `Patience`: how long to wait for the answer to a request of a watch. Pure.

use std::time::Duration;

/// The longest wait for a page after late pages, unless the configured time is longer.
const LONGEST_ANSWER: Duration = Duration::from_secs(60);

/// How long to wait for an answer. The wait is short, so that one lost answer costs little. It
/// grows after each late page, so that a slow list still completes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    base: Duration,
    now: Duration,
}

impl Patience {
    pub(crate) fn new(base: Duration) -> Self {
        Self { base, now: base }
    }

    /// The wait for a page of a list, with its body.
    pub(crate) fn for_page(self) -> Duration {
        self.now
    }

    /// The wait for the start of a watch, which needs no time to prepare.
    pub(crate) fn for_watch(self) -> Duration {
        self.base
    }

    /// A page came after this time.
    pub(crate) fn answered(&mut self, took: Duration) {
        self.now = took.saturating_mul(2).clamp(self.base, LONGEST_ANSWER.max(self.base));
    }

    /// A page did not come in time.
    pub(crate) fn unanswered(&mut self) {
        self.now = self.now.saturating_mul(2).clamp(self.base, LONGEST_ANSWER.max(self.base));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_doubles_with_each_lost_answer_and_follows_the_answers_that_come() {
        let seconds = Duration::from_secs;
        let mut patience = Patience::new(seconds(10));
        let waits: Vec<Duration> = (0..5)
            .map(|_| {
                patience.unanswered();
                patience.for_page()
            })
            .collect();
        assert_eq!(waits, [20, 40, 60, 60, 60].map(seconds));
        assert_eq!(patience.for_watch(), seconds(10));
        patience.answered(seconds(15));
        assert_eq!(patience.for_page(), seconds(30), "twice what it took");
        patience.answered(Duration::from_millis(3));
        assert_eq!(patience.for_page(), seconds(10));
        let mut long = Patience::new(seconds(600));
        long.unanswered();
        assert_eq!(long.for_page(), seconds(600), "the configured time counts if it is longer");
    }
}
