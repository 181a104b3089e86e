//! The server's clock: a wall time at its start, moved on by tokio's clock, paused or not, and
//! moved by hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// Wall time that follows tokio's clock, so that a run under paused time repeats to the
/// microsecond. Clones share what it was moved by.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    start: Timestamp,
    epoch: Instant,
    /// Microseconds.
    moved: Arc<AtomicI64>,
}

/// Ten thousand years, in microseconds: further than from one end of the calendar to the other.
const FURTHEST: i64 = 10_000 * 366 * 86_400 * 1_000_000;

impl Clock {
    pub(crate) fn starting_at(start: Timestamp) -> Self {
        Self { start, epoch: Instant::now(), moved: Arc::default() }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.at(Instant::now())
    }

    /// The wall time at an instant of tokio's clock, by what the clock is moved by now.
    pub(crate) fn at(&self, instant: Instant) -> Timestamp {
        let elapsed =
            SignedDuration::try_from(self.elapsed(instant)).unwrap_or(SignedDuration::MAX);
        let moved = SignedDuration::from_micros(self.moved.load(Ordering::Relaxed));
        // Before 1970 it stands still, as at the end of 9999.
        let now =
            self.start.saturating_add(elapsed.saturating_add(moved)).unwrap_or(Timestamp::MAX);
        now.max(Timestamp::UNIX_EPOCH)
    }

    /// How long the server runs at an instant of tokio's clock, however it was moved.
    pub(crate) fn elapsed(&self, instant: Instant) -> Duration {
        instant.saturating_duration_since(self.epoch)
    }

    /// Moves it by so many microseconds.
    pub(crate) fn jump(&self, by: i64) {
        let jumped = |moved: i64| Some(moved.saturating_add(by).clamp(-FURTHEST, FURTHEST));
        // It always answers with a new value.
        let _ = self.moved.fetch_update(Ordering::Relaxed, Ordering::Relaxed, jumped);
    }
}

/// Handle on a server's clock, to read it and to move it; from
/// [`EmbeddedApiServer::clock`](crate::EmbeddedApiServer::clock).
///
/// The clock is what `creationTimestamp`, `deletionTimestamp`, the times of managed fields and the
/// request log are read from. Moving it moves nothing else: time-outs, bookmarks and faults keep to
/// tokio's clock, as a server whose wall clock is corrected keeps its timers.
///
/// ```
/// # use std::time::Duration;
/// # use embedded_apiserver::EmbeddedApiServer;
/// # fn example(server: &EmbeddedApiServer) {
/// server.clock().back(Duration::from_secs(3600)); // whatever is created now is older than what is there
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct ServerClock(Clock);

impl ServerClock {
    pub(crate) const fn new(clock: Clock) -> Self {
        Self(clock)
    }

    /// What the server takes for the time.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        self.0.now().into()
    }

    /// Moves the clock forward. It stops at the end of the year 9999.
    pub fn forward(&self, by: Duration) {
        self.0.jump(micros(by));
    }

    /// Moves the clock back. It stops at the beginning of 1970.
    pub fn back(&self, by: Duration) {
        self.0.jump(-micros(by));
    }

    /// Sets the clock to a time, from which it goes on.
    pub fn set(&self, to: SystemTime) {
        let by = from_system(to).duration_since(self.0.now());
        self.0.jump(i64::try_from(by.as_micros()).unwrap_or(FURTHEST));
    }
}

fn micros(by: Duration) -> i64 {
    i64::try_from(by.as_micros()).unwrap_or(FURTHEST)
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
