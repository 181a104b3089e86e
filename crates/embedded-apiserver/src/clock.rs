//! The server's clock: a wall time at its start, moved on by tokio's clock, paused or not.

use std::time::SystemTime;

use jiff::Timestamp;
use tokio::time::Instant;

/// Wall time that follows tokio's clock, so that a run under paused time repeats to the microsecond.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    start: Timestamp,
    epoch: Instant,
}

impl Clock {
    pub(crate) fn starting_at(start: Timestamp) -> Self {
        Self { start, epoch: Instant::now() }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.at(Instant::now())
    }

    /// The wall time at an instant of tokio's clock.
    pub(crate) fn at(&self, instant: Instant) -> Timestamp {
        let elapsed = instant.saturating_duration_since(self.epoch);
        self.start.checked_add(elapsed).unwrap_or(Timestamp::MAX)
    }
}

/// As `metav1.Time` is written: RFC 3339, UTC, whole seconds.
pub(crate) fn seconds(time: Timestamp) -> String {
    format!("{:.0}", floor(time))
}

fn floor(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

/// A wall time from std's type, clamped to the years 1970 to 9999.
pub(crate) fn from_system(time: SystemTime) -> Timestamp {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => Timestamp::UNIX_EPOCH.checked_add(since).unwrap_or(Timestamp::MAX),
        Err(_) => Timestamp::UNIX_EPOCH,
    }
}

/// The wall time of this machine: read once, when a server starts without a time of its own.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the wall clock, to start the server's own"
)]
pub(crate) fn wall_now() -> Timestamp {
    from_system(SystemTime::now())
}
