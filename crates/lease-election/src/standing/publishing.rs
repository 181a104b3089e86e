//! Publishing: the task that keeps a LeaseCandidate published while it is wanted.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::board::{Board, Candidacy, Publish};
use crate::error::StoreError;
use crate::status::Counters;

/// The pause before a publisher that panicked starts again, and the longest after several in a row.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// A publisher that lived for so long ends the row.
const LONG_LIFE: Duration = Duration::from_secs(60);

/// The handle of a publishing.
pub(super) struct Published {
    wanted: watch::Sender<bool>,
    task: JoinHandle<()>,
    /// Closed when the task has ended.
    pub(super) done: watch::Receiver<()>,
}

impl Published {
    /// Publishes from now on, in a task of this runtime, once the publishing `before` has ended.
    pub(super) fn begin(
        publish: &Publish,
        board: &Arc<Board>,
        counters: &Arc<Counters>,
        before: Option<Self>,
    ) -> Self {
        let (wanted, want) = watch::channel(true);
        let (ending, done) = watch::channel(());
        let publishing = Publishing {
            publish: Arc::clone(publish),
            board: Arc::clone(board),
            want,
            counters: Arc::clone(counters),
            ending: Some(ending),
            is_complete: false,
        };
        let task = tokio::spawn(async move {
            if let Some(before) = before {
                let _ = before.task.await;
            }
            publishing.go_on().await;
        });
        Self { wanted, task, done }
    }

    pub(super) fn is_wanted(&self) -> bool {
        *self.wanted.borrow()
    }

    pub(super) fn unwant(&self) {
        self.wanted.send_replace(false);
    }

    pub(super) fn has_ended(&self) -> bool {
        self.done.has_changed().is_err()
    }
}

/// One publishing, which ends when it is unwanted, or with its runtime.
struct Publishing {
    publish: Publish,
    board: Arc<Board>,
    want: watch::Receiver<bool>,
    counters: Arc<Counters>,
    /// Dropped at the end.
    ending: Option<watch::Sender<()>>,
    is_complete: bool,
}

impl Publishing {
    /// Publishes while that is wanted, and starts the publisher again after a panic.
    async fn go_on(mut self) {
        let mut failures = 0;
        while !self.live(&mut failures).await {
            let pause = PAUSES.0.saturating_mul(1 << failures.min(16)).min(PAUSES.1);
            failures = failures.saturating_add(1);
            tracing::error!(
                ?pause,
                "the publisher of the LeaseCandidate panicked: it is begun again while it is wanted"
            );
            self.failed("its publisher panicked");
            tokio::select! {
                biased;
                _ = self.want.wait_for(|want| !want) => break,
                () = tokio::time::sleep(pause) => {}
            }
        }
        self.is_complete = true;
    }

    /// Runs the publisher; false after a panic. A long life ends the row of failures.
    async fn live(&self, failures: &mut u32) -> bool {
        let life = async { (self.publish)(Arc::clone(&self.board), self.want.clone()).await };
        let mut life = pin!(AssertUnwindSafe(life).catch_unwind());
        let ended = tokio::select! {
            biased;
            ended = &mut life => ended,
            () = tokio::time::sleep(LONG_LIFE) => {
                *failures = 0;
                life.await
            }
        };
        ended.is_ok()
    }

    fn failed(&self, why: &str) {
        self.counters.count(|stats| &mut stats.publisher_failures);
        self.board.note(Candidacy::LeftBehind(StoreError::unknown(why)));
    }
}

impl Drop for Publishing {
    fn drop(&mut self) {
        // Closed before the report: its reader asks whether the publishing has ended.
        self.ending = None;
        if !self.is_complete {
            self.failed("its runtime went away");
        }
    }
}
