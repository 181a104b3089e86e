//! `finish`, outcome by outcome.

use std::time::Duration;
use wq_ratelimit::{
    Added, Combine, ExponentialBackoff, ManualTimer, Outcome, RateLimitingQueue, RejectedReason,
    Scheduled, Timer,
};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn queue() -> (RateLimitingQueue<u64, ExponentialBackoff<u64>>, ManualTimer) {
    let timer = ManualTimer::new();
    let limiter = ExponentialBackoff::new(ms(10), ms(1000)).unwrap();
    (RateLimitingQueue::builder().limiter(limiter).timer(timer.clone()).build().unwrap(), timer)
}

#[test]
fn success_forgets() {
    let (queue, timer) = queue();
    queue.add(1);
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    timer.advance(ms(10));
    let guard = queue.try_get().unwrap();
    assert_eq!(guard.num_requeues(), 1);
    assert_eq!(guard.finish(Outcome::Success), Ok(None));
    assert_eq!(queue.num_requeues(&1), 0);
    assert_eq!((queue.counts().queued, queue.counts().in_flight, queue.delayed_len()), (0, 0, 0));
}

#[test]
fn retries_wait_longer_each_time() {
    let (queue, timer) = queue();
    queue.add(1);
    for (attempt, wait) in [(0, 10), (1, 20), (2, 40)] {
        let guard = queue.try_get().unwrap();
        assert_eq!(guard.num_requeues(), attempt);
        assert_eq!(guard.finish(Outcome::Retry), Ok(Some(Scheduled::Delayed)));
        timer.advance(ms(wait) - Duration::from_nanos(1));
        assert!(queue.try_get().is_err());
        timer.advance(Duration::from_nanos(1));
    }
}

#[test]
fn retry_not_before_leaves_alone_what_a_user_waits_for() {
    let (queue, timer) = queue();
    queue.add(1);
    let guard = queue.try_get().unwrap();
    queue.add_after(1, ms(5));
    guard.finish(Outcome::RetryNotBefore(timer.now() + ms(500))).unwrap();
    assert_eq!(queue.deadline(&1), Some(timer.now() + ms(5)));
}

#[test]
fn a_retry_takes_the_order_that_it_is_finished_with() {
    let timer = ManualTimer::new();
    let queue = RateLimitingQueue::builder()
        .limiter(ExponentialBackoff::new(ms(10), ms(1000)).unwrap())
        .timer(timer.clone())
        .backlog(wq_priority::Priority::new())
        .build()
        .unwrap();
    queue.add_with(1_u64, wq_priority::Order::priority(7));
    let order = wq_priority::Order::priority(3);
    queue.try_get().unwrap().finish_with(Outcome::RetryAfter(ms(1)), order).unwrap();
    timer.advance(ms(1));
    assert_eq!(queue.try_get().unwrap().order().priority, 3);
}

/// The user's request comes before the work ends, and `finish` cancels only retries.
#[test]
fn what_a_user_adds_for_later_during_the_work_stays() {
    for outcome in [Outcome::Success, Outcome::GiveUp] {
        let (queue, timer) = queue();
        queue.add(1);
        let guard = queue.try_get().unwrap();
        queue.add_after(1, ms(60));
        guard.finish(outcome).unwrap();
        assert_eq!(queue.deadline(&1), Some(timer.now() + ms(60)), "{outcome:?}");
    }
}

#[test]
fn retry_after_leaves_the_attempts_alone() {
    let (queue, timer) = queue();
    queue.add(1);
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    timer.advance(ms(10));
    queue.try_get().unwrap().finish(Outcome::RetryAfter(ms(3))).unwrap();
    assert_eq!(queue.num_requeues(&1), 1);
    assert_eq!(queue.deadline(&1), Some(timer.now() + ms(3)));
    timer.advance(ms(3));
    assert_eq!(
        queue.try_get().unwrap().finish(Outcome::RetryAfter(Duration::ZERO)),
        Ok(Some(Scheduled::Now(Added::Deferred)))
    );
    assert_eq!(queue.counts().queued, 1);
}

#[test]
fn retry_not_before_waits_for_the_later_of_both() {
    let (queue, timer) = queue();
    queue.add(1);
    let later = timer.now() + ms(500);
    queue.try_get().unwrap().finish(Outcome::RetryNotBefore(later)).unwrap();
    assert_eq!((queue.deadline(&1), queue.num_requeues(&1)), (Some(later), 1));
    timer.advance(ms(500));
    queue.try_get().unwrap().finish(Outcome::RetryNotBefore(timer.now() + ms(1))).unwrap();
    assert_eq!((queue.deadline(&1), queue.num_requeues(&1)), (Some(timer.now() + ms(20)), 2));
}

#[test]
fn retry_not_before_holds_back_a_retry_that_waits_already() {
    let (queue, timer) = queue();
    queue.add(1);
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    queue.add(1); // An event brings it back early, and its retry still waits.
    let later = timer.now() + ms(500);
    queue.try_get().unwrap().finish(Outcome::RetryNotBefore(later)).unwrap();
    timer.advance(ms(499));
    assert!(queue.try_get().is_err());
    assert_eq!((queue.deadline(&1), queue.num_requeues(&1)), (Some(later), 1));
    queue.add(1);
    assert!(queue.try_get().is_ok(), "an event may");
}

#[test]
fn give_up_ends_it_and_forgets() {
    let (queue, timer) = queue();
    queue.add(1);
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    timer.advance(ms(10));
    assert_eq!(queue.try_get().unwrap().finish(Outcome::GiveUp), Ok(None));
    assert_eq!((queue.delayed_len(), queue.num_requeues(&1)), (0, 0));
}

#[test]
fn an_add_during_the_work_is_not_lost_by_any_outcome() {
    for outcome in [Outcome::Success, Outcome::Retry, Outcome::GiveUp, Outcome::RetryAfter(ms(5))] {
        let (queue, _timer) = queue();
        queue.add(1);
        let guard = queue.try_get().unwrap();
        queue.add(1);
        guard.finish(outcome).unwrap();
        assert_eq!(queue.counts().queued, 1, "{outcome:?}");
    }
}

#[test]
fn a_retry_after_shutdown_hands_the_item_back_and_counts_nothing() {
    let not_before = ManualTimer::new().now();
    for outcome in [
        Outcome::Retry,
        Outcome::RetryAfter(ms(5)),
        Outcome::RetryAfter(Duration::ZERO),
        Outcome::RetryWith { delay: ms(5), combine: Combine::Min },
        Outcome::RetryNotBefore(not_before),
    ] {
        let (queue, _timer) = queue();
        queue.add(1);
        let guard = queue.try_get().unwrap();
        assert_eq!(queue.shutdown(), []);
        let refused = guard.finish(outcome).unwrap_err();
        assert_eq!(
            (refused.reason(), refused.into_item()),
            (RejectedReason::ShutDown, 1),
            "{outcome:?}"
        );
        assert_eq!(queue.num_requeues(&1), 0);
    }
    for outcome in [Outcome::Success, Outcome::GiveUp] {
        let (queue, _timer) = queue();
        queue.add(1);
        let guard = queue.try_get().unwrap();
        assert_eq!(queue.shutdown(), []);
        assert_eq!(guard.finish(outcome), Ok(None), "{outcome:?}");
    }
}

/// Half of the items fail, before and after the shutdown. Each item is done, or returned by
/// `shutdown` or `finish`.
#[test]
fn a_worker_loop_that_shuts_down_among_failures_loses_no_item() {
    let (queue, _timer) = queue();
    queue.add_all(0..1000);
    let (mut done, mut left) = (Vec::new(), Vec::new());
    for turn in 0.. {
        if turn == 300 {
            left.extend(queue.shutdown());
        }
        let Ok(item) = queue.try_get() else { break };
        let name = *item.item();
        let outcome = if name % 2 == 0 { Outcome::Success } else { Outcome::Retry };
        match item.finish(outcome) {
            Ok(None) => done.push(name),
            Ok(Some(scheduled)) => assert!(scheduled.is_accepted()),
            Err(refused) => left.push(refused.into_item()),
        }
    }
    assert_eq!((done.len(), left.len()), (500, 500));
    done.append(&mut left);
    done.sort_unstable();
    assert!(done.into_iter().eq(0..1000));
}

#[test]
fn done_and_get_takes_the_next_also_one_that_has_just_become_due() {
    let (queue, timer) = queue();
    queue.add(1);
    queue.add_after(2, ms(1));
    let guard = queue.try_get().unwrap();
    timer.advance(ms(1));
    let next = guard.done_and_get().unwrap();
    assert_eq!(*next.item(), 2);
}

#[test]
fn a_dropped_guard_ends_without_a_retry() {
    let (queue, _timer) = queue();
    queue.add(1);
    drop(queue.try_get().unwrap());
    assert_eq!((queue.counts().in_flight, queue.delayed_len(), queue.num_requeues(&1)), (0, 0, 0));
}

#[test]
fn owned_guards_finish_too() {
    let (queue, timer) = queue();
    queue.add(1);
    let guard = pollster::block_on(queue.get_owned()).unwrap();
    assert_eq!(guard.finish(Outcome::Retry), Ok(Some(Scheduled::Delayed)));
    timer.advance(ms(10));
    assert_eq!(*queue.try_get().unwrap().item(), 1);
}

#[test]
fn every_retry_keeps_the_order_of_its_item() {
    let timer = ManualTimer::new();
    let queue = RateLimitingQueue::builder()
        .limiter(ExponentialBackoff::new(ms(10), ms(1000)).unwrap())
        .timer(timer.clone())
        .backlog(wq_priority::Priority::new())
        .build()
        .unwrap();
    queue.add_with(1_u64, wq_priority::Order::priority(7));
    let outcomes = [
        Outcome::Retry,
        Outcome::RetryAfter(ms(1)),
        Outcome::RetryNotBefore(timer.now()),
        Outcome::RetryAfter(ms(0)),
    ];
    for outcome in outcomes {
        let guard = queue.try_get().unwrap();
        assert_eq!(guard.order().priority, 7);
        guard.finish(outcome).unwrap();
        timer.advance(ms(1000));
    }
    assert_eq!(queue.try_get().unwrap().order().priority, 7);
}
