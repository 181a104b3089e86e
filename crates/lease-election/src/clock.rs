//! Clock: a monotonic clock that counts suspend, and a wall clock for display.
//! No other file reads a clock.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;

/// A point on one [`Clock`]. Moments of different clocks mean nothing to each other.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Moment(Duration);

impl Moment {
    /// The moment `since_origin` after the clock's origin.
    #[must_use]
    pub const fn from_origin(since_origin: Duration) -> Self {
        Self(since_origin)
    }

    /// Time since the clock's origin.
    #[must_use]
    pub const fn since_origin(self) -> Duration {
        self.0
    }

    /// This moment plus `later`; saturates at the end of time.
    #[must_use]
    pub const fn after(self, later: Duration) -> Self {
        Self(self.0.saturating_add(later))
    }

    /// This moment minus `earlier`; saturates at the origin.
    #[must_use]
    pub const fn before(self, earlier: Duration) -> Self {
        Self(self.0.saturating_sub(earlier))
    }

    /// How long after `other` this is; zero if it is not after it.
    #[must_use]
    pub const fn since(self, other: Self) -> Duration {
        self.0.saturating_sub(other.0)
    }

    /// Nanoseconds since the origin, never `0` and never above what 64 bits hold (584 years).
    pub(crate) fn to_nanos(self) -> u64 {
        u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX).max(1)
    }

    pub(crate) const fn from_nanos(nanos: u64) -> Self {
        Self(Duration::from_nanos(nanos))
    }
}

/// A future that resolves at a moment of the clock that made it.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The clock that an elector reads, and waits by.
///
/// The default is [`BootClock`], or [`TokioClock`] if tokio's time is paused when the elector is
/// made, as in a test with `start_paused`.
pub trait Clock: Send + Sync + fmt::Debug + 'static {
    /// The present moment. Must never go back, and must go on while the machine is suspended (A2).
    fn now(&self) -> Moment;

    /// The wall-clock time, for `acquireTime` and `renewTime`. The election never decides by it.
    fn wall(&self) -> Timestamp;

    /// Resolves when [`now`](Self::now) has reached `deadline`, or a little later.
    fn sleep_until(&self, deadline: Moment) -> Sleep;

    /// The moment of the [`BootClock`] at which this clock will show `moment`, if both run at one
    /// rate. A [`Watchdog`](crate::Watchdog) waits for it, whatever clock its elector has. The
    /// default suits a clock of your own.
    fn boot_moment(&self, moment: Moment) -> Moment {
        // In this order a suspend between the two reads makes the result too early, never too late.
        let boot = BootClock.now();
        boot.after(moment.since(self.now()))
    }
}

/// The longest single sleep: tokio's timers stand still during suspend, and this clock does not.
const SLICE: Duration = Duration::from_millis(500);

/// Linux' `CLOCK_BOOTTIME`: monotonic, and goes on during suspend. On other systems it is
/// `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, Default)]
pub struct BootClock;

#[cfg(any(target_os = "linux", target_os = "android"))]
const BOOTTIME: rustix::time::ClockId = rustix::time::ClockId::Boottime;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const BOOTTIME: rustix::time::ClockId = rustix::time::ClockId::Monotonic;

impl Clock for BootClock {
    fn now(&self) -> Moment {
        let time = rustix::time::clock_gettime(BOOTTIME);
        Moment(Duration::new(
            u64::try_from(time.tv_sec).unwrap_or(0),
            u32::try_from(time.tv_nsec).unwrap_or(0),
        ))
    }

    #[expect(clippy::disallowed_methods, reason = "the clock of this crate: all others ask it")]
    fn wall(&self) -> Timestamp {
        Timestamp::try_from(SystemTime::now()).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    fn boot_moment(&self, moment: Moment) -> Moment {
        moment
    }

    fn sleep_until(&self, deadline: Moment) -> Sleep {
        let clock = *self;
        Box::pin(async move {
            loop {
                let left = deadline.since(clock.now());
                if left.is_zero() {
                    return;
                }
                tokio::time::sleep(left.min(SLICE)).await;
            }
        })
    }
}

/// Tokio's clock, paused or not: for tests. It does not count suspend, and its wall clock starts at
/// 2026-01-01.
#[derive(Clone, Copy, Debug)]
pub struct TokioClock {
    origin: tokio::time::Instant,
}

impl TokioClock {
    /// A clock whose origin is now.
    #[must_use]
    pub fn new() -> Self {
        Self { origin: tokio::time::Instant::now() }
    }
}

impl Default for TokioClock {
    fn default() -> Self {
        Self::new()
    }
}

/// The clock of an elector without a configured one. Under tokio's paused time the machine's clock
/// nearly stands still, so that no lease would expire.
pub(crate) fn default_clock() -> Arc<dyn Clock> {
    if is_paused() { Arc::new(TokioClock::new()) } else { Arc::new(BootClock) }
}

/// Whether tokio's time stands still while the machine's clock goes on.
fn is_paused() -> bool {
    let (tokio, machine) = (tokio::time::Instant::now(), BootClock.now());
    while BootClock.now() == machine {
        std::hint::spin_loop();
    }
    tokio::time::Instant::now() == tokio
}

/// 2026-01-01T00:00:00Z.
const TEST_EPOCH_SECONDS: i64 = 1_767_225_600;

impl Clock for TokioClock {
    fn now(&self) -> Moment {
        Moment(self.origin.elapsed())
    }

    fn wall(&self) -> Timestamp {
        let seconds = i64::try_from(self.now().0.as_secs()).unwrap_or(i64::MAX);
        let nanos = i32::try_from(self.now().0.subsec_nanos()).unwrap_or(0);
        Timestamp::new(TEST_EPOCH_SECONDS.saturating_add(seconds), nanos).unwrap_or(Timestamp::MAX)
    }

    fn sleep_until(&self, deadline: Moment) -> Sleep {
        let left = deadline.since(self.now());
        Box::pin(tokio::time::sleep(left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_paused_time_stands_still() {
        for _ in 0..1000 {
            assert!(!is_paused());
        }
        tokio::time::pause();
        assert!(is_paused());
        tokio::time::resume();
        assert!(!is_paused());
    }
}
