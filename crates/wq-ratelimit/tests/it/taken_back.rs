//! What an outcome makes of a retry that waits already, and of what others have asked for. Guards whose item is no longer
//! theirs.

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

/// Item 1 has failed, its retry waits for 5 ms, and an event has queued it before.
fn event_before_retry(builder: Builder<u64, Limiter>) -> Queue {
    let queue = builder.build().unwrap();
    queue.add(1);
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    queue.add(1);
    queue
}

/// Item 1 fails, and a user asks for it with a delay, before that or after.
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

/// What ends an attempt without another.
const LAST: [Outcome; 3] = [Outcome::Success, Outcome::GiveUp, Outcome::Park];

/// What asks for an hour.
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
fn the_end_of_the_attempts_takes_the_waiting_retry_with_it() {
    for outcome in LAST {
        for wait in [ms(0), ms(5)] {
            let (builder, timer) = builder();
            let queue = event_before_retry(builder);
            let guard = queue.try_get().unwrap();
            timer.advance(wait);
            guard.finish(outcome).unwrap();
            assert_eq!((queue.len(), queue.delayed_len()), (0, 0), "{outcome:?} after {wait:?}");
            assert_eq!(queue.is_parked(&1), outcome == Outcome::Park);
        }
    }
}

/// The back-off of before is over when the item runs at a time of its own: that attempt had its time, and counts.
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
    // Not before: what an event brings earlier still counts nothing.
    let (builder, timer) = builder();
    let queue = event_before_retry(builder);
    queue.try_get().unwrap().finish(Outcome::RetryAfter(ms(3))).unwrap();
    timer.advance(ms(2));
    queue.add(1);
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    assert_eq!((queue.num_requeues(&1), queue.deadline(&1)), (1, Some(timer.now() + ms(1))));
}

/// What was accepted before is handed out, unless the outcome says that there is nothing more to do.
#[test]
fn a_retry_that_is_refused_replaces_nothing() {
    let (_, timer) = builder();
    let retries = [Outcome::Retry, Outcome::RetryAfter(ms(0))];
    for outcome in LAST.into_iter().chain(retries).chain(hours(&timer)) {
        let (builder, timer) = builder();
        let queue = event_before_retry(builder);
        let guard = queue.try_get().unwrap();
        timer.advance(ms(5));
        queue.move_due(); // The retry from before: behind this attempt.
        assert_eq!(queue.shutdown(), []);
        let scheduled = guard.finish(outcome);
        if LAST.contains(&outcome) {
            assert_eq!((scheduled, queue.len()), (Ok(None), 0), "{outcome:?}");
        } else {
            assert_eq!((scheduled.unwrap_err().into_item(), queue.len()), (1, 1), "{outcome:?}");
            assert_eq!(queue.num_requeues(&1), 1, "{outcome:?}");
        }
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
                assert_eq!(queue.deadline(&1), Some(timer.now() + at), "{outcome:?}, {delay:?}, {before}");
            }
        }
    }
}

/// What waits of the item is the retry and the user's request in one, and the event has only the retry to clear.
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
            let queue = builder.during_backoff(DuringBackoff::Clear).second_add(second_add).build().unwrap();
            fail_and_ask(&queue, delay, before);
            let (case, deadline) = ((second_add, delay, before), timer.now() + left);
            timer.advance(ms(1));
            assert_eq!((queue.add(1), queue.num_requeues(&1)), (Added::Queued, 0), "{case:?}");
            queue.try_get().unwrap().finish(Outcome::Success).unwrap();
            assert_eq!((queue.len(), queue.deadline(&1)), (0, Some(deadline)), "{case:?}");
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

/// Beside a user's request the event is for the queue's own policy.
#[test]
fn an_event_on_what_a_user_has_delayed_too_is_as_immediate_add_says() {
    for (policy, left) in
        [(ImmediateAdd::Keep, (1, 1)), (ImmediateAdd::Merge, (1, 0)), (ImmediateAdd::Defer, (0, 1))]
    {
        let (builder, _timer) = builder();
        let queue = builder.during_backoff(DuringBackoff::Clear).immediate_add(policy).build().unwrap();
        queue.add(1);
        queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
        queue.add_after(1, ms(3));
        queue.add(1);
        assert_eq!((queue.len(), queue.delayed_len()), left, "{policy:?}");
    }
}

#[test]
fn an_event_that_joined_a_retry_is_not_taken_back_with_it() {
    for outcome in LAST {
        let (builder, _timer) = builder();
        let queue = event_before_retry(builder.during_backoff(DuringBackoff::Defer));
        assert_eq!(queue.len(), 0, "deferred");
        let guard = {
            queue.try_add(1).unwrap();
            queue.try_get().unwrap()
        };
        guard.finish(outcome).unwrap();
        assert_eq!((queue.len(), queue.deadline(&1)), (1, None), "{outcome:?}: nothing is left to defer to");
    }
}

#[test]
fn a_floor_holds_whatever_became_of_the_retry_from_before() {
    let (_, timer) = builder();
    for which in 0..hours(&timer).len() {
        for wait in [ms(0), ms(5), ms(6)] {
            let (builder, timer) = builder();
            let queue = event_before_retry(builder);
            let guard = queue.try_get().unwrap();
            timer.advance(wait);
            let outcome = hours(&timer)[which];
            assert_eq!(guard.finish(outcome), Ok(Some(Scheduled::Delayed)), "{outcome:?}");
            assert_eq!(queue.len(), 0, "{outcome:?} after {wait:?}");
            assert!(queue.deadline(&1).unwrap() >= timer.now() + HOUR, "{outcome:?} after {wait:?}");
        }
    }
}

#[test]
fn the_limit_holds_although_the_retry_fell_due_during_the_work() {
    let (builder, timer) = builder();
    let queue = event_before_retry(builder.retry_limit(1));
    let guard = queue.try_get().unwrap();
    timer.advance(ms(5));
    assert_eq!(guard.finish(Outcome::Retry), Ok(None));
    assert_eq!((queue.parked(), queue.len()), (vec![1], 0));
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
        assert_eq!((queue.len(), queue.deadline(&1)), (1, Some(timer.now() + HOUR)), "{policy:?}");
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
fn an_outcome_does_not_put_off_what_a_user_has_asked_for_unless_it_says_so() {
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
    guard.finish(Outcome::Park).unwrap();
    assert!(queue.release(&1));
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
        assert_eq!((queue.num_requeues(&1), queue.is_parked(&1)), (1, false), "{outcome:?}");
        assert_eq!(queue.deadline(&1), Some(timer.now() + ms(5)), "{outcome:?}");
    }
}

#[test]
fn parked_items_survive_what_a_shutdown_refuses() {
    for policy in [DuringBackoff::Keep, DuringBackoff::Clear, DuringBackoff::Defer] {
        let (builder, _) = builder();
        let queue = builder.during_backoff(policy).build().unwrap();
        queue.add(1);
        queue.try_get().unwrap().finish(Outcome::Park).unwrap();
        assert_eq!(queue.shutdown(), []);
        assert!(!queue.release(&1));
        assert!(!queue.add(1).is_accepted());
        assert!(!queue.add_rate_limited(1).is_accepted());
        assert_eq!(queue.parked(), [1], "{policy:?}");
    }
}

/// Time goes by until the retry of the item in hand is due, and another get moves it.
fn another_get_moves_the_retry(queue: &Queue, timer: &ManualTimer) {
    timer.advance(ms(5));
    assert!(queue.try_get().is_err(), "it is in hand");
    assert_eq!((queue.delayed_len(), queue.counts().to_run_again), (0, 1));
}

#[test]
fn an_outcome_replaces_a_retry_that_another_get_has_moved() {
    let (_, timer) = builder();
    for which in 0..LAST.len() + hours(&timer).len() {
        let (builder, timer) = builder();
        let queue = event_before_retry(builder);
        let guard = queue.try_get().unwrap();
        another_get_moves_the_retry(&queue, &timer);
        let outcome = LAST.into_iter().chain(hours(&timer)).nth(which).unwrap();
        guard.finish(outcome).unwrap();
        assert_eq!((queue.len(), queue.in_flight()), (0, 0), "{outcome:?}");
        assert_eq!(queue.delayed_len(), usize::from(!LAST.contains(&outcome)), "{outcome:?}");
        assert!(queue.deadline(&1).is_none_or(|at| at >= timer.now() + HOUR), "{outcome:?}");
    }
}

#[test]
fn the_limit_holds_although_another_get_has_moved_the_retry() {
    let (builder, timer) = builder();
    let queue = event_before_retry(builder.retry_limit(1));
    let guard = queue.try_get().unwrap();
    another_get_moves_the_retry(&queue, &timer);
    assert_eq!(guard.finish(Outcome::Retry), Ok(None));
    assert_eq!((queue.parked(), queue.len()), (vec![1], 0));
}

#[test]
fn a_retry_that_another_get_has_moved_stays_with_the_event_beside_it() {
    for outcome in LAST {
        for before in [false, true] {
            let (builder, timer) = builder();
            let queue = event_before_retry(builder);
            let guard = queue.try_get().unwrap();
            if before {
                queue.add(1);
            }
            another_get_moves_the_retry(&queue, &timer);
            if !before {
                queue.add(1);
            }
            guard.finish(outcome).unwrap();
            assert_eq!(queue.len(), 1, "{outcome:?}, {before}");
        }
    }
}

#[test]
fn a_retry_that_another_get_has_moved_comes_if_nobody_says_how_it_went() {
    for is_forgotten in [false, true] {
        let (builder, timer) = builder();
        let queue = event_before_retry(builder);
        let guard = queue.try_get().unwrap();
        another_get_moves_the_retry(&queue, &timer);
        if is_forgotten {
            std::mem::forget(guard);
            assert!(queue.abandon(&1));
        } else {
            drop(guard);
        }
        assert_eq!(queue.len(), 1, "{is_forgotten}");
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

/// An event that came during the work and joined a retry has nothing left to wait for once that is out of the question.
#[test]
fn an_event_that_has_joined_a_retry_is_seen_at_once_when_that_is_needed_no_longer() {
    for outcome in [Outcome::Success, Outcome::GiveUp, Outcome::Park, Outcome::Retry] {
        for joins in ["event", "add_after", "nothing"] {
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
            if joins == "add_after" {
                queue.add_after(1, HOUR * 5);
            }
            guard.finish(outcome).unwrap();
            let is_over = outcome != Outcome::Retry;
            let expected = match joins {
                "event" if is_over => (1, None),
                "nothing" if is_over => (0, None),
                _ => (0, until),
            };
            assert_eq!((queue.len(), queue.deadline(&1)), expected, "{outcome:?} {joins}");
            if expected.0 == 1 {
                assert!(!queue.is_parked(&1));
                assert_eq!(queue.try_get().unwrap().order().priority, 3, "{outcome:?}");
            }
        }
    }
}
