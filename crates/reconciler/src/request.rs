//! `Request`: what a run is given: its key, why it runs, and the term of leadership it runs in.

use std::fmt;
use std::sync::Arc;

use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};
use tokio_util::task::TaskTracker;

use crate::Reason;
use crate::reasons::Reasons;

/// One run of one key. Clones are the same run.
#[derive(Clone)]
pub struct Request<K> {
    pub(crate) key: K,
    pub(crate) attempt: u32,
    pub(crate) reasons: Reasons,
    pub(crate) sources: Arc<[Arc<str>]>,
    pub(crate) cancellation: CancellationToken,
    pub(crate) scope: Scope,
}

/// What all runs of one term share.
#[derive(Clone)]
pub(crate) struct Scope {
    pub(crate) tracker: TaskTracker,
    #[cfg(feature = "election")]
    pub(crate) leadership: Option<lease_election::Leadership>,
}

impl Scope {
    /// Whether effects are allowed now: always without an election, else while the term is valid by
    /// the clock.
    pub(crate) fn is_valid(&self) -> bool {
        #[cfg(feature = "election")]
        if let Some(leadership) = &self.leadership {
            return leadership.is_valid();
        }
        true
    }
}

impl<K> Request<K> {
    /// What this run is about.
    pub fn key(&self) -> &K {
        &self.key
    }

    /// How many runs of this key failed in a row before this one: 0 for the first.
    #[doc(alias = "NumRequeues")]
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Why the key runs: everything that named it since its last run, merged. For logs and metrics;
    /// a run that does more or less by its reasons breaks when one of them is lost in a crash.
    pub fn reasons(&self) -> impl Iterator<Item = Reason<'_>> {
        let retried = (self.attempt > 0).then_some(Reason::Retried);
        self.reasons.iter(&self.sources).chain(retried)
    }

    /// Fires when this run is to end soon: a stop was asked for, the lease is lost, or the run's
    /// time is up. A run that ignores it is dropped at an await when the grace has passed (at
    /// once if the lease is lost).
    #[doc(alias = "ctx.Done")]
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancellation
    }

    /// Waits for [`cancellation`](Self::cancellation).
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when the future is dropped.
    pub fn cancelled(&self) -> WaitForCancellationFuture<'_> {
        self.cancellation.cancelled()
    }

    /// Tracks what a run leaves behind when it is dropped, blocking work above all:
    /// `request.tracker().spawn_blocking(..)`. The lease is not given back before the tracker is
    /// empty.
    pub fn tracker(&self) -> &TaskTracker {
        &self.scope.tracker
    }

    /// The term of leadership this run belongs to; `None` without an election. Ask
    /// [`is_valid`](lease_election::Leadership::is_valid) right before each effect that must not be
    /// made twice.
    #[cfg(feature = "election")]
    pub fn leadership(&self) -> Option<&lease_election::Leadership> {
        self.scope.leadership.as_ref()
    }

    /// The fence token of the term, to be sent along with effects on systems that can refuse older
    /// ones; `None` without an election.
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
            .field("cancelled", &self.cancellation.is_cancelled())
            .finish_non_exhaustive()
    }
}
