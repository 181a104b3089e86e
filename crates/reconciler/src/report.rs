//! `Report`: the summary of a manager's run, returned when it has stopped.

use std::time::Duration;

/// The summary of a manager's run, from its start to its stop.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Terms in which the workers ran. Without an election there is one; with an election, one each
    /// time this process led.
    pub terms: u64,
    /// Terms that ended because the lease was lost.
    pub lost_terms: u64,
    /// How long the last term took to stop: from the stop signal or the loss to the end of its last
    /// run.
    pub stop_took: Duration,
    /// Tracked work that still ran when the manager stopped.
    pub unfinished_tasks: usize,
    /// One report for each controller.
    pub controllers: Vec<ControllerReport>,
    /// The state of the lease at the end; `None` if there was no campaign.
    #[cfg(feature = "election")]
    pub release: Option<Release>,
}

/// The state of the lease at the end.
#[cfg(feature = "election")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Release {
    /// This process did not lead when it was stopped.
    NotLeading,
    /// The work ended in time, and the lease was released.
    GivenBack,
    /// The release failed: the server did not confirm it in time, so the lease expires, or another
    /// process held it by then.
    Failed,
    /// The lease was lost during the stop.
    Lost,
    /// The lease was kept until it expired: work outlived its time, or the election is configured
    /// not to release it.
    Kept,
}

/// The summary of one controller.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ControllerReport {
    /// The controller's name.
    pub name: String,
    /// Runs that ended, successful or not.
    pub reconciles: u64,
    /// Runs that failed, except conflicts.
    pub errors: u64,
    /// Runs that failed with a conflict (409).
    pub conflicts: u64,
    /// Panics of user code: in runs, and in code around runs and sources.
    pub panics: u64,
    /// Runs that timed out.
    pub timeouts: u64,
    /// Keys parked after a terminal failure.
    pub terminal: u64,
    /// Keys parked after their attempts were used up.
    pub exhausted: u64,
    /// The names of the streams that panicked ([`Source::stream`](crate::Source::stream)). They are
    /// not read any more.
    pub broken_sources: Vec<String>,
    /// Keys whose run was dropped at the end of the last term, as shown by `Debug`, cut to 256
    /// bytes each.
    pub abandoned: Vec<String>,
    /// Keys that waited to run, also after a delay, at the end of the last term. The next leader
    /// lists the keys of caches again.
    pub not_started: usize,
}

impl Report {
    /// Returns whether every run ended by itself and no tracked work was left.
    pub fn is_clean(&self) -> bool {
        self.unfinished_tasks == 0
            && self.controllers.iter().all(|controller| controller.abandoned.is_empty())
    }
}
