//! The effect of an outcome on a waiting retry and on requests of users, and guards of abandoned
//! items.

use std::time::Duration;
use wq_priority::{GroupId, Order, Priority};
use wq_ratelimit::{
    Added, Builder, Combine, DuringBackoff, ExponentialBackoff, ImmediateAdd, ManualTimer, Outcome,
    RateLimitingQueue, Scheduled, SecondAdd, Timer,
};

const HOUR: Duration = Duration::from_secs(3600);

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

type Limiter = ExponentialBackoff<u64>;
type Queue = RateLimitingQueue<u64, Limiter>;

fn builder() -> (Builder<u64, Limiter>, ManualTimer) {
    let timer = ManualTimer::new();
    let limiter = ExponentialBackoff::new(ms(5), ms(1000)).unwrap();
    (RateLimitingQueue::builder().limiter(limiter).timer(timer.clone()), timer)
}

/// Item 1 has failed, its retry waits for 5 ms, and an event has queued the item earlier.
fn event_before_retry(builder: Builder<u64, Limiter>) -> Queue {
    let queue = builder.build().unwrap();
    queue.add(1);
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    queue.add(1);
    queue
}

/// Item 1 fails, and a user adds it with a delay, before or after the failure.
fn fail_and_ask(queue: &Queue, delay: Duration, before: bool) {
    queue.add(1);
    let guard = queue.try_get().unwrap();
    if before {
        queue.add_after(1, delay);
    }
    guard.finish(Outcome::Retry).unwrap();
    if !before {
        queue.add_after(1, delay);
    }
}

/// Outcomes without a further attempt.
const LAST: [Outcome; 2] = [Outcome::Success, Outcome::GiveUp];

/// Outcomes that ask for an hour.
fn hours(timer: &ManualTimer) -> [Outcome; 4] {
    let with = |combine| Outcome::RetryWith { delay: HOUR, combine };
    [
        Outcome::RetryAfter(HOUR),
        Outcome::RetryNotBefore(timer.now() + HOUR),
        with(Combine::Max),
        with(Combine::Sum),
    ]
}

#[test]
fn the_end_of_the_attempts_cancels_the_waiting_retry() {
    for outcome in LAST {
        let (builder, timer) = builder();
        let queue = event_before_retry(builder);
        let guard = queue.try_get().unwrap();
        timer.advance(ms(5) - Duration::from_nanos(1));
        guard.finish(outcome).unwrap();
        assert_eq!((queue.counts().queued, queue.delayed_len()), (0, 0), "{outcome:?}");
    }
}

/// As in client-go, whose loop has moved the retry by then.
#[test]
fn a_retry_that_falls_due_during_the_work_runs_the_item_once_more() {
    let (_, timer) = builder();
    for which in 0..LAST.len() + hours(&timer).len() {
        for somebody_looks in [false, true] {
            let (builder, timer) = builder();
            let queue = event_before_retry(builder);
            let guard = queue.try_get().unwrap();
            timer.advance(ms(5));
            if somebody_looks {
                assert!(queue.try_get().is_err(), "it is in hand");
                assert_eq!((queue.delayed_len(), queue.counts().to_run_again), (0, 1));
            }
            let outcome = LAST.into_iter().chain(hours(&timer)).nth(which).unwrap();
            guard.finish(outcome).unwrap();
            let case = (outcome, somebody_looks);
            assert_eq!((queue.counts().queued, queue.counts().in_flight), (1, 0), "{case:?}");
            assert_eq!(queue.delayed_len(), usize::from(!LAST.contains(&outcome)), "{case:?}");
            // The item runs once more, not twice.
            queue.try_get().unwrap().finish(Outcome::Success).unwrap();
            assert_eq!((queue.counts().queued, queue.delayed_len()), (0, 0), "{case:?}");
        }
    }
}

/// The old back-off ends when the item runs at the time of its new retry: that attempt counts.
#[test]
fn a_retry_at_a_time_of_its_own_ends_the_back_off_of_the_one_that_it_replaces() {
    for (delay, attempts, left) in [(ms(2), 2, ms(10)), (ms(0), 2, ms(10)), (ms(9), 2, ms(10))] {
        let (builder, timer) = builder();
        let queue = event_before_retry(builder);
        queue.try_get().unwrap().finish(Outcome::RetryAfter(delay)).unwrap();
        timer.advance(delay);
        queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
        let found = (queue.num_requeues(&1), queue.deadline(&1));
        assert_eq!(found, (attempts, Some(timer.now() + left)), "{delay:?}");
    }
    // A failure before that time does not count, even after an event.
    let (builder, timer) = builder();
    let queue = event_before_retry(builder);
    queue.try_get().unwrap().finish(Outcome::RetryAfter(ms(3))).unwrap();
    timer.advance(ms(2));
    queue.add(1);
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    assert_eq!((queue.num_requeues(&1), queue.deadline(&1)), (1, Some(timer.now() + ms(1))));
}

/// A retry that was accepted earlier is handed out.
#[test]
fn a_retry_that_is_refused_replaces_nothing() {
    let (_, timer) = builder();
    let retries = [Outcome::Retry, Outcome::RetryAfter(ms(0))];
    for outcome in retries.into_iter().chain(hours(&timer)) {
        let (builder, timer) = builder();
        let queue = event_before_retry(builder);
        let guard = queue.try_get().unwrap();
        timer.advance(ms(5));
        let _ = queue.counts(); // Marks the item to run again for the earlier retry.
        assert_eq!(queue.shutdown(), []);
        let refused = guard.finish(outcome).unwrap_err();
        assert_eq!((refused.into_item(), queue.counts().queued), (1, 1), "{outcome:?}");
        assert_eq!(queue.num_requeues(&1), 1, "{outcome:?}");
    }
}

#[test]
fn no_outcome_takes_away_what_a_user_has_asked_for() {
    for outcome in LAST {
        for delay in [ms(3), ms(7)] {
            for before in [false, true] {
                let (builder, timer) = builder();
                let queue = builder.build().unwrap();
                fail_and_ask(&queue, delay, before);
                queue.add(1);
                queue.try_get().unwrap().finish(outcome).unwrap();
                let at = delay.min(ms(5));
                assert_eq!(
                    queue.deadline(&1),
                    Some(timer.now() + at),
                    "{outcome:?}, {delay:?}, {before}"
                );
            }
        }
    }
}

/// The retry and the user's request have merged, and the event clears only the retry.
#[test]
fn no_event_that_clears_a_back_off_takes_away_what_a_user_has_asked_for() {
    let cases = [
        (SecondAdd::Earliest, ms(3), ms(3)),
        (SecondAdd::Earliest, HOUR, ms(5)),
        (SecondAdd::Latest, HOUR, HOUR),
        (SecondAdd::Latest, ms(3), ms(5)),
    ];
    for (second_add, delay, left) in cases {
        for before in [false, true] {
            let (builder, timer) = builder();
            let queue = builder
                .during_backoff(DuringBackoff::Clear)
                .second_add(second_add)
                .build()
                .unwrap();
            fail_and_ask(&queue, delay, before);
            let (case, deadline) = ((second_add, delay, before), timer.now() + left);
            timer.advance(ms(1));
            assert_eq!((queue.add(1), queue.num_requeues(&1)), (Added::Queued, 0), "{case:?}");
            queue.try_get().unwrap().finish(Outcome::Success).unwrap();
            assert_eq!(
                (queue.counts().queued, queue.deadline(&1)),
                (0, Some(deadline)),
                "{case:?}"
            );
        }
    }
}

#[test]
fn an_event_that_clears_a_back_off_leaves_a_rate_limited_add_alone() {
    let (builder, timer) = builder();
    let queue = builder.during_backoff(DuringBackoff::Clear).build().unwrap();
    queue.add_rate_limited(1);
    assert_eq!((queue.add(1), queue.num_requeues(&1)), (Added::Queued, 0));
    queue.try_get().unwrap().finish(Outcome::Success).unwrap();
    assert_eq!(queue.deadline(&1), Some(timer.now() + ms(5)));
}

/// If the retry has merged with a user's request, `immediate_add` decides about an event.
#[test]
fn an_event_on_what_a_user_has_delayed_too_is_as_immediate_add_says() {
    for (policy, left) in
        [(ImmediateAdd::Keep, (1, 1)), (ImmediateAdd::Merge, (1, 0)), (ImmediateAdd::Defer, (0, 1))]
    {
        let (builder, _timer) = builder();
        let queue =
            builder.during_backoff(DuringBackoff::Clear).immediate_add(policy).build().unwrap();
        queue.add(1);
        queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
        queue.add_after(1, ms(3));
        queue.add(1);
        assert_eq!((queue.counts().queued, queue.delayed_len()), left, "{policy:?}");
    }
}

#[test]
fn a_floor_holds_for_the_retry_that_replaces_another() {
    let (_, timer) = builder();
    for which in 0..hours(&timer).len() {
        let (builder, timer) = builder();
        let queue = event_before_retry(builder);
        let guard = queue.try_get().unwrap();
        timer.advance(ms(2));
        let outcome = hours(&timer)[which];
        assert_eq!(guard.finish(outcome), Ok(Some(Scheduled::Moved)), "{outcome:?}");
        assert_eq!(queue.counts().queued, 0, "{outcome:?}");
        assert!(queue.deadline(&1).unwrap() >= timer.now() + HOUR - ms(2), "{outcome:?}");
    }
}

/// An event that joins a retry asks for a run, so that no outcome cancels it.
#[test]
fn an_event_that_has_joined_a_retry_comes_at_its_deadline_whatever_the_outcome() {
    for outcome in [Outcome::Success, Outcome::GiveUp, Outcome::Retry] {
        for joins in ["event", "two events", "add_after", "nothing"] {
            let timer = ManualTimer::new();
            let queue = RateLimitingQueue::builder()
                .limiter(ExponentialBackoff::new(HOUR, HOUR).unwrap())
                .during_backoff(DuringBackoff::Defer)
                .timer(timer.clone())
                .backlog(Priority::new())
                .build()
                .unwrap();
            queue.add(1);
            queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
            let until = queue.deadline(&1);
            assert!(queue.try_add(1).is_ok());
            let guard = queue.try_get().unwrap();
            if joins != "nothing" {
                assert_eq!(queue.add_with(1, Order::priority(3)), Added::Merged);
            }
            match joins {
                "two events" => assert_eq!(queue.add_with(1, Order::priority(2)), Added::Merged),
                "add_after" => assert_eq!(queue.add_after(1, HOUR * 5), Scheduled::Kept),
                _ => {}
            }
            guard.finish(outcome).unwrap();
            let is_over = outcome != Outcome::Retry && joins == "nothing";
            let expected = if is_over { None } else { until };
            assert_eq!(
                (queue.counts().queued, queue.deadline(&1)),
                (0, expected),
                "{outcome:?} {joins}"
            );
            timer.advance(HOUR);
            assert_eq!(queue.counts().queued, usize::from(!is_over), "{outcome:?} {joins}");
            if joins != "nothing" {
                assert_eq!(queue.try_get().unwrap().order().priority, 3, "{outcome:?} {joins}");
            }
        }
    }
}

#[test]
fn a_retry_at_once_leaves_a_later_request_alone() {
    for policy in [ImmediateAdd::Defer, ImmediateAdd::Merge] {
        let (builder, timer) = builder();
        let queue = builder.immediate_add(policy).build().unwrap();
        queue.add(1);
        let guard = queue.try_get().unwrap();
        queue.add_after(1, HOUR);
        guard.finish(Outcome::RetryAfter(Duration::ZERO)).unwrap();
        assert_eq!(
            (queue.counts().queued, queue.deadline(&1)),
            (1, Some(timer.now() + HOUR)),
            "{policy:?}"
        );
    }
}

#[test]
fn an_add_does_not_put_off_what_waits() {
    for combine in [Combine::Max, Combine::Sum] {
        let (builder, timer) = builder();
        let queue = builder.build().unwrap();
        queue.add(1);
        queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
        assert_eq!(queue.add_rate_limited_after(1, HOUR, combine), Scheduled::Kept);
        assert_eq!(queue.deadline(&1), Some(timer.now() + ms(5)));
        timer.advance(ms(5));
        queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
        assert_eq!(queue.num_requeues(&1), 2, "it had its time");

        queue.add_after(2, ms(60));
        assert_eq!(queue.add_rate_limited_after(2, HOUR, combine), Scheduled::Kept);
        assert_eq!(queue.deadline(&2), Some(timer.now() + ms(60)));
    }
}

#[test]
fn no_outcome_puts_off_what_a_user_has_asked_for() {
    let (builder, timer) = builder();
    let queue = builder.build().unwrap();
    queue.add(1);
    let guard = queue.try_get().unwrap();
    queue.add_after(1, ms(60));
    guard.finish(Outcome::RetryWith { delay: HOUR, combine: Combine::Max }).unwrap();
    assert_eq!(queue.deadline(&1), Some(timer.now() + ms(60)));
}

#[test]
fn a_retry_that_is_replaced_leaves_its_order() {
    let timer = ManualTimer::new();
    let queue = RateLimitingQueue::builder()
        .limiter(ExponentialBackoff::new(ms(5), ms(1000)).unwrap())
        .timer(timer.clone())
        .backlog(Priority::new())
        .build()
        .unwrap();
    queue.add_with(1_u64, Order::priority(7));
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    queue.add(1);
    queue.try_get().unwrap().finish(Outcome::RetryAfter(ms(9))).unwrap();
    queue.add(1);
    let guard = queue.try_get().unwrap();
    timer.advance(ms(9));
    assert!(queue.try_get().is_err(), "moved");
    guard.finish(Outcome::Retry).unwrap();
    timer.advance(HOUR);
    assert_eq!(queue.try_get().unwrap().order().priority, 7);
}

#[test]
fn a_guard_whose_item_was_abandoned_has_no_effect() {
    let (_, timer) = builder();
    let retries = [Outcome::Retry, Outcome::RetryAfter(ms(1))];
    for outcome in LAST.into_iter().chain(retries).chain(hours(&timer)) {
        let (builder, timer) = builder();
        let queue = builder.build().unwrap();
        queue.add(1);
        let stale = queue.try_get().unwrap();
        assert!(queue.abandon(&1));
        queue.add(1);
        queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
        assert_eq!(stale.finish(outcome), Ok(None), "{outcome:?}");
        assert_eq!(queue.num_requeues(&1), 1, "{outcome:?}");
        assert_eq!(queue.deadline(&1), Some(timer.now() + ms(5)), "{outcome:?}");
    }
}

#[test]
fn a_retry_that_another_get_has_moved_comes_if_nobody_says_how_it_went() {
    for is_forgotten in [false, true] {
        let (builder, timer) = builder();
        let queue = event_before_retry(builder);
        let guard = queue.try_get().unwrap();
        timer.advance(ms(5));
        let _ = queue.counts();
        if is_forgotten {
            std::mem::forget(guard);
            assert!(queue.abandon(&1));
        } else {
            drop(guard);
        }
        assert_eq!(queue.counts().queued, 1, "{is_forgotten}");
    }
}

#[test]
fn the_order_of_the_newest_add_joins_that_of_the_retry_that_an_outcome_replaces() {
    let (builder, timer) = builder();
    let queue = builder.backlog(Priority::new()).build().unwrap();
    let of = |group| Order::default().in_group(GroupId::new(group));
    queue.add_with(1, of(1));
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    queue.add_with(1, of(2));
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    timer.advance(HOUR);
    assert_eq!(queue.try_get().unwrap().order().group, Some(GroupId::new(2)));
}

#[test]
fn a_rate_limited_add_lets_an_item_back_off_whatever_has_put_it_off() {
    let (builder, timer) = builder();
    let queue = event_before_retry(builder);
    let backs_off_for = Outcome::RetryWith { delay: HOUR, combine: Combine::Max };
    queue.try_get().unwrap().finish(backs_off_for).unwrap();
    timer.advance(ms(10)); // From 5 ms on a failure counts again.
    let due = queue.deadline(&1);
    assert_eq!(queue.add_rate_limited(1), Scheduled::Kept);
    assert_eq!((queue.deadline(&1), queue.num_requeues(&1)), (due, 1));
}
