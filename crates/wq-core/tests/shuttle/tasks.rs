//! Tasks: async getters, dropped at every await or held without being polled.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Waker};

use shuttle::future::{block_on, spawn, yield_now};
use shuttle::thread;
use wq_contract::impatience::{GaveUp, impatient};
use wq_contract::play::roll;
use wq_core::WorkQueue;

use crate::books::{Books, ITEMS};
use crate::reached;

async fn adder(queue: WorkQueue<u8>, books: Arc<Books>, adds: u8) {
    for _ in 0..adds {
        if roll(4) == 0 {
            let batch = [roll(ITEMS), roll(ITEMS), roll(ITEMS)];
            batch.iter().for_each(|&item| books.change(item));
            let all = queue.add_all(batch);
            books.promise(all.queued + all.deferred);
        } else {
            books.add(&queue, roll(ITEMS));
        }
        if roll(3) == 0 {
            yield_now().await;
        }
    }
}

async fn work(books: &Books, item: u8) {
    books.begin(item);
    if roll(2) == 0 {
        yield_now().await;
    }
    books.end(item);
}

/// Works until the queue ends.
async fn patient(queue: WorkQueue<u8>, books: Arc<Books>) {
    while let Some(guard) = queue.get().await {
        work(&books, *guard.item()).await;
    }
}

/// Ends after a few waits or some work. The remaining workers run only when they are woken.
async fn hasty(queue: WorkQueue<u8>, books: Arc<Books>, patience: u8) {
    loop {
        match impatient(queue.get_owned()).await {
            Ok(Some(guard)) => {
                work(&books, *guard.item()).await;
                guard.done();
            }
            Ok(None) => return,
            Err(gave_up) => {
                reached::CANCELLED.note();
                if let GaveUp::Woken = gave_up {
                    reached::CANCELLED_WOKEN.note();
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
    let (queue, books) = (WorkQueue::new(), Arc::new(Books::default()));
    let mut workers = vec![spawn(patient(queue.clone(), Arc::clone(&books)))];
    workers.extend((0..hasties).map(|_| spawn(hasty(queue.clone(), Arc::clone(&books), patience))));
    let adders: Vec<_> =
        (0..adders).map(|_| spawn(adder(queue.clone(), Arc::clone(&books), adds))).collect();
    for adder in adders {
        adder.await.unwrap();
    }
    queue.drained().await;
    queue.shutdown();
    for worker in workers {
        worker.await.unwrap();
    }
    books.judge(&queue);
}

pub(crate) fn cancelled_at_every_await() {
    block_on(life(3, [3, 10, 30][usize::from(roll(3))], 4, 4));
}

/// No later call repairs a wrong state at the end of a queue, so the scenario has many ends.
pub(crate) fn short_lives() {
    block_on(async {
        for _ in 0..8 {
            life(2, 1 + roll(3), 4, 2).await;
        }
    });
}

pub(crate) fn tasks_and_threads_in_one_line() {
    const BURST: u8 = 50;
    let queue = WorkQueue::new();
    let (begun, taken) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let mut held = [queue.get(), queue.get()];
    for get in &mut held {
        assert!(Pin::new(get).poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    let watcher = thread::current();
    let took = {
        let (begun, taken) = (Arc::clone(&begun), Arc::clone(&taken));
        move || {
            taken.fetch_add(1, SeqCst);
            if !begun.swap(true, SeqCst) {
                watcher.unpark();
            }
        }
    };
    let tasks = [(); 2].map(|()| {
        let (queue, took) = (queue.clone(), took.clone());
        spawn(async move {
            while let Some(guard) = queue.get().await {
                took();
                guard.done();
            }
        })
    });
    let threads = [(); 2].map(|()| {
        let (queue, took) = (queue.clone(), took.clone());
        thread::spawn(move || {
            while let Some(guard) = queue.get_blocking() {
                took();
                guard.done();
            }
        })
    });
    (0..roll(20)).for_each(|_| thread::yield_now());
    let adders = [0, BURST].map(|first| {
        let queue = queue.clone();
        thread::spawn(move || {
            (first..first + BURST).for_each(|item| {
                queue.add(item);
            });
        })
    });
    // Woken or not, the two held getters do not keep the others from taking an item.
    while !begun.load(SeqCst) {
        thread::park();
    }
    drop(held);
    for adder in adders {
        adder.join().unwrap();
    }
    block_on(queue.drained());
    assert_eq!(taken.load(SeqCst), usize::from(2 * BURST));
    queue.shutdown();
    for thread in threads {
        thread.join().unwrap();
    }
    block_on(async {
        for task in tasks {
            task.await.unwrap();
        }
    });
}
