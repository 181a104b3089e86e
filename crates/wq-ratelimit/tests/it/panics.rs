//! Panics of the caller's code, in whichever of its calls: no item is lost by one.

use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;
use wq_ratelimit::{DuringBackoff, ExponentialBackoff, ManualTimer, Outcome, RateLimitingQueue};

thread_local! {
    /// So many calls of `Hash`, `Eq` and `Clone` go well, and the one after that panics.
    static FUSE: Cell<Option<u32>> = const { Cell::new(None) };
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

#[derive(Debug)]
struct Fragile(u32);

impl Hash for Fragile {
    fn hash<H: Hasher>(&self, state: &mut H) {
        burn();
        self.0.hash(state);
    }
}

impl PartialEq for Fragile {
    fn eq(&self, other: &Self) -> bool {
        burn();
        self.0 == other.0
    }
}

impl Eq for Fragile {}

impl Clone for Fragile {
    fn clone(&self) -> Self {
        burn();
        Self(self.0)
    }
}

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
    queue.try_get().unwrap().finish(Outcome::Park);
    queue
}

/// Takes the step again and again, with a panic in its first call, its second and so on, until none is left to panic.
fn in_each_call(policy: DuringBackoff, step: impl Fn(&Queue)) -> u32 {
    for fuse in 0.. {
        let queue = parked(policy);
        FUSE.set(Some(fuse));
        let went_well = catch_unwind(AssertUnwindSafe(|| step(&queue))).is_ok();
        let is_over = FUSE.take().is_some();
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

#[test]
fn a_parked_item_is_not_lost_by_a_panic_on_its_way_back() {
    let released = in_each_call(DuringBackoff::Keep, |queue| assert!(queue.release(&Fragile(1))));
    let added = in_each_call(DuringBackoff::Clear, |queue| assert!(queue.add(Fragile(1)).is_accepted()));
    assert!(released > 3 && added > 3, "{released}, {added}: what has panicked?");
}
