//! Latency: a histogram of durations.

use std::time::Duration;

/// A histogram of durations. The buckets reach from half the latency of a good disk to a lease that
/// is far too long.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Latency {
    counts: [u64; Self::BOUNDS.len() + 1],
    sum: Duration,
}

impl Latency {
    /// The inclusive upper bounds of the buckets. One more bucket has no bound.
    pub const BOUNDS: [Duration; 15] = [
        Duration::from_millis(1),
        Duration::from_micros(2500),
        Duration::from_millis(5),
        Duration::from_millis(10),
        Duration::from_millis(25),
        Duration::from_millis(50),
        Duration::from_millis(100),
        Duration::from_millis(250),
        Duration::from_millis(500),
        Duration::from_secs(1),
        Duration::from_millis(2500),
        Duration::from_secs(5),
        Duration::from_secs(10),
        Duration::from_secs(30),
        Duration::from_secs(60),
    ];

    /// The number in each bucket: above the bound before it, and not above its own.
    #[must_use]
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The number of durations.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The sum of all durations.
    #[must_use]
    pub fn sum(&self) -> Duration {
        self.sum
    }

    pub(crate) fn note(&mut self, took: Duration) {
        let bucket = Self::BOUNDS.partition_point(|bound| *bound < took);
        if let Some(count) = self.counts.get_mut(bucket) {
            *count = count.saturating_add(1);
        }
        self.sum = self.sum.saturating_add(took);
    }

    #[cfg(any(test, feature = "prometheus"))]
    pub(crate) fn join(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count = count.saturating_add(more);
        }
        self.sum = self.sum.saturating_add(other.sum);
    }
}

#[cfg(test)]
mod tests;
