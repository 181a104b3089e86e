//! Time, as the queue uses it: read for observers, for time-outs of blocking calls, and to measure the length of a pause.

use std::time::{Duration, Instant};

pub(crate) use crate::platform::now;

/// The end of a wait; never, where the time-out is too long to be added to the clock.
#[derive(Clone, Copy)]
pub(crate) struct Deadline(Option<Instant>);

impl Deadline {
    pub(crate) const NEVER: Self = Self(None);

    pub(crate) fn after(timeout: Duration) -> Self {
        Self(now().checked_add(timeout))
    }

    /// How long is left: `Some(ZERO)` at and after the deadline, `None` for ever.
    pub(crate) fn left(self) -> Option<Duration> {
        self.0.map(|deadline| deadline.saturating_duration_since(now()))
    }
}

#[cfg(all(test, not(any(wq_loom, wq_shuttle))))]
mod tests;
