//! Room: a capacity that is always used up, and adds that wait for it.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use shuttle::future::{block_on, spawn, yield_now};
use shuttle::thread;
use wq_contract::impatience::impatient;
use wq_contract::play::roll;
use wq_core::{RejectedReason, WorkQueue};

use crate::books::{Books, ITEMS};
use crate::reached;

const CAPACITY: usize = 2;

fn check(queue: &WorkQueue<u8>) {
    let counts = queue.counts();
    assert!(counts.queued + counts.to_run_again <= CAPACITY, "over capacity: {counts:?}");
}

/// Adds that only go on when they are woken.
async fn patient(queue: WorkQueue<u8>, books: Arc<Books>) {
    for _ in 0..12 {
        books.added(queue.add_wait(roll(ITEMS)).await.unwrap());
        check(&queue);
    }
}

/// The same on a thread, and adds that give up after a while.
fn blocking(queue: &WorkQueue<u8>, books: &Books) {
    for _ in 0..12 {
        match roll(2) {
            0 => books.added(queue.add_wait_blocking(roll(ITEMS)).unwrap()),
            _ => match queue.add_wait_timeout(roll(ITEMS), Duration::from_secs(1)) {
                Ok(added) => books.added(added),
                Err(rejected) => {
                    assert_eq!(rejected.reason(), RejectedReason::TimedOut);
                    reached::ADD_TIMED_OUT.note();
                }
            },
        }
        check(queue);
    }
}

async fn hasty(queue: WorkQueue<u8>, books: Arc<Books>) {
    for _ in 0..12 {
        match roll(3) {
            0 => match queue.try_add(roll(ITEMS)) {
                Ok(added) => books.added(added),
                Err(_) => reached::REFUSED.note(),
            },
            1 => {
                if queue.remove(&roll(ITEMS)).is_some() {
                    books.took_out();
                }
            }
            _ => match impatient(queue.add_wait(roll(ITEMS))).await {
                Ok(added) => books.added(added.unwrap()),
                Err(_) => reached::ADD_CANCELLED.note(),
            },
        }
        check(&queue);
    }
}

async fn worker(queue: WorkQueue<u8>, books: Arc<Books>) {
    let mut next = queue.get().await;
    while let Some(guard) = next {
        books.begin(*guard.item());
        yield_now().await;
        books.end(*guard.item());
        next = match roll(2) {
            0 => match guard.done_and_get() {
                Ok(guard) => Some(guard),
                Err(_) => queue.get().await,
            },
            _ => {
                guard.done();
                queue.get().await
            }
        };
    }
}

pub(crate) fn a_queue_that_is_always_full() {
    let queue = WorkQueue::builder().capacity(CAPACITY).build().unwrap();
    let books = Arc::new(Books::default());
    // First in line, soon woken and never polled again: one for each worker that may find nothing.
    let mut held = Vec::new();
    if roll(2) == 0 {
        (0..CAPACITY).for_each(|_| books.added(queue.add(roll(ITEMS))));
        held.extend([(); 2].map(|()| queue.add_wait(roll(ITEMS))));
        held.retain_mut(|add| match std::pin::pin!(add).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => true,
            Poll::Ready(added) => {
                books.added(added.unwrap());
                false
            }
        });
    }
    let threads = [(); 2].map(|()| {
        let (queue, books) = (queue.clone(), Arc::clone(&books));
        thread::spawn(move || blocking(&queue, &books))
    });
    block_on(async {
        let workers = [(); 2].map(|()| spawn(worker(queue.clone(), Arc::clone(&books))));
        let mut adders = vec![];
        adders.extend([(); 3].map(|()| spawn(patient(queue.clone(), Arc::clone(&books)))));
        adders.extend([(); 3].map(|()| spawn(hasty(queue.clone(), Arc::clone(&books)))));
        for adder in adders {
            adder.await.unwrap();
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        held.clear();
        queue.shutdown();
        queue.drained().await;
        for worker in workers {
            worker.await.unwrap();
        }
    });
    books.judge_counts(&queue);
}
