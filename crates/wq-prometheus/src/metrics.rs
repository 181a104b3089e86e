//! `QueueMetrics`: client-go's metrics of work queues in one registry. An observer feeds counters
//! and histograms. A scrape reads the gauges from the queues.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use wq_core::{Observer, Survey};
use wq_priority::Depths;

use crate::counting::Counting;
use crate::reading::{ByPriority, Plain};
use crate::scrape::{Labels, Scrape, labels};
use crate::sources::Sources;
use crate::watched::Watched;

/// Upper bounds of the histograms in seconds: ten-fold from a microsecond, as in component-base's
/// `workqueue` metrics. Two are inexact because component-base multiplies. With exact ones, `le`
/// would differ, and series of a Go program could not be summed with ours.
const BUCKETS: [f64; 10] = [
    1e-6,
    9.999_999_999_999_999e-6,
    9.999_999_999_999_999e-5,
    1e-3,
    1e-2,
    1e-1,
    1.0,
    10.0,
    100.0,
    1000.0,
];

type Histograms = Family<Labels, Histogram, fn() -> Histogram>;

/// The metrics of all work queues of a program, in one registry. Names, types, buckets and the
/// label `name` are client-go's, so its dashboards work unchanged.
///
/// | metric | type | |
/// | --- | --- | --- |
/// | `workqueue_depth` | gauge | items to hand out: queued, or to run again; [by `priority`](Self::watch_by_priority) on request |
/// | `workqueue_adds_total` | counter | adds that lead to a hand-out of their own |
/// | `workqueue_queue_duration_seconds` | histogram | from such an add to the hand-out |
/// | `workqueue_work_duration_seconds` | histogram | from the hand-out to the end of the guard |
/// | `workqueue_unfinished_work_seconds` | gauge | the sum of the times that items have been in flight |
/// | `workqueue_longest_running_processor_seconds` | gauge | the longest time that an item has been in flight |
/// | `workqueue_retries_total` | counter | accepted delayed adds, including retries |
/// | `workqueue_delayed_depth` | gauge | delayed items, including due items that are not queued yet |
/// | `workqueue_delay_lateness_seconds` | histogram | from an item's deadline to the moment it was queued |
///
/// The last two are not client-go's, but follow its style. A lateness above the timer's resolution
/// (about a millisecond with tokio) means that all workers were busy. A queue that delays nothing
/// has an empty lateness series.
///
/// One lock covers the gauges of a queue: they agree with each other, change during a drain, and
/// end at 0. Another lock covers `workqueue_delayed_depth`: an item that becomes due meanwhile may
/// count twice, or not at all.
#[doc(alias = "MetricsProvider")]
#[derive(Clone)]
pub struct QueueMetrics {
    adds: Family<Labels, Counter>,
    retries: Family<Labels, Counter>,
    queue_duration: Histograms,
    work_duration: Histograms,
    lateness: Histograms,
    sources: Arc<Sources>,
    /// The labels of priorities, by name of the queue.
    depths: Arc<Mutex<BTreeMap<String, Arc<Mutex<Depths>>>>>,
}

impl QueueMetrics {
    /// Registers the metrics, without a queue yet. Call it once for a registry, where names must be
    /// unique.
    pub fn register(registry: &mut Registry) -> Self {
        let histograms =
            || Family::new_with_constructor((|| Histogram::new(BUCKETS)) as fn() -> Histogram);
        let metrics = Self {
            adds: Family::default(),
            retries: Family::default(),
            queue_duration: histograms(),
            work_duration: histograms(),
            lateness: histograms(),
            sources: Arc::default(),
            depths: Arc::default(),
        };
        let registry = registry.sub_registry_with_prefix("workqueue");
        registry.register_collector(Box::new(Scrape(Arc::clone(&metrics.sources))));
        registry.register(
            "adds",
            "Total number of adds handled by workqueue",
            metrics.adds.clone(),
        );
        registry.register(
            "retries",
            "Total number of retries handled by workqueue",
            metrics.retries.clone(),
        );
        registry.register(
            "queue_duration_seconds",
            "How long in seconds an item stays in workqueue before being requested",
            metrics.queue_duration.clone(),
        );
        registry.register(
            "work_duration_seconds",
            "How long in seconds processing an item from workqueue takes",
            metrics.work_duration.clone(),
        );
        registry.register(
            "delay_lateness_seconds",
            "How long in seconds after its deadline a delayed item is queued",
            metrics.lateness.clone(),
        );
        metrics
    }

    /// Returns an observer for the builder of the queue with this name. Queues of one name are
    /// counted together.
    ///
    /// With an observer of your own: `(metrics.observer("claims"), mine)`.
    pub fn observer(&self, name: &str) -> impl Observer + 'static {
        let labels = labels(name);
        Counting {
            adds: self.adds.get_or_create_owned(&labels),
            retries: self.retries.get_or_create_owned(&labels),
            queue_duration: self.queue_duration.get_or_create_owned(&labels),
            work_duration: self.work_duration.get_or_create_owned(&labels),
            lateness: self.lateness.get_or_create_owned(&labels),
        }
    }

    /// Reads the gauges of this queue at every scrape, under its name, until the queue is gone.
    /// Does not keep the queue alive. Call it once for a queue.
    ///
    /// Depth and unfinished work of queues of one name are summed. A queue without a name has the
    /// empty one. A queue without an observer reads no clock, and has no series of unfinished work.
    pub fn watch<Q: Watched>(&self, queue: &Q) {
        self.sources.put(queue.name().unwrap_or_default(), Arc::new(plain(queue)));
    }

    /// As [`watch`](Self::watch), with the depth split by a label `priority`, as in
    /// controller-runtime. Call it instead of `watch`.
    ///
    /// The first 25 priorities that scrapes find under a name keep their own labels. If one scrape
    /// finds too many, the highest get them. All others share `exceeded_cardinality_limit`.
    ///
    /// One lock of the queue covers the read: each label shows exactly its items, and their sum is
    /// the depth. There is no series without the label.
    #[doc(alias = "NewDepthMetricWithPriority")]
    pub fn watch_by_priority<Q: Watched>(&self, queue: &Q)
    where
        Q::Backlog: Survey<Found = Depths>,
    {
        let name = queue.name().unwrap_or_default();
        let mut by_name = self.depths.lock().unwrap_or_else(PoisonError::into_inner);
        let depths = Arc::clone(by_name.entry(name.to_owned()).or_default());
        drop(by_name);
        self.sources.put(name, Arc::new(ByPriority { plain: plain(queue), depths }));
    }
}

fn plain<Q: Watched>(queue: &Q) -> Plain<Q::Item, Q::Backlog> {
    Plain { reader: queue.reader(), delayed: queue.delayed() }
}

impl fmt::Debug for QueueMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueMetrics").field("queues", &self.sources.len()).finish_non_exhaustive()
    }
}
