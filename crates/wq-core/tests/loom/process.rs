//! Process: jobs in one task, woken by threads beside it. Workers on threads need scoped ones, which loom has not: shuttle
//! has those scenarios.

use std::cell::Cell;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

use loom::future::block_on;
use loom::sync::Mutex;
use wq_contract::explore::{poll_once, thread};
use wq_core::{ProcessError, ProcessingGuard, WorkQueue};

type Done = Result<usize, ProcessError<u8>>;

/// Something that comes, once, and those who wait for it.
#[derive(Clone)]
struct Event(Arc<Mutex<(bool, Vec<Waker>)>>);

impl Event {
    fn new() -> Self {
        Self(Arc::new(Mutex::new((false, Vec::new()))))
    }

    fn come(&self) {
        let mut event = self.0.lock().unwrap();
        event.0 = true;
        let wakers = std::mem::take(&mut event.1);
        drop(event);
        wakers.into_iter().for_each(Waker::wake);
    }

    async fn came(&self) {
        poll_fn(|context| {
            let mut event = self.0.lock().unwrap();
            if event.0 {
                return Poll::Ready(());
            }
            event.1.push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

/// A thread at whose end the event has come.
fn comes(event: &Event) -> loom::thread::JoinHandle<()> {
    let event = event.clone();
    loom::thread::spawn(move || event.come())
}

/// A queue with these items, and no more to come.
fn filled(items: impl IntoIterator<Item = u8>) -> WorkQueue<u8> {
    let queue = WorkQueue::new();
    queue.add_all(items);
    queue.shutdown();
    queue
}

pub(crate) fn job_woken_in_its_poll() {
    let (queue, event) = (filled([1]), Event::new());
    let thread = comes(&event);
    let done: Done = block_on(queue.process(1, async |_item| {
        event.came().await;
        Ok(())
    }));
    assert_eq!(done, Ok(1));
    thread.join().unwrap();
}

pub(crate) fn two_jobs_woken_at_once() {
    let (queue, events) = (filled([0, 1]), [Event::new(), Event::new()]);
    let threads = [comes(&events[0]), comes(&events[1])];
    let done: Done = block_on(queue.process(2, async |item| {
        events[usize::from(*item.item())].came().await;
        Ok(())
    }));
    assert_eq!(done, Ok(2));
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

pub(crate) fn busy_job_beside_a_woken_one() {
    let (queue, event) = (filled([0, 1]), Event::new());
    let thread = comes(&event);
    let done: Done = block_on(queue.process(2, async |item| {
        if *item.item() == 0 {
            let mut turns = 0;
            poll_fn(|context| {
                turns += 1;
                context.waker().wake_by_ref();
                if turns == 3 { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
        } else {
            event.came().await;
        }
        Ok(())
    }));
    assert_eq!(done, Ok(2));
    thread.join().unwrap();
}

pub(crate) fn first_of_two_errors() {
    let (queue, events) = (filled([0, 1, 2]), [Event::new(), Event::new()]);
    let threads = [comes(&events[0]), comes(&events[1])];
    let done: Done = block_on(queue.process(2, async |item| {
        events[usize::from(*item.item())].came().await;
        Err(*item.item())
    }));
    assert!(matches!(done, Err(ProcessError::Failed { done: 0, error: 0 | 1 })), "{done:?}");
    // The second is not begun if the first has failed by then.
    assert!(matches!((queue.len(), queue.in_flight()), (1 | 2, 0)), "{queue:?}");
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

pub(crate) fn error_passes_the_wake_up_on() {
    let (queue, event, begun) = (WorkQueue::new(), Event::new(), Cell::new(0));
    queue.add(1);
    let mut process = queue.process(2, async |item| {
        begun.set(begun.get() + 1);
        event.came().await;
        Err(*item.item())
    });
    assert!(poll_once(&mut process).is_pending(), "a job waits, and the process for another item");
    let getter = thread(&queue, |queue| queue.get_blocking().map(|guard| *guard.item()));
    let adder = thread(&queue, |queue| queue.add(2));
    event.come();
    let done: Done = block_on(&mut process);
    assert!(matches!(done, Err(ProcessError::Failed { done: 0, .. })), "{done:?}");
    adder.join().unwrap();
    if begun.get() == 2 {
        queue.add(2); // For the getter: nothing else would wake it.
    }
    assert_eq!(getter.join().unwrap(), Some(2));
}

pub(crate) fn shutdown_against_process() {
    let queue = WorkQueue::new();
    queue.add(1);
    let adder = thread(&queue, |queue| queue.add(2).is_accepted());
    let ends = thread(&queue, WorkQueue::shutdown);
    let work = async |_item: ProcessingGuard<'_, u8>| Ok(());
    let done: Done = block_on(queue.process(2, work));
    assert_eq!(done, Ok(1 + usize::from(adder.join().unwrap())));
    ends.join().unwrap();
    assert!(queue.counts().is_idle());
}

pub(crate) fn dropped_process() {
    let queue = WorkQueue::new();
    let dropper = thread(&queue, |queue| {
        let has_begun = Cell::new(false);
        let mut process = queue.process(1, async |_item| {
            has_begun.set(true);
            std::future::pending::<Result<(), u8>>().await
        });
        assert!(poll_once(&mut process).is_pending());
        drop(process);
        has_begun.get()
    });
    let getter = thread(&queue, |queue| queue.get_blocking().map(|guard| *guard.item()));
    queue.add(1);
    if dropper.join().unwrap() {
        queue.add(1); // For the getter: nothing else would wake it.
    }
    assert_eq!(getter.join().unwrap(), Some(1));
    assert!(queue.counts().is_idle());
}
