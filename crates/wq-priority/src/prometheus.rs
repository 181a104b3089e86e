//! Prometheus: the depth of queues by priority, read at the scrape by wq-core's collector, which has all other metrics too.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use prometheus_client::registry::Registry;
use wq_core::prometheus::QueueMetrics;
use wq_core::{Added, BuildError, Builder, Observer, QueueReader, Survey, WorkQueue};

use crate::backlog::Priority;
use crate::depths::Depths;

/// The metrics of queues with priorities, in one registry: those of [`QueueMetrics`], with the depth told apart by priority, as
/// controller-runtime has it:
///
/// | metric | type | |
/// | --- | --- | --- |
/// | `workqueue_depth` | gauge | items that still have to be handed out, queued or to run again, by `name` and `priority` |
///
/// The first 25 priorities that scrapes find under a name, of those found queued together the highest, have a label of their own for
/// good; the others share `exceeded_cardinality_limit`. A scrape reads all labels of a queue, and its other gauges, under one
/// lock: each label shows exactly the items under it, none is negative, and their sum is the depth. There is no series
/// beside them that could say otherwise.
///
/// Queues of one name share their labels, each with the sum of their items. A queue that is gone is shown no more: what watches it
/// does not keep it.
///
/// ```
/// use prometheus_client::registry::Registry;
/// use wq_core::WorkQueue;
/// use wq_priority::prometheus::PriorityMetrics;
/// use wq_priority::{Order, Priority};
///
/// let mut registry = Registry::default();
/// let metrics = PriorityMetrics::register(&mut registry);
/// let queue = metrics.build(WorkQueue::builder().name("claims").backlog(Priority::new()))?;
/// queue.add_with("claim-1", Order::priority(10));
///
/// let mut text = String::new();
/// prometheus_client::encoding::text::encode(&mut text, &registry)?;
/// assert!(text.contains("workqueue_depth{name=\"claims\",priority=\"10\"} 1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A queue of the layers above is built with its own metrics, and watched beside:
///
/// ```
/// use prometheus_client::registry::Registry;
/// use wq_core::prometheus::QueueMetrics;
/// use wq_priority::Priority;
/// use wq_priority::prometheus::PriorityMetrics;
/// use wq_ratelimit::{ManualTimer, RateLimitingQueue, controller_default};
///
/// let mut registry = Registry::default();
/// let metrics = QueueMetrics::register(&mut registry); // Or wq-delay's `DelayMetrics`, and its `core()`.
/// let queue = RateLimitingQueue::builder()
///     .limiter(controller_default::<&str>())
///     .timer(ManualTimer::new())
///     .observer(metrics.observer("claims"))
///     .backlog(Priority::new())
///     .build()?;
/// PriorityMetrics::of(&metrics).watch("claims", queue.reader());
/// queue.add("claim-1");
///
/// let mut text = String::new();
/// prometheus_client::encoding::text::encode(&mut text, &registry)?;
/// assert!(text.contains("workqueue_depth{name=\"claims\",priority=\"0\"} 1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[doc(alias = "NewDepthMetricWithPriority")]
pub struct PriorityMetrics {
    core: QueueMetrics,
    names: Arc<Names>,
}

/// The labels by name of the queue: one of it beside each [`QueueMetrics`].
#[derive(Default)]
struct Names(Mutex<BTreeMap<String, Arc<Mutex<Depths>>>>);

impl PriorityMetrics {
    /// Registers the metrics, those of [`QueueMetrics`] among them, without a queue yet. Once for a registry: names in a
    /// registry must be unique.
    pub fn register(registry: &mut Registry) -> Self {
        Self::of(&QueueMetrics::register(registry))
    }

    /// The same for metrics that are registered already. Every call for the same metrics, or a clone of them, gives a handle to
    /// the same labels.
    #[must_use]
    pub fn of(core: &QueueMetrics) -> Self {
        Self { core: core.clone(), names: core.companion() }
    }

    /// The metrics of queues without priorities.
    #[must_use]
    pub const fn core(&self) -> &QueueMetrics {
        &self.core
    }

    /// Builds a queue with these metrics, under its name; one without a name has the empty one. An observer that
    /// the builder has is told too.
    ///
    /// # Errors
    ///
    /// As [`Builder::build`].
    pub fn build<T, S>(
        &self,
        builder: Builder<T, Priority, S>,
    ) -> Result<WorkQueue<T, Priority, S>, BuildError>
    where
        T: Hash + Eq + Send + 'static,
        S: BuildHasher,
    {
        // Not by the `build` of the metrics below: until the queue is watched that shows its depth without a priority.
        let observer = Arc::new(Late(OnceLock::new()));
        let queue = builder.also_observer(Arc::clone(&observer)).build()?;
        let name = queue.name().unwrap_or_default();
        _ = observer.0.set(Box::new(self.core.observer(name)));
        self.watch(name, queue.reader());
        Ok(queue)
    }

    /// Shows the depth of this queue by priority, and its other gauges, at every scrape until it is gone: a queue of any layer
    /// hands out its reader. It takes the place of what the `build` of other metrics of this registry has it read, from the next
    /// scrape on; a queue that was given their `observer` alone shows no depth before. A
    /// [`QueueMetrics::watch`] of the same queue would be a second one.
    pub fn watch<T, B>(&self, name: &str, queue: QueueReader<T, B>)
    where
        T: Send + 'static,
        B: Survey<Found = Depths> + Send + 'static,
    {
        let depths = Arc::clone(lock(&self.names.0).entry(name.to_owned()).or_default());
        let read = queue.clone();
        self.core.watch_by_priority(name, &queue, move || {
            let _queue = read.keep_alive()?; // Dropped after the lock, with its items if this is the last of it.
            let mut depths = lock(&depths);
            depths.begin();
            let gauges = read.survey_into(&mut depths)?;
            Some((gauges, depths.labels().collect()))
        });
    }
}

/// An observer that is there before the first event: its name is known once the queue is built.
struct Late(OnceLock<Box<dyn Observer>>);

impl Late {
    #[inline]
    fn tell(&self, event: impl FnOnce(&dyn Observer)) {
        if let Some(observer) = self.0.get() {
            event(&**observer);
        }
    }
}

impl Observer for Late {
    fn added(&self, added: Added) {
        self.tell(|observer| observer.added(added));
    }

    fn refused(&self) {
        self.tell(|observer| observer.refused());
    }

    fn got(&self, waited: Duration) {
        self.tell(|observer| observer.got(waited));
    }

    fn done(&self, worked: Duration) {
        self.tell(|observer| observer.done(worked));
    }

    fn requeued(&self) {
        self.tell(|observer| observer.requeued());
    }

    fn removed(&self) {
        self.tell(|observer| observer.removed());
    }

    fn retried(&self) {
        self.tell(|observer| observer.retried());
    }

    fn due(&self, late: Duration) {
        self.tell(|observer| observer.due(late));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for PriorityMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PriorityMetrics").field("core", &self.core).finish_non_exhaustive()
    }
}
