//! The terms of a manager. Without an election there is one term until the stop. With an election
//! there is one term each time this process leads, and a campaign after each term.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::{BoxFuture, join_all};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{Manager, settle};
use crate::Report;
use crate::cache::Complete;
use crate::controller::missing;
use crate::run::request::Scope;
use crate::run::term::{self, Grace, InTerm, Term, TermEnd};

impl Manager {
    /// Runs the workers, term by term, until the stop.
    async fn lead(&self, stop: &CancellationToken) -> Report {
        #[cfg(feature = "election")]
        if let Some(elector) = self.settings.elector.clone() {
            return self.lead_elected(&elector, stop).await;
        }
        self.lead_alone(stop).await
    }

    /// Runs the tasks of every replica, and [`lead`](Self::lead)s meanwhile. Stops them after the
    /// workers.
    pub(super) async fn lead_beside_tasks(&self, stop: &CancellationToken) -> Report {
        let (tracker, led) = (TaskTracker::new(), CancellationToken::new());
        let term = Term::new(Scope::alone(tracker.clone()), TaskTracker::new());
        let tasks = self.replica_tasks.iter().map(|task| Arc::clone(task) as Arc<dyn InTerm>);
        let end = async {
            led.cancelled().await;
            TermEnd::Stop
        };
        let tasks = term::run(tasks.collect(), term, end, std::future::pending(), self.grace());
        let leading = async {
            let report = self.lead(stop).await;
            led.cancel();
            report
        };
        futures::future::join(leading, tasks).await.0
    }

    fn grace(&self) -> Grace {
        Grace { stop: self.settings.grace, lost: self.settings.loss_grace }
    }

    fn members(&self) -> Vec<Arc<dyn InTerm>> {
        let controllers = self.controllers.iter().map(|controller| {
            let caches = controller.caches().into_iter().map(|(_, cache)| cache).collect();
            AfterCaches {
                name: controller.name().into(),
                member: Arc::clone(controller) as _,
                caches,
            }
        });
        let all = || self.watches.iter().map(|watch| watch.complete()).collect();
        let tasks = self.tasks.iter().map(|(name, task)| AfterCaches {
            name: Arc::clone(name),
            member: Arc::clone(task) as _,
            caches: all(),
        });
        controllers.chain(tasks).map(|member| Arc::new(member) as Arc<dyn InTerm>).collect()
    }

    async fn lead_alone(&self, stop: &CancellationToken) -> Report {
        let tracker = TaskTracker::new();
        let scope = Scope::alone(tracker.clone());
        let end = async {
            stop.cancelled().await;
            TermEnd::Stop
        };
        let never_lost = std::future::pending();
        let term = Term::new(scope, TaskTracker::new());
        let stop_took = term::run(self.members(), term, end, never_lost, self.grace()).await;
        let unfinished_tasks = settle(&tracker, Some(self.settings.grace)).await;
        Report { terms: 1, stop_took, unfinished_tasks, ..Report::default() }
    }

    #[cfg(feature = "election")]
    async fn lead_elected(
        &self,
        elector: &lease_election::LeaderElector,
        stop: &CancellationToken,
    ) -> Report {
        use std::time::Duration;

        use lease_election::{Ending, Outcome};

        use crate::report::Release;

        let mut report = Report::default();
        // Holds the pauses between terms, so that repeated losses do not restart the workers at
        // request speed.
        let mut campaigns = elector.campaigns();
        let campaign = async {
            loop {
                // Two trackers per term. Nothing starts before both are empty, even if the elector
                // gave up waiting.
                let (tracker, tasks) = (TaskTracker::new(), TaskTracker::new());
                let (members, grace) = (self.members(), self.grace());
                let work_tracker = tracker.clone();
                let term_tasks = tasks.clone();
                let outcome = campaigns
                    .run(move |leadership| async move {
                        tracing::info!(fence = %leadership.fence(), "leading: the workers start");
                        let scope = Scope {
                            tracker: work_tracker.clone(),
                            leadership: Some(leadership.clone()),
                        };
                        let end = async {
                            match leadership.ending().await {
                                Ending::StopRequested => TermEnd::Stop,
                                ending => {
                                    tracing::warn!(?ending, "the lease is lost: the workers stop");
                                    TermEnd::Lost
                                }
                            }
                        };
                        let lost = async {
                            leadership.lost().await;
                        };
                        let term = Term::new(scope, term_tasks);
                        let stop_took = term::run(members, term, end, lost, grace).await;
                        // No time limit here: the elector limits the wait, and then does not
                        // release the lease.
                        settle(&work_tracker, None).await;
                        stop_took
                    })
                    .await;
                let count = |report: &mut Report, stop_took: Duration| {
                    report.terms = report.terms.saturating_add(1);
                    report.stop_took = stop_took;
                };
                let released = campaigns.release();
                report.release = Some(match outcome {
                    Outcome::Finished(stop_took) => {
                        count(&mut report, stop_took);
                        match released {
                            lease_election::Release::GivenBack => Release::GivenBack,
                            lease_election::Release::Failed => Release::Failed,
                            _ => Release::Kept,
                        }
                    }
                    Outcome::Lost(stop_took) => {
                        count(&mut report, stop_took);
                        report.lost_terms = report.lost_terms.saturating_add(1);
                        Release::Lost
                    }
                    // The lease was granted during the stop, and could not be declined.
                    Outcome::NeverLed if released == lease_election::Release::Failed => {
                        Release::Failed
                    }
                    Outcome::NeverLed => Release::NotLeading,
                    _ => {
                        count(&mut report, Duration::ZERO);
                        report.lost_terms = report.lost_terms.saturating_add(1);
                        Release::Kept
                    }
                });
                if elector.is_stopped() {
                    report.unfinished_tasks = settle(&tracker, Some(Duration::ZERO)).await;
                    return;
                }
                let awaited = self.leftover.awaited();
                let gone = async {
                    settle(&tasks, None).await;
                    settle(&tracker, None).await;
                };
                tokio::select! {
                    biased;
                    () = gone => {
                        drop(awaited);
                        tracing::info!("campaigning again");
                    }
                    () = stop.cancelled() => {
                        report.unfinished_tasks = settle(&tracker, Some(self.settings.grace)).await;
                        return;
                    }
                }
            }
        };
        let stopper = async {
            stop.cancelled().await;
            elector.stop_handle().stop();
            std::future::pending::<()>().await;
        };
        tokio::select! {
            biased;
            () = campaign => {}
            () = stopper => {}
        }
        elector.stop_handle().stop();
        campaigns.end().await;
        report
    }
}

/// A member that starts when its caches are complete.
struct AfterCaches {
    name: Arc<str>,
    member: Arc<dyn InTerm>,
    caches: Vec<Arc<dyn Complete>>,
}

impl InTerm for AfterCaches {
    fn run(self: Arc<Self>, term: Term) -> BoxFuture<'static, ()> {
        let wait_and_run = async move {
            let missing = missing(self.caches.iter()).join(", ");
            if !missing.is_empty() {
                tracing::warn!(name = %self.name, caches = missing, "waits for caches that are not complete");
                tokio::select! {
                    biased;
                    () = term.stopping.cancelled() => return,
                    _ = join_all(self.caches.iter().map(|cache| cache.completed())) => {}
                }
                tracing::info!(name = %self.name, caches = missing, "starts: its caches are complete");
            }
            Arc::clone(&self.member).run(term).await;
        };
        wait_and_run.boxed()
    }
}
