//! Keepers: timekeepers that come, go, and are held without being polled.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use shuttle::future::block_on;
use shuttle::sync::mpsc::channel;
use shuttle::thread;
use wq_contract::play::roll;

use crate::reached;
use crate::world::{Queue, STEP, world};

/// Longer than a reserve waits for the timekeeper.
const LAG: Duration = Duration::from_millis(5);

/// Item 2 ends the scenario.
fn take(queue: &Queue, item: u8) -> usize {
    if item == 2 {
        _ = queue.shutdown();
    }
    1
}

/// Begins a wait that is never polled again, or takes an item.
fn stall(queue: &Queue) -> (impl Sized, usize) {
    let mut get = queue.get_owned();
    let taken = match Pin::new(&mut get).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Pending => {
            reached::STALLED.note();
            0
        }
        Poll::Ready(guard) => guard.map_or(0, |guard| take(queue, *guard.item())),
    };
    (get, taken)
}

pub(crate) fn stalled_keepers() {
    let (queue, timer) = world();
    queue.add_after(1, STEP * 2);
    let held = (roll(2) == 0).then(|| stall(&queue));
    let getters = [(); 2].map(|()| {
        let queue = queue.clone();
        thread::spawn(move || {
            let mut taken = 0;
            while let Some(guard) = queue.get_blocking() {
                taken += take(&queue, *guard.item());
            }
            taken
        })
    });
    let comings = thread::spawn({
        let queue = queue.clone();
        move || {
            let come_and_go = || {
                let (get, taken) = stall(&queue);
                thread::yield_now();
                drop(get);
                taken
            };
            (0..3).map(|_| come_and_go()).sum::<usize>()
        }
    });
    // The deadline moves earlier while a getter may sleep until the deadline of item 1.
    let deadline = queue.now() + STEP;
    queue.add_at(0, deadline);
    queue.add_at(2, deadline + STEP * 5);
    // The clock advances only twice: a getter that sleeps longer than its duty never wakes.
    timer.advance(STEP * 2 + LAG);
    timer.advance(STEP * 4 + LAG);
    let mut taken = comings.join().unwrap();
    taken += getters.into_iter().map(|getter| getter.join().unwrap()).sum::<usize>();
    assert_eq!(taken, 3);
    drop(held);
}

/// Each deadline is the first or earlier than another, and one getter must not miss any.
pub(crate) fn one_getter_in_time() {
    const ROUNDS: u8 = 30;
    let (queue, timer) = world();
    let is_stalled = roll(2) == 0;
    let held = is_stalled.then(|| stall(&queue));
    if roll(2) == 0 {
        queue.add_after(u8::MAX, STEP * 10_000);
    }
    let (taken, takes) = channel();
    let getter = thread::spawn({
        let queue = queue.clone();
        move || {
            loop {
                let guard = if roll(2) == 0 { queue.get_blocking() } else { block_on(queue.get()) };
                let Some(guard) = guard else { return };
                taken.send(*guard.item()).unwrap();
            }
        }
    });
    for item in 0..ROUNDS {
        queue.add_after(item, STEP);
        timer.advance(STEP);
        if is_stalled {
            timer.advance(LAG);
        }
        // No other thread moves the clock: a getter that sleeps on never wakes.
        assert_eq!(takes.recv().unwrap(), item);
    }
    _ = queue.shutdown();
    getter.join().unwrap();
    drop(held);
}
