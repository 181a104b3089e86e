//! Tick: a deadline as nanoseconds since the queue was built. TimeLine: converts instants to ticks.

use crate::planted::planted;
use std::time::{Duration, Instant};

/// Nanoseconds since the queue was built, for 584 years. Saturating on both ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Tick(pub(crate) u64);

impl Tick {
    /// When the queue was built.
    pub(crate) const START: Self = Self(0);
    /// Never due.
    pub(crate) const NEVER: Self = Self(u64::MAX);

    /// Due from the deadline on. `NEVER` is never due.
    #[inline]
    pub(crate) fn is_due(self, now: Self) -> bool {
        let now = if planted("a-tick-early") { Self(now.0.saturating_add(1)) } else { now };
        self != Self::NEVER && self <= now
    }

    /// Zero if `earlier` is later.
    pub(crate) fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    #[inline]
    pub(crate) fn after(self, delay: Duration) -> Self {
        let delay = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(delay))
    }
}

/// Converts between the timer's instants and ticks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeLine {
    start: Instant,
}

impl TimeLine {
    pub(crate) fn starting(start: Instant) -> Self {
        Self { start }
    }

    /// Exact. An instant before the start is due at once, one beyond 584 years is never due.
    #[inline]
    pub(crate) fn tick(&self, instant: Instant) -> Tick {
        let since = instant.saturating_duration_since(self.start);
        Tick(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    }

    /// The instant of a tick. If the platform cannot express it, a late instant that it can.
    pub(crate) fn instant(&self, tick: Tick) -> Instant {
        let mut ahead = Duration::from_nanos(tick.0);
        loop {
            if let Some(instant) = self.start.checked_add(ahead) {
                return instant;
            }
            ahead /= 2;
        }
    }
}
