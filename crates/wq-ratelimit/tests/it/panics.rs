//! Panics in each call of user code: the queue stays usable, and at most one item's retry is lost.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;
use wq_contract::fragile::{Fragile, Fuse, Line};
use wq_ratelimit::{
    Combine, DuringBackoff, ExponentialBackoff, ManualTimer, Outcome, RateLimitingQueue,
};

const SECOND: Duration = Duration::from_secs(1);

type Queue = RateLimitingQueue<Fragile, ExponentialBackoff<Fragile>, Line>;

/// Items 1 and 2 have failed, and wait for a second; an event has queued item 1.
fn queue(policy: DuringBackoff) -> (Queue, ManualTimer) {
    let timer = ManualTimer::new();
    let queue = RateLimitingQueue::builder()
        .limiter(ExponentialBackoff::new(SECOND, SECOND).unwrap())
        .during_backoff(policy)
        .backlog(Line::default())
        .timer(timer.clone())
        .build()
        .unwrap();
    for item in [1, 2] {
        queue.add(Fragile(item));
        queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    }
    queue.try_add(Fragile(1)).unwrap();
    (queue, timer)
}

/// Runs the step with a panic in its first call of user code, its second and so on, until no call
/// is left. In each case item 2 comes, and item 1 comes once it is added again.
fn in_each_call(policy: DuringBackoff, what: &str, step: impl Fn(&Queue)) {
    for fuse in 0.. {
        let (queue, timer) = queue(policy);
        Fuse::after(fuse).with_drops().light();
        let went_well = catch_unwind(AssertUnwindSafe(|| step(&queue))).is_ok();
        let is_over = Fuse::put_out().is_some();
        assert_eq!(went_well, is_over, "{what}");
        assert_eq!(queue.counts().in_flight, 0, "{what}: call {fuse}");
        timer.advance(SECOND * 100);
        queue.add(Fragile(1));
        let mut items: Vec<u32> = std::iter::from_fn(|| {
            let guard = queue.try_get().ok()?;
            let item = guard.item().0;
            guard.finish(Outcome::Success).unwrap();
            Some(item)
        })
        .collect();
        items.sort_unstable();
        items.dedup();
        assert_eq!(items, [1, 2], "{what}: lost by the panic of call {fuse}");
        assert!(
            (queue.counts().queued == 0) && queue.remembered().failures.items == 0,
            "{what}: call {fuse}"
        );
        if is_over {
            assert!(fuse > 0, "{what}: what has panicked?");
            return;
        }
    }
}

#[test]
fn a_panic_at_the_end_of_an_attempt_leaves_the_queue_usable() {
    let with = Outcome::RetryWith { delay: SECOND, combine: Combine::Max };
    let retries = [
        Outcome::Retry,
        Outcome::RetryAfter(SECOND * 5),
        Outcome::RetryAfter(Duration::ZERO),
        with,
    ];
    for outcome in retries.into_iter().chain([Outcome::Success, Outcome::GiveUp]) {
        in_each_call(DuringBackoff::Keep, &format!("{outcome:?}"), |queue| {
            let left = Fuse::put_out();
            let guard = queue.try_get().unwrap();
            left.into_iter().for_each(Fuse::light);
            guard.finish(outcome).unwrap();
        });
    }
}

#[test]
fn a_panic_in_any_other_verb_leaves_the_queue_usable() {
    for policy in [DuringBackoff::Keep, DuringBackoff::Clear, DuringBackoff::Defer] {
        in_each_call(policy, "add", |queue| assert!(queue.add(Fragile(1)).is_accepted()));
        in_each_call(policy, "cancel", |queue| _ = queue.cancel(&Fragile(1)));
        in_each_call(policy, "remove", |queue| _ = queue.remove(&Fragile(1)));
        in_each_call(policy, "forget", |queue| queue.forget(&Fragile(1)));
        in_each_call(policy, "add_rate_limited", |queue| _ = queue.add_rate_limited(Fragile(1)));
    }
}
