//! The server's clock, with [`jiff`] timestamps.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;

/// The clock of timestamps. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Clock(api_front::Clock);

impl Clock {
    pub(crate) fn starting_at(start: SystemTime) -> Self {
        Self(api_front::Clock::starting_at(start))
    }

    pub(crate) fn starting_now() -> Self {
        Self(api_front::Clock::starting_now())
    }

    /// The handle for the front, and for tests.
    pub(crate) fn handle(&self) -> api_front::Clock {
        self.0.clone()
    }

    pub(crate) fn now(&self) -> Timestamp {
        // The clock stays within the years 1970 to 9999, all of which are timestamps.
        let since = self.0.now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let (seconds, nanos) =
            (i64::try_from(since.as_secs()), i32::try_from(since.subsec_nanos()));
        seconds
            .ok()
            .zip(nanos.ok())
            .and_then(|(seconds, nanos)| Timestamp::new(seconds, nanos).ok())
            .unwrap_or(Timestamp::MAX)
    }

    /// Moves the clock by milliseconds. Negative values move it back.
    pub(crate) fn jump(&self, by_ms: i64) {
        let by = Duration::from_millis(by_ms.unsigned_abs());
        if by_ms < 0 { self.0.back(by) } else { self.0.forward(by) }
    }
}

/// Formats as `metav1.Time`: RFC 3339, UTC, whole seconds.
pub(crate) fn seconds(time: Timestamp) -> String {
    format!("{:.0}", floor(time))
}

fn floor(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_clock_ends_where_a_timestamp_ends() {
        let clock = Clock::starting_at(SystemTime::UNIX_EPOCH);
        clock.jump(i64::MAX);
        assert_eq!(clock.now(), Timestamp::MAX);
        clock.jump(i64::MIN);
        assert_eq!(clock.now(), Timestamp::UNIX_EPOCH);
    }
}
