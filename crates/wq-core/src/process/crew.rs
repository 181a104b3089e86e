//! Crew: workers on threads, who all stop when the work of one fails.

use std::any::Any;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};

use super::ProcessError;
use crate::backlog::Backlog;
use crate::clock::Deadline;
use crate::get::Get;
use crate::guard::ProcessingGuard;
use crate::parker::block_on;
use crate::platform::{AtomicBool, AtomicUsize, Mutex, scope};
use crate::shared::Shared;

struct Crew<E> {
    done: AtomicUsize,
    /// The first.
    error: Mutex<Option<E>>,
    /// What the first worker that panicked did it with.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    has_stopped: AtomicBool,
    /// The wakers of those who wait for an item, by worker.
    asleep: Mutex<BTreeMap<usize, Waker>>,
}

/// Runs the workers, the caller as one of them.
pub(super) fn run<'q, T, B, F, E>(
    shared: &'q Shared<T, B>,
    workers: usize,
    work: &F,
) -> Result<usize, ProcessError<E>>
where
    T: Clone + Send,
    B: Backlog + Send,
    F: Fn(ProcessingGuard<'q, T, B>) -> Result<(), E> + Sync,
    E: Send,
{
    let Some(others) = workers.checked_sub(1) else { return Err(ProcessError::NoWorkers) };
    let crew = Crew {
        done: AtomicUsize::new(0),
        error: Mutex::new(None),
        panic: Mutex::new(None),
        has_stopped: AtomicBool::new(false),
        asleep: Mutex::new(BTreeMap::new()),
    };
    scope(|scope| {
        let crew = &crew;
        let no_thread = StopOnPanic(crew);
        (0..others).for_each(|me| drop(scope.spawn(move || crew.work_or_stop(me, shared, work))));
        std::mem::forget(no_thread);
        crew.work_or_stop(others, shared, work);
    });
    let panic = crew.panic.lock().take();
    if let Some(payload) = panic {
        panic::resume_unwind(payload);
    }
    let (done, error) = (crew.done.load(Ordering::SeqCst), crew.error.lock().take());
    match error {
        Some(error) => Err(ProcessError::Failed { done, error }),
        None => Ok(done),
    }
}

impl<E> Crew<E> {
    /// Works, and stops the crew if that panics, so that nobody waits for ever beside it.
    fn work_or_stop<'q, T, B, F>(&self, me: usize, shared: &'q Shared<T, B>, work: &F)
    where
        T: Clone,
        B: Backlog,
        F: Fn(ProcessingGuard<'q, T, B>) -> Result<(), E>,
    {
        let worked = panic::catch_unwind(AssertUnwindSafe(|| self.work(me, shared, work)));
        if let Err(payload) = worked {
            keep_first(&self.panic, payload);
            self.stop();
        }
    }

    fn work<'q, T, B, F>(&self, me: usize, shared: &'q Shared<T, B>, work: &F)
    where
        T: Clone,
        B: Backlog,
        F: Fn(ProcessingGuard<'q, T, B>) -> Result<(), E>,
    {
        let mut get = Get::on(shared);
        let mut next = poll_fn(|context| self.poll_next(me, &mut get, context));
        while let Some(item) = block_on(&mut next, Deadline::NEVER).flatten() {
            match work(item) {
                Ok(()) => {
                    self.done.fetch_add(1, Ordering::SeqCst);
                }
                Err(error) => {
                    keep_first(&self.error, error);
                    self.stop();
                }
            }
        }
    }

    /// The next item, or `None`: the queue has ended, or the crew has stopped.
    fn poll_next<'q, T, B>(
        &self,
        me: usize,
        get: &mut Get<'q, T, B>,
        context: &mut Context<'_>,
    ) -> Poll<Option<ProcessingGuard<'q, T, B>>>
    where
        T: Clone,
        B: Backlog,
    {
        if self.has_stopped.load(Ordering::SeqCst) {
            return Poll::Ready(None);
        }
        let polled = Pin::new(get).poll(context);
        if polled.is_pending() {
            let waker = context.waker().clone();
            let left = self.asleep.lock().insert(me, waker);
            drop(left);
            // Once more: whoever stops from here on finds the waker.
            if self.has_stopped.load(Ordering::SeqCst) {
                return Poll::Ready(None);
            }
        }
        polled
    }

    fn stop(&self) {
        self.has_stopped.store(true, Ordering::SeqCst);
        let asleep = std::mem::take(&mut *self.asleep.lock());
        asleep.into_values().for_each(Waker::wake);
    }
}

/// Drops a later one outside the lock.
fn keep_first<V>(first: &Mutex<Option<V>>, value: V) {
    let later = {
        let mut first = first.lock();
        if first.is_some() { Some(value) } else { first.replace(value) }
    };
    drop(later);
}

/// Stops the crew when the system gives no thread, so that the panic waits for nobody who waits for an item.
struct StopOnPanic<'c, E>(&'c Crew<E>);

impl<E> Drop for StopOnPanic<'_, E> {
    fn drop(&mut self) {
        self.0.stop();
    }
}
