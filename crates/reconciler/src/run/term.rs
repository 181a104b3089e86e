//! A term: the time in which the workers may run. Without an election there is one term. With an
//! election there is one each time this process leads.
//!
//! At its end no run starts, and active runs are cancelled (`stopping`). After the grace the
//! remaining runs are dropped (`abort`) and joined. The caller decides when a term ends.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::run::request::Scope;

/// The context of a controller or a leader task in one term.
#[derive(Clone)]
pub(crate) struct Term {
    pub(crate) scope: Scope,
    /// Start nothing new, and end active work.
    pub(crate) stopping: CancellationToken,
    /// Drop active work.
    pub(crate) abort: CancellationToken,
    /// Tracks every member and worker until it is gone. An aborted task lives until its next await,
    /// and no other term may begin before that.
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

/// A member of a term: a controller or a leader task.
pub(crate) trait InTerm: Send + Sync {
    /// Ends soon after the term's `abort` at the latest. Leaves only tasks that the tracker knows,
    /// and keeps unfinished keys for the next term.
    fn run(self: Arc<Self>, term: Term) -> BoxFuture<'static, ()>;
}

/// Why a term ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TermEnd {
    /// A stop was requested.
    Stop,
    /// The right to work is lost.
    #[cfg_attr(
        not(feature = "election"),
        expect(dead_code, reason = "only an election can be lost")
    )]
    Lost,
}

/// How long active work may continue at the end of a term.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grace {
    pub(crate) stop: Duration,
    pub(crate) lost: Duration,
}

/// Runs all members in one term until `end`, then stops them. Returns how long the stop took. If
/// `lost` completes during a stop, `grace.lost` replaces the rest of `grace.stop`.
///
/// A dropped future aborts every member; [`Term::tasks`] shows when they are gone.
///
/// # Panics
///
/// If a member panicked, after the others have stopped. Members catch the panics of user code.
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
