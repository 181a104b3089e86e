//! Keepers: a getter keeps time, whichever getter comes, leaves or is never polled again.

use loom::future::block_on;
use wq_contract::explore::{join, poll_once, thread};
use wq_delay::GetTimeoutError;

use crate::world::{HOUR, LAG, SECOND, clock, ready, take, take_async, world};

pub(crate) fn time_comes_while_a_task_begins_to_wait() {
    let (queue, timer) = world();
    queue.add_after(1, SECOND);
    let getter = thread(&queue, take_async);
    timer.advance(SECOND);
    assert_eq!(getter.join().unwrap(), 1);
}

pub(crate) fn time_comes_while_a_thread_begins_to_wait() {
    let (queue, timer) = world();
    queue.add_after(1, SECOND);
    let getter = thread(&queue, take);
    timer.advance(SECOND);
    assert_eq!(getter.join().unwrap(), 1);
}

pub(crate) fn earlier_deadline_arrives() {
    let (queue, timer) = world();
    queue.add_after(2, HOUR);
    let getter = thread(&queue, take_async);
    queue.add_after(1, SECOND);
    timer.advance(SECOND);
    assert_eq!(getter.join().unwrap(), 1);
}

pub(crate) fn first_deadline_arrives() {
    let (queue, timer) = world();
    let getter = thread(&queue, take_async);
    queue.add_after(1, SECOND);
    timer.advance(SECOND);
    assert_eq!(getter.join().unwrap(), 1);
}

pub(crate) fn getter_leaves() {
    let (queue, timer) = world();
    queue.add_after(1, SECOND);
    let mut leaves = queue.get();
    assert!(poll_once(&mut leaves).is_pending());
    let getter = thread(&queue, take_async);
    let clock = clock(&timer, SECOND);
    drop(leaves);
    assert_eq!(getter.join().unwrap(), 1);
    clock.join().unwrap();
}

pub(crate) fn getter_leaves_beside_a_reserve() {
    let (queue, timer) = world();
    queue.add_after(1, SECOND);
    let (mut leaves, mut reserve) = (queue.get(), queue.get());
    assert!(poll_once(&mut leaves).is_pending());
    assert!(poll_once(&mut reserve).is_pending());
    let getter = thread(&queue, take_async);
    timer.advance(SECOND + LAG);
    drop(leaves);
    // The reserve is not polled: the third getter keeps time, or watches the reserve.
    assert_eq!(getter.join().unwrap(), 1);
}

pub(crate) fn timekeeper_never_polled_again() {
    let (queue, timer) = world();
    queue.add_after(1, SECOND);
    queue.add_after(2, SECOND * 2);
    let (mut held, mut reserve) = (queue.get_owned(), queue.get_owned());
    assert!(poll_once(&mut held).is_pending());
    assert!(poll_once(&mut reserve).is_pending());
    let getter = thread(&queue, |queue| {
        assert_eq!(*block_on(reserve).unwrap().item(), 1);
        take_async(queue)
    });
    timer.advance(SECOND + LAG);
    // The held getter is replaced, or will be before the next wait. Item 2 comes at its own time.
    timer.advance(SECOND - LAG);
    assert_eq!(getter.join().unwrap(), 2);
    drop(held);
}

pub(crate) fn two_never_polled_again() {
    let (queue, timer) = world();
    queue.add_after(1, SECOND);
    let (mut one, mut two) = (queue.get(), queue.get());
    assert!(poll_once(&mut one).is_pending());
    assert!(poll_once(&mut two).is_pending());
    let getter = thread(&queue, take_async);
    timer.advance(SECOND * 2);
    queue.add_after(2, HOUR);
    assert_eq!(getter.join().unwrap(), 1);
    drop((one, two));
}

pub(crate) fn polled_with_another_waker() {
    let (queue, timer) = world();
    let mut get = queue.get();
    assert!(poll_once(&mut get).is_pending());
    let deadline = queue.now() + SECOND;
    let add = thread(&queue, move |queue| queue.add_at(1, deadline));
    let clock = clock(&timer, SECOND);
    // This polls with the waker of this thread.
    assert_eq!(*block_on(get).unwrap().item(), 1);
    add.join().unwrap();
    clock.join().unwrap();
}

pub(crate) fn mixed_getters() {
    let (queue, timer) = world();
    queue.add_after(1, SECOND);
    queue.add_after(2, SECOND * 2);
    let getters = [thread(&queue, take_async), thread(&queue, take)];
    timer.advance(SECOND);
    timer.advance(SECOND);
    let mut items = join(getters);
    items.sort_unstable();
    assert_eq!(items, [1, 2]);
}

pub(crate) fn two_getters_one_item() {
    let (queue, timer) = world();
    queue.add_after(1, SECOND);
    let getters = [(); 2].map(|()| {
        thread(&queue, |queue| {
            let got = block_on(queue.get()).map(|guard| *guard.item());
            if got.is_some() {
                _ = queue.shutdown();
            }
            got
        })
    });
    timer.advance(SECOND);
    assert_eq!(join(getters).into_iter().flatten().collect::<Vec<_>>(), [1]);
}

pub(crate) fn dedicated_keeper_dropped() {
    let (queue, timer) = world();
    queue.add_after(1, SECOND);
    let mut keeper = queue.keep_time();
    assert!(poll_once(&mut keeper).is_pending());
    let getter = thread(&queue, take);
    drop(keeper);
    timer.advance(SECOND);
    assert_eq!(getter.join().unwrap(), 1);
}

pub(crate) fn get_timeout_against_due() {
    let (queue, timer) = world();
    queue.add_after(1, SECOND);
    let getter = thread(&queue, |queue| queue.get_timeout(SECOND).map(|guard| *guard.item()));
    timer.advance(SECOND);
    // A get that began after this step waits for the next.
    timer.advance(SECOND);
    match getter.join().unwrap() {
        Ok(item) => assert_eq!(item, 1),
        Err(error) => {
            assert_eq!(error, GetTimeoutError::TimedOut);
            assert_eq!(ready(&queue), [1]);
        }
    }
}
