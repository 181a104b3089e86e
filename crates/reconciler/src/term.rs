//! A term: the time in which the workers may run. One without an election, one for each time this
//! process leads with it.
//!
//! Order at its end: no run starts any more and running ones are asked to end (`stopping`); after
//! the grace those that still run are dropped (`abort`) and joined. Who ends the term is not known
//! here.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::request::Scope;

/// What a controller, or a task of the leader, is given for one term.
#[derive(Clone)]
pub(crate) struct Term {
    pub(crate) scope: Scope,
    /// Start nothing more; end what runs.
    pub(crate) stopping: CancellationToken,
    /// Drop what still runs.
    pub(crate) abort: CancellationToken,
    /// Every member and worker, until it is gone. An aborted task lives on to its next await, and
    /// for that long nobody may begin another term.
    pub(crate) tasks: TaskTracker,
}

impl Term {
    pub(crate) fn new(scope: Scope, tasks: TaskTracker) -> Self {
        Self { scope, stopping: CancellationToken::new(), abort: CancellationToken::new(), tasks }
    }

    /// Whether a run may start.
    pub(crate) fn may_start(&self) -> bool {
        !self.stopping.is_cancelled() && self.scope.is_valid()
    }
}

/// What runs in a term: a controller, a task of the leader.
pub(crate) trait InTerm: Send + Sync {
    /// Runs until soon after the term's `abort` at the latest, and leaves no task behind but those
    /// the tracker knows. What it leaves undone it keeps for the next term.
    fn run(self: Arc<Self>, term: Term) -> BoxFuture<'static, ()>;
}

/// How the end of a term came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TermEnd {
    /// A stop was asked for.
    Stop,
    /// The right to work is lost.
    #[cfg_attr(
        not(feature = "election"),
        expect(dead_code, reason = "only an election can be lost")
    )]
    Lost,
}

/// How long running work is given at the end of a term.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grace {
    pub(crate) stop: Duration,
    pub(crate) lost: Duration,
}

/// Runs all members in one term until `end`, and stops them. `lost` may come later still, during a
/// stop. Returns how long the stop took.
///
/// Dropped at any await it aborts every member; [`Term::tasks`] tells when they are gone.
///
/// # Panics
///
/// If a member panicked, after the others have stopped: members catch the panics of user code.
pub(crate) async fn run(
    members: Vec<Arc<dyn InTerm>>,
    term: Term,
    end: impl Future<Output = TermEnd>,
    lost: impl Future<Output = ()>,
    grace: Grace,
) -> Duration {
    let mut tasks = JoinSet::new();
    for member in members {
        tasks.spawn(term.tasks.track_future(member.run(term.clone())));
    }
    let mut panicked: Option<JoinError> = None;
    let ended = {
        let mut end = pin!(end);
        loop {
            tokio::select! {
                biased;
                ended = &mut end => break ended,
                Some(joined) = tasks.join_next() => {
                    if let Err(error) = joined {
                        panicked = Some(error);
                        break TermEnd::Stop;
                    }
                }
            }
        }
    };
    let began = Instant::now();
    term.stopping.cancel();
    let all = async {
        let mut panicked = panicked;
        while let Some(joined) = tasks.join_next().await {
            panicked = panicked.or_else(|| joined.err());
        }
        panicked
    };
    let mut all = pin!(all);
    let patience = async {
        match ended {
            TermEnd::Lost => sleep(grace.lost).await,
            TermEnd::Stop => tokio::select! {
                () = sleep(grace.stop) => {}
                () = lost => sleep(grace.lost).await,
            },
        }
    };
    let panicked = tokio::select! {
        biased;
        panicked = &mut all => panicked,
        () = patience => {
            term.abort.cancel();
            all.await
        }
    };
    if let Some(Ok(panic)) = panicked.map(JoinError::try_into_panic) {
        std::panic::resume_unwind(panic);
    }
    began.elapsed()
}

#[cfg(test)]
mod tests;
