//! Back-off beside events: policies and combined delays.

use std::time::Duration;
use wq_priority::{Order, Priority};
use wq_ratelimit::{
    Added, Builder, Combine, DuringBackoff, ExponentialBackoff, ImmediateAdd, ManualTimer, Outcome,
    RateLimitingQueue, Scheduled, SecondAdd, Timer, TokenBucket,
};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn backoff(base: u64) -> ExponentialBackoff<&'static str> {
    ExponentialBackoff::new(ms(base), ms(1000)).unwrap()
}

type Limiter = ExponentialBackoff<&'static str>;

fn builder(timer: &ManualTimer) -> Builder<&'static str, Limiter> {
    RateLimitingQueue::builder().limiter(backoff(10)).timer(timer.clone())
}

/// An item that has failed once, and an event on it.
fn event_after_failure(
    policy: DuringBackoff,
) -> (RateLimitingQueue<&'static str, Limiter>, ManualTimer, Added) {
    let timer = ManualTimer::new();
    let queue = builder(&timer).during_backoff(policy).build().unwrap();
    queue.add("a");
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    let added = queue.add("a");
    (queue, timer, added)
}

#[test]
fn an_event_keeps_a_back_off() {
    let (queue, timer, added) = event_after_failure(DuringBackoff::Keep);
    assert_eq!(
        (added, queue.counts().queued, queue.delayed_len(), queue.num_requeues(&"a")),
        (Added::Queued, 1, 1, 1)
    );
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    assert_eq!((queue.deadline(&"a"), queue.num_requeues(&"a")), (Some(timer.now() + ms(10)), 1));
}

/// Holds for an item in flight and for a queued one.
#[test]
fn a_retry_that_is_canceled_takes_its_back_off_along() {
    for in_hand in [false, true] {
        let (queue, timer, _) = event_after_failure(DuringBackoff::Keep);
        let guard = in_hand.then(|| queue.try_get().unwrap());
        assert_eq!(queue.cancel(&"a"), Some("a"));
        let guard = guard.unwrap_or_else(|| queue.try_get().unwrap());
        drop(guard);
        queue.add("a");
        queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
        assert_eq!(
            (queue.deadline(&"a"), queue.num_requeues(&"a")),
            (Some(timer.now() + ms(20)), 2)
        );
    }
}

#[test]
fn an_event_clears_a_back_off() {
    let (queue, timer, added) = event_after_failure(DuringBackoff::Clear);
    assert_eq!(
        (added, queue.counts().queued, queue.delayed_len(), queue.num_requeues(&"a")),
        (Added::Queued, 1, 0, 0)
    );
    timer.advance(ms(3));
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    assert_eq!((queue.deadline(&"a"), queue.num_requeues(&"a")), (Some(timer.now() + ms(10)), 1));
}

#[test]
fn an_event_is_deferred_to_the_retry() {
    let (queue, timer, added) = event_after_failure(DuringBackoff::Defer);
    assert_eq!(
        (added, queue.counts().queued, queue.delayed_len(), queue.num_requeues(&"a")),
        (Added::Merged, 0, 1, 1)
    );
    assert_eq!((queue.add_all(["a"]).merged, queue.counts().queued), (1, 0));
    timer.advance(ms(10));
    assert_eq!(*queue.try_get().unwrap().item(), "a");
    assert!(queue.try_get().is_err(), "once for both");
}

/// The retry and the user's request are one, and the event joins it at its deadline.
#[test]
fn a_deferred_event_waits_as_long_as_the_retry_that_it_joins() {
    let cases = [
        (SecondAdd::Earliest, 5, 5),
        (SecondAdd::Earliest, 500, 10),
        (SecondAdd::Latest, 5, 10),
        (SecondAdd::Latest, 500, 500),
    ];
    for (second_add, delay, waits) in cases {
        for before in [false, true] {
            let timer = ManualTimer::new();
            let builder =
                builder(&timer).during_backoff(DuringBackoff::Defer).second_add(second_add);
            let queue = builder.build().unwrap();
            queue.add("a");
            let guard = queue.try_get().unwrap();
            if before {
                queue.add_after("a", ms(delay));
            }
            guard.finish(Outcome::Retry).unwrap();
            if !before {
                queue.add_after("a", ms(delay));
            }
            assert_eq!(queue.add("a"), Added::Merged);
            assert_eq!(
                queue.deadline(&"a"),
                Some(timer.now() + ms(waits)),
                "{second_add:?} {delay} {before}"
            );
            timer.advance(ms(waits));
            assert_eq!((queue.counts().queued, queue.delayed_len()), (1, 0));
        }
    }
}

/// A delay that did not come from a failure is not a back-off.
#[test]
fn an_item_that_did_not_fail_has_no_back_off_to_defer_to() {
    let timer = ManualTimer::new();
    let queue = builder(&timer).during_backoff(DuringBackoff::Defer).build().unwrap();
    queue.add_after("nightly", ms(1000));
    assert_eq!(
        (queue.add("nightly"), queue.counts().queued, queue.delayed_len()),
        (Added::Queued, 1, 1)
    );
}

#[test]
fn a_delay_of_its_own_is_combined_with_the_limiters() {
    let cases = [(4, 4, 10, 14), (10, 10, 10, 20), (25, 10, 25, 35)];
    for (own, min, max, sum) in cases {
        for (combine, wait) in [(Combine::Min, min), (Combine::Max, max), (Combine::Sum, sum)] {
            let timer = ManualTimer::new();
            let queue = builder(&timer).build().unwrap();
            queue.add("a");
            queue
                .try_get()
                .unwrap()
                .finish(Outcome::RetryWith { delay: ms(own), combine })
                .unwrap();
            queue.add_rate_limited_after("b", ms(own), combine);
            let expected = Some(timer.now() + ms(wait));
            assert_eq!(
                (queue.deadline(&"a"), queue.deadline(&"b")),
                (expected, expected),
                "{combine:?} {own}"
            );
            assert_eq!((queue.num_requeues(&"a"), queue.num_requeues(&"b")), (1, 1));
        }
    }
}

/// The item comes back by an event and fails with a delay, again and again.
#[test]
fn events_cannot_add_wait_to_wait() {
    let timer = ManualTimer::new();
    let queue = builder(&timer).build().unwrap();
    for _ in 0..100 {
        queue.add("a");
        queue
            .try_get()
            .unwrap()
            .finish(Outcome::RetryWith { delay: ms(30), combine: Combine::Sum })
            .unwrap();
    }
    assert_eq!((queue.deadline(&"a"), queue.num_requeues(&"a")), (Some(timer.now() + ms(40)), 1));
    queue.add("a");
    queue
        .try_get()
        .unwrap()
        .finish(Outcome::RetryWith { delay: Duration::MAX, combine: Combine::Max })
        .unwrap();
    timer.advance(ms(1_000_000));
    assert!(queue.try_get().is_err(), "nothing that waited before comes earlier");
}

/// Events come every 10 ms, and the item asks for 30 ms each time. Its failures count as without
/// events.
#[test]
fn a_delay_of_its_own_does_not_keep_failures_from_counting_under_steady_events() {
    for combine in [Combine::Max, Combine::Sum, Combine::Override] {
        let counted = |with_events: bool| {
            let timer = ManualTimer::new();
            let queue = builder(&timer).build().unwrap();
            queue.add("a");
            let mut counts = Vec::new();
            while queue.num_requeues(&"a") < 5 {
                if with_events {
                    queue.add("a");
                }
                while let Ok(guard) = queue.try_get() {
                    guard.finish(Outcome::RetryWith { delay: ms(30), combine }).unwrap();
                }
                counts.push(queue.num_requeues(&"a"));
                assert!(counts.len() < 1000, "{combine:?}: it never counts");
                timer.advance(ms(10));
            }
            counts
        };
        assert_eq!(counted(true), counted(false), "{combine:?}");
    }
}

#[test]
fn a_delay_that_overrides_is_exact_and_counts() {
    let timer = ManualTimer::new();
    let queue = builder(&timer).build().unwrap();
    queue.add("a");
    for attempt in 0..5 {
        let guard = queue.try_get().unwrap();
        assert_eq!(guard.num_requeues(), attempt);
        guard.finish(Outcome::RetryWith { delay: ms(7), combine: Combine::Override }).unwrap();
        assert_eq!(queue.deadline(&"a"), Some(timer.now() + ms(7)));
        // After an event the delay is exact again, and the failure does not count.
        timer.advance(ms(3));
        queue.add("a");
        queue
            .try_get()
            .unwrap()
            .finish(Outcome::RetryWith { delay: ms(7), combine: Combine::Override })
            .unwrap();
        assert_eq!(queue.deadline(&"a"), Some(timer.now() + ms(7)));
        assert_eq!(queue.num_requeues(&"a"), attempt + 1);
        timer.advance(ms(7));
    }
    queue
        .try_get()
        .unwrap()
        .finish(Outcome::RetryWith { delay: Duration::MAX, combine: Combine::Override })
        .unwrap();
    timer.advance(ms(1_000_000_000));
    assert!(queue.try_get().is_err(), "never");
    assert_eq!(queue.add_rate_limited_after("b", ms(70), Combine::Override), Scheduled::Delayed);
    assert_eq!(queue.add_rate_limited_after("b", ms(90), Combine::Override), Scheduled::Kept);
    assert_eq!(queue.add_rate_limited_after("b", ms(50), Combine::Override), Scheduled::Moved);
    assert_eq!((queue.deadline(&"b"), queue.num_requeues(&"b")), (Some(timer.now() + ms(50)), 1));
}

/// A wait of zero is an add. For a delayed item, the queue's `immediate_add` policy decides.
#[test]
fn a_rate_limited_add_without_a_wait_is_an_add() {
    let cases =
        [(ImmediateAdd::Keep, 1, 1), (ImmediateAdd::Merge, 1, 0), (ImmediateAdd::Defer, 0, 1)];
    for (policy, queued, delayed) in cases {
        let timer = ManualTimer::new();
        let queue = RateLimitingQueue::<&str, _>::builder()
            .limiter(TokenBucket::per_second(1, 100).unwrap())
            .immediate_add(policy)
            .timer(timer.clone())
            .build()
            .unwrap();
        queue.add_after("a", ms(100));
        assert!(matches!(queue.add_rate_limited("a"), Scheduled::Now(_)));
        assert_eq!((queue.counts().queued, queue.delayed_len()), (queued, delayed), "{policy:?}");
    }
}

#[test]
fn a_rate_limited_add_keeps_its_order() {
    let timer = ManualTimer::new();
    let queue = RateLimitingQueue::<u64, _>::builder()
        .limiter(TokenBucket::per_second(1, 1).unwrap())
        .timer(timer.clone())
        .backlog(Priority::new())
        .build()
        .unwrap();
    queue.add_rate_limited_with(1, Order::priority(7));
    timer.advance(ms(5));
    assert_eq!(queue.try_get().unwrap().order().priority, 7);
}

/// An outcome without a wait leaves no back-off for an event to clear. The user's request stays.
#[test]
fn an_outcome_without_a_wait_ends_the_back_off() {
    let timer = ManualTimer::new();
    let builder = builder(&timer).count_early_attempts(true).during_backoff(DuringBackoff::Clear);
    let queue = builder.build().unwrap();
    queue.add("a");
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    queue.try_add("a").unwrap();
    let at_once = Outcome::RetryWith { delay: Duration::ZERO, combine: Combine::Override };
    assert_eq!(queue.try_get().unwrap().finish(at_once), Ok(Some(Scheduled::Now(Added::Deferred))));
    drop(queue.try_get().unwrap());
    queue.add_after("a", ms(1000));
    queue.add("a");
    assert_eq!((queue.counts().queued, queue.delayed_len()), (1, 1));
}

#[test]
fn a_rate_limited_add_without_a_wait_leaves_the_back_off_of_what_waits() {
    let timer = ManualTimer::new();
    let builder = builder(&timer).count_early_attempts(true).during_backoff(DuringBackoff::Clear);
    let queue = builder.build().unwrap();
    queue.add("a");
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    queue.add_rate_limited_after("a", Duration::ZERO, Combine::Override);
    assert_eq!((queue.counts().queued, queue.delayed_len()), (1, 1));
    queue.add("a");
    assert_eq!((queue.counts().queued, queue.delayed_len()), (1, 0), "an event clears it");
}
