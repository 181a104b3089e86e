//! Driver: one campaign, and the term that it brings. The candidate makes all decisions about the
//! lease.

use std::any::Any;
use std::future::Future;
use std::sync::{Arc, PoisonError};

use tokio::sync::{OwnedMutexGuard, watch};

use crate::candidate::{Candidate, Hold, News};
use crate::evidence::Inquiry;
use crate::feed::Feed;
use crate::leadership::Leadership;
use crate::shared::{Outcome, Shared};
use crate::term_watch::TermWatch;
use crate::warm_up::WarmUps;

mod account;
mod announcement;
mod lead;
mod release;
mod stop;
mod turn;
pub(crate) use account::Account;
pub use account::Release;
use stop::StopSignal;
use turn::{Request, sleep_until, turn};

/// How a run ended.
pub(crate) enum Ended<R> {
    With(Outcome<R>),
    Panicked(Box<dyn Any + Send>),
}

impl<R> Ended<R> {
    /// Resumes a panic.
    pub(crate) fn into_outcome(self) -> Outcome<R> {
        match self {
            Self::With(outcome) => outcome,
            Self::Panicked(panic) => std::panic::resume_unwind(panic),
        }
    }
}

pub(crate) struct Driver {
    shared: Arc<Shared>,
    candidate: OwnedMutexGuard<Candidate>,
    /// Moves into the task of the work.
    at_work: Option<OwnedMutexGuard<()>>,
    feed: Feed,
    inquiry: Inquiry,
    request: Option<Request>,
    /// Watches the current term, if the elector has a watchdog.
    watch: Option<Arc<dyn TermWatch>>,
    stop: StopSignal,
    maintenance: watch::Receiver<bool>,
    warm_ups: watch::Receiver<WarmUps>,
    account: Account,
}

/// Waits until the elector has no other run and no work that outlived one, then runs. A stop during
/// that wait returns `NeverLed`.
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
    let mut stop = StopSignal::new(shared.stop.subscribe(), abandoned);
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
        // The lock `at_work` is held: no work runs, however the previous run ended.
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
            Some(hold) => self.lead(hold, work).await,
            None => Ended::With(Outcome::NeverLed),
        }
    }

    /// Campaigns until this elector leads or is stopped.
    async fn campaign(&mut self) -> Option<Hold> {
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
            if let News::Acquired(hold) = news {
                if !*self.maintenance.borrow() {
                    self.account.release(Release::NotDue);
                    return Some(hold);
                }
                // Sent before maintenance began: standbys must not wait for this lease.
                self.decline(hold.until).await;
                self.stand_on();
                declined_runs_out = Some(hold.sent.after(self.shared.config.lease_duration()));
            }
        }
        // A failed decline is reported only while the declined lease may still run.
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

    /// Begins to withdraw the LeaseCandidate after a stop, or the controller grants it the lease
    /// again. A dropped run has done so already, and another campaign may stand by now.
    fn stand_no_more(&self) {
        if let Some(standing) = self.shared.standing.as_ref().filter(|_| self.stop.is_asked()) {
            standing.unwant();
        }
    }

    /// Lets the LeaseCandidate stand again after a decline, which withdrew it. The bar is set anew,
    /// because maintenance may have ended meanwhile.
    fn stand_on(&self) {
        if let Some(standing) = self.shared.standing.as_ref().filter(|_| !self.stop.is_set()) {
            standing.bar(self.shared.is_barred());
            standing.go_on();
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // If the runtime shuts down nothing else ends the term, and the next run may lead at once.
        if let Some(term) = self.shared.term.lock().unwrap_or_else(PoisonError::into_inner).take() {
            term.break_off();
            self.shared.counters.lost(&term.loss());
        }
        self.shared.counters.watching(false);
    }
}

/// Tells the standing whether requests of a lost term's work may still land.
fn stand_back(shared: &Shared, uncleared: bool) {
    shared.standing.iter().for_each(|standing| standing.await_clear(uncleared));
}
