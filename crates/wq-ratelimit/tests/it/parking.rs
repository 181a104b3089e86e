//! Parked items: when they are, when no longer, and what is remembered of them.

use std::time::Duration;
use wq_ratelimit::{Builder, ExponentialBackoff, ManualTimer, Outcome, RateLimitingQueue, Shared};

const HOUR: Duration = Duration::from_secs(3600);

type Queue = RateLimitingQueue<u64, ExponentialBackoff<u64>>;

/// Item 1 is parked: it has had its one retry.
fn parked() -> (Queue, ManualTimer) {
    let timer = ManualTimer::new();
    let limiter = ExponentialBackoff::new(HOUR, HOUR).unwrap();
    let queue =
        RateLimitingQueue::builder().limiter(limiter).timer(timer.clone()).retry_limit(1).build().unwrap();
    queue.add(1);
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    timer.advance(HOUR);
    assert_eq!(queue.try_get().unwrap().finish(Outcome::Retry), Ok(None));
    assert_eq!(queue.parked(), [1]);
    (queue, timer)
}

type Step = fn(&Queue);

#[test]
fn what_has_come_back_is_parked_no_longer_whatever_becomes_of_it() {
    let ways: [(&str, Step); 7] = [
        ("dropped", |queue| {
            queue.add(1);
            drop(queue.try_get().unwrap());
        }),
        ("dropped by its owner", |queue| {
            queue.add(1);
            drop(pollster::block_on(queue.get_owned()));
        }),
        ("dropped as the next", |queue| {
            queue.add(2);
            queue.add(1);
            drop(queue.try_get().unwrap().done_and_get());
        }),
        ("removed", |queue| {
            queue.add(1);
            assert_eq!(queue.remove(&1), Some(1));
        }),
        ("cancelled", |queue| {
            queue.add_after(1, HOUR);
            assert_eq!(queue.cancel(&1), Some(1));
        }),
        ("handed back by a shutdown", |queue| {
            queue.add_after(1, HOUR);
            assert_eq!(queue.shutdown(), [1]);
        }),
        ("handed back", |queue| {
            queue.add(1);
            assert_eq!(queue.shutdown_now(), [1]);
        }),
    ];
    for (way, step) in ways {
        let (queue, _timer) = parked();
        step(&queue);
        assert_eq!((queue.parked(), queue.is_parked(&1), queue.release(&1)), (vec![], false, false), "{way}");
        assert_eq!(queue.num_requeues(&1), 1, "its attempts stay: {way}");
    }
}

#[test]
fn what_is_taken_out_of_the_queue_leaves_others_parked() {
    let (queue, _timer) = parked();
    queue.add(2);
    assert_eq!((queue.remove(&2), queue.remove(&1), queue.cancel(&1)), (Some(2), None, None));
    assert_eq!(queue.shutdown_now(), []);
    assert_eq!(queue.parked(), [1]);
}

#[test]
fn an_item_that_has_come_back_has_one_attempt_also_after_a_dropped_guard() {
    let (queue, _timer) = parked();
    queue.add(1);
    drop(queue.try_get().unwrap());
    queue.add(1);
    assert_eq!(queue.try_get().unwrap().finish(Outcome::Retry), Ok(None));
    assert_eq!(queue.parked(), [1]);
}

/// By then nobody else knows how often it has failed.
#[test]
fn attempts_count_on_after_any_time_of_being_parked() {
    let timer = ManualTimer::new();
    let second = Duration::from_secs(1);
    let limiter = ExponentialBackoff::new(second, second * 100).unwrap();
    let queue: Queue =
        RateLimitingQueue::builder().limiter(limiter).timer(timer.clone()).retry_limit(4).build().unwrap();
    let fail = |item, outcome| {
        queue.add(item);
        queue.try_get().unwrap().finish(outcome).unwrap();
        timer.advance(second * 100);
        queue.move_due();
        queue.remove(&item);
    };
    for outcome in [Outcome::Retry, Outcome::Retry, Outcome::Park] {
        fail(1, outcome);
    }
    for item in 100..400 {
        fail(item, Outcome::Retry);
    }
    assert!(queue.remembered_backoffs().expired > 0 && queue.remembered().expired > 0);
    assert_eq!((queue.parked(), queue.num_requeues(&1)), (vec![1], 2));
    fail(1, Outcome::Retry);
    assert_eq!(queue.num_requeues(&1), 3);
    queue.add_rate_limited(1);
    assert_eq!(queue.num_requeues(&1), 4);
    queue.cancel(&1);
    fail(1, Outcome::Retry);
    assert_eq!(queue.parked(), [1], "it has had four retries");
}

#[test]
fn attempts_of_what_is_back_for_a_day_count_no_longer_whether_others_are_parked_or_not() {
    for others_are_parked in [false, true] {
        let (queue, timer) = parked();
        queue.add(1);
        drop(queue.try_get().unwrap());
        timer.advance(HOUR * 23);
        if others_are_parked {
            queue.add(2);
            queue.try_get().unwrap().finish(Outcome::Park).unwrap();
        }
        assert_eq!(queue.num_requeues(&1), 1);
        timer.advance(HOUR);
        assert_eq!(queue.num_requeues(&1), 0);
        timer.advance(HOUR * 24);
        queue.shrink();
        assert_eq!(queue.remembered_parked().expired, 1);
        queue.add(1);
        assert!(queue.try_get().unwrap().finish(Outcome::Retry).unwrap().is_some());
    }
}

/// One on Friday and one on Monday, and nobody has looked in between.
#[test]
fn a_parked_item_stays_parked_however_long_until_something_happens_to_it() {
    let ways: [(&str, Step); 5] = [
        ("added", |queue| assert!(queue.add(1).is_accepted())),
        ("released", |queue| assert!(queue.release(&1))),
        ("forgotten", |queue| queue.forget(&1)),
        ("forgotten with others", |queue| assert_eq!(queue.forget_where(|item| *item == 1), 1)),
        ("tried again", |queue| {
            queue.add(1);
            queue.try_get().unwrap().finish(Outcome::Success).unwrap();
        }),
    ];
    for (way, step) in ways {
        let (queue, timer) = parked();
        for item in 2..12 {
            timer.advance(HOUR * 49);
            queue.add(item);
            queue.try_get().unwrap().finish(Outcome::Park).unwrap();
        }
        let mut parked = queue.parked();
        parked.sort_unstable();
        assert_eq!((parked, queue.is_parked(&1)), ((1..12).collect(), true));
        let remembered = queue.remembered_parked();
        assert_eq!((remembered.items, remembered.expired, remembered.evicted), (11, 0, 0));
        assert_eq!(queue.num_requeues(&1), 1, "with its attempts");
        queue.add(2);
        drop(queue.try_get().unwrap());
        timer.advance(HOUR * 23);
        queue.add(12);
        queue.try_get().unwrap().finish(Outcome::Park).unwrap();
        assert_eq!(queue.remembered_parked().items, 12, "one is back, for less than a day");
        step(&queue);
        assert!(!queue.is_parked(&1), "{way}");
        assert_eq!(queue.parked().len(), 10, "the others are: {way}");
        timer.advance(HOUR * 49);
        queue.add(13);
        queue.try_get().unwrap().finish(Outcome::Park).unwrap();
        assert!(queue.remembered_parked().expired > 0 && queue.parked().len() == 11, "{way}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "thousands of items")]
fn parked_items_that_are_too_many_are_forgotten_and_counted() {
    let timer = ManualTimer::new();
    let limiter = ExponentialBackoff::new(HOUR, HOUR).unwrap();
    let queue: Queue = RateLimitingQueue::builder().limiter(limiter).timer(timer.clone()).build().unwrap();
    let many = 1 << 18;
    for item in 0..=many {
        queue.add(item);
        queue.try_get().unwrap().finish(Outcome::Park).unwrap();
    }
    let remembered = queue.remembered_parked();
    assert_eq!((remembered.items as u64 + remembered.evicted, remembered.expired), (many + 1, 0));
    assert_eq!((remembered.evicted, queue.parked().len()), (many / 2, remembered.items));
    assert!((many / 2 + 1..=many).all(|item| queue.is_parked(&item)), "those that were parked last");
}

/// Days apart, so that the oldest ones are looked at while the others wait.
#[test]
#[cfg_attr(miri, ignore = "thousands of items")]
fn the_half_that_was_parked_last_is_known_whenever_it_was_parked() {
    let timer = ManualTimer::new();
    let limiter = ExponentialBackoff::new(HOUR, HOUR).unwrap();
    let queue: Queue = RateLimitingQueue::builder().limiter(limiter).timer(timer.clone()).build().unwrap();
    let half = 1 << 17;
    let park = |item| {
        queue.add(item);
        queue.try_get().unwrap().finish(Outcome::Park).unwrap();
    };
    for day in 0..2 {
        (0..half).for_each(|item| park(day * half + item));
        timer.advance(HOUR * 25);
    }
    (0..10).for_each(|item| park(2 * half + item));
    assert!((half + 10..2 * half + 10).all(|item| queue.is_parked(&item)));
}

/// The limiter's count is one for all its queues; what a queue counts for its limit is its own.
#[test]
fn an_item_of_two_queues_with_a_limit_is_forgotten_in_each() {
    for limit in [None, Some(2)] {
        let (timer, second) = (ManualTimer::new(), Duration::from_secs(1));
        let shared = Shared::new(ExponentialBackoff::new(second, second * 100).unwrap());
        let [one, other] = [shared.clone(), shared].map(|limiter| {
            let builder = RateLimitingQueue::builder().limiter(limiter).timer(timer.clone());
            limit.into_iter().fold(builder, Builder::retry_limit).build().unwrap()
        });
        one.add(1);
        for _ in 0..2 {
            one.try_get().unwrap().finish(Outcome::Retry).unwrap();
            timer.advance(second * 50);
        }
        assert_eq!((one.num_requeues(&1), other.num_requeues(&1)), (2, 2));
        other.forget(&1);
        let own = if limit.is_some() { 2 } else { 0 };
        assert_eq!((one.num_requeues(&1), other.num_requeues(&1)), (own, 0), "{limit:?}");
        one.try_get().unwrap().finish(Outcome::Retry).unwrap();
        assert_eq!(one.is_parked(&1), limit.is_some());
        one.forget(&1);
        assert_eq!((one.num_requeues(&1), one.is_parked(&1)), (0, false), "{limit:?}");
    }
}

#[test]
fn what_is_remembered_of_backing_off_and_of_parked_items_is_counted() {
    let (queue, timer) = parked();
    queue.add(1);
    drop(queue.try_get().unwrap()); // Back, with its attempts.
    assert_eq!((queue.remembered_parked().items, queue.remembered_backoffs().items), (1, 1));
    for item in 2..1000 {
        queue.add(item);
        queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    }
    assert_eq!(queue.remembered_backoffs().items, 999);
    timer.advance(HOUR * 2);
    queue.shrink();
    let backoffs = queue.remembered_backoffs();
    assert_eq!((backoffs.items, backoffs.expired, backoffs.evicted), (0, 999, 0), "they have lingered");
    timer.advance(HOUR * 24 * 2);
    queue.add(5000);
    queue.try_get().unwrap().finish(Outcome::Park).unwrap();
    let parked = queue.remembered_parked();
    assert_eq!((parked.items, parked.expired, parked.evicted), (1, 1, 0));
    assert_eq!(queue.parked(), [5000]);
}
