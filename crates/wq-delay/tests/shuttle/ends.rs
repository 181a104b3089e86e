//! Ends: shutdowns and drains while items become due.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use shuttle::future::block_on;
use shuttle::thread;
use wq_contract::play::roll;

use crate::reached;
use crate::world::{Clock, STEP, delay, world};

const ITEMS: u8 = 12;

/// Each item is added once.
pub(crate) fn shutdown_in_the_midst() {
    let (queue, timer) = world();
    let clock = Clock::start(&timer);
    let adders = [0, ITEMS].map(|first| {
        let queue = queue.clone();
        thread::spawn(move || {
            let let_in = (first..first + ITEMS).filter(|&item| {
                let is_accepted = queue.add_after(item, delay()).is_accepted();
                if !is_accepted {
                    reached::REFUSED.note();
                }
                is_accepted
            });
            let_in.collect::<Vec<u8>>()
        })
    });
    let getters = [0, 1].map(|kind| {
        let queue = queue.clone();
        thread::spawn(move || {
            let mut taken = Vec::new();
            loop {
                let guard = if kind == 0 { queue.get_blocking() } else { block_on(queue.get()) };
                let Some(guard) = guard else { return taken };
                taken.push(*guard.item());
            }
        })
    });
    let keeper = thread::spawn({
        let queue = queue.clone();
        move || block_on(queue.keep_time())
    });
    (0..roll(20)).for_each(|_| thread::yield_now());
    let mut out = queue.shutdown();
    out.iter().for_each(|_| reached::HANDED_BACK.note());
    keeper.join().unwrap();
    out.extend(getters.into_iter().flat_map(|getter| getter.join().unwrap()));
    let mut let_in: Vec<u8> = adders.into_iter().flat_map(|adder| adder.join().unwrap()).collect();
    clock.stop();
    out.sort_unstable();
    let_in.sort_unstable();
    assert_eq!(out, let_in);
}

pub(crate) fn drains_all_along() {
    let (queue, timer) = world();
    // Counts the added items that no worker has finished, except items that may be canceled.
    let open = Arc::new(AtomicUsize::new(0));
    let clock = Clock::start(&timer);
    let workers = [(); 2].map(|()| {
        let (queue, open) = (queue.clone(), Arc::clone(&open));
        thread::spawn(move || {
            while let Some(guard) = queue.get_blocking() {
                thread::yield_now();
                if guard.item() % 3 > 0 {
                    open.fetch_sub(1, SeqCst);
                }
                guard.done();
            }
        })
    });
    let round = |first: u8| {
        open.fetch_add(2, SeqCst);
        for item in first..first + 3 {
            queue.add_after(item, delay() + STEP);
        }
        let drainers = [(); 2].map(|()| {
            let (queue, open) = (queue.clone(), Arc::clone(&open));
            thread::spawn(move || {
                block_on(queue.drained());
                assert_eq!(open.load(SeqCst), 0, "over while there is work");
                reached::DRAINED.note();
            })
        });
        if queue.cancel(&first).is_some() {
            reached::CANCELLED.note();
        }
        for drainer in drainers {
            drainer.join().unwrap();
        }
    };
    (0..4).for_each(|at| round(at * 3));
    _ = queue.shutdown();
    for worker in workers {
        worker.join().unwrap();
    }
    clock.stop();
}
