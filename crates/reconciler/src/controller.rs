//! `Controller`: a reconciler, its sources and its limits. `run` has its part in one term.

#[cfg(feature = "admin")]
mod inspect;
mod objects;
mod term;

#[cfg(feature = "admin")]
pub(crate) use inspect::{MOST, millis};
pub(crate) use term::{Managed, missing};

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use wq_ratelimit::RateLimiter;

use crate::cache::Complete;
use crate::metrics::ControllerMetrics;
use crate::queue::inbox::{Handle, Inbox};
use crate::queue::limiter::Limiter;
use crate::run::active::ActiveRuns;
use crate::run::failing::FailingKeys;
use crate::run::outcome::Policy;
use crate::run::parked::ParkedKeys;
use crate::run::{Writer, Writes};
use crate::source::resync::Resync;
use crate::{Cache, Key, Kind, Parked, Reconciler, Source};

/// The default number of workers. The bound protects the API server from a burst at a start with
/// many objects. client-go's samples and the external provisioner use a similar number.
const WORKERS: usize = 4;
/// The most workers: each is a task.
const WORKERS_MAX: usize = 65_536;
/// The least interval of a resync: a shorter one is a mistake of the unit.
const RESYNC_MIN: Duration = Duration::from_secs(1);

/// A reconciler with its sources and its limits. Runs under a [`Manager`](crate::Manager).
///
/// The defaults are 4 workers, no time-out and unlimited retries. Each key backs off on its own: 5
/// ms, doubling to 5 min, up to 10 % longer by jitter.
#[must_use = "a controller does nothing until it is added to a manager"]
pub struct Controller<R: Reconciler> {
    name: Arc<str>,
    reconciler: Arc<R>,
    sources: Vec<Source<R::Key>>,
    /// Caches that runs read, beside those of sources.
    reads: Vec<Arc<dyn Complete>>,
    workers: usize,
    limiter: Limiter<R::Key>,
    timeout: Option<Duration>,
    progress_deadline: Duration,
    resync: Option<Resync<R::Key>>,
    policy: Policy,
    inbox: Arc<Inbox<R::Key>>,
    has_handle: AtomicBool,
    active: Arc<ActiveRuns<R::Key>>,
    failing: Arc<FailingKeys<R::Key>>,
    parked: Arc<ParkedKeys<R::Key>>,
    metrics: Arc<ControllerMetrics>,
    /// What the runs of an object controller write.
    writes: Option<Arc<Writes<R::Key>>>,
    /// Of a controller of objects.
    writer: Option<Arc<Writer>>,
    /// What the last term left: the keys of dropped runs as shown by `Debug`, and how many keys had
    /// not started.
    left: Arc<Mutex<(Vec<String>, usize)>>,
    broken: Broken,
}

/// The names of the sources that panicked and are not read any more.
type Broken = Arc<Mutex<Vec<Arc<str>>>>;

impl<R: Reconciler> Controller<R> {
    /// Creates a controller of keys, without sources. The name labels its metrics and logs: one
    /// word, unique in its manager. [`new`](Controller::new) creates one of objects.
    pub fn keyed(name: impl Into<Arc<str>>, reconciler: R) -> Self {
        Self {
            name: name.into(),
            reconciler: Arc::new(reconciler),
            sources: Vec::new(),
            reads: Vec::new(),
            workers: WORKERS,
            limiter: Limiter::standard(),
            timeout: None,
            progress_deadline: Duration::from_secs(600),
            resync: None,
            policy: Policy {
                max_attempts: None,
                min_requeue: Duration::from_millis(10),
                failing_interval: Duration::from_secs(1),
                ignores_own_writes: false,
            },
            inbox: Arc::new(Inbox::new()),
            has_handle: AtomicBool::new(false),
            active: Arc::new(ActiveRuns::new()),
            failing: Arc::new(FailingKeys::new()),
            parked: Arc::new(ParkedKeys::new()),
            metrics: Arc::new(ControllerMetrics::new()),
            writes: None,
            writer: None,
            left: Arc::default(),
            broken: Broken::default(),
        }
    }

    /// Adds a source. Every key that it names runs, including the keys of objects that exist at the
    /// start. Runs do not wait until its cache shows their writes, as they do with
    /// [`owns`](Self::owns), [`watches`](Self::watches) and [`reads`](Self::reads): use it for
    /// a cache of another API server.
    #[doc(alias = "Watches")]
    #[doc(alias = "For")]
    #[doc(alias = "Owns")]
    pub fn source(mut self, source: Source<R::Key>) -> Self {
        self.sources.push(source);
        self
    }

    /// Declares a cache that runs read without a source. The controller starts when this cache and
    /// those of its sources are complete. Without it a run that reads the cache early panics.
    ///
    /// Runs of objects wait until the cache shows what they wrote: see [`Context`](crate::Context).
    pub fn reads<K: Kind>(mut self, cache: &Cache<K>) -> Self {
        if let Some(writer) = &self.writer {
            writer.read_by(cache);
        }
        self.reads.push(Arc::new(cache.clone()));
        self
    }

    /// Sets how many keys are reconciled at the same time, from 1 to 65,536. Default 4.
    #[doc(alias = "MaxConcurrentReconciles")]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// Sets the limiter that schedules retries. Two controllers share one limiter through clones of
    /// one [`wq_ratelimit::Shared`].
    pub fn limiter(mut self, limiter: impl RateLimiter<R::Key> + Send + 'static) -> Self {
        self.limiter = Limiter::new(limiter);
        self
    }

    /// Sets the longest time of a run. After it [`Request::cancelled`](crate::Request::cancelled)
    /// completes. A tenth of the time-out later (at least 100 ms, at most 5 s) the run is dropped
    /// and counts as failed. No limit by default: a request of the run's own `Api`s that stays
    /// without an answer then holds its key. Writes of [`Context`](crate::Context) fail after 65 s.
    #[doc(alias = "ReconciliationTimeout")]
    pub fn timeout(mut self, longest: Duration) -> Self {
        self.timeout = Some(longest);
        self
    }

    /// Sets when a controller without progress fails `/livez`. Default 10 min, as for a Deployment;
    /// `Duration::MAX` for never.
    ///
    /// It fails if keys are ready, and every worker has been in one run for longer than this. With
    /// a [time-out](Self::timeout) the count begins when the time-out should have ended the run,
    /// and one such run is enough: it blocks its thread. So a controller whose runs last an hour
    /// sets this, or a time-out.
    #[doc(alias = "progressDeadlineSeconds")]
    pub fn progress_deadline(mut self, longest: Duration) -> Self {
        self.progress_deadline = longest;
        self
    }

    /// Sets how many runs of one key may fail in a row, at least 1. Then the key is parked until a
    /// source names it again. A run that an event causes before the key's retry uses up none of
    /// them. No limit by default.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.policy.max_attempts = Some(attempts);
        self
    }

    /// Sets the least delay of a run that the reconciler requests with
    /// [`Action::requeue`](crate::Action::requeue) or
    /// [`Failure::retry_after`](crate::Failure::retry_after). Default 10 ms.
    pub fn min_requeue(mut self, least: Duration) -> Self {
        self.policy.min_requeue = least;
        self
    }

    /// Sets the least time between the end of a failed run and a run that an event causes. Default
    /// 1 s. A handle runs a parked key at once.
    ///
    /// A run that fails and writes its own object does not retrigger itself at the speed of its
    /// writes. Retries keep their back-off. A status-only change
    /// ([`Cache::objects`](crate::Cache::objects)) and a write of the key's own run through its
    /// [`Context`](crate::Context) wait for the retry, and do not un-park a key.
    pub fn failing_interval(mut self, least: Duration) -> Self {
        self.policy.failing_interval = least;
        self
    }

    /// Returns a handle that adds keys to this controller from anywhere.
    #[must_use]
    pub fn handle(&self) -> Handle<R::Key> {
        self.has_handle.store(true, Ordering::Relaxed);
        Handle { inbox: Arc::clone(&self.inbox) }
    }

    /// Returns a view of the controller that outlives [`Manager::add`](crate::Manager::add).
    #[must_use]
    pub fn observe(&self) -> ControllerView<R::Key> {
        ControllerView {
            inbox: Arc::clone(&self.inbox),
            parked: Arc::clone(&self.parked),
            broken: Arc::clone(&self.broken),
        }
    }
}

impl<R: Reconciler> fmt::Debug for Controller<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller")
            .field("name", &self.name)
            .field("sources", &self.sources)
            .field("workers", &self.workers)
            .field("timeout", &self.timeout)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

/// A view of a controller from outside. Made by [`Controller::observe`]. Clones show the same
/// controller.
///
/// A test waits for what it expects: [`Cache::await_synced`] for the first list, and then for the
/// effect, in the API server or in a cache. `tokio`'s paused time makes back-offs short. To see
/// that nothing more happens, let some time pass and read [`depth`](Self::depth) and
/// [`delayed`](Self::delayed): they do not count active runs. The report of
/// [`Manager::run`](crate::Manager::run) has the number of runs.
pub struct ControllerView<K: Key> {
    inbox: Arc<Inbox<K>>,
    parked: Arc<ParkedKeys<K>>,
    broken: Broken,
}

impl<K: Key> ControllerView<K> {
    /// Returns the keys that are parked until they change, and why: at most 65,536. Add one through
    /// a [`Handle`] to run it again.
    pub fn parked(&self) -> Vec<(K, Parked)> {
        self.parked.some(usize::MAX)
    }

    /// Returns the names of the streams that panicked ([`Source::stream`]). They are not read any
    /// more.
    pub fn broken_sources(&self) -> Vec<Arc<str>> {
        self.broken.lock().clone()
    }

    /// Returns the number of keys that are ready to run. It is 0 while the workers do not run.
    pub fn depth(&self) -> usize {
        self.inbox.queue().map_or(0, |queue| queue.counts().depth)
    }

    /// Returns the number of keys that wait for their time. It is 0 while the workers do not run.
    pub fn delayed(&self) -> usize {
        self.inbox.queue().map_or(0, |queue| queue.counts().delayed)
    }
}

impl<K: Key> Clone for ControllerView<K> {
    fn clone(&self) -> Self {
        Self {
            inbox: Arc::clone(&self.inbox),
            parked: Arc::clone(&self.parked),
            broken: Arc::clone(&self.broken),
        }
    }
}

impl<K: Key> fmt::Debug for ControllerView<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControllerView")
            .field("parked", &self.parked.len())
            .field("broken_sources", &self.broken_sources())
            .field("depth", &self.depth())
            .field("delayed", &self.delayed())
            .finish()
    }
}
