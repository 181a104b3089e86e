//! Failing keys: keys whose last run failed, and the events that may run them before their retry.
//!
//! | the key | a strong event | a weak event |
//! | --- | --- | --- |
//! | its last run did not fail | runs | runs |
//! | its last run failed | runs, no sooner than `failing_interval` after that run | waits for the retry |
//! | its last run parked it | the same, but a handle runs it at once | stays parked |
//!
//! So a run that fails and writes its own object does not retrigger itself at the speed of its
//! writes.

use std::time::Duration;

use tokio::time::Instant;

use crate::Key;
use crate::queue::reasons::Reasons;
use crate::run::sparse_map::SparseMap;

/// When the last run of each failing key ended, and its error: at most 256 bytes, without control
/// characters.
pub(crate) struct FailingKeys<K> {
    ends: SparseMap<K, (Instant, Box<str>)>,
}

/// Whether a key from the queue may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    Run,
    /// Not before this time has passed.
    Postpone(Duration),
    /// Not now: its retry or a later event runs it.
    Leave,
}

impl<K: Key> FailingKeys<K> {
    pub(crate) fn new() -> Self {
        Self { ends: SparseMap::new() }
    }

    pub(crate) fn failed(&self, key: K, now: Instant, error: Box<str>) {
        self.ends.insert(key, (now, error), usize::MAX);
    }

    pub(crate) fn clear(&self) {
        self.ends.clear();
    }

    /// The number of failing keys, and at most `most` of them with their last errors.
    #[cfg(feature = "admin")]
    pub(crate) fn some(&self, most: usize) -> (usize, Vec<(K, Box<str>)>) {
        (self.ends.len(), self.ends.some(most, |(_, error)| error.clone()))
    }

    pub(crate) fn recovered(&self, key: &K) {
        _ = self.ends.remove(key);
    }

    /// When the last run of the key failed.
    pub(crate) fn since(&self, key: &K) -> Option<Instant> {
        self.ends.get(key, |(ended, _)| *ended)
    }
}

/// Admits a key. `ended` is the end of its last run, if that failed or parked it.
pub(crate) fn admit(
    ended: Option<Instant>,
    reasons: Reasons,
    now: Instant,
    interval: Duration,
) -> Admission {
    let Some(ended) = ended.filter(|_| reasons.are_events()) else { return Admission::Run };
    if reasons.are_weak() {
        return Admission::Leave;
    }
    let left = interval.saturating_sub(now.saturating_duration_since(ended));
    if left.is_zero() { Admission::Run } else { Admission::Postpone(left) }
}

#[cfg(test)]
mod oracle;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ChangeKind;
    use crate::queue::reasons::SourceNumber;

    #[tokio::test(start_paused = true)]
    async fn the_table() {
        let (source, interval) = (SourceNumber::new(0), Duration::from_secs(1));
        let strong = Reasons::change(source, ChangeKind::Changed);
        let weak = Reasons::status(source);
        let mut both = weak;
        both.merge(strong);
        let mut due = weak;
        due.merge(Reasons::retried());
        let (keys, start) = (FailingKeys::new(), Instant::now());
        let admitted = |reasons, after| {
            admit(keys.since(&1), reasons, start + Duration::from_millis(after), interval)
        };
        for reasons in [strong, weak, both, due] {
            assert_eq!(admitted(reasons, 0), Admission::Run, "{reasons:?}");
        }
        keys.failed(1, start, Box::default());
        let wait = |millis| Admission::Postpone(Duration::from_millis(millis));
        for (reasons, after, expected) in [
            (strong, 0, wait(1000)),
            (strong, 400, wait(600)),
            (strong, 1000, Admission::Run),
            (both, 400, wait(600)),
            (weak, 0, Admission::Leave),
            (weak, 9000, Admission::Leave),
            (due, 5, Admission::Run),
            (Reasons::retried(), 5, Admission::Run),
            (Reasons::default(), 5, Admission::Run),
        ] {
            assert_eq!(admitted(reasons, after), expected, "{reasons:?} after {after} ms");
        }
        keys.recovered(&1);
        assert_eq!(admitted(weak, 0), Admission::Run);
    }
}
