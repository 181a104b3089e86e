//! The costs of delayed items, counted exactly: bytes per item, and released memory.

use std::alloc::System;
use std::time::Duration;

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use wq_delay::{Debounce, DelayingQueue, ManualTimer};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The table is as full as with a million items: both are 95 % of a power of two.
const MANY: u64 = 500_000;

/// The bytes allocated since the region began and still held.
fn held(region: &Region<'_, System>) -> f64 {
    let change = region.change();
    (change.bytes_allocated as f64) - (change.bytes_deallocated as f64)
}

fn queue() -> (DelayingQueue<u64>, ManualTimer) {
    let timer = ManualTimer::new();
    (DelayingQueue::builder().timer(timer.clone()).build().unwrap(), timer)
}

/// A delay of up to a minute, another for each number.
fn delay(number: u64) -> Duration {
    Duration::from_nanos(1 + number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 60_000_000_000)
}

fn add_many(queue: &DelayingQueue<u64>) {
    for number in 0..MANY {
        queue.add_after(number, delay(number));
    }
}

/// One test only, because the allocator counts the whole process.
#[test]
fn delayed_items_take_60_bytes_each_at_most_and_leave_none_behind() {
    let region = Region::new(ALLOCATOR);
    let (queue, _timer) = queue();
    add_many(&queue);
    let each = held(&region) / MANY as f64;
    // tokio-util's DelayQueue with a map: 111.
    assert!(each <= 60.0, "{each} bytes each");
    let before = held(&region);
    let debounce = Debounce::new(Duration::from_secs(1), Duration::from_secs(60)).unwrap();
    for number in 0..MANY {
        queue.add_debounced(number, debounce);
        queue.add_after(number, delay(number + 1));
    }
    assert!(held(&region) <= before, "adds of what waits already hold nothing");
    for number in 0..MANY {
        queue.cancel(&number);
    }
    // A while of low occupancy.
    for number in 0..2000 {
        queue.add_after(number, delay(number));
        queue.cancel(&number);
    }
    let kept = held(&region) / MANY as f64;
    assert!(kept <= 0.05 * each, "{kept} bytes each are kept once all were taken out");
    add_many(&queue);
    let full = held(&region);
    let goes =
        |number: &u64| !(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20).is_multiple_of(10);
    (0..MANY).filter(goes).for_each(|number| _ = queue.cancel(&number));
    assert!(held(&region) <= full, "to take items out holds nothing");
    for number in MANY..MANY + 2000 {
        queue.add_after(number, delay(number));
        queue.cancel(&number);
    }
    let left = queue.delayed_len() as f64;
    let kept = held(&region) / left;
    assert!(
        left > 0.09 * MANY as f64 && kept <= 120.0,
        "{kept} bytes for each of {left} that are left"
    );
    add_many(&queue);
    assert_eq!(queue.shutdown().len() as u64, MANY);
    let kept = held(&region) / MANY as f64;
    assert!(kept <= 0.05 * each, "{kept} bytes each are kept after shutdown");
}
