//! The lag of a cache, by time or by revisions.

use std::time::Duration;

use tokio::time::Instant;

/// The lag of a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lag {
    /// This long after the write.
    Time(Duration),
    /// This many writes after the write.
    Revisions(u64),
}

impl Default for Lag {
    fn default() -> Self {
        Self::Time(Duration::ZERO)
    }
}

/// When the cache may learn of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    Now,
    At(Instant),
    /// After another write or another lag.
    Later,
}

impl Lag {
    /// Returns when the cache may learn of the write at `written` with `revision`. `newest` is the
    /// newest revision.
    pub(crate) fn due(self, written: Instant, revision: u64, newest: u64, now: Instant) -> Due {
        match self {
            Self::Time(lag) => match written.checked_add(lag) {
                Some(due) if due <= now => Due::Now,
                Some(due) => Due::At(due),
                None => Due::Later,
            },
            Self::Revisions(lag) if revision.saturating_add(lag) <= newest => Due::Now,
            Self::Revisions(_) => Due::Later,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_write_is_known_when_its_time_has_come_or_enough_have_followed() {
        let (written, second) = (Instant::now(), Duration::from_secs(1));
        let after = |seconds: u32| written + second * seconds;
        let five = Lag::Time(second * 5);
        assert_eq!(five.due(written, 7, 7, after(4)), Due::At(after(5)));
        assert_eq!(five.due(written, 7, 7, after(5)), Due::Now);
        assert_eq!(Lag::default().due(written, 7, 7, written), Due::Now);
        assert_eq!(Lag::Time(Duration::MAX).due(written, 7, 900, after(900)), Due::Later);
        assert_eq!(Lag::Revisions(2).due(written, 7, 8, after(900)), Due::Later);
        assert_eq!(Lag::Revisions(2).due(written, 7, 9, written), Due::Now);
        assert_eq!(Lag::Revisions(u64::MAX).due(written, 7, 9, written), Due::Later);
    }
}
