//! One worker: takes a key, runs the reconciler on it, and applies the verdict of `outcome`.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::FutureExt as _;
use parking_lot::Mutex;
use tokio::task::coop::consume_budget;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::cache::guarded;
use crate::failure::Then;
use crate::hostile::{let_go, loggable, said, shown};
use crate::metrics::ControllerMetrics;
use crate::queue::inbox::Inbox;
use crate::queue::reasons::Reasons;
use crate::queue::{Held, Queue};
use crate::run::active::{ActiveRuns, RunId};
use crate::run::cancellation::Cancellation;
use crate::run::failing::{Admission, FailingKeys, admit};
use crate::run::outcome::{Ended, Policy, Verdict, decide};
use crate::run::parked::ParkedKeys;
use crate::run::sparse_map::SparseMap;
use crate::run::term::Term;
use crate::run::writes::{Barrier, Writes};
use crate::{Failure, Reconciler, Request};

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
    /// Keys that were put off, and have not run since.
    pub(crate) postponed: SparseMap<R::Key, ()>,
    /// Keys whose run was dropped before its end.
    pub(crate) dropped: Mutex<Vec<R::Key>>,
    /// Keys that were taken too late to be run.
    pub(crate) returned: Mutex<Vec<R::Key>>,
}

/// Runs keys until the queue is shut down.
pub(crate) async fn work<R: Reconciler>(work: Arc<Work<R>>) {
    let stopping = Arc::new(work.term.stopping.clone());
    while let Some(held) = work.queue.get().await {
        work.take(held, &stopping).await;
        // Keys that never wait must not block the runtime.
        consume_budget().await;
    }
}

/// The end of a run.
struct End {
    ended: Ended,
    /// Safe for a terminal. Empty after a success.
    error: Box<str>,
}

impl<R: Reconciler> Work<R> {
    /// Runs a key from the queue, or puts it back.
    async fn take(&self, held: Held<R::Key>, stopping: &Arc<CancellationToken>) {
        if !self.term.may_start() {
            self.returned.lock().push(held.key().clone());
            return;
        }
        let running = Running::begin(self, held.key().clone());
        let reasons = self.judged(&held);
        match self.admission(held.key(), reasons) {
            Admission::Run => {}
            Admission::Postpone(by) => {
                self.postponed.insert(held.key().clone(), (), usize::MAX);
                self.returned.lock().extend(held.postpone(&self.queue, by, reasons));
                running.end();
                return;
            }
            Admission::Leave => {
                held.leave();
                running.end();
                return;
            }
        }
        self.parked.remove(held.key());
        if self.postponed.remove(held.key()) {
            // If another event came first, the key is still delayed for the earlier one.
            self.queue.cancel(held.key());
        }
        let cancellation = Arc::new(Cancellation::new(Arc::clone(stopping)));
        let request = self.request(&held, reasons, Arc::clone(&cancellation));
        let attempt = request.attempt;
        let span = tracing::info_span!("reconcile", controller = %self.name,
            key = %shown(&request.key), attempt);
        let began = Instant::now();
        let end = self.run(request, &cancellation).instrument(span).await;
        // Work that holds the run's token learns that the run is over.
        cancellation.cancel();
        self.finish(held, running, attempt, end, began);
    }

    /// The reasons of the key with the weights of its events. Its last run has ended.
    fn judged(&self, held: &Held<R::Key>) -> Reasons {
        match &self.writes {
            Some(writes) => writes.judge(held.key(), held.reasons()),
            None => held.reasons(),
        }
    }

    /// Whether the key may run now.
    fn admission(&self, key: &R::Key, reasons: Reasons) -> Admission {
        if reasons.are_own() && self.policy.ignores_own_writes {
            return Admission::Leave;
        }
        let now = Instant::now();
        // A handle un-parks a key at once.
        let parked = || self.parked.since(key).filter(|_| !reasons.are_added());
        let ended = self.failing.since(key).or_else(parked);
        let admission = admit(ended, reasons, now, self.policy.failing_interval);
        let Some(writes) = self.writes.as_ref().filter(|_| admission == Admission::Run) else {
            return admission;
        };
        match writes.begin(key, now) {
            Barrier::Open => Admission::Run,
            Barrier::Closed(by) => Admission::Postpone(by),
            Barrier::Late => {
                self.metrics.unseen_writes.up();
                tracing::warn!(controller = %self.name, key = %shown(key),
                    "a run starts although a cache does not show the writes of the last one");
                Admission::Run
            }
        }
    }

    fn request(
        &self,
        held: &Held<R::Key>,
        reasons: Reasons,
        cancellation: Arc<Cancellation>,
    ) -> Request<R::Key> {
        let attempt = held.attempt();
        Request {
            key: held.key().clone(),
            attempt,
            is_last_attempt: self.policy.counting(held.failure_counts()).is_last(attempt),
            deadline: self.timeout.and_then(|longest| Instant::now().checked_add(longest)),
            reasons,
            sources: Arc::clone(&self.sources),
            cancellation,
            scope: self.term.scope.clone(),
        }
    }

    /// Applies the verdict of `outcome` to the key.
    fn finish(
        &self,
        held: Held<R::Key>,
        running: Running<'_, R>,
        attempt: u32,
        end: End,
        began: Instant,
    ) {
        let End { ended, error } = end;
        // Asked again: the time of the retry may have come during the run.
        let policy = self.policy.counting(held.failure_counts());
        let verdict = decide(ended, attempt, &policy);
        self.metrics.ended(ended, verdict, began.elapsed());
        match verdict {
            Verdict::Retry | Verdict::RetryAfter(_) => {
                self.failing.failed(held.key().clone(), Instant::now(), error);
            }
            Verdict::Rest | Verdict::Requeue(_) => self.failing.recovered(held.key()),
            Verdict::Park(reason) => {
                self.failing.recovered(held.key());
                self.parked.insert(held.key().clone(), reason, Instant::now());
            }
        }
        let finished = catch_unwind(AssertUnwindSafe(|| held.finish(&self.queue, verdict)));
        let key = running.end();
        match finished {
            // The next term runs a key that was to run again.
            Ok(refused) => self.returned.lock().extend(refused),
            Err(_) => {
                self.metrics.panics.up();
                let queued = key.map(|key| self.queue.finish_anyhow(key, verdict));
                tracing::error!(controller = %self.name, ?queued, "the limiter or the key panicked at the end of a run");
            }
        }
    }

    /// Runs the reconciler once, with its time-out, and catches its panics.
    async fn run(&self, request: Request<R::Key>, cancellation: &Cancellation) -> End {
        let attempt = request.attempt;
        let run = guarded(async { self.reconciler.reconcile(request).await });
        let run = pin!(AssertUnwindSafe(run).catch_unwind());
        match self.in_time(run, cancellation).await {
            None => End { ended: Ended::TimedOut, error: "its time was up".into() },
            Some(Ok(Ok(action))) => End { ended: Ended::Done(action), error: Box::default() },
            Some(Ok(Err(failure))) => end_of_failure(failure, attempt),
            Some(Err(panic)) => end_of_panic(panic),
        }
    }

    /// The result of a run. `None` if its time was up, and its notice after that.
    async fn in_time<F: Future>(
        &self,
        mut run: Pin<&mut F>,
        cancellation: &Cancellation,
    ) -> Option<F::Output> {
        let Some(longest) = self.timeout else { return Some(run.await) };
        if let Ok(result) = timeout(longest, run.as_mut()).await {
            return Some(result);
        }
        cancellation.cancel();
        let notice = notice_of(longest);
        let result = timeout(notice, run).await.ok();
        if result.is_none() {
            tracing::warn!(timeout = ?longest, ?notice, "a reconcile took too long and was dropped");
        }
        result
    }
}

/// Logs a failure.
fn end_of_failure(failure: Failure, attempt: u32) -> End {
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
    End { ended: Ended::Failed(then), error: error.into() }
}

/// Logs a panic.
fn end_of_panic(panic: Box<dyn Any + Send>) -> End {
    let said = panic.downcast_ref::<&str>().copied();
    let said = said.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = loggable(said.unwrap_or("not a text"));
    tracing::error!(text, "a reconcile panicked");
    let_go(panic); // Its destructor may panic too.
    End { ended: Ended::Panicked, error: format!("panicked: {text}").into() }
}

/// The time between the cancellation at the time-out and the drop of the run.
pub(crate) fn notice_of(timeout: Duration) -> Duration {
    (timeout / 10).clamp(Duration::from_millis(100), Duration::from_secs(5))
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
