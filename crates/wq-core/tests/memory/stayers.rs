//! What a few items that stay, in the highest places of a burst, keep of its memory.

use stats_alloc::Region;
use std::alloc::System;
use std::time::Duration;

use wq_core::{Observer, ProcessingGuard, WorkQueue};

use crate::{ALLOCATOR, MANY, held, turn};

/// So many items stay.
const STAYERS: u64 = 5;
const OPERATIONS: u64 = 10_000;

/// Wants times: then there are stamps, too.
#[derive(Debug)]
struct Timed;

impl Observer for Timed {
    fn got(&self, _waited: Duration) {}
}

fn unobserved() -> WorkQueue<u64> {
    WorkQueue::new()
}

fn observed() -> WorkQueue<u64> {
    WorkQueue::builder().observer(Timed).build().unwrap()
}

/// Adds many, and takes and ends all of them but the last; returns the most bytes held.
fn burst(region: &Region<'_, System>, queue: &WorkQueue<u64>) -> f64 {
    for number in 0..MANY {
        queue.add(number);
    }
    let peak = held(region);
    for _ in STAYERS..MANY {
        queue.try_get().unwrap().done();
    }
    peak
}

fn take_stayers(queue: &WorkQueue<u64>) -> Vec<ProcessingGuard<'_, u64>> {
    let stayers: Vec<_> = (0..STAYERS).map(|_| queue.try_get().unwrap()).collect();
    assert_eq!(*stayers[0].item(), MANY - STAYERS);
    stayers
}

/// The guards that stay end their own items, wherever these are by now.
fn end(queue: &WorkQueue<u64>, stayers: Vec<ProcessingGuard<'_, u64>>) {
    for guard in stayers {
        let item = *guard.item();
        assert!(guard.is_in_force());
        queue.add(item);
        guard.done();
        assert!(queue.remove(&item).is_some(), "it was to run again");
    }
    assert!(queue.counts().is_idle());
}

#[test]
fn a_few_in_hand_keep_little_after_ten_thousand_operations() {
    let _turn = turn();
    for make in [unobserved, observed] {
        let region = Region::new(ALLOCATOR);
        let queue = make();
        let most = burst(&region, &queue);
        let stayers = take_stayers(&queue);
        for number in 0..OPERATIONS {
            queue.add(number);
            queue.try_get().unwrap().done();
        }
        let kept = held(&region) / most;
        assert!(kept <= 0.05, "{kept} of the peak is kept beside a few in hand");
        end(&queue, stayers);
    }
}

#[test]
fn a_few_in_hand_keep_little_after_shrink() {
    let _turn = turn();
    for make in [unobserved, observed] {
        let region = Region::new(ALLOCATOR);
        let queue = make();
        let most = burst(&region, &queue);
        let stayers = take_stayers(&queue);
        queue.shrink();
        let kept = held(&region) / most;
        assert!(kept <= 0.05, "{kept} of the peak is kept beside a few in hand");
        end(&queue, stayers);
    }
}

/// Nothing is handed out meanwhile, so that they stay.
#[test]
fn a_few_that_are_queued_keep_little_after_ten_thousand_operations() {
    let _turn = turn();
    for make in [unobserved, observed] {
        let region = Region::new(ALLOCATOR);
        let queue = make();
        let most = burst(&region, &queue);
        queue.pause();
        for number in 0..OPERATIONS {
            queue.add(number);
            queue.remove(&number);
        }
        let kept = held(&region) / most;
        assert!(kept <= 0.05, "{kept} of the peak is kept for a few that are queued");
        queue.resume();
        take_stayers(&queue);
    }
}

#[test]
fn a_few_that_are_queued_keep_little_after_shrink() {
    let _turn = turn();
    for make in [unobserved, observed] {
        let region = Region::new(ALLOCATOR);
        let queue = make();
        let most = burst(&region, &queue);
        queue.shrink();
        let kept = held(&region) / most;
        assert!(kept <= 0.05, "{kept} of the peak is kept for a few that are queued");
        take_stayers(&queue);
    }
}
