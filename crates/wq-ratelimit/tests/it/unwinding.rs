//! A panic of an item's `Clone` while the queue lists items: what is dropped on the way out is not dropped under a lock of the queue.
//! (If it was, this test would not end.)

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;
use wq_ratelimit::{ExponentialBackoff, ManualTimer, Outcome, RateLimitingQueue};

type Queue = RateLimitingQueue<Caller, ExponentialBackoff<Caller>>;

thread_local! {
    /// So many calls of `Clone` go well, and the one after that panics.
    static FUSE: Cell<Option<u32>> = const { Cell::new(None) };
    /// The queue that each item calls when it is dropped.
    static CALLED: RefCell<Option<Queue>> = const { RefCell::new(None) };
    static CALLS: Cell<u32> = const { Cell::new(0) };
}

fn burn() {
    match FUSE.get() {
        Some(0) => {
            FUSE.set(None);
            resume_unwind(Box::new(())); // Nothing is printed for it.
        }
        left => FUSE.set(left.map(|left| left - 1)),
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Caller(u32);

impl Clone for Caller {
    fn clone(&self) -> Self {
        burn();
        Self(self.0)
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        CALLED.with_borrow(|queue| {
            if let Some(queue) = queue {
                let _ = (queue.remembered(), queue.delayed_len(), queue.len()); // Each takes a lock.
                CALLS.set(CALLS.get() + 1);
            }
        });
    }
}

/// Eight items have failed, and the limiter remembers the newest.
fn queue() -> Queue {
    let second = Duration::from_secs(1);
    let limiter = ExponentialBackoff::new(second, second).unwrap().bounded(4, second * 2).unwrap();
    let queue = RateLimitingQueue::builder().limiter(limiter).timer(ManualTimer::new()).build().unwrap();
    for item in 0..8 {
        queue.add(Caller(item));
        queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    }
    queue
}

fn in_each_call(what: &str, step: impl Fn(&Queue)) {
    for fuse in 0.. {
        let queue = queue();
        CALLED.set(Some(queue.clone()));
        FUSE.set(Some(fuse));
        let went_well = catch_unwind(AssertUnwindSafe(|| step(&queue))).is_ok();
        let is_over = FUSE.take().is_some();
        assert_eq!(went_well, is_over, "{what}");
        CALLED.take();
        if is_over {
            assert!(fuse > 2 && CALLS.get() > 0, "{what}: what has panicked?");
            return;
        }
    }
}

#[test]
fn nothing_is_dropped_under_a_lock_on_the_way_out_of_a_panic() {
    in_each_call("forget_where", |queue| assert!(queue.forget_where(|_| true) > 4));
}
