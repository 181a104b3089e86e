//! Process: a parallel-for says how many were done and what failed first, refuses to do nothing, and stops as a whole.

use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::task::Poll;

use wq_contract::wakes::Wakes;
use wq_core::{ProcessError, ProcessingGuard, WorkQueue};

type Nothing = std::convert::Infallible;

fn filled(items: u32) -> WorkQueue<u32> {
    let queue = WorkQueue::new();
    queue.add_all(0..items);
    queue.shutdown();
    queue
}

#[test]
fn zero_workers_are_refused() {
    // Upstream's returns at once and has done nothing (D25).
    let queue = filled(3);
    let refused = queue.process_blocking(0, |_| Ok::<_, Nothing>(()));
    assert_eq!(refused, Err(ProcessError::NoWorkers));
    assert_eq!(refused.unwrap_err().to_string(), "workers is 0 but must be at least 1");
    let refused = pollster::block_on(queue.process(0, async |_| Ok::<_, Nothing>(())));
    assert_eq!(refused, Err(ProcessError::NoWorkers));
    assert_eq!(queue.len(), 3);
}

#[test]
fn each_item_is_done_once_by_any_number_of_workers() {
    const ITEMS: u32 = if cfg!(miri) { 10 } else { 100 };
    for workers in if cfg!(miri) { vec![1, 3] } else { vec![1, 2, 7, 200] } {
        let seen = Mutex::new(BTreeSet::new());
        let note = |item: &ProcessingGuard<'_, u32>| assert!(seen.lock().unwrap().insert(*item.item()));
        let done = filled(ITEMS).process_blocking(workers, |item| {
            note(&item);
            Ok::<_, Nothing>(())
        });
        assert_eq!((done, seen.lock().unwrap().len()), (Ok(ITEMS as usize), ITEMS as usize));
        seen.lock().unwrap().clear();
        let queue = filled(ITEMS);
        let done = pollster::block_on(queue.process(workers, async |item| {
            note(&item);
            Ok::<_, Nothing>(())
        }));
        assert_eq!((done, seen.lock().unwrap().len()), (Ok(ITEMS as usize), ITEMS as usize));
    }
}

/// TestParallelizeUntil: its four cases. Chunks, which there is no need of here, are what differs between three of them.
#[cfg(not(miri))] // Thousands of steps.
#[test]
fn every_piece_is_visited_once() {
    for (pieces, workers, chunk) in [(1000_u32, 10, 1), (1000, 10, 10), (1000, 10, 100), (999, 10, 13)] {
        let queue = WorkQueue::new();
        queue.add_all((0..pieces).step_by(chunk as usize).map(|first| first..pieces.min(first + chunk)));
        queue.shutdown();
        let visits: Vec<AtomicUsize> = (0..pieces).map(|_| AtomicUsize::new(0)).collect();
        let visit = |pieces: ProcessingGuard<'_, std::ops::Range<u32>>| {
            for piece in pieces.item().clone() {
                visits[piece as usize].fetch_add(1, Ordering::Relaxed);
            }
            Ok::<_, Nothing>(())
        };
        assert_eq!(queue.process_blocking(workers, visit), Ok(pieces.div_ceil(chunk) as usize));
        assert!(visits.iter().all(|visits| visits.load(Ordering::Relaxed) == 1));
    }
}

#[test]
fn nothing_to_do_is_done() {
    assert_eq!(filled(0).process_blocking(3, |_| Ok::<_, Nothing>(())), Ok(0));
    assert_eq!(pollster::block_on(filled(0).process(3, async |_| Ok::<_, Nothing>(()))), Ok(0));
}

#[test]
fn an_item_that_comes_back_after_the_shutdown_is_done_again() {
    let queue = WorkQueue::new();
    queue.add(1);
    let again = |item: ProcessingGuard<'_, u32>| {
        queue.add(*item.item());
        queue.shutdown();
        drop(item);
        Ok::<_, Nothing>(())
    };
    assert_eq!(queue.process_blocking(2, again), Ok(2));
}

/// Nobody else asks, and the job may wait for that.
#[test]
fn an_item_that_a_job_leaves_behind_after_the_shutdown_is_begun_while_the_job_goes_on() {
    let queue = WorkQueue::new();
    queue.add(7);
    let runs = AtomicUsize::new(0);
    let ran = |at_least| runs.load(Ordering::Relaxed) >= at_least;
    let (step, waiting) = (Wakes::new(), Mutex::new(None));
    let mut process = pin!(queue.process(2, async |guard| {
        if runs.fetch_add(1, Ordering::Relaxed) == 0 {
            queue.add(7);
            queue.shutdown();
            poll_fn(|context| {
                let before = waiting.lock().unwrap().replace(context.waker().clone());
                if before.is_some() { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
            guard.done();
            poll_fn(|_| if ran(2) { Poll::Ready(()) } else { Poll::Pending }).await;
        }
        Ok::<_, Nothing>(())
    }));
    assert!(step.poll(&mut process).is_pending());
    let job = waiting.lock().unwrap().clone().unwrap();
    job.wake_by_ref();
    assert!(step.poll(&mut process).is_pending());
    assert!(ran(2), "a worker is free and an item is queued");
    job.wake();
    assert_eq!(step.poll(&mut process), Poll::Ready(Ok(2)));
}

#[test]
fn threads_work_at_the_same_time() {
    let (queue, together) = (filled(3), Barrier::new(3));
    let meet = |_: ProcessingGuard<'_, u32>| {
        together.wait();
        Ok::<_, Nothing>(())
    };
    assert_eq!(queue.process_blocking(3, meet), Ok(3));
}

#[test]
fn an_error_ends_it_and_leaves_the_rest_queued() {
    let queue = WorkQueue::new();
    queue.add_all(0..10);
    let fails = |item: ProcessingGuard<'_, u32>| if *item.item() == 3 { Err("three") } else { Ok(()) };
    let failed = queue.process_blocking(1, fails);
    assert_eq!(failed, Err(ProcessError::Failed { done: 3, error: "three" }));
    assert_eq!(failed.unwrap_err().to_string(), "after 3 items were done: three");
    assert_eq!((queue.len(), queue.in_flight()), (6, 0));
    let failed = pollster::block_on(queue.process(
        1,
        async |item| {
            if *item.item() == 7 { Err("seven") } else { Ok(()) }
        },
    ));
    assert_eq!(failed, Err(ProcessError::Failed { done: 3, error: "seven" }));
    assert_eq!(queue.shutdown_now(), [8, 9]);
}

#[test]
fn an_error_wakes_the_workers_that_wait_for_an_item() {
    // The queue is not shut down: nothing else would end their wait.
    let queue = WorkQueue::new();
    queue.add(1);
    let failed = queue.process_blocking(4, |_| Err::<(), _>("no"));
    assert_eq!(failed, Err(ProcessError::Failed { done: 0, error: "no" }));
}

#[test]
fn a_panic_stops_all_workers_and_is_passed_on() {
    let queue = WorkQueue::new();
    queue.add(1);
    let work =
        |_: ProcessingGuard<'_, u32>| -> Result<(), Nothing> { panic!("the panic that this test wants") };
    let panicked = catch_unwind(AssertUnwindSafe(|| queue.process_blocking(4, work))).unwrap_err();
    assert_eq!(panicked.downcast_ref::<&str>(), Some(&"the panic that this test wants"));
    assert!(queue.counts().is_idle());
}

#[test]
fn so_many_are_at_work_at_once_and_no_more() {
    let queue = filled(10);
    let at_work = AtomicUsize::new(0);
    let wakes = Wakes::new();
    let mut process = pin!(queue.process(3, async |_item| {
        at_work.fetch_add(1, Ordering::Relaxed);
        let mut is_first = true;
        poll_fn(|_| if std::mem::take(&mut is_first) { Poll::Pending } else { Poll::Ready(()) }).await;
        Ok::<_, Nothing>(())
    }));
    assert!(wakes.poll(&mut process).is_pending());
    assert_eq!((at_work.load(Ordering::Relaxed), queue.in_flight()), (3, 3));
    // Nobody woke a job: none is polled.
    assert!(wakes.poll(&mut process).is_pending());
    assert_eq!((at_work.load(Ordering::Relaxed), queue.in_flight(), wakes.count()), (3, 3, 0));
}

#[test]
fn a_full_process_does_not_stand_in_line() {
    let queue = WorkQueue::new();
    let forever = async |_item: ProcessingGuard<'_, u32>| std::future::pending::<Result<(), Nothing>>().await;
    let (busy, idle) = (Wakes::new(), Wakes::new());
    let mut full = pin!(queue.process(1, forever));
    assert!(busy.poll(&mut full).is_pending());
    let mut free = pin!(queue.process(1, forever));
    assert!(idle.poll(&mut free).is_pending());
    queue.add(1);
    assert!(busy.poll(&mut full).is_pending());
    queue.add(2);
    assert_eq!((busy.count(), idle.count()), (1, 1));
}

#[test]
fn dropped_it_frees_what_it_had_in_hand() {
    let queue = filled(3);
    let wakes = Wakes::new();
    {
        let mut process =
            pin!(queue.process(2, async |_item| std::future::pending::<Result<(), Nothing>>().await));
        assert!(wakes.poll(&mut process).is_pending());
        assert_eq!(queue.in_flight(), 2);
    }
    assert_eq!((queue.in_flight(), queue.len()), (0, 1));
}

#[test]
fn a_task_whose_work_never_waits_gives_way_to_others() {
    let queue = filled(200);
    let wakes = Wakes::new();
    let mut process = pin!(queue.process(4, async |_item| Ok::<_, Nothing>(())));
    assert!(wakes.poll(&mut process).is_pending());
    assert_eq!(wakes.count(), 1, "it wants to go on");
    assert!(queue.len() > 50);
}

#[test]
fn a_job_that_wakes_itself_gives_way_to_others() {
    let queue = filled(3);
    let wakes = Wakes::new();
    let busy = async |_item: ProcessingGuard<'_, u32>| {
        poll_fn(|context| {
            context.waker().wake_by_ref();
            Poll::<Result<(), Nothing>>::Pending
        })
        .await
    };
    let mut process = pin!(queue.process(2, busy));
    for _ in 0..3 {
        assert!(wakes.poll(&mut process).is_pending());
    }
    assert_eq!(queue.in_flight(), 2);
    assert!(wakes.count() >= 3, "it wants to go on");
}

#[test]
fn any_number_of_workers_is_as_many_as_there_are_items() {
    let done = pollster::block_on(filled(10).process(usize::MAX, async |_item| Ok::<_, Nothing>(())));
    assert_eq!(done, Ok(10));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_are_woken_from_other_threads() {
    const ITEMS: u32 = if cfg!(miri) { 20 } else { 200 };
    let queue = filled(ITEMS);
    let done = queue
        .process(8, async |_item| {
            tokio::spawn(tokio::task::yield_now()).await.unwrap();
            Ok::<_, Nothing>(())
        })
        .await;
    assert_eq!(done, Ok(ITEMS as usize));
}

#[test]
fn it_can_be_spawned() {
    fn spawnable(_: &(impl Future + Send)) {}
    let queue = WorkQueue::<u32>::new();
    spawnable(&queue.process(1, async |_item| Ok::<_, Nothing>(())));
}

/// Of a queue that is full there is always another item to begin.
#[test]
fn what_is_begun_gets_its_turn_before_all_else_is_begun() {
    let queue = filled(if cfg!(miri) { 300 } else { 10_000 });
    let (begun, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let mut process = pin!(queue.process(usize::MAX, async |item| {
        begun.fetch_add(1, Ordering::SeqCst);
        drop(item);
        done.fetch_add(1, Ordering::SeqCst);
        Ok::<_, Nothing>(())
    }));
    let wakes = Wakes::new();
    assert!(wakes.poll(&mut process).is_pending());
    let (begun, done) = (begun.load(Ordering::SeqCst), done.load(Ordering::SeqCst));
    assert!(begun > 0 && begun == done, "{begun} begun, {done} done");
}
