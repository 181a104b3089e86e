//! Verbs and settings of the queues below, which mean the same here.

use std::time::Duration;
use wq_priority::{Order, Priority};
use wq_ratelimit::{
    BuildError, Debounce, ExponentialBackoff, ManualTimer, Outcome, RateLimitingQueue, Scheduled,
    controller_default,
};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn debounced_adds_come_after_a_quiet_period_and_count_nothing() {
    let timer = ManualTimer::new();
    let queue = RateLimitingQueue::builder()
        .limiter(controller_default::<u32>())
        .backlog(Priority::new())
        .timer(timer.clone())
        .build()
        .unwrap();
    let debounce = Debounce::new(SECOND, SECOND * 5).unwrap();
    assert_eq!(queue.add_debounced(1, debounce), Scheduled::Delayed);
    for _ in 0..3 {
        timer.advance(SECOND / 2);
        assert!(queue.add_debounced_with(1, debounce, Order::priority(7)).is_accepted());
    }
    assert!(queue.try_get().is_err());
    timer.advance(SECOND);
    let guard = queue.try_get().unwrap();
    assert_eq!((guard.order().priority, guard.num_requeues()), (7, 0));
    guard.finish(Outcome::Success).unwrap();
    assert!(queue.try_get().is_err(), "one run for all of them");
}

#[test]
fn an_item_that_backs_off_is_reordered_and_keeps_its_deadline() {
    let timer = ManualTimer::new();
    let queue = RateLimitingQueue::builder()
        .limiter(ExponentialBackoff::new(SECOND, SECOND * 8).unwrap())
        .backlog(Priority::new())
        .timer(timer.clone())
        .build()
        .unwrap();
    queue.add_with(1, Order::priority(3));
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    let deadline = queue.deadline(&1);
    assert!(deadline.is_some() && queue.reorder(&1, Order::priority(5)));
    assert_eq!((queue.deadline(&1), queue.num_requeues(&1)), (deadline, 1));
    timer.advance(SECOND);
    let guard = queue.try_get().unwrap();
    assert_eq!((guard.order().priority, guard.num_requeues()), (5, 1));
}

/// A new order asks for no run.
#[test]
fn a_retry_that_was_reordered_is_canceled_as_any_other() {
    let timer = ManualTimer::new();
    let queue = RateLimitingQueue::builder()
        .limiter(ExponentialBackoff::new(SECOND, SECOND * 8).unwrap())
        .backlog(Priority::new())
        .timer(timer.clone())
        .build()
        .unwrap();
    queue.add(1);
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    assert!(queue.reorder(&1, Order::priority(5)));
    queue.add(1);
    queue.try_get().unwrap().finish(Outcome::Success).unwrap();
    timer.advance(SECOND * 10);
    assert!(queue.try_get().is_err());
}

#[test]
fn room_is_reserved_below() {
    let builder =
        || RateLimitingQueue::builder().limiter(controller_default::<u32>()).timer(ManualTimer::new());
    assert!(builder().reserve_delayed(1000).build().is_ok());
    let error = builder().reserve_delayed(usize::MAX).build().unwrap_err();
    assert_eq!(error, BuildError::TooMuchReserved { items: usize::MAX });
}
