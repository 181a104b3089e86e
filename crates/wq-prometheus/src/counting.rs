//! The observer that feeds counters and histograms of one name.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;
use wq_core::{Added, Observer};

pub(crate) struct Counting {
    pub(crate) adds: Counter,
    pub(crate) retries: Counter,
    pub(crate) queue_duration: Histogram,
    pub(crate) work_duration: Histogram,
    pub(crate) lateness: Histogram,
}

impl Observer for Counting {
    fn added(&self, added: Added) {
        if matches!(added, Added::Queued | Added::Deferred) {
            self.adds.inc();
        }
    }

    fn got(&self, waited: Duration) {
        self.queue_duration.observe(waited.as_secs_f64());
    }

    fn done(&self, worked: Duration) {
        self.work_duration.observe(worked.as_secs_f64());
    }

    fn retried(&self) {
        self.retries.inc();
    }

    fn due(&self, late: Duration) {
        self.lateness.observe(late.as_secs_f64());
    }
}
