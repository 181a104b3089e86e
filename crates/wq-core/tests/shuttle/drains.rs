//! Drains: in every form and at every time, with workers that panic and add items.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use shuttle::future::{block_on, spawn};
use shuttle::thread;
use wq_contract::impatience::impatient;
use wq_contract::play::roll;
use wq_core::WorkQueue;

use crate::books::{Books, ITEMS};
use crate::reached;

/// Works until the queue ends, panics now and then, and adds its item or another.
fn worker(queue: &WorkQueue<u8>, books: &Books) {
    loop {
        let ended = catch_unwind(AssertUnwindSafe(|| {
            let Some(guard) = queue.get_blocking() else { return true };
            books.begin(*guard.item());
            match roll(6) {
                0 => books.add(queue, *guard.item()),
                1 => books.add(queue, roll(ITEMS)),
                2 => thread::yield_now(),
                _ => {}
            }
            books.end(*guard.item());
            if roll(6) == 0 {
                reached::PANICKED.note();
                resume_unwind(Box::new(()));
            }
            guard.done();
            false
        }));
        if ended.is_ok_and(|ended| ended) {
            return;
        }
    }
}

fn drainer(queue: &WorkQueue<u8>) {
    for _ in 0..4 {
        match roll(3) {
            0 => match queue.drained().wait_timeout(Duration::from_secs(1)) {
                Ok(()) => reached::DRAINED.note(),
                Err(left) => {
                    reached::NOT_DRAINED.note();
                    assert!(left.queued + left.in_flight.len() > 0);
                }
            },
            1 => drop(block_on(impatient(queue.drained()))),
            _ => block_on(queue.drained()),
        }
    }
}

fn remover(queue: &WorkQueue<u8>, books: &Books) {
    for _ in 0..40 {
        if queue.remove(&roll(ITEMS)).is_some() {
            books.took_out();
        }
    }
}

/// After shutdown the end of a drain is final.
fn last_drainer(queue: &WorkQueue<u8>) {
    queue.shutdown();
    block_on(queue.drained());
    assert!(
        queue.counts().is_idle(),
        "the drain was over before the work was: {:?}",
        queue.counts()
    );
}

pub(crate) fn drains_all_along() {
    let (queue, books) = (WorkQueue::new(), Arc::new(Books::default()));
    let workers = [(); 2].map(|()| {
        let (queue, books) = (queue.clone(), Arc::clone(&books));
        thread::spawn(move || worker(&queue, &books))
    });
    let adder = {
        let (queue, books) = (queue.clone(), Arc::clone(&books));
        thread::spawn(move || (0..30).for_each(|_| books.add(&queue, roll(ITEMS))))
    };
    let remover = {
        let (queue, books) = (queue.clone(), Arc::clone(&books));
        thread::spawn(move || remover(&queue, &books))
    };
    let drainers = [drainer, drainer, last_drainer, last_drainer].map(|drainer| {
        let queue = queue.clone();
        thread::spawn(move || drainer(&queue))
    });
    let task = spawn({
        let queue = queue.clone();
        async move { queue.drained().await }
    });
    for thread in workers.into_iter().chain(drainers).chain([adder, remover]) {
        thread.join().unwrap();
    }
    block_on(task).unwrap();
    books.judge_counts(&queue);
}
