//! The order of an item survives every kind of retry.

use proptest::prelude::*;
use std::time::Duration;
use wq_priority::{Order, Priority};
use wq_ratelimit::{Combine, ExponentialBackoff, ManualTimer, Outcome, RateLimitingQueue, Timer};

proptest! {
    #![proptest_config(crate::config())]

    #[test]
    fn every_way_back_keeps_the_order(
        priority in -5..5_i32,
        ways in prop::collection::vec((0..7_u8, 0..9_u64), 1..20),
    ) {
        let (timer, second) = (ManualTimer::new(), Duration::from_secs(1));
        let queue = RateLimitingQueue::<u8, _>::builder()
            .limiter(ExponentialBackoff::new(second, second * 8).unwrap())
            .timer(timer.clone())
            .backlog(Priority::new())
            .build()
            .unwrap();
        queue.add_with(1, Order::priority(priority));
        for (way, seconds) in ways {
            let delay = Duration::from_secs(seconds);
            let guard = queue.try_get().unwrap();
            prop_assert_eq!(guard.order().priority, priority);
            let outcome = match way {
                1 => Outcome::RetryAfter(delay),
                2 => Outcome::RetryNotBefore(timer.now() + delay),
                3 => Outcome::RetryWith { delay, combine: Combine::Sum },
                _ => Outcome::Retry,
            };
            guard.finish(outcome).unwrap();
            timer.advance(second * 20);
            prop_assert_eq!(queue.counts().queued, 1);
        }
    }
}
