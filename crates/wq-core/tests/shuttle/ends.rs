//! Ends: `shutdown_now` during all other calls.

use std::sync::Arc;

use shuttle::future::block_on;
use shuttle::thread;
use wq_contract::play::roll;
use wq_core::WorkQueue;

use crate::books::{Books, ITEMS};
use crate::reached;

pub(crate) fn shutdown_now_in_the_midst() {
    let (queue, books) = (WorkQueue::new(), Arc::new(Books::default()));
    let adders = [(); 3].map(|()| {
        let (queue, books) = (queue.clone(), Arc::clone(&books));
        thread::spawn(move || (0..30).for_each(|_| books.add(&queue, roll(ITEMS))))
    });
    let workers = [(); 3].map(|()| {
        let (queue, books) = (queue.clone(), Arc::clone(&books));
        thread::spawn(move || {
            while let Some(guard) =
                if roll(2) == 0 { queue.get_blocking() } else { block_on(queue.get()) }
            {
                books.work(*guard.item());
            }
        })
    });
    let ends = [(); 2].map(|()| {
        let (queue, books) = (queue.clone(), Arc::clone(&books));
        thread::spawn(move || {
            (0..roll(60)).for_each(|_| thread::yield_now());
            for _ in queue.shutdown_now() {
                reached::HANDED_BACK.note();
                books.took_out();
            }
            block_on(queue.drained());
            assert!(queue.counts().is_idle());
        })
    });
    for thread in adders.into_iter().chain(workers).chain(ends) {
        thread.join().unwrap();
    }
    books.judge_counts(&queue);
}
