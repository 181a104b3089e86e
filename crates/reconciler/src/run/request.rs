//! `Request`: the context of one run: its key, its reasons and its term of leadership.

use std::fmt;
use std::sync::Arc;

use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};
use tokio_util::task::TaskTracker;

use crate::Reason;
use crate::queue::reasons::Reasons;
use crate::run::cancellation::Cancellation;

/// One run of one key. Clones share it.
#[derive(Clone)]
pub struct Request<K> {
    pub(crate) key: K,
    pub(crate) attempt: u32,
    pub(crate) is_last_attempt: bool,
    pub(crate) deadline: Option<Instant>,
    pub(crate) reasons: Reasons,
    pub(crate) sources: Arc<[Arc<str>]>,
    pub(crate) cancellation: Arc<Cancellation>,
    pub(crate) scope: Scope,
}

/// Shared by all runs of one term.
#[derive(Clone)]
pub(crate) struct Scope {
    pub(crate) tracker: TaskTracker,
    #[cfg(feature = "election")]
    pub(crate) leadership: Option<lease_election::Leadership>,
}

impl Scope {
    /// Without an election.
    pub(crate) fn alone(tracker: TaskTracker) -> Self {
        Self {
            tracker,
            #[cfg(feature = "election")]
            leadership: None,
        }
    }

    /// Returns whether effects are allowed now: always without an election, otherwise while the
    /// term is valid by the clock.
    pub(crate) fn is_valid(&self) -> bool {
        #[cfg(feature = "election")]
        if let Some(leadership) = &self.leadership {
            return leadership.is_valid();
        }
        true
    }
}

impl<K> Request<K> {
    /// Returns the key of this run.
    pub fn key(&self) -> &K {
        &self.key
    }

    /// Returns how many runs of this key failed in a row before this one. It is 0 for the first. A
    /// run that an event causes before the key's retry does not count.
    #[doc(alias = "NumRequeues")]
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Returns whether the key is parked if this run fails
    /// ([`Controller::max_attempts`](crate::Controller::max_attempts)). A terminal failure parks it
    /// in any run. A run of an event before the retry counts no attempt, unless it lasts until the
    /// time of the retry.
    pub fn is_last_attempt(&self) -> bool {
        self.is_last_attempt
    }

    /// Returns when this run is cancelled, by tokio's clock
    /// ([`Controller::timeout`](crate::Controller::timeout)).
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Returns why the key runs: all reasons since its last run, merged. Use them only for logs and
    /// metrics. A run that depends on its reasons breaks when a crash loses one of them.
    pub fn reasons(&self) -> impl Iterator<Item = Reason<'_>> {
        let retried = (self.attempt > 0).then_some(Reason::Retried);
        self.reasons.iter(&self.sources).chain(retried)
    }

    /// Is cancelled when this run must end soon: a stop was requested, the lease is lost, or the
    /// run timed out. A run that ignores it is dropped at an await after the grace. After a lost
    /// lease the grace is short (100 ms by default).
    #[doc(alias = "ctx.Done")]
    pub fn cancellation(&self) -> &CancellationToken {
        self.cancellation.token()
    }

    /// Waits for [`cancellation`](Self::cancellation).
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when the future is dropped.
    pub fn cancelled(&self) -> WaitForCancellationFuture<'_> {
        self.cancellation().cancelled()
    }

    /// Tracks work that outlives a dropped run, above all blocking work:
    /// `request.tracker().spawn_blocking(..)`. The lease is not released before the tracker is
    /// empty.
    pub fn tracker(&self) -> &TaskTracker {
        &self.scope.tracker
    }

    /// Returns the term of leadership of this run; `None` without an election. Check
    /// [`is_valid`](lease_election::Leadership::is_valid) right before each effect that must not
    /// happen twice.
    #[cfg(feature = "election")]
    pub fn leadership(&self) -> Option<&lease_election::Leadership> {
        self.scope.leadership.as_ref()
    }

    /// Returns the fence token of the term; `None` without an election. Send it with effects to
    /// systems that can refuse older tokens.
    #[cfg(feature = "election")]
    pub fn fence(&self) -> Option<lease_election::FenceToken> {
        self.scope.leadership.as_ref().map(lease_election::Leadership::fence)
    }
}

impl<K: fmt::Debug> fmt::Debug for Request<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("key", &self.key)
            .field("attempt", &self.attempt)
            .field("reasons", &self.reasons().collect::<Vec<_>>())
            .field("cancelled", &self.cancellation().is_cancelled())
            .finish_non_exhaustive()
    }
}
