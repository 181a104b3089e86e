//! LeaderElector: the handle with which a program campaigns, stops and observes.

use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use futures::Stream;
use tokio::sync::{Mutex as RunLock, watch};

use crate::candidate::Candidate;
use crate::clock::{Clock, default_clock};
use crate::config::{Config, random};
use crate::driver::{self, Account, Ended};
use crate::evidence::HolderEvidence;
use crate::leadership::Leadership;
use crate::lent::Home;
use crate::liveness::Liveness;
use crate::maintenance::Maintenance;
use crate::shared::{Outcome, Shared};
use crate::standing::{Standing, Stood};
use crate::status::{Counters, Stats, Status};
use crate::store::LeaseStore;
use crate::warm_up::WarmUp;

/// Campaigns for one Lease, and runs work while it leads. Clones are handles of the same elector.
#[derive(Clone)]
pub struct LeaderElector {
    shared: Arc<Shared>,
}

impl LeaderElector {
    /// Makes an elector that does nothing until it is run. Its clock is
    /// [`BootClock`](crate::BootClock), or [`TokioClock`](crate::TokioClock) if tokio's time is
    /// paused now.
    #[doc(alias = "NewLeaderElector")]
    pub fn new(store: impl LeaseStore + 'static, config: Config) -> Self {
        Self::assemble(Arc::new(store), config, default_clock(), random(), None)
    }

    /// Makes an elector with a clock of your own. `seed` determines its random waits and the names
    /// of its writes. Two electors of one test need two seeds.
    pub fn with_clock(
        store: impl LeaseStore + 'static,
        config: Config,
        clock: impl Clock,
        seed: u64,
    ) -> Self {
        Self::assemble(Arc::new(store), config, Arc::new(clock), seed, None)
    }

    pub(crate) fn assemble(
        store: Arc<dyn LeaseStore>,
        config: Config,
        clock: Arc<dyn Clock>,
        seed: u64,
        standing: Option<Standing>,
    ) -> Self {
        let candidate = Candidate::new(&config, seed);
        let counters: Arc<Counters> = Arc::default();
        let standing = standing.map(|standing| Arc::new(standing.counting(&counters)));
        Self {
            shared: Arc::new(Shared {
                config,
                store,
                clock,
                counters,
                leader: watch::Sender::new(None),
                stop: watch::Sender::new(false),
                maintenance: Maintenance { on: watch::Sender::new(false) },
                warm_ups: watch::Sender::default(),
                work: Arc::default(),
                term: Mutex::new(None),
                candidate: Arc::new(RunLock::new(candidate)),
                at_work: Arc::default(),
                term_watch: OnceLock::new(),
                evidence: OnceLock::new(),
                standing,
            }),
        }
    }

    /// Adds [`HolderEvidence`]: a candidate takes over the Lease before it expires if the evidence
    /// says that its holder is gone. It applies to this elector and all its clones, from the next
    /// run on. The first evidence given stays.
    ///
    /// The election then also assumes that the evidence is true (A8). It has no effect in a
    /// coordinated election, where the server's controller elects.
    #[must_use]
    pub fn with_evidence(self, evidence: impl HolderEvidence + 'static) -> Self {
        let _ = self.shared.evidence.set(Arc::new(evidence));
        self
    }

    /// Campaigns until it leads, runs `work` in a task of its own while another renews the lease,
    /// and releases the lease after the work.
    ///
    /// The order at the end is always stop, join, release: the work is told, the work ends, then
    /// the lease is released. The release is a write conditional on this elector's own last one.
    ///
    /// After a loss [`Leadership::lost`] fires. The work has the stop margin, counted from the end
    /// of the term, to return; then it is dropped at its next await. After a suspend the margin may
    /// be over: the work is dropped when a timer notices the suspend, with `BootClock` within half
    /// a second. Work that blocks its thread cannot be dropped: `run` waits for it, because nothing
    /// may start beside it.
    ///
    /// After a stop ([`StopHandle::stop`]) the lease is renewed while the work winds up, for at
    /// most the drain time-out. The release then takes at most this many request time-outs:
    /// - two;
    /// - three in a coordinated election, where the LeaseCandidate is withdrawn first;
    /// - five in a coordinated election, if the stop comes while the elector claims a grant;
    /// - four, if the stop comes while maintenance releases an acquisition.
    ///
    /// A stop between two campaigns sends no request: a lease that a failed release left then
    /// expires. Under [`maintenance`](Self::maintenance) the elector does not lead: a term ends in
    /// the same order, and a campaign waits until maintenance ends. While it
    /// [warms up](Self::warm_up) it does not campaign. Failed requests are repeated without limit;
    /// see [`status`](Self::status). A second `run` of the same elector waits for the first, so a
    /// `run` inside the first one's work waits until a stop.
    ///
    /// # Panics
    /// Resumes a panic of the work. A panic drops requests half-sent, and they may still land. So
    /// the elector renews the lease for one stop margin more, and then releases it. With
    /// `release_on_stop(false)` the panic resumes at once.
    ///
    /// Resumes a panic of the store or the clock after the work is dropped and joined. The lease
    /// then expires.
    ///
    /// # Cancel safety
    /// Dropping the future stops the campaign as [`StopHandle::stop`] does, in the background: the
    /// work is told and joined, then the lease is released. If the runtime shuts down right after
    /// (at the end of `main`), that is cut short and the lease expires. Stop and await instead.
    #[doc(alias = "RunOrDie")]
    pub async fn run<F, Fut, R>(&self, work: F) -> Outcome<R>
    where
        F: FnOnce(Leadership) -> Fut + Send + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: Send + 'static,
    {
        let stood = self.stand();
        let (ended, _) = self.campaign(work).await;
        if let Some(stood) = stood {
            stood.end().await;
        }
        ended.into_outcome()
    }

    /// [`run`](Self::run) with its account; returns a panic instead of resuming it. The caller lets
    /// the LeaseCandidate stand.
    pub(crate) async fn campaign<F, Fut, R>(&self, work: F) -> (Ended<R>, Account)
    where
        F: FnOnce(Leadership) -> Fut + Send + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: Send + 'static,
    {
        let account = Account::default();
        // The driver sees the sender dropped if the caller drops this future.
        let (abandoned, watch_abandoned) = watch::channel(());
        let driver = driver::run(Arc::clone(&self.shared), watch_abandoned, account.clone(), work);
        let ended = tokio::spawn(driver).await;
        drop(abandoned);
        match ended {
            Ok(ended) => (ended, account),
            Err(error) => match error.try_into_panic() {
                Ok(panic) => (Ended::Panicked(panic), account),
                // The runtime is shutting down, and drops this future next.
                Err(_) => std::future::pending().await,
            },
        }
    }

    /// Campaigns again after each term, until it is stopped. It calls `work` once for each term,
    /// never while an earlier call's future lives.
    ///
    /// It waits one retry period after work that returned by itself, and ever longer after terms
    /// that are lost at once. [`Campaigns`](crate::Campaigns) does the same for a loop of your own.
    ///
    /// After work that lost its term or was dropped, it leads again one stop margin later at the
    /// soonest. Until then requests of that work may land.
    ///
    /// The call of `work` is part of the work: it runs in the same task, is joined, and a watchdog
    /// sees it.
    ///
    /// # Panics
    /// As [`run`](Self::run): if the work panics, the lease is given back a stop margin later, and
    /// the panic goes on here.
    ///
    /// # Cancel safety
    /// As [`run`](Self::run).
    pub async fn run_forever<F, Fut>(&self, work: F)
    where
        F: FnMut(Leadership) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let home = Home::of(work);
        let mut campaigns = self.campaigns();
        // The closure comes back from each term, except from the one in which it panics: that panic
        // resumes here.
        while let Some(work) = home.lend() {
            let run = campaigns.run_and_go_on(move |leadership| async move {
                if let Some(future) = work.call(leadership) {
                    future.await;
                }
            });
            let _ = run.await.into_outcome();
            if self.is_stopped() {
                break;
            }
        }
        campaigns.end().await;
    }

    /// Lets the LeaseCandidate of a coordinated election stand.
    pub(crate) fn stand(&self) -> Option<Stood> {
        self.shared.standing.as_ref().map(Standing::begin)
    }

    /// A handle that stops this elector permanently.
    #[must_use]
    pub fn stop_handle(&self) -> StopHandle {
        StopHandle { stop: self.shared.stop.clone() }
    }

    /// The switch that keeps this elector from leading for a while.
    #[must_use]
    pub fn maintenance(&self) -> Maintenance {
        self.shared.maintenance.clone()
    }

    /// Asks for time to get ready (to fill caches, to open connections) while another replica
    /// leads. While the guard lives, and for at most `patience`, this elector does not campaign. It
    /// follows the leader, and warm candidates may take the lease meanwhile. If no candidate is
    /// warm, the first to get warm or to run out of patience leads: a cold leader is better than
    /// none. (In a coordinated election without a running controller, half a minute later.)
    ///
    /// `patience` counts from this call. The elector waits for all its guards, each for its own
    /// time. Unlike [`maintenance`](Self::maintenance) a guard ends no term, and a term may begin
    /// if its acquisition was sent already.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use lease_election::{Config, LeaderElector, MemoryLeaseStore};
    /// # async fn fill_caches() {}
    /// # async fn lead(elector: LeaderElector) {
    /// let warm_up = elector.warm_up(Duration::from_secs(60));
    /// tokio::spawn(async move {
    ///     fill_caches().await;
    ///     drop(warm_up); // Also if it panics.
    /// });
    /// elector.run_forever(|leadership| async move { /* … */ }).await;
    /// # }
    /// ```
    #[doc(alias = "Warmup")]
    #[doc(alias = "EnableWarmup")]
    pub fn warm_up(&self, patience: Duration) -> WarmUp {
        let until = self.shared.clock.now().after(patience);
        WarmUp::begin(&self.shared.warm_ups, until)
    }

    /// Whether a stop was asked for.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        *self.shared.stop.borrow()
    }

    /// Whether this elector leads now, by the clock. For effects ask the [`Leadership`] instead: it
    /// cannot mistake one term for the next.
    #[doc(alias = "IsLeader")]
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.shared.is_leading()
    }

    /// The last holder seen, this elector included. For display only.
    #[doc(alias = "GetLeader")]
    #[must_use]
    pub fn leader(&self) -> Option<String> {
        self.shared.leader.borrow().clone()
    }

    /// Streams the current leader, and then each change that this elector sees while it runs, in
    /// order. Quick changes may be merged.
    ///
    /// The stream ends when the elector and its clones are dropped.
    #[doc(alias = "OnNewLeader")]
    pub fn observe(&self) -> impl Stream<Item = Option<String>> + Send + Unpin + use<> {
        let mut receiver = self.shared.leader.subscribe();
        receiver.mark_changed();
        Box::pin(futures::stream::unfold(receiver, |mut receiver| async move {
            receiver.changed().await.ok()?;
            let leader = receiver.borrow_and_update().clone();
            Some((leader, receiver))
        }))
    }

    /// A snapshot of what the elector is doing.
    #[must_use]
    pub fn status(&self) -> Status {
        let mut status = self.shared.counters.status();
        status.leading = self.is_leader();
        status.leader = self.leader();
        status.maintenance = self.shared.maintenance.is_on();
        status.warming_up = !self.shared.is_warm();
        #[cfg(feature = "coordinated")]
        {
            let standing = self.shared.standing.as_ref();
            status.candidacy = standing.map(|standing| standing.board().candidacy());
        }
        status
    }

    /// A snapshot of the counters, for a metrics endpoint.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shared.counters.stats()
    }

    /// A health check for a liveness endpoint, with 20 s of tolerance.
    #[must_use]
    pub fn liveness(&self) -> Liveness {
        let config = &self.shared.config;
        Liveness {
            lease: format!("{}/{}", config.namespace(), config.name()),
            work: Arc::clone(&self.shared.work),
            clock: Arc::clone(&self.shared.clock),
            tolerance: Duration::from_secs(20),
        }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The configuration of this elector.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.shared.config
    }
}

impl fmt::Debug for LeaderElector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaderElector")
            .field("config", &self.shared.config)
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}

/// Stops a [`LeaderElector`] permanently.
#[derive(Clone, Debug)]
pub struct StopHandle {
    stop: watch::Sender<bool>,
}

impl StopHandle {
    /// Requests the stop: [`Leadership::ending`] fires, the lease is renewed while the work winds
    /// up, and is released when the work has ended. Returns at once; `run` returns when all this is
    /// done. Further calls have no effect.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }
}
