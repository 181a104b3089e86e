//! Getters: which getter receives an item, and no wake-up is lost.

use std::time::Duration;

use loom::future::block_on;
use wq_contract::explore::{join, poll_once, thread};
use wq_core::{GetTimeoutError, WorkQueue};

const SECOND: Duration = Duration::from_secs(1);

/// Takes an item with a blocking get, done at once.
fn take(queue: &WorkQueue<u8>) -> u8 {
    *queue.get_blocking().unwrap().item()
}

fn sorted(mut items: Vec<u8>) -> Vec<u8> {
    items.sort_unstable();
    items
}

pub(crate) fn add_against_blocking_get() {
    let queue = WorkQueue::new();
    let getter = thread(&queue, take);
    queue.add(1);
    assert_eq!(getter.join().unwrap(), 1);
}

pub(crate) fn add_against_async_get() {
    let queue = WorkQueue::new();
    let getter = thread(&queue, |queue| *block_on(queue.get()).unwrap().item());
    queue.add(1);
    assert_eq!(getter.join().unwrap(), 1);
}

pub(crate) fn async_and_blocking_getters() {
    let queue = WorkQueue::new();
    let getters = [
        thread(&queue, take),
        thread(&queue, |queue| *block_on(queue.get_owned()).unwrap().item()),
    ];
    queue.add(1);
    queue.add(2);
    assert_eq!(sorted(join(getters)), [1, 2]);
}

pub(crate) fn two_adders_two_getters() {
    let queue = WorkQueue::new();
    let getters = [thread(&queue, take), thread(&queue, take)];
    let adder = thread(&queue, |queue| queue.add(1));
    queue.add(2);
    assert_eq!(sorted(join(getters)), [1, 2]);
    adder.join().unwrap();
}

pub(crate) fn woken_getter_dropped() {
    let queue = WorkQueue::new();
    let dropper = thread(&queue, |queue| {
        let mut get = queue.get();
        poll_once(&mut get).is_ready()
    });
    let getter = thread(&queue, take);
    queue.add(1);
    if dropper.join().unwrap() {
        queue.add(1);
    }
    assert_eq!(getter.join().unwrap(), 1);
}

pub(crate) fn two_woken_never_polled() {
    a_getter_beside_two_held(40);
}

pub(crate) fn two_woken_never_polled_for_few_items() {
    a_getter_beside_two_held(2);
}

/// Makes 40 adds that cycle through this many items, beside two held getters.
fn a_getter_beside_two_held(items: u8) {
    let queue = WorkQueue::new();
    let mut held = [queue.get(), queue.get()];
    assert!(held.iter_mut().all(|get| poll_once(get).is_pending()));
    let getter = thread(&queue, take);
    (0..40).for_each(|turn| {
        queue.add(turn % items);
    });
    assert!(getter.join().unwrap() < items);
}

pub(crate) fn repolled_with_another_waker() {
    let queue = WorkQueue::new();
    let getter = thread(&queue, |queue| {
        let mut get = queue.get();
        match poll_once(&mut get) {
            std::task::Poll::Ready(guard) => *guard.unwrap().item(),
            std::task::Poll::Pending => *block_on(get).unwrap().item(),
        }
    });
    queue.add(1);
    assert_eq!(getter.join().unwrap(), 1);
}

pub(crate) fn try_get_against_woken_getter() {
    let queue = WorkQueue::new();
    let getter = thread(&queue, take);
    let thief = thread(&queue, |queue| queue.try_get().is_ok());
    queue.add(1);
    if thief.join().unwrap() {
        queue.add(2);
        assert_eq!(getter.join().unwrap(), 2);
    } else {
        assert_eq!(getter.join().unwrap(), 1);
    }
}

pub(crate) fn woken_twice_for_nothing() {
    let queue = WorkQueue::new();
    let getter = thread(&queue, take);
    // A wrong state of a getter that sleeps again only shows once both wake-ups are used up.
    for item in 0..2 {
        queue.add(item);
        drop(queue.try_get());
    }
    queue.add(3);
    assert!(getter.join().unwrap() <= 3);
}

pub(crate) fn timeout_against_add() {
    let queue = WorkQueue::new();
    let getter = thread(&queue, |queue| queue.get_timeout(SECOND).map(|guard| *guard.item()));
    queue.add(1);
    match getter.join().unwrap() {
        Ok(item) => assert_eq!(item, 1),
        Err(error) => {
            assert_eq!(error, GetTimeoutError::TimedOut);
            assert_eq!(take(&queue), 1);
        }
    }
    assert!(queue.counts().is_idle());
}

pub(crate) fn timed_out_getter_passes_on() {
    let queue = WorkQueue::new();
    let hasty = thread(&queue, |queue| queue.get_timeout(SECOND).is_ok());
    let getter = thread(&queue, take);
    queue.add(1);
    if hasty.join().unwrap() {
        queue.add(1);
    }
    assert_eq!(getter.join().unwrap(), 1);
}

pub(crate) fn add_all_to_three_getters() {
    let queue = WorkQueue::new();
    let getters = [thread(&queue, take), thread(&queue, take), thread(&queue, take)];
    assert_eq!(queue.add_all([1, 2, 3]).queued, 3);
    assert_eq!(sorted(join(getters)), [1, 2, 3]);
}

pub(crate) fn three_adds_to_three_getters() {
    let queue = WorkQueue::new();
    let getters = [thread(&queue, take), thread(&queue, take), thread(&queue, take)];
    (1..=3).for_each(|item| {
        queue.add(item);
    });
    assert_eq!(sorted(join(getters)), [1, 2, 3]);
}

pub(crate) fn quiet_add_against_get() {
    let queue = WorkQueue::new();
    let getter = thread(&queue, take);
    let other = loom::sync::Mutex::new(());
    let mut adds = queue.defer_wakes();
    let held = other.lock().unwrap();
    adds.add(1, ());
    drop(held);
    drop(adds);
    assert_eq!(getter.join().unwrap(), 1);
}

pub(crate) fn resume_against_get() {
    let queue = WorkQueue::new();
    queue.pause();
    queue.add(1);
    let getter = thread(&queue, take);
    queue.resume();
    assert_eq!(getter.join().unwrap(), 1);
}

pub(crate) fn pause_against_add() {
    let queue = WorkQueue::new();
    let adder = thread(&queue, |queue| queue.add(1));
    let getter = thread(&queue, take);
    queue.pause();
    if queue.counts().queued == 1 {
        assert!(queue.try_get().is_err());
        assert_eq!(queue.counts().queued, 1);
    }
    queue.resume();
    assert_eq!(getter.join().unwrap(), 1);
    adder.join().unwrap();
}

pub(crate) fn remove_against_get() {
    let queue = WorkQueue::new();
    queue.add(1);
    queue.add(1);
    let remover = thread(&queue, |queue| queue.remove(&1).is_some());
    let getter = thread(&queue, |queue| queue.try_get().is_ok());
    let main = queue.try_get().is_ok();
    let removed = remover.join().unwrap();
    let got = getter.join().unwrap();
    assert_eq!(usize::from(removed) + usize::from(got) + usize::from(main), 1);
    assert!(queue.counts().is_idle());
}
