//! Prometheus: client-go's metrics of work queues, on `prometheus-client`. Counters and histograms are fed by an
//! observer; gauges are read from the queues when they are scraped.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::added::Added;
use crate::backlog::Backlog;
use crate::builder::{BuildError, Builder};
use crate::observer::Observer;
use crate::queue::WorkQueue;
use crate::reader::QueueReader;
use crate::snapshot::Gauges;

mod sources;

pub use sources::Sources;

/// Upper bounds of the two histograms in seconds: ten-fold from a microsecond (component-base's `workqueue` metrics). Two are
/// what multiplication makes of them there: with others the series of a program in Go could not be summed with ours by `le`.
const BUCKETS: [f64; 10] =
    [1e-6, 9.999_999_999_999_999e-6, 9.999_999_999_999_999e-5, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0];

type Labels = [(&'static str, String); 1];

fn labels(name: &str) -> Labels {
    [("name", name.to_owned())]
}

/// The metrics of all work queues of a program, in one registry: client-go's names, types, buckets and label `name`, so
/// that its dashboards carry over.
///
/// | metric | type | |
/// | --- | --- | --- |
/// | `workqueue_depth` | gauge | items that still have to be handed out: queued, or to run again; by `priority`, where [that is told](Self::watch_by_priority) |
/// | `workqueue_adds_total` | counter | adds that lead to a hand-out of their own |
/// | `workqueue_queue_duration_seconds` | histogram | from such an add to the hand-out |
/// | `workqueue_work_duration_seconds` | histogram | from the hand-out to the end of the guard |
/// | `workqueue_unfinished_work_seconds` | gauge | how long the items in flight have been in hand, summed |
/// | `workqueue_longest_running_processor_seconds` | gauge | how long the first of them has been |
/// | `workqueue_retries_total` | counter | counted by the layers that delay and retry |
///
/// The gauges are read when they are scraped, under one lock of the queue: they agree with each other, move on while a
/// queue is drained, and are 0 at its end. A queue that is gone has gauges no more; what it counted stays.
///
/// ```
/// use prometheus_client::registry::Registry;
/// use wq_core::WorkQueue;
/// use wq_core::prometheus::QueueMetrics;
///
/// let mut registry = Registry::default();
/// let metrics = QueueMetrics::register(&mut registry);
/// let queue = metrics.build(WorkQueue::builder().name("claims"))?;
/// queue.add("claim-1");
///
/// let mut text = String::new();
/// prometheus_client::encoding::text::encode(&mut text, &registry)?;
/// assert!(text.contains("workqueue_depth{name=\"claims\"} 1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "MetricsProvider")]
#[derive(Clone)]
pub struct QueueMetrics {
    adds: Family<Labels, Counter>,
    retries: Family<Labels, Counter>,
    queue_duration: Family<Labels, Histogram, fn() -> Histogram>,
    work_duration: Family<Labels, Histogram, fn() -> Histogram>,
    sources: Arc<Sources<Reading>>,
    companions: Arc<Mutex<BTreeMap<TypeId, Arc<dyn Any + Send + Sync>>>>,
}

impl QueueMetrics {
    /// Registers the metrics, without a queue yet. Once for a registry: names in a registry must be unique.
    pub fn register(registry: &mut Registry) -> Self {
        let histograms = || Family::new_with_constructor((|| Histogram::new(BUCKETS)) as fn() -> Histogram);
        let metrics = Self {
            adds: Family::default(),
            retries: Family::default(),
            queue_duration: histograms(),
            work_duration: histograms(),
            sources: Arc::default(),
            companions: Arc::default(),
        };
        let registry = registry.sub_registry_with_prefix("workqueue");
        let gauges = Scrape(Arc::clone(&metrics.sources));
        registry.register_collector(Box::new(gauges));
        registry.register("adds", "Total number of adds handled by workqueue", metrics.adds.clone());
        registry.register("retries", "Total number of retries handled by workqueue", metrics.retries.clone());
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
        metrics
    }

    /// Builds a queue with these metrics, under its name; one without a name has the empty one. An observer that the builder
    /// has is told too.
    ///
    /// # Errors
    ///
    /// As [`Builder::build`].
    pub fn build<T, B, S>(&self, builder: Builder<T, B, S>) -> Result<WorkQueue<T, B, S>, BuildError>
    where
        T: Hash + Eq + Send + 'static,
        B: Backlog + Send + 'static,
        S: BuildHasher,
    {
        let name = builder.name_ref().unwrap_or_default().to_owned();
        let queue = builder.also_observer(self.observer(&name)).build()?;
        let reader = queue.reader();
        self.sources.put(&name, Some(reader.queue()), move || Some(Reading::plain(reader.gauges()?)));
        Ok(queue)
    }

    /// What counts the events of the queue of this name. Queues of one name are counted together.
    pub fn observer(&self, name: &str) -> impl Observer + 'static {
        let labels = labels(name);
        Counting {
            adds: self.adds.get_or_create_owned(&labels),
            retries: self.retries.get_or_create_owned(&labels),
            queue_duration: self.queue_duration.get_or_create_owned(&labels),
            work_duration: self.work_duration.get_or_create_owned(&labels),
        }
    }

    /// Reads the gauges of this name from `read` at every scrape, until it says `None`: for the layers above, which have
    /// queues of their own. Of queues of one name depth and unfinished work are summed. A queue that reads no clock has no
    /// series of unfinished work.
    pub fn watch(&self, name: &str, read: impl Fn() -> Option<Gauges> + Send + Sync + 'static) {
        self.sources.put(name, None, move || Some(Reading::plain(read()?)));
    }

    /// Reads the gauges of this queue from `read` at every scrape, until it says `None`, with its depth told apart by a label
    /// `priority`: each label with the items under it, all of the moment that the gauges are of. `workqueue_depth` then has a
    /// series for each label, as controller-runtime's has, and none without, so that their sum is the depth.
    ///
    /// It takes the place of what [`build`](Self::build) reads of the same queue. Of queues of one name the same labels are
    /// summed; those that tell no priorities have the series without that label.
    pub fn watch_by_priority<T, B>(
        &self,
        name: &str,
        queue: &QueueReader<T, B>,
        read: impl Fn() -> Option<(Gauges, Vec<(String, usize)>)> + Send + Sync + 'static,
    ) where
        T: Send + 'static,
        B: Backlog + Send + 'static,
    {
        self.sources.put(name, Some(queue.queue()), move || {
            let (gauges, depths) = read()?;
            Some(Reading { gauges, depths })
        });
    }

    /// What a layer above keeps beside these metrics: made at the first call for the type, the same at every other, of this and
    /// of its clones.
    ///
    /// # Panics
    ///
    /// If `default` panics.
    #[must_use]
    pub fn companion<C: Any + Send + Sync + Default>(&self) -> Arc<C> {
        let kind = TypeId::of::<C>();
        let known = lock(&self.companions).get(&kind).cloned();
        let found = known.unwrap_or_else(|| {
            let new: Arc<dyn Any + Send + Sync> = Arc::new(C::default()); // The code of others, as its drop is: outside the lock.
            let mut companions = lock(&self.companions);
            Arc::clone(companions.entry(kind).or_insert_with(|| Arc::clone(&new)))
        });
        found.downcast().unwrap_or_default() // It is of the type that it stands under.
    }
}

impl fmt::Debug for QueueMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueMetrics").field("queues", &self.sources.len()).finish_non_exhaustive()
    }
}

struct Counting {
    adds: Counter,
    retries: Counter,
    queue_duration: Histogram,
    work_duration: Histogram,
}

impl Observer for Counting {
    fn added(&self, added: Added) {
        if matches!(added, Added::Queued | Added::Deferred) {
            self.adds.inc();
        }
    }

    fn got(&self, waited: Duration) {
        self.queue_duration.observe(waited.as_secs_f64());
    }

    fn done(&self, worked: Duration) {
        self.work_duration.observe(worked.as_secs_f64());
    }

    fn retried(&self) {
        self.retries.inc();
    }
}

/// One reading of a queue, all of one moment.
#[derive(Default)]
struct Reading {
    gauges: Gauges,
    /// By label; under the empty one where no priorities are told.
    depths: Vec<(String, usize)>,
}

impl Reading {
    fn plain(gauges: Gauges) -> Self {
        Self { gauges, depths: vec![(String::new(), gauges.counts.depth())] }
    }
}

/// What the queues of one name show together.
#[derive(Default)]
struct Shown {
    gauges: Gauges,
    depths: BTreeMap<String, usize>,
}

impl Shown {
    fn join(&mut self, read: Reading) {
        self.gauges.join(read.gauges);
        for (label, depth) in read.depths {
            *self.depths.entry(label).or_default() += depth;
        }
    }
}

/// The collector of the gauges.
struct Scrape(Arc<Sources<Reading>>);

impl fmt::Debug for Scrape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scrape")
    }
}

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut read: BTreeMap<Arc<str>, Shown> = BTreeMap::new();
        for (name, reading) in self.0.read() {
            read.entry(name).or_default().join(reading);
        }
        let help = "Current depth of workqueue";
        let mut family = encoder.encode_descriptor("depth", help, None, MetricType::Gauge)?;
        for (name, shown) in &read {
            for (priority, depth) in &shown.depths {
                let ([name], depth) = (labels(name), float(*depth));
                if priority.is_empty() {
                    family.encode_family(&[name])?.encode_gauge(&depth)?;
                } else {
                    let labels = [name, ("priority", priority.clone())];
                    family.encode_family(&labels)?.encode_gauge(&depth)?;
                }
            }
        }
        // A queue that reads no clock does not know them, which is not zero.
        let mut gauge = |name, help, value: fn(&Gauges) -> Option<Duration>| {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for (name, shown) in &read {
                if let Some(span) = value(&shown.gauges) {
                    family.encode_family(&labels(name))?.encode_gauge(&span.as_secs_f64())?;
                }
            }
            Ok(())
        };
        gauge(
            "unfinished_work_seconds",
            "How many seconds of work is in progress and has not been observed by work_duration",
            |gauges| gauges.unfinished,
        )?;
        gauge(
            "longest_running_processor_seconds",
            "How many seconds has the longest running processor for workqueue been running",
            |gauges| gauges.longest,
        )
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[expect(clippy::cast_precision_loss, reason = "exact below 2^53 items")]
const fn float(count: usize) -> f64 {
    count as f64
}
