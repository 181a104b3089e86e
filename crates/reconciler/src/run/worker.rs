//! One worker: takes a key, runs the reconciler on it, and applies the verdict of `outcome`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::FutureExt as _;
use parking_lot::Mutex;
use tokio::task::coop::consume_budget;
use tokio::time::{Instant, timeout};
use tracing::Instrument as _;

use crate::cache::guarded;
use crate::failure::Then;
use crate::hostile::{let_go, loggable, said, shown};
use crate::metrics::ControllerMetrics;
use crate::queue::inbox::Inbox;
use crate::queue::reasons::Reasons;
use crate::queue::{Held, Queue};
use crate::run::Writes;
use crate::run::active::{ActiveRuns, RunId};
use crate::run::cancellation::Cancellation;
use crate::run::failing::{Admission, FailingKeys, admit};
use crate::run::outcome::{Ended, Policy, Verdict, decide};
use crate::run::parked::ParkedKeys;
use crate::run::term::Term;
use crate::{Reconciler, Request};

/// The shared state of one controller's workers in one term.
pub(crate) struct Work<R: Reconciler> {
    pub(crate) name: Arc<str>,
    pub(crate) reconciler: Arc<R>,
    pub(crate) queue: Queue<R::Key>,
    pub(crate) term: Term,
    pub(crate) policy: Policy,
    pub(crate) timeout: Option<Duration>,
    pub(crate) sources: Arc<[Arc<str>]>,
    pub(crate) metrics: Arc<ControllerMetrics>,
    pub(crate) writes: Option<Arc<Writes<R::Key>>>,
    pub(crate) failing: Arc<FailingKeys<R::Key>>,
    pub(crate) active: Arc<ActiveRuns<R::Key>>,
    pub(crate) parked: Arc<ParkedKeys<R::Key>>,
    pub(crate) inbox: Arc<Inbox<R::Key>>,
    /// Keys whose run was dropped before its end.
    pub(crate) dropped: Mutex<Vec<R::Key>>,
    /// Keys that were taken too late to be run.
    pub(crate) returned: Mutex<Vec<R::Key>>,
}

/// Runs keys until the queue is shut down.
pub(crate) async fn work<R: Reconciler>(work: Arc<Work<R>>) {
    let stopping = Arc::new(work.term.stopping.clone());
    while let Some(held) = work.queue.get().await {
        if !work.term.may_start() {
            work.returned.lock().push(held.key().clone());
            continue;
        }
        let running = Running::begin(&work, held.key().clone());
        let reasons = work.judged(&held);
        match work.admission(held.key(), reasons) {
            Admission::Run => {}
            Admission::Postpone(by) => {
                work.returned.lock().extend(held.postpone(&work.queue, by, reasons));
                running.end();
                continue;
            }
            Admission::Leave => {
                held.leave();
                running.end();
                continue;
            }
        }
        work.parked.remove(held.key());
        let attempt = held.attempt();
        let policy = work.policy.counting(held.failure_counts());
        let cancellation = Arc::new(Cancellation::new(Arc::clone(&stopping)));
        let request = Request {
            key: held.key().clone(),
            attempt,
            is_last_attempt: policy.is_last(attempt),
            deadline: work.timeout.and_then(|longest| Instant::now().checked_add(longest)),
            reasons,
            sources: Arc::clone(&work.sources),
            cancellation: Arc::clone(&cancellation),
            scope: work.term.scope.clone(),
        };
        let span = tracing::info_span!("reconcile", controller = %work.name,
            key = %shown(&request.key), attempt);
        let began = Instant::now();
        let (ended, error) = one_run(&work, request, attempt, &cancellation).instrument(span).await;
        // Work that holds the run's token learns that the run is over.
        cancellation.cancel();
        // The time of the retry may have come during the run.
        let policy = work.policy.counting(held.failure_counts());
        let verdict = decide(ended, attempt, &policy);
        work.metrics.ended(ended, verdict, began.elapsed());
        match verdict {
            Verdict::Retry | Verdict::RetryAfter(_) => {
                let error = error.unwrap_or_default();
                work.failing.failed(held.key().clone(), Instant::now(), error)
            }
            Verdict::Rest | Verdict::Requeue(_) => work.failing.recovered(held.key()),
            Verdict::Park(reason) => {
                work.failing.recovered(held.key());
                work.parked.insert(held.key().clone(), reason, Instant::now());
            }
        }
        let finished = catch_unwind(AssertUnwindSafe(|| held.finish(&work.queue, verdict)));
        match (finished, running.end()) {
            // The next term runs a key that was to run again.
            (Ok(refused), _) => work.returned.lock().extend(refused),
            (Err(_), None) => {}
            (Err(_), Some(key)) => {
                work.metrics.panics.up();
                let queued = work.queue.finish_anyhow(key, verdict);
                tracing::error!(controller = %work.name, ?queued, "the limiter or the key panicked at the end of a run");
            }
        }
        // A reconciler that never waits must not block the runtime.
        consume_budget().await;
    }
}

impl<R: Reconciler> Work<R> {
    /// The reasons of the key with the weights of its events. Its last run has ended.
    fn judged(&self, held: &Held<R::Key>) -> Reasons {
        match &self.writes {
            Some(writes) => writes.judge(held.key(), held.reasons()),
            None => held.reasons(),
        }
    }

    fn admission(&self, key: &R::Key, reasons: Reasons) -> Admission {
        if reasons.are_own() && self.policy.ignores_own_writes {
            return Admission::Leave;
        }
        // A handle un-parks a key at once.
        let parked = || self.parked.since(key).filter(|_| !reasons.are_added());
        let ended = self.failing.since(key).or_else(parked);
        admit(ended, reasons, Instant::now(), self.policy.failing_interval)
    }
}

/// The time between the cancellation at the time-out and the drop of the run.
pub(crate) fn notice_of(timeout: Duration) -> Duration {
    (timeout / 10).clamp(Duration::from_millis(100), Duration::from_secs(5))
}

/// Runs the reconciler once, with its time-out, and catches its panics. Returns the text of its
/// error too, safe for a terminal.
async fn one_run<R: Reconciler>(
    work: &Work<R>,
    request: Request<R::Key>,
    attempt: u32,
    cancellation: &Cancellation,
) -> (Ended, Option<Box<str>>) {
    let run = guarded(async { work.reconciler.reconcile(request).await });
    let run = AssertUnwindSafe(run).catch_unwind();
    let result = match work.timeout {
        None => run.await,
        Some(longest) => {
            let mut run = pin!(run);
            match timeout(longest, &mut run).await {
                Ok(result) => result,
                Err(_) => {
                    cancellation.cancel();
                    let notice = notice_of(longest);
                    match timeout(notice, run).await {
                        Ok(result) => result,
                        Err(_) => {
                            tracing::warn!(timeout = ?longest, ?notice, "a reconcile took too long and was dropped");
                            return (Ended::TimedOut, Some("its time was up".into()));
                        }
                    }
                }
            }
        }
    };
    match result {
        Ok(Ok(action)) => (Ended::Done(action), None),
        Ok(Err(failure)) => {
            let (error, then) = (said(&failure), failure.then());
            // Logs a failing key ever less often: at the attempts 1, 2, 4, 8 and so on.
            if then == Then::Conflict {
                tracing::debug!(error, "a reconcile met a conflict");
            } else if failure.is_terminal() {
                tracing::warn!(error, "a reconcile failed for good");
            } else if attempt.saturating_add(1).is_power_of_two() {
                tracing::warn!(error, "a reconcile failed");
            } else {
                tracing::debug!(error, "a reconcile failed");
            }
            let_go(failure); // Its destructor may panic.
            (Ended::Failed(then), Some(error.into()))
        }
        Err(panic) => {
            let said = panic.downcast_ref::<&str>().copied();
            let said = said.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
            let text = loggable(said.unwrap_or("not a text"));
            tracing::error!(text, "a reconcile panicked");
            let_go(panic); // Its destructor may panic too.
            (Ended::Panicked, Some(format!("panicked: {text}").into()))
        }
    }
}

/// Keeps a key whose run is dropped before its end, by an abort or by a panic in a destructor.
struct Running<'a, R: Reconciler> {
    work: &'a Work<R>,
    run: Option<RunId>,
}

impl<'a, R: Reconciler> Running<'a, R> {
    fn begin(work: &'a Work<R>, key: R::Key) -> Self {
        work.metrics.active_workers.fetch_add(1, Ordering::Relaxed);
        Self { work, run: Some(work.active.begin(key, Instant::now())) }
    }

    fn end(mut self) -> Option<R::Key> {
        self.run.take().and_then(|run| self.work.active.end(run))
    }
}

impl<R: Reconciler> Drop for Running<'_, R> {
    fn drop(&mut self) {
        self.work.metrics.active_workers.fetch_sub(1, Ordering::Relaxed);
        if let Some(key) = self.run.take().and_then(|run| self.work.active.end(run)) {
            // The key's own code may have panicked. A second panic here would abort the process.
            let kept = catch_unwind(AssertUnwindSafe(|| self.work.inbox.keep(key.clone())));
            self.work.dropped.lock().push(key);
            if kept.is_err() {
                tracing::error!(controller = %self.work.name, "a key panicked when it was to be kept for the next term");
            }
        }
    }
}

#[cfg(test)]
mod tests;
