//! Leader tasks run beside the controllers for the length of a term: sweeps, schedules, servers.
//! Tasks of every replica are the same with one term.

use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

use crate::BoxError;
use crate::hostile::{let_go, said};
use crate::run::request::Scope;
use crate::run::term::{InTerm, Term};

/// First and longest pause before a failed task runs again.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// The context of a leader task in one term. Clones share it.
#[derive(Clone)]
pub struct LeaderTask {
    cancellation: CancellationToken,
    scope: Scope,
}

impl LeaderTask {
    /// Is cancelled when the task must end: a stop was requested, or the lease is lost. A task that
    /// ignores it is dropped at an await after the grace.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancellation
    }

    /// As [`Request::tracker`](crate::Request::tracker).
    pub fn tracker(&self) -> &TaskTracker {
        &self.scope.tracker
    }

    /// As [`Request::leadership`](crate::Request::leadership).
    #[cfg(feature = "election")]
    pub fn leadership(&self) -> Option<&lease_election::Leadership> {
        self.scope.leadership.as_ref()
    }

    /// As [`Request::fence`](crate::Request::fence).
    #[cfg(feature = "election")]
    pub fn fence(&self) -> Option<lease_election::FenceToken> {
        self.scope.leadership.as_ref().map(lease_election::Leadership::fence)
    }
}

impl fmt::Debug for LeaderTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaderTask")
            .field("cancelled", &self.cancellation.is_cancelled())
            .finish_non_exhaustive()
    }
}

type Task = Arc<dyn Fn(LeaderTask) -> BoxFuture<'static, Result<(), BoxError>> + Send + Sync>;

/// A task with its name.
pub(crate) struct NamedTask {
    name: Arc<str>,
    task: Task,
}

impl NamedTask {
    pub(crate) fn new<F, Fut>(name: Arc<str>, task: F) -> Self
    where
        F: Fn(LeaderTask) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        Self { name, task: Arc::new(move |context| task(context).boxed()) }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    async fn repeat(&self, term: &Term) {
        let mut pause = PAUSES.0;
        while term.may_start() {
            let context =
                LeaderTask { cancellation: term.stopping.child_token(), scope: term.scope.clone() };
            let run = AssertUnwindSafe(async { (self.task)(context).await }).catch_unwind();
            match run.await {
                Ok(Ok(())) => return,
                Ok(Err(error)) => {
                    tracing::warn!(
                        error = said(&*error),
                        ?pause,
                        "a task failed and will run again"
                    );
                    let_go(error);
                }
                Err(panic) => {
                    tracing::error!(?pause, "a task panicked and will run again");
                    let_go(panic);
                }
            }
            tokio::select! {
                () = term.stopping.cancelled() => return,
                () = sleep(pause) => pause = pause.saturating_mul(2).min(PAUSES.1),
            }
        }
    }
}

impl InTerm for NamedTask {
    fn run(self: Arc<Self>, term: Term) -> BoxFuture<'static, ()> {
        let span = tracing::info_span!("task", name = %self.name);
        let task = async move {
            let repeated = async {
                tokio::select! {
                    biased;
                    () = self.repeat(&term) => {}
                    () = term.abort.cancelled() => {}
                }
            };
            // A destructor of the dropped task may panic.
            if let Err(panic) = AssertUnwindSafe(repeated).catch_unwind().await {
                tracing::error!("a task panicked when it was dropped");
                let_go(panic);
            }
        };
        task.instrument(span).boxed()
    }
}
