//! Room: a queue that is always full, and adds that respect its capacity.

use std::sync::Arc;

use shuttle::future::{block_on, spawn, yield_now};
use shuttle::thread;
use wq_contract::play::roll;
use wq_core::{RejectedReason, WorkQueue};

use crate::books::{Books, ITEMS};
use crate::reached;

const CAPACITY: usize = 2;

fn step(queue: &WorkQueue<u8>, books: &Books) {
    match roll(4) {
        0 => {
            if queue.remove(&roll(ITEMS)).is_some() {
                books.took_out();
            }
        }
        _ => match queue.try_add(roll(ITEMS)) {
            Ok(added) => books.added(added),
            Err(rejected) => {
                assert!(matches!(rejected.reason(), RejectedReason::Full { .. }));
                reached::REFUSED.note();
            }
        },
    }
    let counts = queue.counts();
    assert!(counts.queued + counts.to_run_again <= CAPACITY, "over capacity: {counts:?}");
}

fn on_a_thread(queue: &WorkQueue<u8>, books: &Books) {
    for _ in 0..12 {
        step(queue, books);
        thread::yield_now();
    }
}

async fn in_a_task(queue: WorkQueue<u8>, books: Arc<Books>) {
    for _ in 0..12 {
        step(&queue, &books);
        yield_now().await;
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
    let threads = [(); 3].map(|()| {
        let (queue, books) = (queue.clone(), Arc::clone(&books));
        thread::spawn(move || on_a_thread(&queue, &books))
    });
    block_on(async {
        let workers = [(); 2].map(|()| spawn(worker(queue.clone(), Arc::clone(&books))));
        let adders = [(); 4].map(|()| spawn(in_a_task(queue.clone(), Arc::clone(&books))));
        for adder in adders {
            adder.await.unwrap();
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        queue.shutdown();
        queue.drained().await;
        for worker in workers {
            worker.await.unwrap();
        }
    });
    books.judge_counts(&queue);
}
