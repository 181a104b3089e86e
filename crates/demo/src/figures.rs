//! Rates and percentiles. Pure.

use std::time::Duration;

#[cfg(test)]
mod tests;

/// How long claims waited for their volume, sorted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Waits(Vec<Duration>);

impl Waits {
    pub(crate) fn of(waits: impl IntoIterator<Item = Duration>) -> Self {
        let mut sorted: Vec<_> = waits.into_iter().collect();
        sorted.sort_unstable();
        Self(sorted)
    }

    /// The smallest wait that `percent` of all did not exceed (nearest rank); `None` without any.
    pub(crate) fn percentile(&self, percent: usize) -> Option<Duration> {
        let rank = self.0.len().saturating_mul(percent.min(100)).div_ceil(100).max(1);
        self.0.get(rank.saturating_sub(1)).copied()
    }
}

/// Things per second, in tenths: 183 is 18.3 per second.
pub(crate) fn rate_tenths(count: usize, time: Duration) -> u64 {
    let milliseconds = time.as_millis().max(1);
    u64::try_from((count as u128).saturating_mul(10_000) / milliseconds).unwrap_or(u64::MAX)
}

/// Whole milliseconds, rounded down.
pub(crate) fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
