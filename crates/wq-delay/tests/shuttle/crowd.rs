//! Crowd: threads of every kind at once.

use std::sync::Arc;

use shuttle::future::block_on;
use shuttle::thread;
use wq_contract::play::roll;
use wq_delay::{Debounce, GetTimeoutError, TryGetError};

use crate::books::{Books, ITEMS};
use crate::reached;
use crate::world::{Clock, Queue, STEP, world};

const ADDS: usize = 20;

fn adder(queue: &Queue, books: &Books) {
    for _ in 0..ADDS {
        let item = roll(ITEMS);
        match roll(4) {
            0 => {
                books.request(item);
                queue.add_debounced(item, Debounce::new(STEP, STEP * 3).unwrap());
            }
            1 => {
                queue.add_after(item + ITEMS, STEP * 2);
            }
            _ => books.add(queue, item),
        }
    }
}

/// The books do not count items from `ITEMS` on: these are only delayed, removed and moved.
fn work(books: &Books, item: u8) {
    if item < ITEMS {
        books.work(item);
    }
}

fn worker(queue: &Queue, books: &Books) {
    loop {
        let guard = match roll(5) {
            0 => match queue.get_timeout(STEP) {
                Ok(guard) => Some(guard),
                Err(GetTimeoutError::TimedOut) => {
                    reached::TIMED_OUT.note();
                    continue;
                }
                Err(_) => None,
            },
            1 => match queue.try_get() {
                Ok(guard) => Some(guard),
                Err(TryGetError::Empty) => {
                    if queue.delayed_len() > 0 {
                        reached::EARLY_LOOKS.note();
                    }
                    thread::yield_now();
                    continue;
                }
                Err(_) => None,
            },
            2 => block_on(queue.get()),
            _ => queue.get_blocking(),
        };
        let Some(guard) = guard else { return };
        work(books, *guard.item());
    }
}

/// Makes all other calls of a queue.
fn meddler(queue: &Queue) {
    for _ in 0..20 {
        let item = ITEMS + roll(ITEMS);
        match roll(5) {
            0 => {
                if queue.cancel(&item).is_some() {
                    reached::CANCELLED.note();
                }
            }
            1 | 2 => {
                let _ = queue.deadline(&item);
            }
            3 => {
                queue.remove(&item);
            }
            _ => {
                queue.add_after(item, STEP);
            }
        }
    }
}

pub(crate) fn threads_of_every_kind() {
    let (queue, timer) = world();
    let books = Arc::new(Books::default());
    let start = |role: fn(&Queue, &Books)| {
        let (queue, books) = (queue.clone(), Arc::clone(&books));
        thread::spawn(move || role(&queue, &books))
    };
    let workers = [start(worker), start(worker), start(worker), start(worker)];
    let others = [start(adder), start(adder), start(|queue, _| meddler(queue))];
    let clock = Clock::start(&timer);
    for other in others {
        other.join().unwrap();
    }
    block_on(queue.drained());
    assert_eq!(queue.shutdown(), [0; 0]);
    for worker in workers {
        worker.join().unwrap();
    }
    clock.stop();
    books.judge(&queue);
}
