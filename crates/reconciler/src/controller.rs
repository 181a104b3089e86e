//! `Controller`: a reconciler, the sources that name keys to it, and the numbers by which it runs.
//! What happens in one term is in `run`.

mod run;

pub(crate) use run::Managed;

use std::fmt;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use wq_ratelimit::RateLimiter;

use crate::inbox::{Handle, Inbox};
use crate::limiter::Limiter;
use crate::metrics::ControllerMetrics;
use crate::outcome::Policy;
use crate::parked::ParkedKeys;
use crate::reasons::SourceNumber;
use crate::{Key, Parked, Reconciler, Source};

/// Workers of a controller that sets none. Bounded, so that a start with many objects is no
/// stampede on the API server; client-go's samples and the external provisioner run with a number
/// like it.
const WORKERS: NonZeroUsize = NonZeroUsize::new(4).expect("not zero");

/// A reconciler with its sources and its limits. Runs under a [`Manager`](crate::Manager).
///
/// Left alone it has 4 workers, no time-out, and retries for ever: each key on its own, after 5 ms,
/// doubling to 5 min, give or take 10 %.
#[must_use = "a controller does nothing until it is added to a manager"]
pub struct Controller<R: Reconciler> {
    name: Arc<str>,
    reconciler: Arc<R>,
    sources: Vec<Source<R::Key>>,
    workers: NonZeroUsize,
    limiter: Limiter<R::Key>,
    timeout: Option<Duration>,
    policy: Policy,
    inbox: Arc<Inbox<R::Key>>,
    has_handle: AtomicBool,
    parked: Arc<ParkedKeys<R::Key>>,
    metrics: Arc<ControllerMetrics>,
    ended: Arc<run::Ended>,
    broken: Broken,
}

/// The names of the sources that panicked and are not read any more.
type Broken = Arc<Mutex<Vec<Arc<str>>>>;

impl<R: Reconciler> Controller<R> {
    /// A controller without sources. The name is its label in metrics and logs: one word, unique in
    /// its manager.
    pub fn new(name: impl Into<Arc<str>>, reconciler: R) -> Self {
        Self {
            name: name.into(),
            reconciler: Arc::new(reconciler),
            sources: Vec::new(),
            workers: WORKERS,
            limiter: Limiter::standard(),
            timeout: None,
            policy: Policy {
                max_attempts: None,
                min_requeue: Duration::from_millis(10),
                failing_interval: Duration::from_secs(1),
            },
            inbox: Arc::new(Inbox::new()),
            has_handle: AtomicBool::new(false),
            parked: Arc::new(ParkedKeys::new()),
            metrics: Arc::new(ControllerMetrics::new()),
            ended: Arc::default(),
            broken: Broken::default(),
        }
    }

    /// Adds a source. Every key it names is run, those that are there at the start too.
    #[doc(alias = "Watches")]
    #[doc(alias = "For")]
    #[doc(alias = "Owns")]
    pub fn source(mut self, source: Source<R::Key>) -> Self {
        self.sources.push(source);
        self
    }

    /// How many keys are worked on at the same time. 4 unless set.
    #[doc(alias = "MaxConcurrentReconciles")]
    pub fn workers(mut self, workers: NonZeroUsize) -> Self {
        self.workers = workers;
        self
    }

    /// When failed keys run again. Give two controllers clones of one [`wq_ratelimit::Shared`] to
    /// make them share it.
    pub fn limiter(mut self, limiter: impl RateLimiter<R::Key> + Send + 'static) -> Self {
        self.limiter = Limiter::new(limiter);
        self
    }

    /// The longest a run may take. [`Request::cancelled`](crate::Request::cancelled) then fires; a
    /// tenth of the time-out later (at least 100 ms, at most 5 s) the run is dropped, and
    /// counts as failed. No limit unless set.
    #[doc(alias = "ReconciliationTimeout")]
    pub fn timeout(mut self, longest: Duration) -> Self {
        self.timeout = Some(longest);
        self
    }

    /// How many runs of one key may fail in a row; then it is parked until a source names it again.
    /// No limit unless set.
    pub fn max_attempts(mut self, attempts: NonZeroU32) -> Self {
        self.policy.max_attempts = Some(attempts);
        self
    }

    /// The least time after which a key runs again on its own wish
    /// ([`Action::requeue`](crate::Action::requeue),
    /// [`Failure::retry_after`](crate::Failure::retry_after)). 10 ms unless set.
    pub fn min_requeue(mut self, least: Duration) -> Self {
        self.policy.min_requeue = least;
        self
    }

    /// The least time between the end of a run that failed and a run that an event causes. 1 s
    /// unless set.
    ///
    /// So a run that fails and writes its own object does not bring itself back at the speed of its
    /// writes. Retries keep their back-off. A change of nothing but an object's status
    /// ([`Cache::objects`](crate::Cache::objects)) waits for the retry, and does not un-park a key.
    pub fn failing_interval(mut self, least: Duration) -> Self {
        self.policy.failing_interval = least;
        self
    }

    /// A handle that names keys to this controller from anywhere.
    #[must_use]
    pub fn handle(&self) -> Handle<R::Key> {
        self.has_handle.store(true, Ordering::Relaxed);
        // Handles come after all sources there can be: they share the last number.
        Handle { inbox: Arc::clone(&self.inbox), number: SourceNumber::new(usize::MAX) }
    }

    /// A view of the controller that outlives [`Manager::add`](crate::Manager::add).
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

/// What can be seen of a controller from outside. Made by [`Controller::observe`]; clones are the
/// same.
pub struct ControllerView<K: Key> {
    inbox: Arc<Inbox<K>>,
    parked: Arc<ParkedKeys<K>>,
    broken: Broken,
}

impl<K: Key> ControllerView<K> {
    /// The keys that were given up until they change, and why. Name one through a [`Handle`] to run
    /// it again.
    pub fn parked(&self) -> Vec<(K, Parked)> {
        self.parked.list()
    }

    /// The streams that panicked ([`Source::stream`]): nothing is heard of them any more.
    pub fn broken_sources(&self) -> Vec<Arc<str>> {
        self.broken.lock().clone()
    }

    /// Keys that are ready to run; 0 while the workers do not run.
    pub fn depth(&self) -> usize {
        self.inbox.queue().map_or(0, |queue| queue.counts().depth)
    }

    /// Keys that wait for their time; 0 while the workers do not run.
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
