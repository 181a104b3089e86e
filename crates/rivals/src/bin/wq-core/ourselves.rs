//! Ways of ours beside each other: what fusing, batching, cancelling and observing cost; and beside
//! the locks that they take.

use std::hint::black_box;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Waker};

use anyhow::Result;
use parking_lot::Mutex;
use rivals::{Bench, Pinned, each, integers, now};
use tokio::sync::Notify;
use wq_core::WorkQueue;

use crate::alone::{Counting, alone, burst, duplicates, readd};
use crate::tasks::waiting;

const ITEMS: usize = 1_000_000;

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    let keys = integers(1000);
    let separate = || burst(&WorkQueue::new(), &keys, ITEMS);
    bench.beside_itself("fused", "apart", || fused(&keys, false), separate)?;
    bench.beside_itself("batched", "apart", || fused(&keys, true), separate)?;
    for (name, is_timed) in [("observed", true), ("observed_untimed", false)] {
        let observed =
            || WorkQueue::builder().observer(Arc::new(Counting::timed(is_timed))).build();
        bench.beside_itself(
            name,
            "not observed",
            || burst(&observed()?, &keys, ITEMS),
            separate,
        )?;
    }
    // What the three looks at the clock take of it.
    bench.beside_itself("observed_clock", "not observed", clocks, separate)?;
    bench.beside_itself("cancelled", "tokio's Notify", cancelled_gets, cancelled_notifications)?;
    beside_locks(bench)
}

/// No gates: how near the fastest operations are to what their locks take, which is the least that
/// a queue of one mutex can do.
fn beside_locks(bench: &Bench) -> Result<()> {
    let keys = integers(1000);
    // Of ten adds one is followed by a get and a done.
    let twelve_tenths = || Ok(locks(12, 0)? / 10.0);
    bench.beside_itself(
        "duplicates_locks",
        "1.2 locks",
        || duplicates(&WorkQueue::new(), &keys, |queue, key| queue.add(*key)),
        twelve_tenths,
    )?;
    bench.beside_itself(
        "readd_locks",
        "3 locks",
        || readd(&WorkQueue::new(), &keys, |queue, key| queue.add(*key)),
        || locks(3, 0),
    )?;
    // The task counts what is left, too.
    bench.beside_itself(
        "waiting_tasks_1_locks",
        "3 locks and a count",
        || waiting(1),
        || locks(3, 1),
    )
}

/// Locks a mutex so many times with nothing under it, and counts so many times: nanoseconds for all
/// of them together.
fn locks(locks: usize, counts: usize) -> Result<f64> {
    let (mutex, counter) = (Mutex::new(0_u64), AtomicUsize::new(0));
    alone(ITEMS, || {
        for _ in 0..ITEMS {
            for _ in 0..locks {
                *black_box(&mutex).lock() += 1;
            }
            for _ in 0..counts {
                black_box(&counter).fetch_add(1, Ordering::AcqRel);
            }
        }
        Some(())
    })
}

/// Three looks at the clock: nanoseconds for all of them together.
fn clocks() -> Result<f64> {
    alone(ITEMS, || {
        for _ in 0..ITEMS {
            for _ in 0..3 {
                black_box(now());
            }
        }
        Some(())
    })
}

/// Bursts whose items are taken by `done_and_get`; added one by one, or all at once.
fn fused(keys: &[u64], at_once: bool) -> Result<f64> {
    let queue = WorkQueue::new();
    alone(ITEMS, || {
        for _ in 0..ITEMS / keys.len() {
            if at_once {
                queue.add_all(keys.iter().copied());
            } else {
                for key in keys {
                    queue.add(*key);
                }
            }
            let mut guard = queue.get_blocking()?;
            while let Ok(next) = guard.done_and_get() {
                guard = next;
            }
        }
        Some(())
    })
}

/// A get that finds nothing, waits, and is dropped.
fn cancelled_gets() -> Result<f64> {
    let _pinned = Pinned::to(0)?;
    let queue = WorkQueue::<u64>::new();
    let mut context = Context::from_waker(Waker::noop());
    let begin = now();
    for _ in 0..ITEMS {
        let get = pin!(queue.get());
        anyhow::ensure!(get.poll(&mut context).is_pending(), "the queue is empty");
    }
    Ok(each(begin, ITEMS))
}

fn cancelled_notifications() -> Result<f64> {
    let _pinned = Pinned::to(0)?;
    let notify = Notify::new();
    let mut context = Context::from_waker(Waker::noop());
    let begin = now();
    for _ in 0..ITEMS {
        let notified = pin!(notify.notified());
        anyhow::ensure!(notified.poll(&mut context).is_pending(), "nobody notifies");
    }
    Ok(each(begin, ITEMS))
}
