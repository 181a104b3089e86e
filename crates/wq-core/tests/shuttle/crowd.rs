//! Crowd: threads of every kind at once.

use std::sync::Arc;
use std::time::Duration;

use shuttle::future::block_on;
use shuttle::thread;
use wq_contract::play::roll;
use wq_core::{GetTimeoutError, TryGetError, WorkQueue};

use crate::books::{Books, ITEMS};
use crate::reached;

const ADDS: usize = 25;

fn adder(queue: &WorkQueue<u8>, books: &Books) {
    for _ in 0..ADDS {
        let item = roll(ITEMS);
        match roll(4) {
            0 => {
                let batch = [item, roll(ITEMS)];
                batch.iter().for_each(|&item| books.change(item));
                let all = queue.add_all(batch);
                books.promise(all.queued + all.deferred);
            }
            1 => {
                let mut adds = queue.defer_wakes();
                books.change(item);
                books.added(adds.add(item, ()));
            }
            2 => {
                books.change(item);
                books.added(queue.try_add(item).unwrap());
            }
            _ => books.add(queue, item),
        }
    }
}

/// Gets in every form, until the queue ends.
fn worker(queue: &WorkQueue<u8>, books: &Books) {
    loop {
        let guard = match roll(6) {
            0 => match queue.get_timeout(Duration::from_secs(1)) {
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
                    thread::yield_now();
                    continue;
                }
                Err(_) => None,
            },
            2 => block_on(queue.get()),
            3 => match block_on(queue.get_owned()) {
                Some(guard) => {
                    books.work(*guard.item());
                    continue;
                }
                None => return,
            },
            _ => queue.get_blocking(),
        };
        if guard.is_none() {
            return;
        }
        let mut next = guard;
        while let Some(guard) = next.take() {
            books.work(*guard.item());
            if roll(2) == 0 {
                next = guard.done_and_get().ok();
            }
        }
    }
}

/// Makes all other calls of a queue.
fn meddler(queue: &WorkQueue<u8>, books: &Books) {
    for _ in 0..20 {
        let item = roll(ITEMS);
        match roll(6) {
            0 => queue.pause(),
            1 => {
                let counts = queue.counts();
                assert!(counts.queued + counts.in_flight <= usize::from(ITEMS));
                assert!(counts.to_run_again <= counts.in_flight);
            }
            2 => {
                let snapshot = queue.snapshot();
                assert_eq!(
                    snapshot.items.len(),
                    snapshot.counts.queued + snapshot.counts.in_flight
                );
            }
            _ => {
                // The item is added again after its removal, so that no earlier add is lost.
                books.change(item);
                if queue.remove(&item).is_some() {
                    books.took_out();
                }
                books.added(queue.add(item));
            }
        }
        if roll(2) == 0 {
            queue.resume();
        }
    }
    queue.resume();
}

pub(crate) fn threads_of_every_kind() {
    let (queue, books) = (WorkQueue::new(), Arc::new(Books::default()));
    let start = |role: fn(&WorkQueue<u8>, &Books)| {
        let (queue, books) = (queue.clone(), Arc::clone(&books));
        thread::spawn(move || role(&queue, &books))
    };
    let workers = [start(worker), start(worker), start(worker), start(worker)];
    let others = [start(adder), start(adder), start(meddler)];
    for other in others {
        other.join().unwrap();
    }
    block_on(queue.drained());
    queue.shutdown();
    for worker in workers {
        worker.join().unwrap();
    }
    books.judge(&queue);
}
