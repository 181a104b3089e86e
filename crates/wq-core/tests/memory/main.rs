//! Memory: the costs of the queue, counted exactly. These are bytes per item, allocations per
//! cycle, released memory, and wake-ups per burst.

mod burst;

use std::alloc::System;
use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use wq_core::WorkQueue;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The allocator counts the whole process, so the tests run one at a time.
static TURN: Mutex<()> = Mutex::new(());

/// The table is as full as with a million items: both are 95 % of a power of two.
const MANY: u64 = 125_000;

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock()
}

/// The allocations of `work`: the fewest of five runs, because the harness may allocate meanwhile.
fn allocations(mut work: impl FnMut()) -> usize {
    let once = |_| {
        let region = Region::new(ALLOCATOR);
        work();
        region.change().allocations
    };
    (0..5).map(once).min().unwrap_or_default()
}

/// The bytes allocated since the region began and still held.
fn held(region: &Region<'_, System>) -> f64 {
    let change = region.change();
    (change.bytes_allocated as f64) - (change.bytes_deallocated as f64)
}

/// A name of 24 bytes, in one allocation of 24 bytes.
fn name(number: u64) -> String {
    let mut name = String::with_capacity(24);
    let _ = write!(name, "namespace-1/name-{number:07}");
    name
}

#[test]
fn queued_numbers_take_34_bytes_each() {
    let _turn = turn();
    let region = Region::new(ALLOCATOR);
    let queue = WorkQueue::new();
    for number in 0..MANY {
        queue.add(number);
    }
    let each = held(&region) / MANY as f64;
    // client-go: 46.2.
    assert!(each <= 34.0, "{each} bytes each");
}

#[test]
fn queued_strings_take_77_bytes_each_their_24_included() {
    let _turn = turn();
    let region = Region::new(ALLOCATOR);
    let queue = WorkQueue::new();
    for number in 0..MANY {
        queue.add(name(number));
    }
    let each = held(&region) / MANY as f64;
    // client-go: 104.
    assert!(each <= 77.0, "{each} bytes each");
}

/// Adds many items and takes them all. Returns the peak of held bytes.
fn peak(region: &Region<'_, System>, queue: &WorkQueue<u64>) -> f64 {
    for number in 0..MANY {
        queue.add(number);
    }
    let peak = held(region);
    while let Ok(guard) = queue.try_get() {
        guard.done();
    }
    peak
}

/// Upstream releases nothing (D23).
#[test]
fn a_queue_that_was_full_gives_back_what_it_held() {
    let _turn = turn();
    let region = Region::new(ALLOCATOR);
    let queue = WorkQueue::new();
    let most = peak(&region, &queue);
    for number in 0..10_000 {
        queue.add(number);
        queue.try_get().unwrap().done();
    }
    let kept = held(&region) / most;
    assert!(kept <= 0.05, "{kept} of the peak is kept after 10,000 operations");
}

/// The held items are the last of many: the slots below them stay until they are done.
#[test]
fn what_a_few_in_hand_have_kept_comes_back_when_they_are_done() {
    let _turn = turn();
    let region = Region::new(ALLOCATOR);
    let queue = WorkQueue::new();
    (0..MANY).for_each(|number| _ = queue.add(number));
    let most = held(&region);
    (5..MANY).for_each(|_| queue.try_get().unwrap().done());
    let stayers: Vec<_> = (0..5).map(|_| queue.try_get().unwrap()).collect();
    let cycles = || {
        for number in 0..10_000 {
            queue.add(number);
            queue.try_get().unwrap().done();
        }
    };
    cycles();
    drop(stayers);
    cycles();
    let kept = held(&region) / most;
    assert!(kept <= 0.05, "{kept} of the peak is kept after they are done");
}

/// A worker pool that is never idle: the queue is never empty.
#[test]
fn a_queue_that_was_full_gives_memory_back_while_three_items_are_in_hand() {
    let _turn = turn();
    let region = Region::new(ALLOCATOR);
    let queue = WorkQueue::new();
    (0..MANY).for_each(|number| _ = queue.add(number));
    let most = held(&region);
    let mut in_hand = VecDeque::new();
    let mut take = || {
        in_hand.push_back(queue.try_get().unwrap());
        if in_hand.len() > 3 {
            in_hand.pop_front();
        }
    };
    (0..MANY).for_each(|_| take());
    for number in 0..MANY / 2 {
        queue.add(number);
        take();
    }
    let kept = held(&region) / most;
    assert!(kept <= 0.05, "{kept} of the peak is kept");
}

#[test]
fn a_cycle_of_a_string_takes_two_allocations() {
    let _turn = turn();
    let queue = WorkQueue::new();
    let cycles = || {
        for number in 0..1000 {
            queue.add(name(number));
            queue.try_get().unwrap().done();
        }
    };
    assert_eq!(allocations(cycles), 2000, "the caller's, and the clone");
}

#[test]
fn a_duplicate_that_is_added_by_name_allocates_nothing() {
    let _turn = turn();
    let queue = WorkQueue::<Arc<str>>::new();
    queue.add_ref("namespace-1/name");
    let adds = || {
        for _ in 0..1000 {
            queue.add_ref("namespace-1/name");
        }
    };
    assert_eq!(allocations(adds), 0);
}

#[test]
fn numbers_allocate_nothing_once_the_queue_has_its_size() {
    let _turn = turn();
    let queue = WorkQueue::new();
    let cycles = || {
        for number in 0..1000 {
            queue.add(number);
            queue.add(number);
            let guard = queue.get_blocking().unwrap();
            queue.add(number);
            guard.done_and_get().unwrap().done();
        }
    };
    assert_eq!(allocations(cycles), 0);
}
