//! Turns: the longest waits while other threads add.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use shuttle::thread;
use wq_contract::play::roll;
use wq_core::WorkQueue;
use wq_priority::{GroupId, Order, Priority};

const LOWEST: u32 = 1000;
const QUIET: u32 = 1001;
const EVERY: u32 = 4;

/// Of three groups, one of them the quiet one's own.
fn around() -> Order {
    Order::priority(0).in_group(GroupId::new(roll(2).into()))
}

fn quiet() -> Order {
    Order::priority(0).in_group(GroupId::new(2 + u64::from(roll(2))))
}

pub(crate) fn the_lowest_and_the_quiet() {
    let backlog = Priority::builder().aging_interval(EVERY).build().unwrap();
    // Under 0 and -1, the one of the quiet and the one of the lowest; and 1, where something comes
    // in now and then.
    let longest = backlog.longest_wait(3).unwrap();
    let queue = WorkQueue::<u32>::builder().backlog(backlog).build().unwrap();
    (0..60).for_each(|item| _ = queue.add_with(item, around()));
    let there = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
    let lone = |at: usize, item: u32, order: Order| {
        let (queue, there) = (queue.clone(), Arc::clone(&there));
        thread::spawn(move || {
            queue.add_with(item, order);
            there[at].store(true, SeqCst);
        })
    };
    let mut threads = vec![lone(0, LOWEST, Order::priority(-1)), lone(1, QUIET, quiet())];
    threads.extend((0..2_u32).map(|adder| {
        let queue = queue.clone();
        thread::spawn(move || {
            for n in 0..10 {
                let order = if n == 5 { Order::priority(1) } else { around() };
                queue.add_with(100 + 100 * adder + n, order);
            }
        })
    }));
    // Hand-outs that begin after it is known that they are there, and go to others.
    let mut waited = [0_u64; 2];
    let mut came = [false; 2];
    while !(came[0] && came[1]) {
        let is_there = [there[0].load(SeqCst), there[1].load(SeqCst)];
        let guard = queue.get_blocking().unwrap();
        for at in 0..2 {
            came[at] |= *guard.item() == [LOWEST, QUIET][at];
            waited[at] += u64::from(is_there[at] && !came[at]);
        }
        guard.done();
        assert!(waited[0] <= longest, "the lowest lets {} go first", waited[0]);
        // Each of the two other groups has one turn. And three items are of other priorities.
        assert!(waited[1] <= 2 + 3, "the quiet one lets {} go first", waited[1]);
        if !(came[0] && came[1]) && queue.counts().queued == 0 {
            thread::yield_now();
        }
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
