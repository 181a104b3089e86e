//! How long, and for how many items, a queue remembers back-offs.

use std::time::Duration;
use wq_ratelimit::{
    Added, Combine, DuringBackoff, ExponentialBackoff, ImmediateAdd, ManualTimer, Outcome,
    RateLimitingQueue, Timer,
};

const SECOND: Duration = Duration::from_secs(1);
const MONTH: Duration = Duration::from_secs(30 * 24 * 3600);
/// The maximum number of remembered back-offs.
const MANY: usize = 1 << 18;

type Queue = RateLimitingQueue<u32, ExponentialBackoff<u32>>;
type Step = fn(&Queue, u32);

fn queue() -> (Queue, ManualTimer) {
    let timer = ManualTimer::new();
    let limiter = ExponentialBackoff::new(SECOND, SECOND * 100).unwrap();
    let builder = RateLimitingQueue::builder()
        .limiter(limiter)
        .immediate_add(ImmediateAdd::Merge)
        .timer(timer.clone());
    (builder.build().unwrap(), timer)
}

fn fail(queue: &Queue, item: u32, outcome: Outcome) {
    queue.add(item);
    queue.try_get().unwrap().finish(outcome).unwrap();
}

#[test]
fn an_item_that_nothing_is_to_bring_back_is_remembered_for_its_attempts_alone() {
    let vanish: [(&str, Step); 2] = [
        ("cancelled", |queue, item| assert!(queue.cancel(&item).is_some())),
        ("brought back, and removed", |queue, item| {
            queue.add(item);
            assert!(queue.remove(&item).is_some());
        }),
    ];
    for (way, vanish) in vanish {
        let (queue, timer) = queue();
        for item in 0..1000 {
            fail(&queue, item, Outcome::RetryNotBefore(timer.now() + MONTH));
            vanish(&queue, item);
        }
        assert!((0..1000).all(|item| queue.num_requeues(&item) == 1), "{way}: the attempts stay");
    }
}

/// The items that failed last stay known, even while all wait for their retries.
#[test]
#[cfg_attr(miri, ignore = "thousands of items")]
fn of_very_many_items_that_back_off_those_that_failed_last_are_known() {
    let (queue, timer) = queue();
    let items = u32::try_from(MANY).unwrap() + 1000;
    (0..items).for_each(|item| fail(&queue, item, Outcome::RetryNotBefore(timer.now() + MONTH)));
    let backoffs = queue.remembered().backoffs;
    assert!(backoffs.items <= MANY && backoffs.items >= MANY / 2, "{backoffs:?}");
    assert_eq!(backoffs.items as u64 + backoffs.evicted, u64::from(items));
    // A failure of a known item does not count before its time.
    for (item, wait) in
        [(items - 1, MONTH), (items - u32::try_from(MANY / 2).unwrap(), MONTH), (0, SECOND)]
    {
        fail(&queue, item, Outcome::Retry);
        assert_eq!(queue.deadline(&item), Some(timer.now() + wait), "{item}");
    }
}

/// A month after its second failure an item begins with zero attempts, whatever other items did.
#[test]
fn what_a_silence_makes_of_the_attempts_does_not_depend_on_others() {
    for others in [0, 1, 300] {
        let (queue, timer) = queue();
        for _ in 0..2 {
            fail(&queue, 1, Outcome::Retry);
            timer.advance(SECOND * 100);
            let _ = queue.counts();
            assert_eq!(queue.remove(&1), Some(1));
        }
        assert_eq!(queue.num_requeues(&1), 2);
        timer.advance(MONTH);
        for other in 100..100 + others {
            fail(&queue, other, Outcome::Retry);
            queue.cancel(&other);
        }
        queue.add(1);
        let guard = queue.try_get().unwrap();
        assert_eq!((guard.num_requeues(), queue.num_requeues(&1)), (0, 0), "{others}");
        assert!(guard.finish(Outcome::Retry).unwrap().is_some(), "{others}");
        assert_eq!(queue.num_requeues(&1), 1, "{others}");
    }
}

#[test]
fn failures_are_forgotten_in_time_also_if_nothing_else_fails() {
    type Ends = fn(&Queue);
    let ends: [(&str, Ends); 2] = [
        ("successes", |queue| (1000..6000).for_each(|item| fail(queue, item, Outcome::Success))),
        ("forgotten", |queue| (1000..6000).for_each(|item| queue.forget(&item))),
    ];
    for (way, ends) in ends {
        let (queue, timer) = queue();
        for item in 0..1000 {
            fail(&queue, item, Outcome::Retry);
            queue.cancel(&item);
        }
        timer.advance(SECOND * 1199);
        ends(&queue);
        assert_eq!(queue.remembered().failures.items, 1000, "{way}: not for twice the idle time");
        timer.advance(SECOND * 1200);
        ends(&queue);
        let remembered = queue.remembered().failures;
        assert_eq!(
            (remembered.items, remembered.expired, remembered.evicted),
            (0, 1000, 0),
            "{way}"
        );
    }
}

/// A back-off without an end keeps no record once it was canceled.
#[test]
fn a_record_is_kept_no_longer_than_something_waits() {
    let never = |combine| Outcome::RetryWith { delay: Duration::MAX, combine };
    for outcome in
        [never(Combine::Max), never(Combine::Override), Outcome::RetryAfter(Duration::MAX)]
    {
        let (queue, timer) = queue();
        fail(&queue, 1, Outcome::Retry);
        fail(&queue, 1, Outcome::Retry);
        queue.cancel(&1);
        fail(&queue, 1, outcome);
        for _ in 0..3 {
            timer.advance(MONTH);
            let _ = queue.num_requeues(&2);
            assert_eq!(queue.remembered().failures.items, 1, "{outcome:?}: it waits");
        }
        assert_eq!(queue.cancel(&1), Some(1));
        timer.advance(SECOND * 500);
        let _ = queue.num_requeues(&2);
        assert_eq!(queue.remembered().failures.items, 1, "{outcome:?}: for its idle time");
        timer.advance(SECOND * 1200);
        let _ = queue.num_requeues(&2);
        assert_eq!(queue.remembered().failures.items, 0, "{outcome:?}");
    }
}

#[test]
fn back_offs_that_are_over_are_forgotten_also_if_nothing_else_fails() {
    let (queue, timer) = queue();
    for item in 0..1000 {
        fail(&queue, item, Outcome::Retry);
        queue.add(item);
        queue.try_get().unwrap().done();
    }
    assert_eq!(queue.remembered().backoffs.items, 1000);
    timer.advance(SECOND);
    for item in 1000..6000 {
        fail(&queue, item, Outcome::Success);
    }
    let backoffs = queue.remembered().backoffs;
    assert_eq!((backoffs.items, backoffs.expired, backoffs.evicted), (0, 1000, 0));
}

#[test]
fn an_item_whose_retry_was_taken_out_backs_off_no_longer() {
    let timer = ManualTimer::new();
    let make = |policy| {
        let limiter = ExponentialBackoff::new(SECOND, SECOND * 100).unwrap();
        RateLimitingQueue::builder()
            .limiter(limiter)
            .immediate_add(policy)
            .during_backoff(DuringBackoff::Keep)
            .timer(timer.clone())
            .build()
            .unwrap()
    };
    let queue: Queue = make(ImmediateAdd::Keep);
    fail(&queue, 1, Outcome::Retry);
    assert_eq!(queue.cancel(&1), Some(1));
    fail(&queue, 1, Outcome::Retry);
    assert_eq!(queue.num_requeues(&1), 2, "nothing was to bring it back");
    // The event's add is removed, and the retry still waits.
    queue.add(1);
    assert_eq!(queue.remove(&1), Some(1));
    fail(&queue, 1, Outcome::Retry);
    assert_eq!((queue.num_requeues(&1), queue.deadline(&1)), (2, Some(timer.now() + SECOND * 2)));
    let queue: Queue = make(ImmediateAdd::Merge);
    fail(&queue, 1, Outcome::Retry);
    queue.add(1);
    assert_eq!(queue.remove(&1), Some(1), "with its retry");
    fail(&queue, 1, Outcome::Retry);
    assert_eq!(queue.num_requeues(&1), 2);
}

/// Run by a stage of `--full`: the stage `test` leaves `long` out.
mod long {
    use super::*;

    /// D17, for the queue: its own memory is bounded too. Each item backs off for a month, comes
    /// back by an event, and ends without an outcome.
    #[test]
    #[cfg_attr(miri, ignore = "thousands of items")]
    fn many_items_that_fail_once_and_vanish_do_not_fill_the_queue() {
        let (queue, timer) = queue();
        let items = u32::try_from(MANY).unwrap() + 1000;
        for item in 0..items {
            fail(&queue, item, Outcome::RetryNotBefore(timer.now() + MONTH));
            queue.add(item);
            queue.try_get().unwrap().done();
        }
        let backoffs = queue.remembered().backoffs;
        assert!(backoffs.items <= MANY && backoffs.items >= MANY / 2, "{backoffs:?}");
        let left = (backoffs.items as u64 + backoffs.evicted, backoffs.expired);
        assert_eq!(left, (u64::from(items), 0), "who left is counted");
        assert_eq!((queue.delayed_len(), queue.num_requeues(&(items - 1))), (0, 1));
    }

    /// The policy still applies to an item whose back-off was evicted.
    #[test]
    #[cfg_attr(miri, ignore = "thousands of items")]
    fn an_event_defers_to_a_retry_that_is_known_by_its_deadline_alone() {
        for policy in [DuringBackoff::Defer, DuringBackoff::Clear] {
            let timer = ManualTimer::new();
            let limiter = ExponentialBackoff::new(SECOND, SECOND * 100).unwrap();
            let builder = RateLimitingQueue::builder().limiter(limiter).during_backoff(policy);
            let queue: Queue = builder.timer(timer.clone()).build().unwrap();
            let items = u32::try_from(MANY).unwrap() + 1;
            (0..items)
                .for_each(|item| fail(&queue, item, Outcome::RetryNotBefore(timer.now() + MONTH)));
            assert!(queue.remembered().backoffs.evicted > 0);
            for item in [0, items - 1] {
                queue.add(item);
                let (runs, waits) = (queue.try_get().is_ok(), queue.deadline(&item).is_some());
                assert_eq!(
                    (runs, waits),
                    if policy == DuringBackoff::Defer { (false, true) } else { (true, false) }
                );
            }
        }
    }

    /// Evicted back-offs say nothing about an item that never failed.
    #[test]
    #[cfg_attr(miri, ignore = "thousands of items")]
    fn a_crowd_of_failures_leaves_alone_what_a_user_has_delayed() {
        for policy in [DuringBackoff::Defer, DuringBackoff::Clear] {
            let timer = ManualTimer::new();
            let limiter = ExponentialBackoff::new(SECOND, SECOND * 100).unwrap();
            let builder = RateLimitingQueue::builder().limiter(limiter).during_backoff(policy);
            let queue: Queue = builder.timer(timer.clone()).build().unwrap();
            let items = u32::try_from(MANY).unwrap() + 1;
            (0..items)
                .for_each(|item| fail(&queue, item, Outcome::RetryNotBefore(timer.now() + MONTH)));
            assert!(queue.remembered().backoffs.evicted > 0);
            let nightly = items;
            queue.add_after(nightly, SECOND * 3600);
            assert_eq!(queue.add(nightly), Added::Queued, "{policy:?}");
            assert_eq!(queue.deadline(&nightly), Some(timer.now() + SECOND * 3600), "{policy:?}");
            queue.try_get().unwrap().finish(Outcome::Success).unwrap();
            queue.add(0);
            assert_eq!(queue.counts().queued, usize::from(policy == DuringBackoff::Clear));
            // Here a user's delay has merged with the retry.
            queue.add_after(1, SECOND);
            assert_eq!(queue.add(1), Added::Queued, "{policy:?}");
            assert!(queue.deadline(&1).is_some(), "{policy:?}");
        }
    }
}
