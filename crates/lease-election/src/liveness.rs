//! Liveness: a health check that fails when work outlives its lease. It is a safety net, tens of
//! seconds slow, and gates no work.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::clock::{Clock, Moment};

/// The work of a term outlived its lease by more than the tolerance: the process is wedged and
/// should be restarted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotLive {
    /// `namespace/name` of the Lease.
    pub lease: String,
    /// How long ago the lease expired.
    pub overdue: Duration,
}

impl fmt::Display for NotLive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the work goes on although lease {} ran out {:?} ago", self.lease, self.overdue)
    }
}

impl std::error::Error for NotLive {}

/// When the lease of the running work expires; `None` while no work runs.
#[derive(Debug, Default)]
pub(crate) struct WorkLease(Mutex<Option<Moment>>);

impl WorkLease {
    pub(crate) fn set(&self, runs_out: Option<Moment>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = runs_out;
    }

    fn get(&self) -> Option<Moment> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The health check of one elector, for a liveness endpoint.
#[doc(alias = "HealthzAdaptor")]
#[derive(Clone, Debug)]
pub struct Liveness {
    pub(crate) lease: String,
    pub(crate) work: Arc<WorkLease>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) tolerance: Duration,
}

impl Liveness {
    /// How long the work may outlive its lease. Default 20 s, as in Kubernetes' components.
    #[must_use]
    pub fn tolerance(mut self, tolerance: Duration) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Passes while no work runs, and while the lease expired no longer ago than the tolerance.
    ///
    /// # Errors
    /// [`NotLive`] otherwise.
    pub fn check(&self) -> Result<(), NotLive> {
        match overdue(self.work.get(), self.clock.now()) {
            Some(overdue) if overdue > self.tolerance => {
                Err(NotLive { lease: self.lease.clone(), overdue })
            }
            _ => Ok(()),
        }
    }
}

/// How long ago the lease of the running work expired.
fn overdue(runs_out: Option<Moment>, now: Moment) -> Option<Duration> {
    runs_out.filter(|end| *end < now).map(|end| now.since(end))
}

#[cfg(test)]
mod tests;
