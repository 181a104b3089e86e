//! Stale: forgotten guards that end after their item was abandoned.

use std::sync::Arc;

use shuttle::thread;
use wq_contract::play::roll;
use wq_core::{Added, WorkQueue};

use crate::books::{Books, ITEMS};
use crate::reached;

fn worker(queue: &WorkQueue<u8>, books: &Books) {
    let mut forgotten = Vec::new();
    while let Some(guard) = queue.get_blocking() {
        let item = *guard.item();
        books.begin(item);
        if roll(2) == 0 {
            books.change(item);
            let added = queue.add(item);
            assert!(added != Added::Queued, "{item} was freed while it was held");
            books.added(added);
        }
        books.end(item);
        if roll(3) == 0 {
            assert!(queue.abandon(&item));
            forgotten.push(guard);
        } else {
            guard.done();
        }
        if roll(2) == 0
            && let Some(stale) = forgotten.pop()
        {
            if queue.phase(stale.item()).is_some() {
                reached::STALE.note();
            }
            stale.done();
        }
    }
}

pub(crate) fn guards_that_outlive_their_item() {
    let (queue, books) = (WorkQueue::new(), Arc::new(Books::default()));
    let adders = [(); 3].map(|()| {
        let (queue, books) = (queue.clone(), Arc::clone(&books));
        thread::spawn(move || (0..20).for_each(|_| books.add(&queue, roll(ITEMS))))
    });
    let workers = [(); 4].map(|()| {
        let (queue, books) = (queue.clone(), Arc::clone(&books));
        thread::spawn(move || worker(&queue, &books))
    });
    for adder in adders {
        adder.join().unwrap();
    }
    queue.shutdown();
    for worker in workers {
        worker.join().unwrap();
    }
    books.judge_counts(&queue);
}
