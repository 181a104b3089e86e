//! Lead: one term, in the order renew, stop, join, release.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, PoisonError};

use futures::FutureExt as _;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinHandle};

use super::turn::{sleep_until, turn};
use super::{Driver, Ended, announcement, stand_back};
use crate::announcement::{Announced, Announcement};
use crate::candidate::{Hold, News};
use crate::clock::Moment;
use crate::error::shown;
use crate::leadership::Leadership;
use crate::loss::Loss;
use crate::planted::planted;
use crate::shared::{Outcome, Shared};
use crate::term::{Term, TermParts};
use crate::term_watch::Working;

/// Why the driver stopped waiting for the work.
enum Interrupt<R> {
    Joined(Result<R, JoinError>),
    Overran,
    /// When the term ended: long ago, if the machine was suspended or the process was stopped.
    Lost(Moment),
}

impl Driver {
    pub(super) async fn lead<F, Fut, R>(mut self, hold: Hold, work: F) -> Ended<R>
    where
        F: FnOnce(Leadership) -> Fut + Send + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: Send + 'static,
    {
        let shared = Arc::clone(&self.shared);
        let config = &shared.config;
        let term = Term::begin(TermParts {
            fence: hold.fence.clone(),
            identity: config.identity().to_owned(),
            writer: self.candidate.writer().to_owned(),
            marks: self.candidate.marks(),
            acquire_time: hold.acquire_time,
            valid_until: hold.until,
            clock: Arc::clone(&shared.clock),
            store: Arc::clone(&shared.store),
            request_timeout: config.request_timeout(),
            releases: config.release_on_stop(),
            standing: shared.standing.clone(),
        });
        tracing::info!(lease = config.name(), namespace = config.namespace(), fence = %hold.fence, "leading");
        shared.counters.took_over(hold.vacant_for);
        *shared.term.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&term));
        self.note_lease_end(hold.sent);
        self.announce(Announced::BecameLeader, &term);

        self.watch = shared.term_watch.get().cloned();
        self.watch.iter().for_each(|watch| watch.term_begins(&hold.fence, hold.until));

        let leadership = Leadership::of(Arc::clone(&term));
        let (at_work, watch) = (self.at_work.take(), self.watch.clone());
        let mut work: JoinHandle<R> = tokio::spawn(async move {
            let _at_work = at_work;
            if !leadership.is_valid() {
                // The term ended before its work began: the work never starts, and `attend` drops
                // this task.
                std::future::pending::<()>().await;
            }
            let _working = Working::begin(watch);
            work(leadership).await
        });
        let attended = AssertUnwindSafe(self.attend(&term, &mut work, &hold)).catch_unwind().await;
        let ended = match attended {
            Ok(ended) => {
                self.candidate.abdicate(shared.clock.now());
                ended
            }
            // After a panic of the store or the clock the driver drops and joins the work: the next
            // run would start beside it. Until then it calls neither of the two, because either may
            // panic again.
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

    /// Runs one term, from the start of its work to the release. Returns after the work has ended.
    async fn attend<R>(
        &mut self,
        term: &Arc<Term>,
        work: &mut JoinHandle<R>,
        hold: &Hold,
    ) -> Ended<R> {
        let began = hold.sent;
        let shared = Arc::clone(&self.shared);
        let config = &shared.config;
        let joined = match self.accompany(term, work, hold.until).await {
            Interrupt::Joined(joined) => {
                let in_term = term.is_valid();
                self.note_length(began, shared.clock.now());
                term.end(Loss::Finished);
                if !in_term {
                    shared.counters.lost(&term.loss());
                }
                self.work_ended();
                if in_term && joined.is_err() {
                    // The work panicked, so it did not await its requests (A4).
                    self.candidate.drop_work(shared.clock.now());
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
                // The margin counts from the end of the term, not from its discovery: after it,
                // another candidate's work may run.
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

    /// Renews while the work runs. If no renewal succeeds the term ends at `until`.
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
            // The controller's note may arrive with the answer to the acquisition or to a renewal.
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
                // `verify_remote` ended the term, or a check of its validity found it expired.
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
                // Extends the watchdog first: if this thread stalls in between, the watchdog must
                // not act within a valid term.
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

    /// Clears the term and announces its end. Idempotent: `attend` calls it before the release,
    /// `lead` on every path.
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

/// # Cancel safety
/// Dropping the future loses nothing.
async fn switched_on(switch: &mut watch::Receiver<bool>) {
    // Never fails: the driver holds the sender through `Shared`.
    let _ = switch.wait_for(|on| *on).await;
}

/// Drops the work at its next await and joins it. Meanwhile the LeaseCandidate does not stand,
/// because this elector cannot lead.
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

/// Escapes a loss for a log line: another holder chooses its identity freely.
fn loss_kind(loss: &Loss) -> Loss {
    match loss {
        Loss::TakenOver { by } => Loss::TakenOver { by: shown(by) },
        other => other.clone(),
    }
}
