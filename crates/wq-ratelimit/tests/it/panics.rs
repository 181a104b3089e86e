//! Panics of the caller's code, in whichever of its calls: no item is lost by one.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::time::Duration;
use wq_contract::fragile::{Fragile, Fuse, Line};
use wq_ratelimit::{
    Combine, DuringBackoff, ExponentialBackoff, ImmediateAdd, ManualTimer, Outcome, RateLimitingQueue,
};

type Queue = RateLimitingQueue<Fragile, ExponentialBackoff<Fragile>>;

/// A queue in which the item is parked.
fn parked(policy: DuringBackoff) -> Queue {
    let second = Duration::from_secs(1);
    let queue = RateLimitingQueue::builder()
        .limiter(ExponentialBackoff::new(second, second).unwrap())
        .during_backoff(policy)
        .timer(ManualTimer::new())
        .build()
        .unwrap();
    queue.add(Fragile(1));
    queue.try_get().unwrap().finish(Outcome::Park).unwrap();
    queue
}

/// Takes the step again and again, with a panic in its first call, its second and so on, until none is left to panic.
fn in_each_call(policy: DuringBackoff, step: impl Fn(&Queue)) -> u32 {
    for fuse in 0.. {
        let queue = parked(policy);
        Fuse::after(fuse).with_drops().light();
        let went_well = catch_unwind(AssertUnwindSafe(|| step(&queue))).is_ok();
        let is_over = Fuse::put_out().is_some();
        assert_eq!(went_well, is_over);
        let is_queued = queue.contains(&Fragile(1));
        assert!(is_queued || queue.is_parked(&Fragile(1)), "lost by the panic of call {fuse}");
        assert!(is_queued || !is_over, "it has come back");
        if is_over {
            return fuse;
        }
    }
    unreachable!("it does not end")
}

/// An item fails in the hands of whom an event has brought it, while its retry waits, or has fallen due behind.
#[test]
fn a_panic_at_the_end_of_an_attempt_does_not_lose_the_retry_that_it_replaces() {
    let second = Duration::from_secs(1);
    let after = Outcome::RetryAfter(second * 5);
    let with = Outcome::RetryWith { delay: second, combine: Combine::Max };
    for (outcome, is_due) in [Outcome::Retry, after, with, Outcome::Park]
        .into_iter()
        .flat_map(|outcome| [(outcome, false), (outcome, true)])
    {
        for fuse in 0.. {
            let timer = ManualTimer::new();
            let queue = RateLimitingQueue::builder()
                .limiter(ExponentialBackoff::new(second, second).unwrap())
                .backlog(Line::default())
                .timer(timer.clone())
                .build()
                .unwrap();
            queue.add(Fragile(1));
            queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
            queue.add(Fragile(1));
            let guard = queue.try_get().unwrap();
            if is_due {
                timer.advance(second);
                queue.move_due();
            }
            Fuse::after(fuse).with_drops().light();
            let went_well = catch_unwind(AssertUnwindSafe(|| guard.finish(outcome))).is_ok();
            let is_over = Fuse::put_out().is_some();
            assert_eq!(went_well, is_over);
            assert_eq!(queue.in_flight(), 0);
            let is_parked = outcome == Outcome::Park && queue.is_parked(&Fragile(1));
            let is_here = queue.contains(&Fragile(1)) || queue.deadline(&Fragile(1)).is_some();
            assert!(is_parked || is_here, "{outcome:?}, {is_due}: lost by the panic of call {fuse}");
            if is_over {
                assert!(fuse > 4, "what has panicked?");
                break;
            }
        }
    }
}

#[test]
fn a_parked_item_is_not_lost_by_a_panic_on_its_way_back() {
    let released = in_each_call(DuringBackoff::Keep, |queue| assert!(queue.release(&Fragile(1))));
    let added = in_each_call(DuringBackoff::Clear, |queue| assert!(queue.add(Fragile(1)).is_accepted()));
    assert!(released > 3 && added > 3, "{released}, {added}: what has panicked?");
}

/// What has come back is parked no longer, whatever becomes of it.
#[test]
fn what_was_handed_out_is_not_parked_by_a_panic() {
    for fuse in 0..40 {
        let queue = parked(DuringBackoff::Clear);
        queue.add_after(Fragile(1), Duration::ZERO);
        drop(queue.try_get().unwrap());
        assert!(!queue.is_parked(&Fragile(1)));
        Fuse::after(fuse).with_drops().light();
        let _ = catch_unwind(AssertUnwindSafe(|| queue.add(Fragile(1))));
        Fuse::put_out();
        assert!(!queue.is_parked(&Fragile(1)), "call {fuse}");
    }
}

/// A shutdown looks for the marks of what it hands back.
#[test]
fn what_a_shutdown_could_not_hand_back_for_a_panic_the_next_one_does() {
    let shutdowns: [fn(&Queue) -> Vec<Fragile>; 2] = [Queue::shutdown, Queue::shutdown_now];
    for shutdown in shutdowns {
        for fuse in 0.. {
            let queue = parked(DuringBackoff::Keep);
            (3..5).for_each(|item| _ = queue.add(Fragile(item)));
            (1..3).for_each(|item| _ = queue.add_after(Fragile(item), Duration::from_secs(1)));
            Fuse::after(fuse).with_drops().light();
            let mut left = catch_unwind(AssertUnwindSafe(|| shutdown(&queue)));
            let is_over = Fuse::put_out().is_some();
            assert_eq!(left.is_ok(), is_over);
            if left.is_err() {
                left = Ok(queue.shutdown());
            }
            let mut items: Vec<u32> = left.unwrap().iter().map(|item| item.0).collect();
            items.extend(std::iter::from_fn(|| queue.try_get().ok().map(|guard| guard.item().0)));
            items.sort_unstable();
            assert_eq!(items, [1, 2, 3, 4], "lost by the panic of call {fuse}");
            assert!(!is_over || !queue.is_parked(&Fragile(1)), "it was added since");
            if is_over {
                assert!(fuse > 1, "what has panicked?");
                break;
            }
        }
    }
}

type Numbers = RateLimitingQueue<u32, ExponentialBackoff<u32>>;

/// Does the work on whatever it is woken for, and then panics.
struct Hasty(Numbers);

impl Wake for Hasty {
    fn wake(self: Arc<Self>) {
        self.0.try_get().unwrap().finish(Outcome::Success).unwrap();
        resume_unwind(Box::new(()));
    }
}

#[test]
fn what_was_handed_out_and_done_is_not_parked_by_the_waker_that_did_it() {
    let second = Duration::from_secs(1);
    let adds: [fn(&Numbers); 2] =
        [|queue| assert!(queue.release(&1)), |queue| assert!(queue.add(1).is_accepted())];
    for policy in [ImmediateAdd::Keep, ImmediateAdd::Merge, ImmediateAdd::Defer] {
        for (which, add) in adds.into_iter().enumerate() {
            let queue = RateLimitingQueue::builder()
                .limiter(ExponentialBackoff::new(second, second).unwrap())
                .during_backoff(DuringBackoff::Clear)
                .immediate_add(policy)
                .timer(ManualTimer::new())
                .build()
                .unwrap();
            queue.add(1);
            queue.try_get().unwrap().finish(Outcome::Park).unwrap();
            let waker = Waker::from(Arc::new(Hasty(queue.clone())));
            let mut getter = pin!(queue.get());
            assert!(getter.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            let panicked = catch_unwind(AssertUnwindSafe(|| add(&queue))).is_err();
            assert!(panicked && !queue.contains(&1), "{policy:?}, {which}: nobody was woken");
            assert!(!queue.is_parked(&1), "{policy:?}, {which}");
        }
    }
}
