//! Driver: one campaign and one term. It sends what the candidate says, feeds it the answers, runs
//! the work beside it, and keeps the order stop, join, release. All decisions about the lease are
//! the candidate's.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, PoisonError};

use futures::FutureExt as _;
use tokio::sync::{OwnedMutexGuard, watch};
use tokio::task::{JoinError, JoinHandle};

use crate::announcement::{Announced, Announcement};
use crate::candidate::{Candidate, News, Tenure};
use crate::clock::Moment;
use crate::error::shown;
use crate::evidence::Inquiry;
use crate::feed::Feed;
use crate::leadership::Leadership;
use crate::loss::Loss;
use crate::planted::planted;
use crate::shared::{Outcome, Shared};
use crate::term::{Term, TermParts};
use crate::term_watch::{TermWatch, Working};
use crate::warm_up::WarmUps;

mod account;
mod announcement;
mod release;
mod turn;
pub(crate) use account::Account;
pub use account::Release;
use turn::{Request, sleep_until, turn};

/// How a run ended.
pub(crate) enum Ended<R> {
    With(Outcome<R>),
    Panicked(Box<dyn Any + Send>),
}

impl<R> Ended<R> {
    /// A panic goes on here.
    pub(crate) fn into_outcome(self) -> Outcome<R> {
        match self {
            Self::With(outcome) => outcome,
            Self::Panicked(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// What ended the wait for the work.
enum Interrupt<R> {
    Joined(Result<R, JoinError>),
    Overran,
    /// The term was over from this moment on, which may be long ago: the machine was suspended, the
    /// process was stopped.
    Lost(Moment),
}

pub(crate) struct Driver {
    shared: Arc<Shared>,
    candidate: OwnedMutexGuard<Candidate>,
    /// Goes to the work when there is one.
    at_work: Option<OwnedMutexGuard<()>>,
    feed: Feed,
    inquiry: Inquiry,
    request: Option<Request>,
    /// Over the term under way, if somebody watches over the elector's.
    watch: Option<Arc<dyn TermWatch>>,
    stop: StopSignal,
    maintenance: watch::Receiver<bool>,
    warm_ups: watch::Receiver<WarmUps>,
    account: Account,
}

/// Asked to stop by a handle, or abandoned by the caller of `run`.
struct StopSignal {
    stop: watch::Receiver<bool>,
    abandoned: watch::Receiver<()>,
}

impl StopSignal {
    fn is_set(&self) -> bool {
        self.is_asked() || self.is_abandoned()
    }

    fn is_asked(&self) -> bool {
        *self.stop.borrow()
    }

    fn is_abandoned(&self) -> bool {
        self.abandoned.has_changed().is_err()
    }

    /// # Cancel safety
    /// Dropping the future loses nothing.
    async fn wait(&mut self) {
        tokio::select! {
            biased;
            _ = self.stop.wait_for(|stopped| *stopped) => {}
            _ = self.abandoned.changed() => {}
        }
    }
}

/// Runs as soon as no other run of the elector does, and no work that outlived one; not at all if
/// it is stopped before.
pub(crate) async fn run<F, Fut, R>(
    shared: Arc<Shared>,
    abandoned: watch::Receiver<()>,
    account: Account,
    work: F,
) -> Ended<R>
where
    F: FnOnce(Leadership) -> Fut + Send + 'static,
    Fut: Future<Output = R> + Send + 'static,
    R: Send + 'static,
{
    let mut stop = StopSignal { stop: shared.stop.subscribe(), abandoned };
    let alone = async {
        let candidate = Arc::clone(&shared.candidate).lock_owned().await;
        (candidate, Arc::clone(&shared.at_work).lock_owned().await)
    };
    let (candidate, at_work) = tokio::select! {
        biased;
        () = stop.wait() => return Ended::With(Outcome::NeverLed),
        alone = alone => alone,
    };
    Driver::new(shared, candidate, at_work, stop, account).run(work).await
}

impl Driver {
    fn new(
        shared: Arc<Shared>,
        mut candidate: OwnedMutexGuard<Candidate>,
        at_work: OwnedMutexGuard<()>,
        stop: StopSignal,
        account: Account,
    ) -> Self {
        // No work runs now, however the run before this one ended.
        let now = shared.clock.now();
        candidate.resume(now);
        stand_back(&shared, candidate.may_stand_from(now).is_some());
        shared.standing.iter().for_each(|standing| standing.follow());
        shared.work.set(None);
        let feed = Feed::new(
            Arc::clone(&shared.store),
            Arc::clone(&shared.clock),
            shared.config.request_timeout(),
            shared.config.pace(),
        );
        let inquiry = Inquiry::new(shared.evidence.get(), &shared.config);
        let (maintenance, warm_ups) =
            (shared.maintenance.on.subscribe(), shared.warm_ups.subscribe());
        Self {
            shared,
            candidate,
            at_work: Some(at_work),
            feed,
            inquiry,
            request: None,
            watch: None,
            stop,
            maintenance,
            warm_ups,
            account,
        }
    }

    async fn run<F, Fut, R>(mut self, work: F) -> Ended<R>
    where
        F: FnOnce(Leadership) -> Fut + Send + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: Send + 'static,
    {
        match self.campaign().await {
            Some(tenure) => self.lead(tenure, work).await,
            None => Ended::With(Outcome::NeverLed),
        }
    }

    /// Until this elector leads, or is stopped.
    async fn campaign(&mut self) -> Option<Tenure> {
        let mut declined_runs_out = None;
        while !self.stop.is_set() {
            let clock = &self.shared.clock;
            let cold_until = self.warm_ups.borrow_and_update().cold_until(clock.now());
            self.candidate.bar(*self.maintenance.borrow_and_update() || cold_until.is_some());
            let news = tokio::select! {
                biased;
                () = self.stop.wait() => break,
                _ = self.maintenance.changed() => continue,
                _ = self.warm_ups.changed() => continue,
                () = sleep_until(clock, cold_until) => continue,
                news = turn(&self.shared, &mut self.candidate, &mut self.feed, &mut self.inquiry, &mut self.request, None) => news,
            };
            if let News::Acquired(tenure) = news {
                if !*self.maintenance.borrow() {
                    self.account.release(Release::NotDue);
                    return Some(tenure);
                }
                // Sent before the maintenance began: nobody is to wait for one that does not lead.
                self.decline(tenure.until).await;
                self.stand_on();
                declined_runs_out = Some(tenure.sent.after(self.shared.config.lease_duration()));
            }
        }
        // A decline that failed is told of only while the lease that it left may run.
        let (_, declined) = self.account.told();
        if declined != Release::Failed
            || declined_runs_out.is_some_and(|at| self.shared.clock.now() >= at)
        {
            self.account.release(Release::NotDue);
        }
        self.stand_no_more();
        self.give_up().await;
        if self.account.told().1 == Release::Failed && self.candidate.has_given_back() {
            self.account.release(Release::GivenBack);
        }
        self.decline_grant().await;
        None
    }

    /// Stopped for good: before the lease is given back, or it is granted to this one again. An
    /// abandoned run has said so when it was dropped, and another may stand by now.
    fn stand_no_more(&self) {
        if let Some(standing) = self.shared.standing.as_ref().filter(|_| self.stop.is_asked()) {
            standing.unwant();
        }
    }

    /// The campaign goes on after a decline, for which the candidate was taken back; a maintenance
    /// that ended meanwhile leaves nothing behind.
    fn stand_on(&self) {
        if let Some(standing) = self.shared.standing.as_ref().filter(|_| !self.stop.is_set()) {
            standing.bar(self.shared.is_barred());
            standing.go_on();
        }
    }

    async fn lead<F, Fut, R>(mut self, tenure: Tenure, work: F) -> Ended<R>
    where
        F: FnOnce(Leadership) -> Fut + Send + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: Send + 'static,
    {
        let shared = Arc::clone(&self.shared);
        let config = &shared.config;
        let term = Term::begin(TermParts {
            fence: tenure.fence.clone(),
            identity: config.identity().to_owned(),
            writer: self.candidate.writer().to_owned(),
            marks: self.candidate.marks(),
            acquire_time: tenure.acquire_time,
            valid_until: tenure.until,
            clock: Arc::clone(&shared.clock),
            store: Arc::clone(&shared.store),
            request_timeout: config.request_timeout(),
            releases: config.release_on_stop(),
            standing: shared.standing.clone(),
        });
        tracing::info!(lease = config.name(), namespace = config.namespace(), fence = %tenure.fence, "leading");
        shared.counters.took_over(tenure.vacant_for);
        *shared.term.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&term));
        self.note_lease_end(tenure.sent);
        self.announce(Announced::BecameLeader, &term);

        self.watch = shared.term_watch.get().cloned();
        self.watch.iter().for_each(|watch| watch.term_begins(&tenure.fence, tenure.until));

        let leadership = Leadership::of(Arc::clone(&term));
        let (at_work, watch) = (self.at_work.take(), self.watch.clone());
        let mut work: JoinHandle<R> = tokio::spawn(async move {
            let _at_work = at_work;
            if !leadership.is_valid() {
                // The term ended before its work was begun, and so it has none: whoever attends to
                // it drops this.
                std::future::pending::<()>().await;
            }
            let _working = Working::begin(watch);
            work(leadership).await
        });
        let attended =
            AssertUnwindSafe(self.attend(&term, &mut work, &tenure)).catch_unwind().await;
        let ended = match attended {
            Ok(ended) => {
                self.candidate.abdicate(shared.clock.now());
                ended
            }
            // A store or a clock that panics must not leave work behind that nobody attends: the
            // next run would start beside it. Neither is asked anything until the work
            // is gone: what panicked once may panic again.
            Err(panic) => {
                term.break_off();
                let _ = join_dropped(&shared, &mut work).await;
                shared.counters.lost(&term.loss());
                Ended::Panicked(panic)
            }
        };
        self.work_ended();
        ended
    }

    /// One term, from the start of its work to the release: the work has ended when this returns.
    async fn attend<R>(
        &mut self,
        term: &Arc<Term>,
        work: &mut JoinHandle<R>,
        tenure: &Tenure,
    ) -> Ended<R> {
        let began = tenure.sent;
        let shared = Arc::clone(&self.shared);
        let config = &shared.config;
        let joined = match self.accompany(term, work, tenure.until).await {
            Interrupt::Joined(joined) => {
                let in_term = term.is_valid();
                self.note_length(began, shared.clock.now());
                term.end(Loss::Finished);
                if !in_term {
                    shared.counters.lost(&term.loss());
                }
                self.work_ended();
                if in_term && joined.is_err() {
                    // It did not await what it sent.
                    self.candidate.break_off(shared.clock.now());
                }
                if in_term && config.release_on_stop() {
                    self.outlast_work().await;
                    let until = self.candidate.deadline().unwrap_or_else(|| shared.clock.now());
                    self.release(until, term.successor()).await;
                } else if in_term {
                    self.candidate.leave();
                }
                return match joined {
                    Ok(result) if in_term => Ended::With(Outcome::Finished(result)),
                    joined => after_loss(joined),
                };
            }
            Interrupt::Overran => {
                tracing::warn!(
                    lease = config.name(),
                    "the work outlived the drain time-out and is dropped; the lease is not given back"
                );
                self.note_length(began, shared.clock.now());
                term.end(Loss::Overran);
                self.watch.iter().for_each(|watch| watch.term_ended(shared.clock.now()));
                join_dropped(&shared, work).await
            }
            Interrupt::Lost(ended) => {
                stand_back(&shared, true);
                self.note_length(began, ended);
                self.watch.iter().for_each(|watch| watch.term_ended(ended));
                // Counted from the end of the term, not from its discovery: when the margin is
                // over, another may be at work.
                let margin = shared.clock.sleep_until(ended.after(config.stop_margin()));
                tokio::select! {
                    biased;
                    joined = &mut *work => joined,
                    () = margin => {
                        tracing::warn!(lease = config.name(), "the work outlived its term by the stop margin and is dropped");
                        join_dropped(&shared, work).await
                    }
                }
            }
        };
        let loss = term.loss();
        tracing::warn!(lease = config.name(), loss = ?loss_kind(&loss), "no longer leading");
        shared.counters.lost(&loss);
        after_loss(joined)
    }

    /// Renews while the work goes on. The term is good until `until` if no renewal succeeds.
    async fn accompany<R>(
        &mut self,
        term: &Arc<Term>,
        work: &mut JoinHandle<R>,
        mut until: Moment,
    ) -> Interrupt<R> {
        let clock = Arc::clone(&self.shared.clock);
        let lost = |until: Moment| Interrupt::Lost(until.min(clock.now()));
        let drain_timeout = self.shared.config.drain_timeout();
        let mut drains_since: Option<Moment> = None;
        loop {
            let mut renewed = None;
            // The note may have come with the news of the acquisition, or of a renewal.
            if drains_since.is_none() && self.candidate.is_unpreferred() {
                tracing::info!(
                    lease = self.shared.config.name(),
                    "the server prefers another leader"
                );
                drains_since = Some(clock.now());
                term.request_stop();
            }
            tokio::select! {
                biased;
                joined = &mut *work => {
                    if let Some(since) = drains_since.filter(|_| term.is_valid()) {
                        self.shared.counters.drained(clock.now().since(since));
                    }
                    return Interrupt::Joined(joined);
                }
                () = self.stop.wait(), if drains_since.is_none() => {
                    drains_since = Some(clock.now());
                    self.stand_no_more();
                    if planted("release-before-stop") {
                        self.release(until, None).await;
                    }
                    term.request_stop();
                }
                () = switched_on(&mut self.maintenance), if drains_since.is_none() => {
                    drains_since = Some(clock.now());
                    term.request_stop();
                }
                () = term.stop_requested(), if drains_since.is_none() => {
                    drains_since = Some(clock.now());
                }
                () = sleep_until(&clock, drains_since.map(|since| since.after(drain_timeout))) => return Interrupt::Overran,
                // Ended by `verify_remote`, or found to be expired by whoever asked first.
                _ = term.lost() => return lost(until),
                news = turn(&self.shared, &mut self.candidate, &mut self.feed, &mut self.inquiry, &mut self.request, None) => match news {
                    News::Renewed(until) => renewed = Some(until),
                    News::Ended(loss) => {
                        term.end(loss);
                        return lost(until);
                    }
                    _ => {}
                },
            }
            if let Some(renewed) = renewed {
                // The watchdog first: a thread that is held up in between must not have it act
                // within a term that goes on.
                self.watch.iter().for_each(|watch| watch.term_extends(renewed));
                if !term.extend(renewed) {
                    return lost(until);
                }
                until = renewed;
                self.shared.counters.count(|stats| &mut stats.renewals);
                self.note_lease_end(until.before(self.shared.config.hold()));
            }
        }
    }

    /// Tells the health check when the lease of the running work runs out.
    fn note_lease_end(&self, sent: Moment) {
        self.shared.work.set(Some(sent.after(self.shared.config.lease_duration())));
    }

    fn note_length(&self, began: Moment, ended: Moment) {
        self.account.term_ended(ended.since(began));
    }

    /// After the work of a term, before the release; once more for good after whatever came then.
    fn work_ended(&self) {
        self.shared.work.set(None);
        let ended = self.shared.term.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(term) = ended {
            self.announce(Announced::StoppedLeading, &term);
        }
    }

    fn announce(&self, what: Announced, term: &Term) {
        let (identity, at) = (self.shared.config.identity(), self.shared.clock.wall());
        announcement::announce(
            &self.shared,
            &Announcement::new(what, identity, term.fence().clone(), at),
        );
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Where a runtime goes away with its tasks nobody has ended the term, and the next run may
        // lead at once.
        if let Some(term) = self.shared.term.lock().unwrap_or_else(PoisonError::into_inner).take() {
            term.break_off();
            self.shared.counters.lost(&term.loss());
        }
        self.shared.counters.watching(false);
    }
}

/// # Cancel safety
/// Dropping the future loses nothing.
async fn switched_on(switch: &mut watch::Receiver<bool>) {
    // Its sender is the elector's, and lives as long as its driver.
    let _ = switch.wait_for(|on| *on).await;
}

/// What the work of a lost term has sent may land, or no longer.
fn stand_back(shared: &Shared, uncleared: bool) {
    shared.standing.iter().for_each(|standing| standing.await_clear(uncleared));
}

/// Drops the work at its next await. Until it gets there this elector does not stand: it could not
/// lead.
async fn join_dropped<R>(shared: &Shared, work: &mut JoinHandle<R>) -> Result<R, JoinError> {
    work.abort();
    stand_back(shared, true);
    let occupied = |occupied| shared.standing.iter().for_each(|standing| standing.occupy(occupied));
    if !work.is_finished() {
        occupied(true);
    }
    let joined = work.await;
    occupied(false);
    joined
}

fn after_loss<R>(joined: Result<R, JoinError>) -> Ended<R> {
    match joined {
        Ok(result) => Ended::With(Outcome::Lost(result)),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => Ended::Panicked(panic),
            Err(_) => Ended::With(Outcome::Aborted),
        },
    }
}

/// A loss as it may stand in a log line: the other's identity is its own choice.
fn loss_kind(loss: &Loss) -> Loss {
    match loss {
        Loss::TakenOver { by } => Loss::TakenOver { by: shown(by) },
        other => other.clone(),
    }
}
