//! A panic of an item's own code at its hand-out, when the queue looks for its mark: nobody has it in hand then, so it is queued
//! still, and so are those of its batch.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use wq_contract::fragile::{Fragile, Fuse};
use wq_ratelimit::{ExponentialBackoff, ManualTimer, Outcome, Phase, RateLimitingQueue};

type Queue = RateLimitingQueue<Fragile, ExponentialBackoff<Fragile>>;

fn ready<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("there are items"),
    }
}

/// Items 1 to 3 are queued, and have marks; item 0 is in hand.
fn in_each_call(what: &str, step: impl for<'q> Fn(&'q Queue, wq_ratelimit::ProcessingGuard<'q, Fragile>)) {
    for fuse in 0.. {
        let second = Duration::from_secs(1);
        let queue = RateLimitingQueue::builder()
            .limiter(ExponentialBackoff::new(second, second).unwrap())
            .timer(ManualTimer::new())
            .build()
            .unwrap();
        (1..4).for_each(|item| {
            queue.add(Fragile(item));
            queue.try_get().unwrap().finish(Outcome::Park).unwrap();
        });
        queue.add(Fragile(0));
        let in_hand = queue.try_get().unwrap();
        (1..4).for_each(|item| assert!(queue.add(Fragile(item)).is_accepted()));
        Fuse::after(fuse).light();
        let went_well = catch_unwind(AssertUnwindSafe(|| step(&queue, in_hand))).is_ok();
        let is_over = Fuse::put_out().is_some();
        assert_eq!(went_well, is_over, "{what}");
        assert_eq!(queue.in_flight(), 0, "{what}: call {fuse}");
        if is_over {
            assert!(fuse > 1, "{what}: what has panicked?");
            return;
        }
        for item in 1..4 {
            let phase = queue.phase(&Fragile(item));
            assert_eq!(phase, Some(Phase::Queued), "{what}: {item} is lost by the panic of call {fuse}");
            assert!(!queue.is_parked(&Fragile(item)));
        }
    }
}

#[test]
fn a_panic_at_the_hand_out_leaves_the_item_queued() {
    in_each_call("try_get", |queue, _| drop(queue.try_get().unwrap()));
    in_each_call("get", |queue, _| drop(ready(queue.get()).unwrap()));
    in_each_call("get_owned", |queue, _| drop(ready(queue.get_owned()).unwrap()));
    in_each_call("get_blocking", |queue, _| drop(queue.get_blocking().unwrap()));
    in_each_call("get_timeout", |queue, _| drop(queue.get_timeout(Duration::ZERO).unwrap()));
    in_each_call("done_and_get", |_, guard| drop(guard.done_and_get().unwrap()));
}
