//! Clock: time for observers, for time-outs of blocking calls, and to measure a pause.

use std::time::{Duration, Instant};

/// The clock of a queue, where it is not the machine's.
pub(crate) type Clock = dyn Fn() -> Instant + Send + Sync;

pub(crate) use crate::platform::now;

/// The end of a wait. A time-out that is too long for the clock never ends.
#[derive(Clone, Copy)]
pub(crate) struct Deadline(Option<Instant>);

impl Deadline {
    pub(crate) const NEVER: Self = Self(None);

    pub(crate) fn after(timeout: Duration) -> Self {
        Self(now().checked_add(timeout))
    }

    /// The time that is left: zero at and after the deadline, `None` without a deadline.
    pub(crate) fn left(self) -> Option<Duration> {
        self.0.map(|deadline| deadline.saturating_duration_since(now()))
    }
}

#[cfg(all(test, not(any(wq_loom, wq_shuttle))))]
mod tests;
