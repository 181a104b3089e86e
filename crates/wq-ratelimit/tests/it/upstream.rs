//! client-go's `default_rate_limiters_test.go` and `rate_limiting_queue_test.go`.

use std::time::Duration;
use wq_ratelimit::{
    ExponentialBackoff, FastSlow, ManualTimer, MaxOf, Outcome, PerItemBucket, RateLimiter,
    RateLimitingQueue, Scheduled, Timer, WithMaxWait,
};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const SECOND: Duration = Duration::from_secs(1);

fn exponential(base: Duration, max: Duration) -> ExponentialBackoff<&'static str> {
    ExponentialBackoff::new(base, max).unwrap()
}

fn delays<L: RateLimiter<&'static str>>(
    limiter: &mut L,
    item: &'static str,
    times: usize,
) -> Vec<Duration> {
    let now = ManualTimer::new().now();
    (0..times).map(|_| limiter.next_delay(&item, now)).collect()
}

/// `TestItemExponentialFailureRateLimiter`.
#[test]
fn exponential_doubles_for_each_item_alone() {
    let mut limiter = exponential(ms(1), SECOND);
    assert_eq!(delays(&mut limiter, "one", 5), [ms(1), ms(2), ms(4), ms(8), ms(16)]);
    assert_eq!(limiter.num_requeues(&"one"), 5);
    assert_eq!(delays(&mut limiter, "two", 2), [ms(1), ms(2)]);
    assert_eq!(limiter.num_requeues(&"two"), 2);
    limiter.forget(&"one");
    assert_eq!(limiter.num_requeues(&"one"), 0);
    assert_eq!(delays(&mut limiter, "one", 1), [ms(1)]);
}

/// `TestItemExponentialFailureRateLimiterOverFlow`.
#[test]
fn exponential_stays_at_its_cap() {
    let mut limiter = exponential(ms(1), SECOND * 1000);
    assert_eq!(delays(&mut limiter, "one", 6)[5], ms(32));
    assert_eq!(delays(&mut limiter, "one", 1000)[999], SECOND * 1000);
    let mut limiter = exponential(SECOND * 60, SECOND * 3600 * 1000);
    assert_eq!(delays(&mut limiter, "two", 3)[2], SECOND * 240);
    assert_eq!(delays(&mut limiter, "two", 1000)[999], SECOND * 3600 * 1000);
}

/// `TestItemFastSlowRateLimiter`.
#[test]
fn fast_slow_is_fast_so_many_times() {
    let mut limiter = FastSlow::new(ms(5), SECOND * 10, 3).unwrap();
    let expected = [ms(5), ms(5), ms(5), SECOND * 10, SECOND * 10];
    assert_eq!(delays(&mut limiter, "one", 5), expected);
    assert_eq!(limiter.num_requeues(&"one"), 5);
    assert_eq!(delays(&mut limiter, "two", 2), [ms(5), ms(5)]);
    limiter.forget(&"one");
    assert_eq!(limiter.num_requeues(&"one"), 0);
    assert_eq!(delays(&mut limiter, "one", 1), [ms(5)]);
}

/// `TestMaxOfRateLimiter`.
#[test]
fn max_of_asks_both_and_takes_the_longer() {
    let mut limiter =
        MaxOf::new(FastSlow::new(ms(5), SECOND * 3, 3).unwrap(), exponential(ms(1), SECOND));
    assert_eq!(delays(&mut limiter, "one", 5), [ms(5), ms(5), ms(5), SECOND * 3, SECOND * 3]);
    assert_eq!(limiter.num_requeues(&"one"), 5);
    assert_eq!(delays(&mut limiter, "two", 1), [ms(5)]);
    limiter.forget(&"one");
    assert_eq!(limiter.num_requeues(&"one"), 0);
    assert_eq!(delays(&mut limiter, "one", 1), [ms(5)]);
}

/// `TestWithMaxWaitRateLimiter`.
#[test]
fn with_max_wait_caps() {
    let mut limiter =
        WithMaxWait::new(FastSlow::new(ms(5), SECOND * 1000, 100).unwrap(), SECOND * 500);
    let delays = delays(&mut limiter, "one", 200);
    assert!(delays[..100].iter().all(|delay| *delay == ms(5)));
    assert!(delays[100..].iter().all(|delay| *delay == SECOND * 500));
}

/// `TestItemBucketRateLimiter` (of 2020).
#[test]
fn a_bucket_for_each_item() {
    let mut limiter = PerItemBucket::new(10, SECOND, 1).unwrap();
    assert_eq!(delays(&mut limiter, "one", 1), [Duration::ZERO]);
    let now = ManualTimer::new().now();
    let mut limiter = PerItemBucket::new(10, SECOND, 1).unwrap();
    let last = (0..1001).fold(SECOND, |_, _| limiter.next_delay(&"one", now));
    assert_eq!(last, SECOND * 100);
    assert_eq!(limiter.next_delay(&"two", now), Duration::ZERO);
    limiter.forget(&"one");
    assert_eq!(limiter.next_delay(&"one", now), Duration::ZERO);
}

/// `TestRateLimitingQueue`. Upstream counts a second `AddRateLimited` of an item that still waits.
/// Here only attempts after the back-off count, so the clock advances in between.
#[test]
fn rate_limited_adds_wait_as_the_limiter_says() {
    let timer = ManualTimer::new();
    let queue = RateLimitingQueue::builder()
        .limiter(exponential(ms(1), SECOND))
        .timer(timer.clone())
        .build()
        .unwrap();
    let start = timer.now();
    for (item, attempt, delay) in [("one", 1, 1), ("one", 2, 2), ("two", 1, 1), ("two", 2, 2)] {
        let now = timer.now();
        assert_eq!(queue.add_rate_limited(item), Scheduled::Delayed);
        assert_eq!(queue.deadline(&item), Some(now + ms(delay)));
        assert_eq!(queue.num_requeues(&item), attempt);
        timer.advance(ms(delay));
        queue.try_get().unwrap().done();
    }
    assert_eq!(timer.now(), start + ms(6));
    queue.forget(&"one");
    assert_eq!(queue.num_requeues(&"one"), 0);
    queue.add_rate_limited("one");
    assert_eq!(queue.deadline(&"one"), Some(timer.now() + ms(1)));
}

/// Upstream's test unchanged, with early attempts counted.
#[test]
fn with_early_attempts_counted_each_add_counts() {
    let timer = ManualTimer::new();
    let queue = RateLimitingQueue::builder()
        .limiter(exponential(ms(1), SECOND))
        .timer(timer)
        .count_early_attempts(true)
        .build()
        .unwrap();
    queue.add_rate_limited("one");
    queue.add_rate_limited("one");
    assert_eq!(queue.num_requeues(&"one"), 2);
    queue.add("two");
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    assert_eq!(queue.num_requeues(&"two"), 1);
}
