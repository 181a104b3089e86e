//! `Report`: what a manager did, told when it has stopped.

use std::time::Duration;

/// What a manager did from its start to its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Terms in which the workers ran: one without an election, one for each time this process led
    /// with it.
    pub terms: u64,
    /// Terms that ended because the lease was lost.
    pub lost_terms: u64,
    /// How long the last stop took, from its signal to the end of the last run.
    pub stop_took: Duration,
    /// Blocking work that did not end within the stop's grace.
    pub unfinished_tasks: usize,
    /// Each controller.
    pub controllers: Vec<ControllerReport>,
    /// What the election did; `None` without one.
    #[cfg(feature = "election")]
    pub release: Option<Release>,
}

/// What became of the lease at the end.
#[cfg(feature = "election")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Release {
    /// This process did not lead when it was stopped.
    NotLeading,
    /// The work had ended in time, and the lease was given back.
    GivenBack,
    /// The lease could not be given back: the server did not say in time that it took it, and it
    /// runs out, or it was another's by then.
    Failed,
    /// The lease was lost during the stop.
    Lost,
    /// The lease was kept until it ran out: work outlived its time, or the election is to give
    /// nothing back.
    Kept,
}

/// What one controller did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ControllerReport {
    /// The controller's name.
    pub name: String,
    /// Runs that ended, well or not.
    pub reconciles: u64,
    /// Runs that failed, conflicts excepted.
    pub errors: u64,
    /// Runs that failed because an object had changed meanwhile (409).
    pub conflicts: u64,
    /// Panics of the user's code: in runs, and in what belongs to a run or a source.
    pub panics: u64,
    /// Runs whose time was up.
    pub timeouts: u64,
    /// Keys parked because the failure was terminal.
    pub terminal: u64,
    /// Keys parked because their attempts were used up.
    pub exhausted: u64,
    /// Streams that panicked ([`Source::stream`](crate::Source::stream)): the controller hears
    /// nothing of them any more.
    pub broken_sources: Vec<String>,
    /// Keys whose run was dropped by the last stop, as shown by `Debug`, cut to 256 bytes each.
    pub abandoned: Vec<String>,
    /// Keys that waited to run, also after a delay, when the last stop came. The next leader finds
    /// them by itself.
    pub not_started: usize,
}

impl Report {
    /// Whether every run came to its end.
    pub fn is_clean(&self) -> bool {
        self.unfinished_tasks == 0
            && self.controllers.iter().all(|controller| controller.abandoned.is_empty())
    }
}
