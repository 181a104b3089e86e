//! A controller in one term: its queue, its attached sources, its workers, and their end.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::future::{BoxFuture, FutureExt as _};
use parking_lot::Mutex;
use tokio::task::JoinSet;
#[cfg(feature = "admin")]
use tokio::time::Instant;

use super::{Controller, RESYNC_MIN, WORKERS_MAX};
use crate::cache::{Complete, Subscription};
use crate::hostile::{let_go, shown};
use crate::metrics::ControllerMetrics;
use crate::queue::reasons::{Reasons, SourceNumber};
use crate::queue::{Queue, QueueCounts};
use crate::report::ControllerReport;
use crate::run::sparse_map::SparseMap;
use crate::run::term::{InTerm, Term};
use crate::run::worker::{Work, work};
use crate::source::{Feed, Intake};
use crate::{ManagerError, Reconciler};

/// The manager's view of a controller.
pub(crate) trait Managed: InTerm {
    fn name(&self) -> &str;
    fn workers(&self) -> usize;
    /// Refuses limits with which no run could start.
    fn check_limits(&self) -> Result<(), ManagerError>;
    fn metrics(&self) -> &ControllerMetrics;
    /// The counts of the queue; `None` while no term runs.
    fn counts(&self) -> Option<QueueCounts>;
    fn parked(&self) -> usize;
    /// Why the controller makes no progress, in words for `/livez`.
    #[cfg(feature = "admin")]
    fn stall(&self, now: Instant) -> Option<String>;
    /// For `/debug`.
    #[cfg(feature = "admin")]
    fn state(&self, now: Instant) -> serde_json::Value;
    fn report(&self) -> ControllerReport;
    /// Whether a source or a handle can name keys.
    fn has_sources(&self) -> bool;
    /// The caches of sources and of runs, with a name for errors.
    fn caches(&self) -> Vec<(Arc<str>, Arc<dyn Complete>)>;

    /// The names of the caches that are not complete. While there are some, no run starts.
    fn missing(&self) -> Vec<String> {
        missing(self.caches().iter().map(|(_, cache)| cache))
    }
}

/// The names of the caches that are not complete, each once.
pub(crate) fn missing<'a>(caches: impl Iterator<Item = &'a Arc<dyn Complete>>) -> Vec<String> {
    let incomplete = caches.filter(|cache| !cache.is_complete());
    let names: BTreeSet<String> = incomplete.map(|cache| cache.name().to_owned()).collect();
    names.into_iter().collect()
}

impl<R: Reconciler> Managed for Controller<R> {
    fn name(&self) -> &str {
        &self.name
    }

    fn workers(&self) -> usize {
        self.workers
    }

    fn check_limits(&self) -> Result<(), ManagerError> {
        let bad = |limit, value, range| {
            let controller = Arc::clone(&self.name);
            Err(ManagerError::BadLimit { controller, limit, value, range })
        };
        let check = |limit, value: usize, most| match (1..=most).contains(&value) {
            true => Ok(()),
            false => bad(limit, value.to_string(), format!("1 to {most}")),
        };
        check("workers", self.workers, WORKERS_MAX)?;
        let attempts = self.policy.max_attempts.map_or(1, |max| max as usize);
        check("max_attempts", attempts, u32::MAX as usize)?;
        match self.resync.as_ref().map(|resync| resync.every) {
            Some(every) if every < RESYNC_MIN => {
                bad("resync", format!("{every:?}"), format!("{RESYNC_MIN:?} or more"))
            }
            _ => Ok(()),
        }
    }

    fn metrics(&self) -> &ControllerMetrics {
        &self.metrics
    }

    fn counts(&self) -> Option<QueueCounts> {
        self.inbox.queue().map(|queue| queue.counts())
    }

    fn parked(&self) -> usize {
        self.parked.len()
    }

    #[cfg(feature = "admin")]
    fn stall(&self, now: Instant) -> Option<String> {
        self.stalled_by(now)
    }

    #[cfg(feature = "admin")]
    fn state(&self, now: Instant) -> serde_json::Value {
        self.state_at(now)
    }

    fn has_sources(&self) -> bool {
        !self.sources.is_empty() || self.has_handle.load(Ordering::Relaxed)
    }

    fn caches(&self) -> Vec<(Arc<str>, Arc<dyn Complete>)> {
        let of_sources = self.sources.iter().filter_map(|source| match &source.feed {
            Feed::Cache(cache, _) => Some((Arc::clone(&source.name), Arc::clone(cache))),
            Feed::Stream(_) => None,
        });
        let read = self.reads.iter().map(|cache| (cache.name().into(), Arc::clone(cache)));
        of_sources.chain(read).collect()
    }

    fn report(&self) -> ControllerReport {
        let (abandoned, not_started) = self.left.lock().clone();
        let metrics = &self.metrics;
        ControllerReport {
            name: self.name.to_string(),
            reconciles: metrics.reconciles(),
            errors: metrics.errors.get(),
            conflicts: metrics.conflicts.get(),
            panics: metrics.panics.get(),
            timeouts: metrics.timeouts.get(),
            terminal: metrics.terminal_errors.get(),
            exhausted: metrics.exhausted.get(),
            broken_sources: self.broken.lock().iter().map(|name| name.to_string()).collect(),
            abandoned,
            not_started,
        }
    }
}

impl<R: Reconciler> InTerm for Controller<R> {
    fn run(self: Arc<Self>, term: Term) -> BoxFuture<'static, ()> {
        async move { self.run_term(term).await }.boxed()
    }
}

impl<R: Reconciler> Controller<R> {
    async fn run_term(&self, term: Term) {
        self.parked.clear();
        self.failing.clear();
        if let Some(writes) = &self.writes {
            writes.forget_seen();
        }
        let queue = Queue::new(&self.name, self.limiter.clone(), Arc::clone(&self.metrics));
        // Queued keys go back to the inbox however this future ends, also if it is dropped.
        let closing = Closing { controller: self, queue: queue.clone() };
        self.inbox.open(queue.clone());
        let mut feeders = JoinSet::new();
        let timekeeper = queue.clone();
        feeders.spawn(async move { timekeeper.keep_time().await });
        let subscriptions = self.attach(&queue, &term, &mut feeders);
        let shared = Arc::new(Work {
            name: Arc::clone(&self.name),
            reconciler: Arc::clone(&self.reconciler),
            queue: queue.clone(),
            term: term.clone(),
            policy: self.policy,
            timeout: self.timeout,
            sources: self.sources.iter().map(|source| Arc::clone(&source.name)).collect(),
            metrics: Arc::clone(&self.metrics),
            writes: self.writes.clone(),
            failing: Arc::clone(&self.failing),
            active: Arc::clone(&self.active),
            parked: Arc::clone(&self.parked),
            inbox: Arc::clone(&self.inbox),
            postponed: SparseMap::new(),
            dropped: Mutex::new(Vec::new()),
            returned: Mutex::new(Vec::new()),
        });
        let mut workers = JoinSet::new();
        for _ in 0..self.workers {
            workers.spawn(term.tasks.track_future(work(Arc::clone(&shared))));
        }
        loop {
            tokio::select! {
                biased;
                () = term.stopping.cancelled() => break,
                Some(joined) = workers.join_next() => self.mend(joined.is_err(), &shared, &mut workers),
            }
        }
        drop(subscriptions);
        feeders.shutdown().await;
        let mut left = queue.stop();
        tokio::select! {
            biased;
            () = async { while workers.join_next().await.is_some() {} } => {}
            () = term.abort.cancelled() => workers.shutdown().await,
        }
        left.append(&mut shared.returned.lock());
        let abandoned = std::mem::take(&mut *shared.dropped.lock());
        *self.left.lock() = (abandoned.iter().map(shown).collect(), left.len());
        abandoned.iter().for_each(|key| self.limiter.forget_left(key));
        abandoned.into_iter().for_each(let_go);
        closing.end(left);
        let_go(shared);
    }

    /// Replaces a worker that panicked outside a run: in a destructor of user code, or in the key's
    /// own code. The dropped key is retried as after any failure.
    fn mend(&self, panicked: bool, shared: &Arc<Work<R>>, workers: &mut JoinSet<()>) {
        if !panicked {
            return;
        }
        tracing::error!(controller = %self.name, "a worker panicked outside of a reconcile, and is replaced");
        self.metrics.panics.up();
        for key in std::mem::take(&mut *shared.dropped.lock()) {
            if shared.queue.retry(key).is_err() {
                tracing::error!(controller = %self.name, "a key panics when it is queued, and is given up");
            }
        }
        workers.spawn(shared.term.tasks.track_future(work(Arc::clone(shared))));
    }

    /// Attaches every source to the queue.
    fn attach(
        &self,
        queue: &Queue<R::Key>,
        term: &Term,
        feeders: &mut JoinSet<()>,
    ) -> Vec<Subscription> {
        if let Some(resync) = self.resync.clone() {
            let (queue, metrics) = (queue.clone(), Arc::clone(&self.metrics));
            let controller = Arc::clone(&self.name);
            feeders.spawn(resync.run(
                move |key| queue.add_initial(key, Reasons::resynced()),
                move || {
                    metrics.panics.up();
                    tracing::error!(%controller, "a predicate panicked for a resync");
                },
            ));
        }
        let mut subscriptions = Vec::new();
        for (index, source) in self.sources.iter().enumerate() {
            let number = SourceNumber::new(index);
            match &source.feed {
                Feed::Cache(_, attach) => {
                    let queue = queue.clone();
                    // After the end of the term the queue refuses the key. The next term gets every
                    // object again.
                    let writes = self.writes.clone();
                    let intake: Intake<R::Key> = Arc::new(move |key, event| {
                        let reasons = match &writes {
                            Some(writes) => writes.weigh(&key, event.step, event.reasons),
                            None => event.reasons,
                        };
                        if event.is_initial {
                            queue.add_initial(key, reasons);
                        } else {
                            queue.add(key, reasons);
                        }
                    });
                    subscriptions.push(attach(number, intake));
                }
                Feed::Stream(stream) => {
                    let (stream, stopping) = (Arc::clone(stream), term.stopping.clone());
                    let (inbox, metrics) = (Arc::clone(&self.inbox), Arc::clone(&self.metrics));
                    let (controller, source) = (Arc::clone(&self.name), Arc::clone(&source.name));
                    let broken = Arc::clone(&self.broken);
                    feeders.spawn(async move {
                        let intake = |key| inbox.add(key, Reasons::named(number));
                        let panicked = |ended: bool| {
                            metrics.panics.up();
                            if ended {
                                broken.lock().push(Arc::clone(&source));
                            }
                            tracing::error!(%controller, %source, ended, "a source panicked");
                        };
                        tokio::select! {
                            biased;
                            () = stopping.cancelled() => {}
                            () = stream.read(intake, panicked) => {}
                        }
                    });
                }
            }
        }
        subscriptions
    }
}

/// Closes the inbox however a term ends.
struct Closing<'a, R: Reconciler> {
    controller: &'a Controller<R>,
    queue: Queue<R::Key>,
}

impl<R: Reconciler> Closing<'_, R> {
    fn end(self, left: Vec<R::Key>) {
        for key in &left {
            self.controller.limiter.forget_left(key);
        }
        self.controller.inbox.close(left);
        // The drop finds nothing left.
    }
}

impl<R: Reconciler> Drop for Closing<'_, R> {
    fn drop(&mut self) {
        let left = self.queue.stop();
        self.controller.inbox.close(left);
    }
}
