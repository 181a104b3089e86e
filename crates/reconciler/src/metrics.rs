//! The metrics of a controller: plain atomics, always on. `admin` writes them in the Prometheus
//! text format.
//!
//! Names, labels and buckets are those of client-go and controller-runtime, so that their
//! dashboards work.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use crate::failure::Then;
use crate::run::outcome::{Ended, Parked, Verdict};

/// Bounds of `workqueue_*_duration_seconds` in seconds: ten-fold from 10 ns to 1000 s
/// (controller-runtime).
pub(crate) const QUEUE_BUCKETS: &[f64] =
    &[1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0];

/// Bounds of `controller_runtime_reconcile_time_seconds` in seconds (controller-runtime).
pub(crate) const RECONCILE_BUCKETS: &[f64] = &[
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9,
    1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0,
    25.0, 30.0, 40.0, 50.0, 60.0,
];

/// A count that only grows.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn up(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The number of durations in each bucket.
#[derive(Debug)]
pub(crate) struct Histogram {
    bounds: &'static [f64],
    /// One bucket for each bound, and a last one for longer durations.
    buckets: Box<[AtomicU64]>,
    nanos: AtomicU64,
}

impl Histogram {
    pub(crate) fn new(bounds: &'static [f64]) -> Self {
        Self {
            bounds,
            buckets: (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect(),
            nanos: AtomicU64::new(0),
        }
    }

    pub(crate) fn saw(&self, duration: Duration) {
        let seconds = duration.as_secs_f64();
        let at = self.bounds.partition_point(|bound| *bound < seconds);
        if let Some(bucket) = self.buckets.get(at) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        // Wraps after 584 years of work.
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    /// The sum in seconds, the count, and each bucket's own count with its upper bound.
    #[cfg_attr(
        not(any(feature = "admin", test)),
        expect(dead_code, reason = "read by the admin server")
    )]
    pub(crate) fn read(&self) -> (f64, u64, Vec<(f64, u64)>) {
        let bounds = self.bounds.iter().copied().chain([f64::MAX]);
        let counts = self.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed));
        let buckets: Vec<(f64, u64)> = bounds.zip(counts).collect();
        let count = buckets.iter().fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
        (Duration::from_nanos(self.nanos.load(Ordering::Relaxed)).as_secs_f64(), count, buckets)
    }
}

/// The counts of one controller and its queues, over all terms.
#[derive(Debug)]
pub(crate) struct ControllerMetrics {
    /// `controller_runtime_reconcile_total{result="success"}`
    pub(crate) success: Count,
    /// `{result="requeue_after"}`
    pub(crate) requeue_after: Count,
    /// `{result="error"}`, and `controller_runtime_reconcile_errors_total`
    pub(crate) errors: Count,
    /// `{result="conflict"}`. Ours: controller-runtime counts it among the errors.
    pub(crate) conflicts: Count,
    pub(crate) terminal_errors: Count,
    pub(crate) panics: Count,
    pub(crate) timeouts: Count,
    /// Keys parked because their attempts were used up. Ours: controller-runtime never gives up.
    pub(crate) exhausted: Count,
    /// Runs that began although a cache did not show the writes of the run before. Ours.
    pub(crate) unseen_writes: Count,
    /// Events of runs that were dropped. Ours.
    pub(crate) events_dropped: Count,
    pub(crate) active_workers: AtomicI64,
    pub(crate) reconcile_time: Histogram,
    pub(crate) adds: Count,
    pub(crate) retries: Count,
    pub(crate) queue_duration: Histogram,
    pub(crate) work_duration: Histogram,
}

impl ControllerMetrics {
    pub(crate) fn new() -> Self {
        Self {
            success: Count::default(),
            requeue_after: Count::default(),
            errors: Count::default(),
            conflicts: Count::default(),
            terminal_errors: Count::default(),
            panics: Count::default(),
            timeouts: Count::default(),
            exhausted: Count::default(),
            unseen_writes: Count::default(),
            events_dropped: Count::default(),
            active_workers: AtomicI64::new(0),
            reconcile_time: Histogram::new(RECONCILE_BUCKETS),
            adds: Count::default(),
            retries: Count::default(),
            queue_duration: Histogram::new(QUEUE_BUCKETS),
            work_duration: Histogram::new(QUEUE_BUCKETS),
        }
    }

    /// A run ended.
    pub(crate) fn ended(&self, ended: Ended, verdict: Verdict, took: Duration) {
        self.reconcile_time.saw(took);
        match ended {
            Ended::Done(_) => match verdict {
                Verdict::Requeue(_) => self.requeue_after.up(),
                _ => self.success.up(),
            },
            Ended::Failed(Then::Conflict) => self.conflicts.up(),
            Ended::Failed(_) => self.errors.up(),
            Ended::Panicked => {
                self.errors.up();
                self.panics.up();
            }
            Ended::TimedOut => {
                self.errors.up();
                self.timeouts.up();
            }
        }
        match verdict {
            Verdict::Park(Parked::Terminal) => self.terminal_errors.up(),
            Verdict::Park(Parked::Exhausted) => self.exhausted.up(),
            _ => {}
        }
    }

    /// Runs that ended.
    pub(crate) fn reconciles(&self) -> u64 {
        [&self.success, &self.requeue_after, &self.conflicts, &self.errors]
            .iter()
            .fold(0_u64, |sum, count| sum.saturating_add(count.get()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_on_a_bound_belongs_to_it_and_one_above_all_to_the_last() {
        let histogram = Histogram::new(&[0.5, 1.0]);
        for millis in [500, 501, 1000, 5000] {
            histogram.saw(Duration::from_millis(millis));
        }
        let (sum, count, buckets) = histogram.read();
        assert_eq!(buckets, [(0.5, 1), (1.0, 2), (f64::MAX, 1)]);
        assert_eq!(count, 4);
        assert!((sum - 7.001).abs() < 1e-9);
    }

    #[test]
    fn the_bounds_ascend() {
        for bounds in [QUEUE_BUCKETS, RECONCILE_BUCKETS] {
            assert!(bounds.is_sorted());
        }
        assert_eq!((QUEUE_BUCKETS.len(), RECONCILE_BUCKETS.len()), (12, 40));
    }
}
