//! Room: adds that wait for it in a queue with a capacity.

use std::time::Duration;

use loom::future::block_on;
use wq_contract::explore::{join, poll_once, thread};
use wq_core::{Added, RejectedReason, WorkQueue};

const SECOND: Duration = Duration::from_secs(1);
/// So many calls of woken adders that nobody answered are one short of writing those off.
const ALMOST_WRITTEN_OFF: u8 = 31;

/// A queue with room for one, and one item in it.
fn full() -> WorkQueue<u8> {
    let queue = WorkQueue::builder().capacity(1).build().unwrap();
    queue.add(1);
    queue
}

fn add_wait(item: u8) -> impl FnOnce(&WorkQueue<u8>) -> Added {
    move |queue| block_on(queue.add_wait(item)).unwrap()
}

pub(crate) fn add_wait_against_get() {
    let queue = full();
    let adder = thread(&queue, add_wait(2));
    assert_eq!(*queue.get_blocking().unwrap().item(), 1);
    assert_eq!(*queue.get_blocking().unwrap().item(), 2);
    assert_eq!(adder.join().unwrap(), Added::Queued);
}

pub(crate) fn two_waits_for_room() {
    let queue = full();
    let adders = [thread(&queue, add_wait(2)), thread(&queue, add_wait(3))];
    let mut items: Vec<u8> = (0..3).map(|_| *queue.get_blocking().unwrap().item()).collect();
    items.sort_unstable();
    assert_eq!(items, [1, 2, 3]);
    assert_eq!(join(adders), [Added::Queued; 2]);
}

pub(crate) fn dropped_add_wait_passes_on() {
    let queue = full();
    let adder = thread(&queue, add_wait(2));
    let dropper = thread(&queue, |queue| poll_once(&mut queue.add_wait(3)).is_ready());
    assert_eq!(*queue.get_blocking().unwrap().item(), 1);
    if dropper.join().unwrap() {
        // It was let in, so it must come out before there is room for the other.
        let mut items = [*queue.get_blocking().unwrap().item(), *queue.get_blocking().unwrap().item()];
        items.sort_unstable();
        assert_eq!(items, [2, 3]);
    } else {
        assert_eq!(*queue.get_blocking().unwrap().item(), 2);
    }
    assert_eq!(adder.join().unwrap(), Added::Queued);
}

pub(crate) fn remove_makes_room() {
    let queue = full();
    let adder = thread(&queue, add_wait(2));
    assert_eq!(queue.remove(&1), Some(1));
    assert_eq!(adder.join().unwrap(), Added::Queued);
    assert_eq!(queue.len(), 1);
}

pub(crate) fn add_wait_against_shutdown() {
    let queue = full();
    let adder = thread(&queue, |queue| block_on(queue.add_wait(2)).map_err(|rejected| rejected.into_item()));
    let getter = thread(&queue, |queue| {
        std::iter::from_fn(|| queue.get_blocking().map(|guard| *guard.item())).collect::<Vec<_>>()
    });
    queue.shutdown();
    match adder.join().unwrap() {
        Ok(added) => {
            assert_eq!(added, Added::Queued);
            assert_eq!(getter.join().unwrap(), [1, 2]);
        }
        Err(item) => {
            assert_eq!(item, 2);
            assert_eq!(getter.join().unwrap(), [1]);
        }
    }
}

pub(crate) fn done_and_get_makes_room() {
    let queue = WorkQueue::builder().capacity(1).build().unwrap();
    queue.add(1);
    let guard = queue.try_get().unwrap();
    queue.add(2);
    let adder = thread(&queue, add_wait(3));
    let next = guard.done_and_get().unwrap();
    assert_eq!(*next.item(), 2);
    assert_eq!(adder.join().unwrap(), Added::Queued);
    assert_eq!(*next.done_and_get().unwrap().item(), 3);
}

pub(crate) fn blocking_add_against_get() {
    let queue = full();
    let adders = [thread(&queue, |queue| queue.add_wait_blocking(2).unwrap()), thread(&queue, add_wait(3))];
    let mut items: Vec<u8> = (0..3).map(|_| *queue.get_blocking().unwrap().item()).collect();
    items.sort_unstable();
    assert_eq!(items, [1, 2, 3]);
    assert_eq!(join(adders), [Added::Queued; 2]);
}

pub(crate) fn add_timeout_against_get() {
    let queue = full();
    let adder = thread(&queue, |queue| queue.add_wait_timeout(2, SECOND));
    assert_eq!(*queue.get_blocking().unwrap().item(), 1);
    match adder.join().unwrap() {
        Ok(added) => {
            assert_eq!(added, Added::Queued);
            assert_eq!(*queue.get_blocking().unwrap().item(), 2);
        }
        Err(rejected) => {
            assert_eq!((*rejected.item(), rejected.reason()), (2, RejectedReason::TimedOut));
        }
    }
    assert!(queue.counts().is_idle());
}

pub(crate) fn timed_out_add_passes_on() {
    let queue = full();
    let hasty = thread(&queue, |queue| queue.add_wait_timeout(2, SECOND).is_ok());
    let adder = thread(&queue, |queue| queue.add_wait_blocking(3).unwrap());
    assert_eq!(*queue.get_blocking().unwrap().item(), 1);
    if hasty.join().unwrap() {
        let mut items = [(); 2].map(|()| *queue.get_blocking().unwrap().item());
        items.sort_unstable();
        assert_eq!(items, [2, 3]);
    } else {
        assert_eq!(*queue.get_blocking().unwrap().item(), 3);
    }
    assert_eq!(adder.join().unwrap(), Added::Queued);
}

pub(crate) fn held_adder_beside_another() {
    let queue = full();
    let mut held = queue.add_wait(2);
    assert!(poll_once(&mut held).is_pending());
    let adder = thread(&queue, |queue| queue.add_wait_blocking(3).unwrap());
    assert_eq!(*queue.get_blocking().unwrap().item(), 1);
    // The room has called the one who is held. This finds nothing, and calls the other.
    assert_eq!(*queue.get_blocking().unwrap().item(), 3);
    assert_eq!(adder.join().unwrap(), Added::Queued);
    assert_eq!(held.into_item(), Some(2));
}

pub(crate) fn two_held_adders_are_written_off() {
    let queue = full();
    let mut held = [2, 3, 4].map(|item| queue.add_wait(item));
    assert!(held.iter_mut().all(|add| poll_once(add).is_pending()));
    for _ in 0..2 + ALMOST_WRITTEN_OFF {
        assert_eq!(*queue.try_get().unwrap().item(), 1);
        queue.add(1);
    }
    let [first, second, last] = held;
    drop(last);
    let adder = thread(&queue, |queue| queue.add_wait_blocking(5).unwrap());
    // The last room. No worker comes and finds nothing.
    assert_eq!(*queue.try_get().unwrap().item(), 1);
    assert_eq!(adder.join().unwrap(), Added::Queued);
    assert_eq!(*queue.try_get().unwrap().item(), 5);
    drop((first, second));
}
