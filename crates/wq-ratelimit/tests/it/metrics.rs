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
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    assert_eq!(retries(), 1);
    timer.advance(second);
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    assert_eq!((retries(), queue.parked()), (1, vec![1]));
    queue.add_rate_limited(2);
    queue.add_rate_limited_after(3, second, Combine::Max);
    queue.add_after(4, second);
    assert_eq!(retries(), 4);
    _ = queue.shutdown();
    queue.add_rate_limited(5);
    assert_eq!(retries(), 4, "nothing was added");
}

#[cfg(feature = "prometheus")]
mod whole {
    use prometheus_client::encoding::text::encode;
    use prometheus_client::registry::Registry;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    use std::time::Duration;
    use wq_ratelimit::prometheus::RateLimitMetrics;
    use wq_ratelimit::{
        BuildError, Builder, ExponentialBackoff, ManualTimer, Observer, Outcome, RateLimitingQueue,
        ThreadTimer,
    };

    const SECOND: Duration = Duration::from_secs(1);

    fn has(registry: &Registry, line: &str) {
        let mut text = String::new();
        encode(&mut text, registry).unwrap();
        assert!(text.lines().any(|found| found == line), "{line}\nis not in\n{text}");
    }

    fn builder(timer: &ManualTimer) -> Builder<u32, ExponentialBackoff<u32>> {
        let limiter = ExponentialBackoff::new(SECOND, SECOND).unwrap();
        RateLimitingQueue::builder().name("claims").limiter(limiter).timer(timer.clone())
    }

    /// Told beside.
    #[derive(Default)]
    struct Seen(AtomicU32);

    impl Observer for Seen {
        fn retried(&self) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    /// Built by the metrics, and joined by hand.
    #[test]
    fn all_metrics_of_the_queues_below_count_once_and_keep_no_queue() {
        for by_hand in [false, true] {
            let seen = Arc::new(Seen::default());
            let beside = (Arc::clone(&seen), Seen::default());
            let mut registry = Registry::default();
            let metrics = RateLimitMetrics::register(&mut registry);
            let timer = ManualTimer::new();
            let queue = if by_hand {
                let queue = builder(&timer).observer((metrics.observer("claims"), beside)).build().unwrap();
                metrics.watch("claims", &queue);
                queue
            } else {
                metrics.build(builder(&timer).observer(beside.1).also_observer(beside.0)).unwrap()
            };
            queue.add(1);
            queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
            queue.add_after(2, SECOND * 3);
            timer.advance(SECOND * 2);
            queue.try_get().unwrap().finish(Outcome::Success).unwrap();
            has(&registry, "workqueue_adds_total{name=\"claims\"} 2");
            has(&registry, "workqueue_retries_total{name=\"claims\"} 2");
            assert_eq!(seen.0.load(Relaxed), 2);
            has(&registry, "workqueue_queue_duration_seconds_count{name=\"claims\"} 2");
            has(&registry, "workqueue_delay_lateness_seconds_sum{name=\"claims\"} 1.0");
            has(&registry, "workqueue_delayed_depth{name=\"claims\"} 1.0");
            has(&registry, "workqueue_depth{name=\"claims\"} 0.0");
            let reader = queue.reader();
            drop(queue);
            assert!(reader.gauges().is_none(), "somebody keeps it");
            let mut text = String::new();
            encode(&mut text, &registry).unwrap();
            assert!(!text.contains("depth{name"), "{text}");
        }
    }

    #[test]
    fn the_timer_is_checked_as_without_metrics() {
        let metrics = RateLimitMetrics::register(&mut Registry::default());
        let builder = || builder(&ManualTimer::new()).timer(ThreadTimer);
        assert!(matches!(metrics.build(builder()), Err(BuildError::TimerCannotWakeTasks { .. })));
        let queue = metrics.build_blocking(builder()).unwrap();
        queue.add(1);
        assert!(queue.get_blocking().is_some());
    }
}
