//! Crew: workers on threads, who all stop when the work of one fails.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;

use super::ProcessError;
use crate::backlog::Backlog;
use crate::clock::Deadline;
use crate::get::Get;
use crate::guard::ProcessingGuard;
use crate::parker::block_on;
use crate::shared::Shared;

struct Crew<E> {
    done: AtomicUsize,
    error: Mutex<Option<E>>,
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
        has_stopped: AtomicBool::new(false),
        asleep: Mutex::default(),
    };
    thread::scope(|scope| {
        let crew = &crew;
        let on_panic = StopOnPanic(crew); // A thread that cannot be had.
        let threads: Vec<_> =
            (0..others).map(|me| scope.spawn(move || crew.work(me, shared, work))).collect();
        std::mem::forget(on_panic);
        let ours = panic::catch_unwind(AssertUnwindSafe(|| crew.work(others, shared, work)));
        let theirs: Vec<_> = threads.into_iter().map(thread::ScopedJoinHandle::join).collect();
        let panicked = [ours].into_iter().chain(theirs).find_map(Result::err);
        if let Some(payload) = panicked {
            panic::resume_unwind(payload);
        }
    });
    let done = crew.done.into_inner();
    match crew.error.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(ProcessError::Failed { done, error }),
        None => Ok(done),
    }
}

impl<E> Crew<E> {
    fn work<'q, T, B, F>(&self, me: usize, shared: &'q Shared<T, B>, work: &F)
    where
        T: Clone,
        B: Backlog,
        F: Fn(ProcessingGuard<'q, T, B>) -> Result<(), E>,
    {
        let on_panic = StopOnPanic(self);
        let mut get = Get::on(shared);
        let mut next = poll_fn(|context| self.poll_next(me, &mut get, context));
        while let Some(item) = block_on(&mut next, Deadline::NEVER).flatten() {
            match work(item) {
                Ok(()) => {
                    self.done.fetch_add(1, Ordering::Relaxed);
                }
                Err(error) => {
                    let later = {
                        let mut first = self.error.lock().unwrap_or_else(PoisonError::into_inner);
                        if first.is_some() { Some(error) } else { first.replace(error) }
                    };
                    drop(later);
                    self.stop();
                }
            }
        }
        std::mem::forget(on_panic);
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
            let left = self.asleep().insert(me, waker);
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
        let asleep = std::mem::take(&mut *self.asleep());
        asleep.into_values().for_each(Waker::wake);
    }

    fn asleep(&self) -> std::sync::MutexGuard<'_, BTreeMap<usize, Waker>> {
        self.asleep.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stops the crew when the work of one panics, so that nobody waits for ever beside it.
struct StopOnPanic<'c, E>(&'c Crew<E>);

impl<E> Drop for StopOnPanic<'_, E> {
    fn drop(&mut self) {
        self.0.stop();
    }
}
