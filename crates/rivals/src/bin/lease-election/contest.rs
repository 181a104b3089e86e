//! Contests: candidates of ours that want one Lease of the real API server, each with a runtime,
//! connections and counts of its own, as a process would have them.
#![expect(clippy::cast_precision_loss, reason = "far below 2^53")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use kube::client::{Body, ClientBuilder};
use lease_election::{BootClock, Clock as _, Config, KubeLeaseStore, LeaderElector, Moment};
use tokio::runtime::{Builder, Runtime};
use tower::util::MapRequestLayer;

use crate::{NAMESPACE, pause};

/// What takes a few requests is over by then.
const SOON: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(1);

/// Requests that were sent.
#[derive(Debug, Default)]
struct Requests {
    writes: AtomicU64,
    others: AtomicU64,
}

impl Requests {
    fn note(&self, request: &http::Request<Body>) {
        let write = *request.method() != http::Method::GET;
        let counter = if write { &self.writes } else { &self.others };
        counter.fetch_add(1, Ordering::SeqCst);
    }

    fn writes(&self) -> u64 {
        self.writes.load(Ordering::SeqCst)
    }

    fn all(&self) -> u64 {
        self.writes() + self.others.load(Ordering::SeqCst)
    }
}

struct Candidate {
    number: usize,
    elector: LeaderElector,
    requests: Arc<Requests>,
    runtime: Runtime,
}

/// The work of a term began.
struct Began {
    number: usize,
    at: Moment,
}

struct Contest {
    cluster: kube::Config,
    lease: String,
    fast: bool,
    started: usize,
    candidates: Vec<Candidate>,
    tell: Sender<Began>,
    told: Receiver<Began>,
}

impl Contest {
    /// With so many candidates, all of which watch; the first one to lead.
    fn begin(
        cluster: &kube::Config,
        lease: &str,
        fast: bool,
        candidates: usize,
    ) -> Result<(Self, usize)> {
        let (tell, told) = channel();
        let (cluster, lease) = (cluster.clone(), lease.to_owned());
        let mut contest =
            Self { cluster, lease, fast, started: 0, candidates: Vec::new(), tell, told };
        for _ in 0..candidates {
            contest.start()?;
        }
        let leader = contest.next()?.number;
        contest.await_watching()?;
        Ok((contest, leader))
    }

    fn start(&mut self) -> Result<()> {
        let number = self.started;
        self.started += 1;
        let config =
            Config::builder(NAMESPACE, &self.lease).identity(format!("{}-{number}", self.lease));
        let config = if self.fast { config.fast() } else { config }.build()?;
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let requests = Arc::new(Requests::default());
        // As `KubeLeaseStore::connect`, with a counter in front.
        let mut cluster = self.cluster.clone();
        cluster.default_retry = false;
        cluster.connect_timeout = Some(config.request_timeout());
        let counted = Arc::clone(&requests);
        let layer = MapRequestLayer::new(move |request: http::Request<Body>| {
            counted.note(&request);
            request
        });
        let entered = runtime.enter();
        let client = ClientBuilder::try_from(cluster)?.with_layer(&layer).build();
        drop(entered);
        let elector = LeaderElector::new(KubeLeaseStore::new(client, &config), config);
        let (running, tell) = (elector.clone(), self.tell.clone());
        runtime.spawn(async move {
            running
                .run_forever(move |leadership| {
                    let _ = tell.send(Began { number, at: BootClock.now() });
                    async move {
                        let _ = leadership.ending().await;
                    }
                })
                .await;
        });
        self.candidates.push(Candidate { number, elector, requests, runtime });
        Ok(())
    }

    fn next(&self) -> Result<Began> {
        self.told.recv_timeout(SOON).with_context(|| format!("nobody leads {}", self.lease))
    }

    fn await_watching(&self) -> Result<()> {
        let deadline = BootClock.now().after(SOON);
        while !self.candidates.iter().all(|candidate| candidate.elector.status().watching) {
            ensure!(BootClock.now() < deadline, "the watches of {} do not open", self.lease);
            pause(LOOK);
        }
        Ok(())
    }

    fn candidate(&self, number: usize) -> Result<&Candidate> {
        let found = self.candidates.iter().find(|candidate| candidate.number == number);
        found.with_context(|| format!("{} has no candidate {number}", self.lease))
    }

    fn take(&mut self, number: usize) -> Result<Candidate> {
        let at = self.candidates.iter().position(|candidate| candidate.number == number);
        Ok(self
            .candidates
            .remove(at.with_context(|| format!("{} has no candidate {number}", self.lease))?))
    }

    fn writes(&self) -> u64 {
        self.candidates.iter().map(|candidate| candidate.requests.writes()).sum()
    }

    /// Nothing is told to anybody, everything stops where it is.
    fn end(self) {
        for candidate in self.candidates {
            candidate.runtime.shutdown_background();
        }
    }
}

/// Milliseconds from a stop of the leader to the start of the next one's work, at our defaults.
pub(crate) fn hand_overs(cluster: &kube::Config, count: usize) -> Result<Vec<f64>> {
    let (mut contest, mut leader) = Contest::begin(cluster, "ours-hand-over", false, 3)?;
    let mut took = Vec::new();
    for _ in 0..count {
        contest.await_watching()?;
        // At any moment between two renewals.
        pause(Duration::from_millis(50 + u64::try_from(took.len())? * 37 % 400));
        let stopped = BootClock.now();
        contest.candidate(leader)?.elector.stop_handle().stop();
        let next = contest.next()?;
        took.push(next.at.since(stopped).as_secs_f64() * 1e3);
        let old = contest.take(leader)?;
        old.runtime.shutdown_timeout(Duration::from_millis(100));
        contest.start()?;
        leader = next.number;
    }
    contest.end();
    Ok(took)
}

/// Seconds from the crash of the leader to the start of the next one's work, at 5 s / 1 s, on so
/// many Leases so often; the crashes are spread evenly over the time between two renewals.
pub(crate) fn crashes(cluster: &kube::Config, leases: usize, each: usize) -> Result<Vec<f64>> {
    let all = leases * each;
    let run = |lease: usize| -> Result<Vec<f64>> {
        let (mut contest, mut leader) =
            Contest::begin(cluster, &format!("ours-crash-{lease}"), true, 3)?;
        let mut took = Vec::new();
        for crash in 0..each {
            contest.await_watching()?;
            let elector = contest.candidate(leader)?.elector.clone();
            let renewals = elector.stats().renewals;
            while elector.stats().renewals == renewals {
                ensure!(elector.is_leader(), "the leader was lost");
                pause(LOOK);
            }
            let part = (2 * (crash * leases + lease) + 1) as f64 / (2 * all) as f64;
            pause(elector.config().retry_period().mul_f64(part));
            let crashed = BootClock.now();
            contest.take(leader)?.runtime.shutdown_background();
            let next = contest.next()?;
            took.push(next.at.since(crashed).as_secs_f64());
            contest.start()?;
            leader = next.number;
        }
        contest.end();
        Ok(took)
    };
    thread::scope(|scope| {
        let running: Vec<_> = (0..leases).map(|lease| scope.spawn(move || run(lease))).collect();
        let mut took = Vec::new();
        for one in running {
            took.extend(one.join().map_err(|_| anyhow!("a contest panicked"))??);
        }
        Ok(took)
    })
}

/// Requests an hour while nothing happens.
pub(crate) struct Hourly {
    pub(crate) all: f64,
    /// Of the standby that sends most.
    pub(crate) standby: f64,
}

/// Counts what a leader and two standbys send at 5 s / 1 s.
pub(crate) fn requests(cluster: &kube::Config, span: Duration) -> Result<Hourly> {
    let (contest, leader) = Contest::begin(cluster, "ours-requests", true, 3)?;
    pause(Duration::from_secs(3));
    let counts =
        || contest.candidates.iter().map(|candidate| candidate.requests.all()).collect::<Vec<_>>();
    let (before, since) = (counts(), BootClock.now());
    pause(span);
    let (after, hours) = (counts(), BootClock.now().since(since).as_secs_f64() / 3600.0);
    let mut hourly = Hourly { all: 0.0, standby: 0.0 };
    for ((candidate, before), after) in contest.candidates.iter().zip(before).zip(after) {
        let sent = (after - before) as f64 / hours;
        hourly.all += sent;
        if candidate.number != leader {
            hourly.standby = hourly.standby.max(sent);
        }
    }
    contest.end();
    Ok(hourly)
}

/// One release before so many standbys, at our defaults: take-overs and writes of all of them.
pub(crate) fn herd(cluster: &kube::Config, standbys: usize) -> Result<(f64, f64)> {
    let (contest, leader) = Contest::begin(cluster, "ours-herd", false, standbys + 1)?;
    pause(Duration::from_secs(3));
    let before = contest.writes();
    contest.candidate(leader)?.elector.stop_handle().stop();
    contest.next()?;
    // As long as whatever is late may take; the new leader renews meanwhile.
    pause(Duration::from_secs(3));
    let take_overs = 1 + contest.told.try_iter().count();
    let writes = contest.writes() - before;
    contest.end();
    Ok((take_overs as f64, writes as f64))
}
