//! Tasks: async getters, dropped at every await.

use std::sync::Arc;

use shuttle::future::{block_on, spawn, yield_now};
use wq_contract::impatience::{GaveUp, impatient};
use wq_contract::play::roll;

use crate::books::{Books, ITEMS};
use crate::reached;
use crate::world::{Clock, Queue, world};

async fn adder(queue: Queue, books: Arc<Books>, adds: u8) {
    for _ in 0..adds {
        books.add(&queue, roll(ITEMS));
        if roll(3) == 0 {
            yield_now().await;
        }
    }
}

/// Works until the queue ends.
async fn patient(queue: Queue, books: Arc<Books>) {
    while let Some(guard) = queue.get().await {
        books.begin(*guard.item());
        yield_now().await;
        books.end(*guard.item());
    }
}

/// Ends after a few waits or some work. The remaining workers run only when they are woken.
async fn hasty(queue: Queue, books: Arc<Books>, patience: u8) {
    loop {
        match impatient(queue.get_owned()).await {
            Ok(Some(guard)) => books.work(*guard.item()),
            Ok(None) => return,
            Err(gave_up) => {
                reached::GAVE_UP.note();
                if let GaveUp::Woken = gave_up {
                    reached::GAVE_UP_WOKEN.note();
                }
            }
        }
        if roll(patience) == 0 {
            return;
        }
    }
}

/// One queue from its beginning to its end.
async fn life(adders: usize, adds: u8, hasties: usize, patience: u8) {
    let (queue, timer) = world();
    let books = Arc::new(Books::default());
    let clock = Clock::start(&timer);
    let mut workers = vec![spawn(patient(queue.clone(), Arc::clone(&books)))];
    workers.extend((0..hasties).map(|_| spawn(hasty(queue.clone(), Arc::clone(&books), patience))));
    let adders: Vec<_> =
        (0..adders).map(|_| spawn(adder(queue.clone(), Arc::clone(&books), adds))).collect();
    for adder in adders {
        adder.await.unwrap();
    }
    queue.drained().await;
    _ = queue.shutdown();
    for worker in workers {
        worker.await.unwrap();
    }
    clock.stop();
    books.judge(&queue);
}

pub(crate) fn cancelled_at_every_await() {
    block_on(life(3, [3, 10, 30][usize::from(roll(3))], 4, 4));
}

/// No later call repairs a wrong state at the end of a queue, so the scenario has many ends.
pub(crate) fn short_lives() {
    block_on(async {
        for _ in 0..6 {
            life(2, 1 + roll(3), 3, 2).await;
        }
    });
}
