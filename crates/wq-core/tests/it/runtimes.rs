//! Runtimes: one queue with workers on tokio, on smol, on a thread and on a bare `block_on`, all at
//! once.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use wq_core::WorkQueue;

const ITEMS: usize = 400;
/// The number of kinds of workers.
const KINDS: usize = 4;
const LONG: Duration = Duration::from_secs(30);

struct Shop {
    queue: WorkQueue<usize>,
    /// Each kind of worker waits here with its first item.
    all_are_here: Barrier,
    done: Vec<AtomicUsize>,
}

impl Shop {
    fn work(&self, item: usize, is_first: &mut bool) {
        if std::mem::replace(is_first, false) {
            self.all_are_here.wait();
        }
        self.done[item].fetch_add(1, SeqCst);
    }

    /// Works until the queue ends, and yields after each item.
    async fn task(&self, give_way: impl AsyncFn()) {
        let mut is_first = true;
        while let Some(guard) = self.queue.get().await {
            self.work(*guard.item(), &mut is_first);
            give_way().await;
        }
    }

    fn thread(&self) {
        let mut is_first = true;
        while let Some(guard) = self.queue.get_blocking() {
            self.work(*guard.item(), &mut is_first);
        }
    }
}

#[test]
fn workers_of_every_runtime_share_one_queue() {
    let shop = Shop {
        queue: WorkQueue::new(),
        all_are_here: Barrier::new(KINDS + 1),
        done: (0..ITEMS).map(|_| AtomicUsize::new(0)).collect(),
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(shop.task(tokio::task::yield_now));
        });
        scope.spawn(|| {
            smol::block_on(smol::LocalExecutor::new().run(shop.task(smol::future::yield_now)));
        });
        scope.spawn(|| shop.thread());
        scope.spawn(|| pollster::block_on(shop.task(async || ())));
        shop.queue.add_all(0..KINDS);
        shop.all_are_here.wait();
        (KINDS..ITEMS).for_each(|item| _ = shop.queue.add(item));
        shop.queue.shutdown();
        shop.queue.drained().wait_timeout(LONG).unwrap();
    });
    assert!(shop.done.iter().all(|done| done.load(SeqCst) == 1));
}
