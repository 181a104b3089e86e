//! Prometheus: how many items wait under each priority, read at the scrape. The other metrics of a queue are wq-core's.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

/// At most so many priorities of a queue have a label of their own, as in controller-runtime: a program that makes up ever new
/// priorities does not make ever new series.
const MAX_LABELS: usize = 25;
/// The label of all others, controller-runtime's.
const OVERFLOW: &str = "exceeded_cardinality_limit";

/// The depth of queues by priority, in one registry, beside wq-core's `QueueMetrics`.
///
/// | metric | type | |
/// | --- | --- | --- |
/// | `workqueue_depth_by_priority` | gauge | items that still have to be handed out, queued or to run again, under each priority |
///
/// The labels are `name` and `priority`. The first 25 priorities that are seen at scrapes of a queue have a label of their own,
/// for good; the others share `exceeded_cardinality_limit`. At each scrape a label shows exactly the items under it, and
/// their sum is the depth.
///
/// ```
/// use prometheus_client::registry::Registry;
/// use wq_core::WorkQueue;
/// use wq_priority::prometheus::PriorityMetrics;
/// use wq_priority::{Order, Priority};
///
/// let mut registry = Registry::default();
/// let metrics = PriorityMetrics::register(&mut registry);
/// let queue = WorkQueue::builder().backlog(Priority::new()).build()?;
/// let read = queue.clone();
/// metrics.watch("claims", move || Some(read.survey()));
/// queue.add_with("claim-1", Order::priority(10));
///
/// let mut text = String::new();
/// prometheus_client::encoding::text::encode(&mut text, &registry)?;
/// assert!(text.contains("workqueue_depth_by_priority{name=\"claims\",priority=\"10\"} 1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct PriorityMetrics {
    queues: Arc<Mutex<Vec<Queue>>>,
}

#[derive(Clone)]
struct Queue {
    name: String,
    read: Arc<dyn Fn() -> Option<BTreeMap<i32, usize>> + Send + Sync>,
    /// The priorities that have a label of their own.
    labels: Vec<i32>,
}

impl PriorityMetrics {
    /// Registers the metric, without a queue yet. Once for a registry: names in a registry must be unique.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self { queues: Arc::default() };
        registry.register_collector(Box::new(metrics.clone()));
        metrics
    }

    /// Reads the depths of a queue from `read` at every scrape, until it says `None`: what
    /// [`WorkQueue::survey`](wq_core::WorkQueue::survey) answers. Names should be unique.
    #[doc(alias = "NewDepthMetricWithPriority")]
    pub fn watch(&self, name: &str, read: impl Fn() -> Option<BTreeMap<i32, usize>> + Send + Sync + 'static) {
        let queue = Queue { name: name.to_owned(), read: Arc::new(read), labels: Vec::new() };
        self.lock().push(queue);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Queue>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for PriorityMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PriorityMetrics").field("queues", &self.lock().len()).finish()
    }
}

impl Collector for PriorityMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        // Reading is the code of others: outside the lock.
        let queues = self.lock().clone();
        let mut family = encoder.encode_descriptor(
            "workqueue_depth_by_priority",
            "Current depth of workqueue by workqueue and priority",
            None,
            MetricType::Gauge,
        )?;
        for Queue { name, read, .. } in queues {
            let Some(found) = read() else {
                self.lock().retain(|other| !Arc::ptr_eq(&other.read, &read));
                continue;
            };
            let mut all = self.lock();
            let Some(queue) = all.iter_mut().find(|other| Arc::ptr_eq(&other.read, &read)) else { continue };
            let depths = queue.depths(&found);
            drop(all);
            for (priority, depth) in depths {
                let labels = [("name", name.as_str()), ("priority", priority.as_str())];
                ConstGauge::new(depth).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

impl Queue {
    /// What each label shows.
    fn depths(&mut self, found: &BTreeMap<i32, usize>) -> Vec<(String, i64)> {
        for priority in found.keys() {
            if self.labels.len() < MAX_LABELS && !self.labels.contains(priority) {
                self.labels.push(*priority);
            }
        }
        let shown = |depth: usize| i64::try_from(depth).unwrap_or(i64::MAX);
        let labelled = |priority: &i32| found.get(priority).copied().unwrap_or(0);
        let own = self.labels.iter().map(|priority| (priority.to_string(), shown(labelled(priority))));
        let others = found.values().sum::<usize>() - self.labels.iter().map(labelled).sum::<usize>();
        let overflow = (self.labels.len() >= MAX_LABELS).then(|| (OVERFLOW.to_owned(), shown(others)));
        own.chain(overflow).collect()
    }
}
