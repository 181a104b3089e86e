//! Names, labels and values as a scrape sees them, through a drain and after it.

use std::sync::Arc;

use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use wq_core::{Observer, WorkQueue};
use wq_prometheus::QueueMetrics;

struct Scraped {
    registry: Registry,
    metrics: QueueMetrics,
}

impl Scraped {
    fn new() -> Self {
        let mut registry = Registry::default();
        let metrics = QueueMetrics::register(&mut registry);
        Self { registry, metrics }
    }

    fn queue(&self) -> WorkQueue<u32> {
        let builder = WorkQueue::builder().name("claims").observer(self.metrics.observer("claims"));
        let queue = builder.build().unwrap();
        self.metrics.watch(&queue);
        queue
    }

    fn text(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.registry).unwrap();
        text
    }

    /// The value of a metric of the queue `claims`.
    fn value(&self, metric: &str) -> Option<f64> {
        value(&self.text(), metric)
    }
}

fn value(text: &str, metric: &str) -> Option<f64> {
    let line =
        text.lines().find_map(|line| line.strip_prefix(&format!("{metric}{{name=\"claims\"}} ")));
    line.map(|value| value.parse().unwrap())
}

#[test]
fn names_types_and_buckets_are_those_of_client_go() {
    let scraped = Scraped::new();
    let queue = scraped.queue();
    queue.add(1);
    queue.try_get().unwrap().done();
    let text = scraped.text();
    for line in [
        "# TYPE workqueue_depth gauge",
        "# TYPE workqueue_adds counter",
        "workqueue_adds_total{name=\"claims\"} 1",
        "# TYPE workqueue_queue_duration_seconds histogram",
        "workqueue_queue_duration_seconds_count{name=\"claims\"} 1",
        "# TYPE workqueue_work_duration_seconds histogram",
        "workqueue_work_duration_seconds_bucket{le=\"+Inf\",name=\"claims\"} 1",
        "# TYPE workqueue_unfinished_work_seconds gauge",
        "# TYPE workqueue_longest_running_processor_seconds gauge",
        "# TYPE workqueue_retries counter",
        "workqueue_retries_total{name=\"claims\"} 0",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\nis not in\n{text}");
    }
}

#[test]
fn bounds_of_buckets_are_those_of_client_go_to_the_last_bit() {
    let scraped = Scraped::new();
    let queue = scraped.queue();
    queue.add(1);
    queue.try_get().unwrap().done();
    let text = scraped.text();
    // component-base: ExponentialBuckets(1e-6, 10, 10), which multiplies, and the infinite bucket.
    let mut expected: Vec<f64> =
        std::iter::successors(Some(1e-6), |bound| Some(bound * 10.0)).take(10).collect();
    expected.push(f64::INFINITY);
    assert!((999.999..1000.001).contains(&expected[9]), "{expected:?}");
    for histogram in ["queue", "work"] {
        let prefix = format!("workqueue_{histogram}_duration_seconds_bucket{{le=\"");
        let bounds = text.lines().filter_map(|line| line.strip_prefix(&prefix)?.split('"').next());
        let bounds: Vec<f64> = bounds.map(|bound| bound.parse().unwrap()).collect();
        assert_eq!(bounds, expected, "{text}");
    }
}

#[derive(Default)]
struct Count(std::sync::atomic::AtomicUsize);

impl Count {
    fn get(&self) -> usize {
        self.0.load(std::sync::atomic::Ordering::Relaxed)
    }
}

impl Observer for Count {
    fn added(&self, _: wq_core::Added) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
}

#[test]
fn adds_count_hand_outs_to_come_and_depth_counts_what_will_run() {
    let scraped = Scraped::new();
    let queue = scraped.queue();
    queue.add_all([1, 2, 2]);
    assert_eq!(
        (scraped.value("workqueue_adds_total"), scraped.value("workqueue_depth")),
        (Some(2.0), Some(2.0))
    );
    let guard = queue.try_get().unwrap();
    assert_eq!(scraped.value("workqueue_depth"), Some(1.0));
    queue.add(1);
    assert_eq!(
        (scraped.value("workqueue_adds_total"), scraped.value("workqueue_depth")),
        (Some(3.0), Some(2.0))
    );
    guard.done();
    assert_eq!(
        scraped.value("workqueue_depth"),
        Some(2.0),
        "a requeue is no add, and as deep as before"
    );
}

#[test]
fn gauges_of_work_in_hand_go_on_during_a_drain_and_end_at_nothing() {
    // Upstream's gauges stop when the shutdown begins, and never return to 0 (D19).
    let scraped = Scraped::new();
    let queue = scraped.queue();
    let read = || {
        let text = scraped.text();
        let of = |metric| value(&text, metric).unwrap();
        (of("workqueue_unfinished_work_seconds"), of("workqueue_longest_running_processor_seconds"))
    };
    assert_eq!(read(), (0.0, 0.0));
    queue.add_all([1, 2]);
    let (first, second) = (queue.try_get().unwrap(), queue.try_get().unwrap());
    queue.shutdown();
    let (before, longest) = read();
    assert!(before >= longest && longest > 0.0, "{before} {longest}");
    let later = read();
    assert!(later.0 > before && later.1 > longest, "{later:?} after {before} {longest}");
    first.done();
    let one = read();
    assert!(one.0 > 0.0 && one.0 == one.1, "{one:?}");
    second.done();
    assert!(pollster::block_on(async {
        queue.drained().await;
        true
    }));
    assert_eq!(read(), (0.0, 0.0));
    assert_eq!(scraped.value("workqueue_depth"), Some(0.0));
    assert_eq!(scraped.value("workqueue_work_duration_seconds_count"), Some(2.0));
}

#[test]
fn a_queue_that_is_gone_has_no_gauges_and_its_counts_stay() {
    let scraped = Scraped::new();
    let queue = scraped.queue();
    queue.add(1);
    drop(queue);
    assert_eq!(
        (scraped.value("workqueue_depth"), scraped.value("workqueue_adds_total")),
        (None, Some(1.0))
    );
    assert!(format!("{:?}", scraped.metrics).contains("queues: 0"));
}

#[test]
fn queues_of_one_name_are_one_series() {
    let scraped = Scraped::new();
    let one = scraped.queue();
    let other = scraped.queue();
    one.add(1);
    other.add(1);
    assert_eq!(scraped.text().matches("workqueue_depth{").count(), 1);
    assert_eq!(
        (scraped.value("workqueue_depth"), scraped.value("workqueue_adds_total")),
        (Some(2.0), Some(2.0))
    );
}

#[test]
fn an_observer_of_ones_own_is_told_beside_the_metrics() {
    let scraped = Scraped::new();
    let count = Arc::new(Count::default());
    let observer = (scraped.metrics.observer("claims"), Arc::clone(&count));
    let queue = WorkQueue::builder().name("claims").observer(observer).build().unwrap();
    scraped.metrics.watch(&queue);
    queue.add(1);
    assert_eq!(count.get(), 1);
    assert_eq!(
        (scraped.value("workqueue_depth"), scraped.value("workqueue_adds_total")),
        (Some(1.0), Some(1.0))
    );
}

#[test]
fn a_queue_that_reads_no_clock_shows_no_times() {
    let scraped = Scraped::new();
    let queue = WorkQueue::builder().name("claims").build().unwrap();
    scraped.metrics.watch(&queue);
    queue.add(1);
    let guard = queue.try_get().unwrap();
    assert_eq!(scraped.value("workqueue_depth"), Some(0.0));
    assert_eq!(scraped.value("workqueue_unfinished_work_seconds"), None, "which is not zero");
    assert_eq!(scraped.value("workqueue_longest_running_processor_seconds"), None);
    guard.done();
}
