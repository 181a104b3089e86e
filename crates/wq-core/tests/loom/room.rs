//! Room: adds that wait for it in a queue with a capacity.

use loom::future::block_on;
use wq_contract::explore::{join, poll_once, thread};
use wq_core::{Added, WorkQueue};

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
    let guard = queue.try_get_owned().unwrap();
    queue.add(2);
    let adder = thread(&queue, add_wait(3));
    let next = guard.done_and_get().unwrap();
    assert_eq!(*next.item(), 2);
    assert_eq!(adder.join().unwrap(), Added::Queued);
    assert_eq!(*next.done_and_get().unwrap().item(), 3);
}
