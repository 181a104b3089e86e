//! What the metrics of the core queue say of retries.

use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use std::time::Duration;
use wq_core::prometheus::QueueMetrics;
use wq_ratelimit::{Combine, ExponentialBackoff, ManualTimer, Outcome, RateLimitingQueue};

/// client-go counts each `AddRateLimited` and `AddAfter`; here it is each that was let in, by any verb.
#[test]
fn each_retry_is_counted_and_a_parked_item_is_none() {
    let mut registry = Registry::default();
    let metrics = QueueMetrics::register(&mut registry);
    let second = Duration::from_secs(1);
    let timer = ManualTimer::new();
    let queue = RateLimitingQueue::builder()
        .name("claims")
        .limiter(ExponentialBackoff::new(second, second).unwrap())
        .retry_limit(1)
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
    queue.try_get().unwrap().finish(Outcome::Retry);
    assert_eq!(retries(), 1);
    timer.advance(second);
    queue.try_get().unwrap().finish(Outcome::Retry);
    assert_eq!((retries(), queue.parked()), (1, vec![1]));
    queue.add_rate_limited(2);
    queue.add_rate_limited_after(3, second, Combine::Max);
    queue.add_after(4, second);
    assert_eq!(retries(), 4);
    queue.shutdown();
    queue.add_rate_limited(5);
    assert_eq!(retries(), 4, "nothing was added");
}
