//! Verbs and settings of the queues below, which mean the same here.

use std::time::Duration;
use wq_priority::Priority;
use wq_ratelimit::{
    BuildError, Debounce, ManualTimer, Outcome, RateLimitingQueue, Scheduled, controller_default,
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
        assert!(queue.add_debounced(1, debounce).is_accepted());
    }
    assert!(queue.try_get().is_err());
    timer.advance(SECOND);
    let guard = queue.try_get().unwrap();
    assert_eq!(guard.num_requeues(), 0);
    guard.finish(Outcome::Success).unwrap();
    assert!(queue.try_get().is_err(), "one run for all of them");
}

#[test]
fn room_is_reserved_below() {
    let builder = || {
        RateLimitingQueue::builder().limiter(controller_default::<u32>()).timer(ManualTimer::new())
    };
    assert!(builder().reserve_delayed(1000).build().is_ok());
    let error = builder().reserve_delayed(usize::MAX).build().unwrap_err();
    assert_eq!(error, BuildError::TooMuchReserved { items: usize::MAX });
}
