//! Delayed items as a scrape sees them.

use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use wq_delay::{DelayingQueue, ManualTimer, Observer};
use wq_prometheus::QueueMetrics;

const SECOND: Duration = Duration::from_secs(1);

fn text(registry: &Registry) -> String {
    let mut text = String::new();
    encode(&mut text, registry).unwrap();
    text
}

fn has(registry: &Registry, line: &str) {
    let text = text(registry);
    assert!(text.lines().any(|found| found == line), "{line}\nis not in\n{text}");
}

fn watched(metrics: &QueueMetrics, name: &str, timer: &ManualTimer) -> DelayingQueue<u32> {
    let builder = DelayingQueue::builder().name(name).timer(timer.clone());
    let queue = builder.observer(metrics.observer(name)).build().unwrap();
    metrics.watch(&queue);
    queue
}

#[test]
fn delayed_items_and_their_lateness_stand_beside_the_metrics_of_the_queue_below() {
    let mut registry = Registry::default();
    let metrics = QueueMetrics::register(&mut registry);
    let timer = ManualTimer::new();
    let queue = watched(&metrics, "claims", &timer);
    queue.add_after(1, SECOND);
    queue.add_after(2, SECOND * 60);
    has(&registry, "# TYPE workqueue_delayed_depth gauge");
    has(&registry, "workqueue_delayed_depth{name=\"claims\"} 2.0");
    has(&registry, "workqueue_retries_total{name=\"claims\"} 2");
    timer.advance(SECOND + SECOND / 2);
    // Item 1 is due, but not queued yet.
    has(&registry, "workqueue_delayed_depth{name=\"claims\"} 2.0");
    has(&registry, "workqueue_delay_lateness_seconds_count{name=\"claims\"} 0");
    assert_eq!(queue.counts().queued, 1);
    has(&registry, "workqueue_delayed_depth{name=\"claims\"} 1.0");
    has(&registry, "workqueue_depth{name=\"claims\"} 1.0");
    has(&registry, "workqueue_adds_total{name=\"claims\"} 1");
    has(&registry, "# TYPE workqueue_delay_lateness_seconds histogram");
    has(&registry, "workqueue_delay_lateness_seconds_sum{name=\"claims\"} 0.5");
    has(&registry, "workqueue_delay_lateness_seconds_bucket{le=\"1.0\",name=\"claims\"} 1");
    has(&registry, "workqueue_delay_lateness_seconds_bucket{le=\"0.1\",name=\"claims\"} 0");
    _ = queue.shutdown();
    has(&registry, "workqueue_delayed_depth{name=\"claims\"} 0.0");
}

#[test]
fn a_queue_that_is_gone_is_delayed_no_more() {
    let mut registry = Registry::default();
    let metrics = QueueMetrics::register(&mut registry);
    let timer = ManualTimer::new();
    let kept = watched(&metrics, "claims", &timer);
    let (twin, gone) = (watched(&metrics, "claims", &timer), watched(&metrics, "gone", &timer));
    kept.add_after(1, SECOND);
    twin.add_after(1, SECOND);
    gone.add_after(1, SECOND);
    has(&registry, "workqueue_delayed_depth{name=\"claims\"} 2.0");
    drop((twin, gone));
    has(&registry, "workqueue_delayed_depth{name=\"claims\"} 1.0");
    assert!(!text(&registry).contains("delayed_depth{name=\"gone\"}"));
}

#[test]
fn all_is_counted_once_beside_another_observer_and_watching_keeps_no_queue() {
    let mut registry = Registry::default();
    let metrics = QueueMetrics::register(&mut registry);
    let timer = ManualTimer::new();
    let mine = Arc::new(Seen::default());
    let observer = (metrics.observer("claims"), Arc::clone(&mine));
    let builder = DelayingQueue::<u32>::builder().name("claims").timer(timer.clone());
    let queue = builder.observer(observer).build().unwrap();
    metrics.watch(&queue);
    queue.add_after(1, SECOND);
    queue.add(2);
    queue.add_after(3, SECOND * 60);
    timer.advance(SECOND * 2);
    for _ in 0..2 {
        queue.try_get().unwrap().done();
    }
    assert_eq!((mine.retried.load(Relaxed), mine.got.load(Relaxed)), (2, 2));
    has(&registry, "workqueue_adds_total{name=\"claims\"} 2");
    has(&registry, "workqueue_retries_total{name=\"claims\"} 2");
    has(&registry, "workqueue_queue_duration_seconds_count{name=\"claims\"} 2");
    has(&registry, "workqueue_work_duration_seconds_count{name=\"claims\"} 2");
    has(&registry, "workqueue_delay_lateness_seconds_sum{name=\"claims\"} 1.0");
    has(&registry, "workqueue_delayed_depth{name=\"claims\"} 1.0");
    has(&registry, "workqueue_depth{name=\"claims\"} 0.0");
    let reader = queue.reader();
    drop(queue);
    assert!(reader.gauges().is_none(), "somebody keeps it");
    let text = text(&registry);
    assert!(
        !text.contains("depth{name") && !text.contains("unfinished_work_seconds{name"),
        "{text}"
    );
}

#[derive(Default)]
struct Seen {
    retried: AtomicU32,
    got: AtomicU32,
}

impl Observer for Seen {
    fn retried(&self) {
        self.retried.fetch_add(1, Relaxed);
    }

    fn got(&self, _: Duration) {
        self.got.fetch_add(1, Relaxed);
    }
}
