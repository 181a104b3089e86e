//! Due: calls on a delayed item while its deadline passes.

use wq_contract::explore::{Known, thread};
use wq_delay::{ImmediateAdd, Scheduled, SecondAdd};

use crate::world::{Requests, SECOND, clock, ready, with, world};

pub(crate) fn cancel_against_due() {
    let (queue, timer) = world();
    queue.add_after(1, SECOND);
    let clock = clock(&timer, SECOND);
    let getter = thread(&queue, |queue| ready(queue).len());
    let cancelled = usize::from(queue.cancel(&1).is_some());
    clock.join().unwrap();
    let got = getter.join().unwrap();
    assert_eq!(got + cancelled + ready(&queue).len(), 1);
}

pub(crate) fn second_add_against_due() {
    let (queue, timer) = with(SecondAdd::Replace, ImmediateAdd::Keep);
    queue.add_after(1, SECOND);
    let clock = clock(&timer, SECOND);
    let getter = thread(&queue, |queue| ready(queue).len());
    let is_moved = queue.add_after(1, SECOND * 2) == Scheduled::Moved;
    clock.join().unwrap();
    let now = getter.join().unwrap() + ready(&queue).len();
    assert_eq!(now, usize::from(!is_moved), "at the first deadline");
    timer.advance(SECOND * 2);
    assert_eq!(ready(&queue).len(), 1, "at the second");
}

/// An immediate add with `Merge`, against a worker that takes ready items. The clock stands still,
/// and the item runs once.
pub(crate) fn merge_runs_once() {
    let (queue, _timer) = with(SecondAdd::Earliest, ImmediateAdd::Merge);
    queue.add_after(1, SECOND);
    let worker = thread(&queue, |queue| ready(queue).len());
    assert!(queue.add(1).is_accepted());
    assert_eq!(worker.join().unwrap() + ready(&queue).len(), 1);
    assert_eq!(queue.delayed_len(), 0);
}

/// An immediate add while the deadline of its twin passes and a worker takes an item. Returns the
/// number of runs left after both.
fn immediate_add(policy: ImmediateAdd) -> usize {
    let (queue, timer) = with(SecondAdd::Earliest, policy);
    let requests = Requests::default();
    requests.make();
    queue.add_after(1, SECOND);
    let clock = clock(&timer, SECOND);
    let getter = thread(&queue, {
        let requests = requests.clone();
        move |queue| {
            if let Ok(_guard) = queue.try_get() {
                requests.see();
            }
        }
    });
    requests.make();
    assert!(queue.add(1).is_accepted());
    getter.join().unwrap();
    clock.join().unwrap();
    let mut left = 0;
    while let Ok(_guard) = queue.try_get() {
        requests.see();
        left += 1;
    }
    assert!(requests.are_seen(), "a request was lost");
    assert_eq!(queue.delayed_len(), 0);
    left
}

pub(crate) fn keep_against_a_delayed_twin() {
    assert!(immediate_add(ImmediateAdd::Keep) <= 1, "both requests are in one hand-out by then");
}

pub(crate) fn merge_with_a_delayed_twin() {
    assert!(immediate_add(ImmediateAdd::Merge) <= 1);
}

pub(crate) fn defer_to_a_delayed_twin() {
    assert!(immediate_add(ImmediateAdd::Defer) <= 1);
}

pub(crate) fn due_while_in_flight() {
    let (queue, timer) = world();
    let known = Known::new();
    known.change();
    queue.add(1);
    let guard = queue.try_get().unwrap();
    known.work();
    known.change();
    queue.add_after(1, SECOND);
    let clock = clock(&timer, SECOND);
    let other = thread(&queue, {
        let known = known.clone();
        move |queue| {
            if let Ok(_guard) = queue.try_get() {
                known.work();
            }
        }
    });
    guard.done();
    clock.join().unwrap();
    other.join().unwrap();
    while let Ok(_guard) = queue.try_get() {
        known.work();
    }
    assert_eq!(known.runs(), 2);
    known.judge();
}

pub(crate) fn two_look_at_one_deadline() {
    let (queue, timer) = world();
    queue.add_after(1, SECOND);
    queue.add_after(2, SECOND);
    let clock = clock(&timer, SECOND);
    let other = thread(&queue, |queue| queue.counts().queued);
    assert!(queue.counts().queued <= 2);
    clock.join().unwrap();
    other.join().unwrap();
    assert_eq!(ready(&queue), [1, 2]);
}
