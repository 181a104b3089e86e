//! The clock of a front: a wall time at its start, moved on by tokio's clock, paused or not, and
//! moved by hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

/// A wall time that follows tokio's clock, so that a run under paused time repeats to the
/// microsecond. It can be read and moved; clones are one clock.
///
/// The request log reads its times from it, and so may the server behind: in embedded-apiserver it
/// gives `creationTimestamp`, `deletionTimestamp` and the times of managed fields. Moving it moves
/// nothing else: time-outs, bookmarks and faults keep to tokio's clock, as a server whose wall
/// clock is corrected keeps its timers.
///
/// ```
/// # use std::time::{Duration, SystemTime};
/// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(async {
/// let clock = api_front::Clock::starting_at(SystemTime::UNIX_EPOCH);
/// tokio::time::sleep(Duration::from_secs(5)).await;
/// clock.forward(Duration::from_secs(60));
/// assert_eq!(clock.now(), SystemTime::UNIX_EPOCH + Duration::from_secs(65));
/// # });
/// ```
#[derive(Debug, Clone)]
pub struct Clock {
    /// Since 1970.
    start: Duration,
    epoch: Instant,
    /// Microseconds.
    moved: Arc<AtomicI64>,
}

/// Ten thousand years, in microseconds: further than from one end of the calendar to the other.
const FURTHEST: i64 = 10_000 * 366 * 86_400 * 1_000_000;

/// The last moment that RFC 3339 can write in each time zone: 9999-12-30T22:00:00.999999999Z.
const LAST: Duration = Duration::new(253_402_207_200, 999_999_999);

impl Clock {
    /// A clock that shows this time now. Times outside of the years 1970 to 9999 are clamped to
    /// them.
    #[must_use]
    pub fn starting_at(start: SystemTime) -> Self {
        Self { start: since_1970(start), epoch: Instant::now(), moved: Arc::default() }
    }

    /// A clock that shows the time of this machine now.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the wall clock, to start a clock of our own"
    )]
    pub fn starting_now() -> Self {
        Self::starting_at(SystemTime::now())
    }

    /// The time now.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        self.at(Instant::now())
    }

    /// The time at an instant of tokio's clock, by the distance that the clock is moved now.
    pub(crate) fn at(&self, instant: Instant) -> SystemTime {
        let at = self.start.saturating_add(self.elapsed(instant));
        let moved = self.moved.load(Ordering::Relaxed);
        let by = Duration::from_micros(moved.unsigned_abs());
        let at = if moved < 0 { at.saturating_sub(by) } else { at.saturating_add(by) };
        SystemTime::UNIX_EPOCH + at.min(LAST)
    }

    /// From the start to an instant of tokio's clock, however far the clock is moved.
    pub(crate) fn elapsed(&self, instant: Instant) -> Duration {
        instant.saturating_duration_since(self.epoch)
    }

    /// Moves the clock forward. It stops at the end of the year 9999.
    pub fn forward(&self, by: Duration) {
        self.jump(micros(by));
    }

    /// Moves the clock back. It stops at the beginning of 1970.
    pub fn back(&self, by: Duration) {
        self.jump(-micros(by));
    }

    /// Sets the clock to a time, from which it goes on.
    pub fn set(&self, to: SystemTime) {
        let (to, now) = (since_1970(to), since_1970(self.now()));
        match to.checked_sub(now) {
            Some(by) => self.forward(by),
            None => self.back(now.saturating_sub(to)),
        }
    }

    fn jump(&self, by: i64) {
        let jumped = |moved: i64| Some(moved.saturating_add(by).clamp(-FURTHEST, FURTHEST));
        // It always answers with a new value.
        let _ = self.moved.fetch_update(Ordering::Relaxed, Ordering::Relaxed, jumped);
    }
}

fn micros(by: Duration) -> i64 {
    i64::try_from(by.as_micros()).unwrap_or(FURTHEST)
}

fn since_1970(time: SystemTime) -> Duration {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().min(LAST)
}

#[cfg(test)]
mod tests {
    use super::{Clock, LAST};
    use std::time::{Duration, SystemTime};

    #[tokio::test(start_paused = true)]
    async fn it_stays_between_1970_and_9999() {
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(60);
        let clock = || Clock::starting_at(start);
        let early = clock();
        early.back(Duration::MAX);
        assert_eq!(early.now(), SystemTime::UNIX_EPOCH);
        let late = clock();
        late.forward(Duration::MAX);
        assert_eq!(late.now(), SystemTime::UNIX_EPOCH + LAST);
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_set_and_goes_on() {
        let clock = Clock::starting_at(SystemTime::UNIX_EPOCH);
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(60);
        clock.set(time);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(clock.now(), time + Duration::from_secs(1));
        clock.set(time);
        assert_eq!(clock.now(), time);
    }

    #[tokio::test(start_paused = true)]
    async fn clones_are_one_clock() {
        let clock = Clock::starting_at(SystemTime::UNIX_EPOCH);
        let clone = clock.clone();
        tokio::time::advance(Duration::from_secs(1)).await;
        clone.forward(Duration::from_secs(2));
        assert_eq!(clock.now(), SystemTime::UNIX_EPOCH + Duration::from_secs(3));
    }
}
