//! Retries as a scrape sees them.

use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use std::time::Duration;
use wq_prometheus::QueueMetrics;
use wq_ratelimit::{Combine, ExponentialBackoff, ManualTimer, Outcome, RateLimitingQueue};

/// client-go counts each `AddRateLimited` and `AddAfter`. Here each accepted delayed add counts, by
/// any verb.
#[test]
fn each_retry_is_counted_and_an_item_given_up_is_none() {
    let mut registry = Registry::default();
    let metrics = QueueMetrics::register(&mut registry);
    let second = Duration::from_secs(1);
    let timer = ManualTimer::new();
    let queue = RateLimitingQueue::builder()
        .name("claims")
        .limiter(ExponentialBackoff::new(second, second).unwrap())
        .timer(timer.clone())
        .observer(metrics.observer("claims"))
        .build()
        .unwrap();
    let retries = || {
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        let line = text.lines().find(|line| line.starts_with("workqueue_retries_total{")).unwrap();
        line.rsplit(' ').next().unwrap().parse::<u32>().unwrap()
    };
    queue.add(1);
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    assert_eq!(retries(), 1);
    timer.advance(second);
    queue.try_get().unwrap().finish(Outcome::GiveUp).unwrap();
    assert_eq!(retries(), 1);
    queue.add_rate_limited(2);
    queue.add_rate_limited_after(3, second, Combine::Max);
    queue.add_after(4, second);
    assert_eq!(retries(), 4);
    _ = queue.shutdown();
    queue.add_rate_limited(5);
    assert_eq!(retries(), 4, "nothing was added");
}

#[test]
fn all_metrics_of_the_queues_below_count_once_and_keep_no_queue() {
    let mut registry = Registry::default();
    let metrics = QueueMetrics::register(&mut registry);
    let second = Duration::from_secs(1);
    let timer = ManualTimer::new();
    let queue = RateLimitingQueue::builder()
        .name("claims")
        .limiter(ExponentialBackoff::new(second, second).unwrap())
        .timer(timer.clone())
        .observer(metrics.observer("claims"))
        .build()
        .unwrap();
    metrics.watch(&queue);
    queue.add(1);
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    queue.add_after(2, second * 3);
    timer.advance(second * 2);
    queue.try_get().unwrap().finish(Outcome::Success).unwrap();
    let text = || {
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        text
    };
    for line in [
        "workqueue_adds_total{name=\"claims\"} 2",
        "workqueue_retries_total{name=\"claims\"} 2",
        "workqueue_queue_duration_seconds_count{name=\"claims\"} 2",
        "workqueue_delay_lateness_seconds_sum{name=\"claims\"} 1.0",
        "workqueue_delayed_depth{name=\"claims\"} 1.0",
        "workqueue_depth{name=\"claims\"} 0.0",
    ] {
        assert!(text().lines().any(|found| found == line), "{line}\nis not in\n{}", text());
    }
    let reader = queue.reader();
    drop(queue);
    assert!(reader.gauges().is_none(), "somebody keeps it");
    assert!(!text().contains("depth{name"), "{}", text());
}
