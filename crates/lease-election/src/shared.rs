//! Shared: what an elector, its driver and its health check share, and how a campaign ends.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio::sync::{Mutex as RunLock, watch};

use crate::candidate::Candidate;
use crate::clock::Clock;
use crate::config::Config;
use crate::evidence::HolderEvidence;
use crate::liveness::WorkLease;
use crate::maintenance::Maintenance;
use crate::standing::Standing;
use crate::status::Counters;
use crate::store::LeaseStore;
use crate::term::Term;
use crate::term_watch::TermWatch;
use crate::warm_up::WarmUps;

/// How a campaign ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Outcome<R> {
    /// The work ended within its term, by itself or after a stop. The lease was released if
    /// [`release_on_stop`](crate::ConfigBuilder::release_on_stop) is set and the server confirmed
    /// it in time. See [`Campaigns::release`](crate::Campaigns::release) and
    /// [`Stats::failed_releases`](crate::Stats::failed_releases).
    Finished(R),
    /// The term ended before its work did.
    Lost(R),
    /// The work outlived the drain time-out, or its lost term by the stop margin, and was dropped.
    /// The lease was not released.
    Aborted,
    /// The elector was stopped before it led.
    NeverLed,
}

/// What the handle, the driver and the health check share.
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) store: Arc<dyn LeaseStore>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) leader: watch::Sender<Option<String>>,
    pub(crate) stop: watch::Sender<bool>,
    pub(crate) maintenance: Maintenance,
    pub(crate) warm_ups: watch::Sender<WarmUps>,
    pub(crate) work: Arc<WorkLease>,
    pub(crate) term: Mutex<Option<Arc<Term>>>,
    /// The knowledge of the lease, kept from one campaign to the next. The running campaign locks
    /// it.
    pub(crate) candidate: Arc<RunLock<Candidate>>,
    /// The work of a term holds it until its last step: if the runtime shuts down, the work may
    /// outlive its run.
    pub(crate) at_work: Arc<RunLock<()>>,
    pub(crate) term_watch: OnceLock<Arc<dyn TermWatch>>,
    pub(crate) evidence: OnceLock<Arc<dyn HolderEvidence>>,
    /// Only in a coordinated election.
    pub(crate) standing: Option<Arc<Standing>>,
}

impl Shared {
    /// The current term, over or not.
    pub(crate) fn term(&self) -> Option<Arc<Term>> {
        self.term.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the elector is ready to lead.
    pub(crate) fn is_warm(&self) -> bool {
        self.warm_ups.borrow().cold_until(self.clock.now()).is_none()
    }

    /// Whether the elector must not campaign for now.
    pub(crate) fn is_barred(&self) -> bool {
        self.maintenance.is_on() || !self.is_warm()
    }

    /// Whether the elector leads, by the clock.
    pub(crate) fn is_leading(&self) -> bool {
        self.term().is_some_and(|term| term.is_valid())
    }
}
