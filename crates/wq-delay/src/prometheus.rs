//! Prometheus: how many items are delayed, and how late they come, beside client-go's metrics of the queue below. The gauge is
//! read from the queues when they are scraped.

use crate::builder::{BuildError, Builder};
use crate::queue::DelayingQueue;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;
use std::time::Duration;
use wq_core::prometheus::{QueueMetrics, Sources};
use wq_core::{Added, Backlog, Observer};

/// Upper bounds in seconds: ten-fold from a microsecond, as those of the other histograms of a work queue.
const BUCKETS: [f64; 10] = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0];

type Labels = [(&'static str, String); 1];

fn labels(name: &str) -> Labels {
    [("name", name.to_owned())]
}

/// The metrics of all delaying queues of a program, in one registry: those of [`QueueMetrics`], and two that client-go does
/// not have, in its style:
///
/// | metric | type | |
/// | --- | --- | --- |
/// | `workqueue_delayed_depth` | gauge | items that wait for their deadline, also those that are due and that nobody has looked for |
/// | `workqueue_delay_lateness_seconds` | histogram | from an item's deadline to the moment it was queued |
///
/// The gauge is read under another lock than those of the queue below: an item that moves meanwhile may be in both or in
/// neither.
///
/// Lateness beyond the timer's grain (about a millisecond with tokio) says that nobody waited in a getter: all workers were
/// busy. [`keep_time`](DelayingQueue::keep_time) tells that time from the time in the queue.
///
/// ```
/// use prometheus_client::registry::Registry;
/// use std::time::Duration;
/// use wq_delay::prometheus::DelayMetrics;
/// use wq_delay::{DelayingQueue, ManualTimer};
///
/// let mut registry = Registry::default();
/// let metrics = DelayMetrics::register(&mut registry);
/// let queue = metrics.build(DelayingQueue::builder().name("claims").timer(ManualTimer::new()))?;
/// queue.add_after("claim-1", Duration::from_secs(1));
///
/// let mut text = String::new();
/// prometheus_client::encoding::text::encode(&mut text, &registry)?;
/// assert!(text.contains("workqueue_delayed_depth{name=\"claims\"} 1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct DelayMetrics {
    core: QueueMetrics,
    lateness: Family<Labels, Histogram, fn() -> Histogram>,
    delayed: Arc<Sources<usize>>,
}

impl DelayMetrics {
    /// Registers the metrics, those of the queue below among them, without a queue yet. Once for a registry: names in a
    /// registry must be unique.
    pub fn register(registry: &mut Registry) -> Self {
        let core = QueueMetrics::register(registry);
        let lateness = Family::new_with_constructor((|| Histogram::new(BUCKETS)) as fn() -> Histogram);
        let metrics = Self { core, lateness, delayed: Arc::default() };
        let registry = registry.sub_registry_with_prefix("workqueue");
        registry.register_collector(Box::new(Scrape(Arc::clone(&metrics.delayed))));
        registry.register(
            "delay_lateness_seconds",
            "How long in seconds after its deadline a delayed item is queued",
            metrics.lateness.clone(),
        );
        metrics
    }

    /// The metrics of the queue below, for queues that delay nothing.
    #[must_use]
    pub const fn core(&self) -> &QueueMetrics {
        &self.core
    }

    /// Builds a queue with these metrics, under its name; one without a name has the empty one. An
    /// observer that the builder has is told too.
    ///
    /// # Errors
    ///
    /// As [`Builder::build`].
    pub fn build<T, B, S>(&self, builder: Builder<T, B, S>) -> Result<DelayingQueue<T, B, S>, BuildError>
    where
        T: Hash + Eq + Send + 'static,
        B: Backlog + Send + 'static,
        S: BuildHasher + Clone,
    {
        builder.check_wakes_tasks()?;
        self.finish(builder, true)
    }

    /// As [`build`](Self::build), for blocking getters: see [`Builder::build_blocking`].
    ///
    /// # Errors
    ///
    /// As [`Builder::build_blocking`].
    pub fn build_blocking<T, B, S>(
        &self,
        builder: Builder<T, B, S>,
    ) -> Result<DelayingQueue<T, B, S>, BuildError>
    where
        T: Hash + Eq + Send + 'static,
        B: Backlog + Send + 'static,
        S: BuildHasher + Clone,
    {
        self.finish(builder, false)
    }

    fn finish<T, B, S>(
        &self,
        builder: Builder<T, B, S>,
        tasks_keep_time: bool,
    ) -> Result<DelayingQueue<T, B, S>, BuildError>
    where
        T: Hash + Eq + Send + 'static,
        B: Backlog + Send + 'static,
        S: BuildHasher + Clone,
    {
        let queue = builder.finish(tasks_keep_time, |core, held| {
            let core = self.core.build(core)?; // It keeps what the builder has, and tells it of what happens there.
            let ours = self.observer(core.name().unwrap_or_default());
            let observer: Arc<dyn Observer> = match held {
                None => Arc::new(ours),
                Some(held) => Arc::new((ours, held)),
            };
            Ok((core, Some(observer)))
        })?;
        self.watch_delayed(queue.name().unwrap_or_default(), &queue);
        Ok(queue)
    }

    /// What counts the events of the queue of this name, those of delayed items and all others: instead of
    /// [`QueueMetrics::observer`], which counts retries too, so that with both each would count twice. Join it with an observer of
    /// your own as `(metrics.observer("claims"), mine)`.
    pub fn observer(&self, name: &str) -> impl Observer + 'static {
        Counting {
            core: self.core.observer(name),
            lateness: self.lateness.get_or_create_owned(&labels(name)),
        }
    }

    /// Reads the gauges of this queue, `workqueue_delayed_depth` among them, at every scrape until the queue is gone: it is not
    /// kept alive. Those of one name are summed. Takes the place of what [`build`](Self::build) has read of the same queue. Where
    /// wq-priority's metrics tell the depth by priority, they are to watch the queue after this.
    pub fn watch<T, B, S>(&self, name: &str, queue: &DelayingQueue<T, B, S>)
    where
        T: Send + 'static,
        B: Backlog + Send + 'static,
    {
        let reader = queue.reader();
        let read = reader.clone();
        // No label: one that is empty.
        self.core.watch_by_priority(name, &reader, move || {
            let gauges = read.gauges()?;
            Some((gauges, vec![(String::new(), gauges.counts.depth())]))
        });
        self.watch_delayed(name, queue);
    }

    fn watch_delayed<T, B, S>(&self, name: &str, queue: &DelayingQueue<T, B, S>)
    where
        T: Send + 'static,
        B: Backlog + Send + 'static,
    {
        let shared = Arc::downgrade(&queue.shared);
        self.delayed.put(name, Some(shared.clone()), move || Some(shared.upgrade()?.lock().heap.len()));
    }
}

impl fmt::Debug for DelayMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DelayMetrics").field("core", &self.core).finish_non_exhaustive()
    }
}

/// All events: those of the queue below, and what only the layer of delays tells.
struct Counting<O> {
    core: O,
    lateness: Histogram,
}

impl<O: Observer> Observer for Counting<O> {
    fn is_timed(&self) -> bool {
        self.core.is_timed()
    }

    fn added(&self, added: Added) {
        self.core.added(added);
    }

    fn refused(&self) {
        self.core.refused();
    }

    fn got(&self, waited: Duration) {
        self.core.got(waited);
    }

    fn done(&self, worked: Duration) {
        self.core.done(worked);
    }

    fn requeued(&self) {
        self.core.requeued();
    }

    fn removed(&self) {
        self.core.removed();
    }

    fn retried(&self) {
        self.core.retried();
    }

    fn due(&self, late: Duration) {
        self.lateness.observe(late.as_secs_f64());
    }
}

/// The collector of the gauge.
struct Scrape(Arc<Sources<usize>>);

impl fmt::Debug for Scrape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scrape")
    }
}

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut by_name: BTreeMap<Arc<str>, usize> = BTreeMap::new();
        for (name, delayed) in self.0.read() {
            *by_name.entry(name).or_default() += delayed;
        }
        let help = "How many items wait for their deadline";
        let mut family = encoder.encode_descriptor("delayed_depth", help, None, MetricType::Gauge)?;
        for (name, delayed) in by_name {
            #[expect(clippy::cast_precision_loss, reason = "exact below 2^53 items")]
            let delayed = delayed as f64;
            family.encode_family(&labels(&name))?.encode_gauge(&delayed)?;
        }
        Ok(())
    }
}
