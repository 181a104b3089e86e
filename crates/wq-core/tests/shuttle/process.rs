//! Process: in one task and on threads, with work that waits for others, fails, panics, or is dropped in the middle.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, PoisonError};
use std::task::{Poll, Waker};

use shuttle::future::{block_on, yield_now};
use shuttle::sync::Mutex;
use shuttle::thread;
use wq_contract::impatience::impatient;
use wq_contract::play::roll;
use wq_core::{ProcessError, ProcessingGuard, WorkQueue};

use crate::books::{Books, ITEMS};
use crate::reached;

/// An item that is being worked on, in the books; no longer when the work is dropped.
struct Held<'b>(&'b Books, u8);

impl<'b> Held<'b> {
    fn begin(books: &'b Books, item: u8) -> Self {
        books.begin(item);
        Self(books, item)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.end(self.1);
    }
}

/// Waits for another thread. Not by shuttle's own `JoinHandle`, which calls wakers under a lock.
///
/// A lock is poisoned by a panic of anybody: all threads of a schedule run on one of the machine.
async fn elsewhere() {
    let event = Arc::new(Mutex::new((false, None::<Waker>)));
    let there = Arc::clone(&event);
    thread::spawn(move || {
        let mut event = there.lock().unwrap_or_else(PoisonError::into_inner);
        event.0 = true;
        let waker = event.1.take();
        drop(event);
        waker.into_iter().for_each(Waker::wake);
    });
    poll_fn(|context| {
        let mut event = event.lock().unwrap_or_else(PoisonError::into_inner);
        if event.0 {
            return Poll::Ready(());
        }
        event.1 = Some(context.waker().clone());
        Poll::Pending
    })
    .await;
}

/// One of those who take what there is until the queue ends.
struct Host {
    queue: WorkQueue<u8>,
    books: Arc<Books>,
    /// Items whose work went well, since this was last asked.
    done: AtomicUsize,
}

impl Host {
    fn ended(&self) -> Result<(), ()> {
        if roll(8) == 0 {
            return Err(());
        }
        self.done.fetch_add(1, SeqCst);
        Ok(())
    }

    fn work(&self, item: &ProcessingGuard<'_, u8>) -> Result<(), ()> {
        let held = Held::begin(&self.books, *item.item());
        match roll(5) {
            0 => self.books.add(&self.queue, *item.item()),
            1 => thread::yield_now(),
            _ => {}
        }
        if roll(12) == 0 {
            reached::CREW_PANICKED.note();
            resume_unwind(Box::new(()));
        }
        drop(held);
        self.ended()
    }

    async fn job(&self, item: ProcessingGuard<'_, u8>) -> Result<(), ()> {
        let _held = Held::begin(&self.books, *item.item());
        match roll(5) {
            0 => self.books.add(&self.queue, *item.item()),
            1 => yield_now().await,
            2 => elsewhere().await,
            _ => {}
        }
        self.ended()
    }

    /// What one of the ways to process said, if it came to an end.
    fn process(&self, is_patient: bool) -> Option<Result<usize, ProcessError<()>>> {
        let workers = usize::from(1 + roll(3));
        let in_one_task = || self.queue.process(workers, async |item| self.job(item).await);
        match roll(3) {
            0 => {
                let crew = || self.queue.process_blocking(workers, |item| self.work(&item));
                catch_unwind(AssertUnwindSafe(crew)).ok()
            }
            roll if roll == 1 || is_patient => Some(block_on(in_one_task())),
            _ => block_on(impatient(in_one_task())).ok().or_else(|| {
                reached::PROCESS_DROPPED.note();
                None
            }),
        }
    }

    fn run(&self) {
        for turn in 0.. {
            self.done.store(0, SeqCst);
            // In the end it only moves when it is woken.
            match self.process(turn > 5) {
                Some(Ok(done)) => return assert_eq!(done, self.done.load(SeqCst)),
                Some(Err(ProcessError::Failed { done, .. })) => {
                    reached::PROCESS_FAILED.note();
                    assert_eq!(done, self.done.load(SeqCst));
                }
                Some(Err(error)) => panic!("{error:?}"),
                None => {}
            }
        }
    }
}

/// One of a crew fails while the others wait, and nobody ends the queue.
fn a_failure_ends_its_crew() {
    let queue = WorkQueue::new();
    queue.add(0);
    let ended =
        queue.process_blocking(usize::from(1 + roll(3)), |_: ProcessingGuard<'_, u8>| Err::<(), ()>(()));
    assert!(matches!(ended, Err(ProcessError::Failed { done: 0, .. })));
}

pub(crate) fn processes_that_fail_and_are_dropped() {
    a_failure_ends_its_crew();
    let (queue, books) = (WorkQueue::new(), Arc::new(Books::default()));
    let adders = [(); 2].map(|()| {
        let (queue, books) = (queue.clone(), Arc::clone(&books));
        thread::spawn(move || (0..15).for_each(|_| books.add(&queue, roll(ITEMS))))
    });
    let hosts = [(); 2].map(|()| {
        let host = Host { queue: queue.clone(), books: Arc::clone(&books), done: AtomicUsize::new(0) };
        thread::spawn(move || host.run())
    });
    for adder in adders {
        adder.join().unwrap();
    }
    if roll(2) == 0 {
        block_on(queue.drained());
    }
    queue.shutdown();
    for host in hosts {
        host.join().unwrap();
    }
    books.judge_counts(&queue);
}
