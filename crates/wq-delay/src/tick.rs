//! `Tick` and `TimeLine`: deadlines as nanoseconds since the queue was built, so that a heap node stays small.
//! Saturating on both ends; the last tick means never.

use crate::planted::planted;
use std::time::{Duration, Instant};

/// Nanoseconds on a queue's own time line (584 years from its start).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Tick(pub(crate) u64);

impl Tick {
    /// When the queue was built.
    pub(crate) const START: Self = Self(0);
    /// Never due.
    pub(crate) const NEVER: Self = Self(u64::MAX);

    /// At the deadline counts as due; never is never due.
    #[inline]
    pub(crate) fn is_due(self, now: Self) -> bool {
        let now = if planted("a-tick-early") { Self(now.0.saturating_add(1)) } else { now };
        self != Self::NEVER && self <= now
    }

    /// Zero if the other is later.
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

    /// Rounds nothing. What lies before the start is due already; what lies beyond 584 years never is.
    #[inline]
    pub(crate) fn tick(&self, instant: Instant) -> Tick {
        let since = instant.saturating_duration_since(self.start);
        Tick(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    }

    /// The instant of a tick; for one the platform cannot express, a late one that it can.
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
