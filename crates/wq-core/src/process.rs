//! Process: a parallel-for over what a queue hands out, with so many workers: in one task, or on threads.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::backlog::Backlog;
use crate::get::Get;
use crate::guard::ProcessingGuard;
use crate::queue::WorkQueue;
use jobs::Jobs;

mod crew;
mod jobs;

/// Items begun and jobs polled in one poll before the task gives way to others.
const TURNS: usize = 128;

/// Why not everything was processed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProcessError<E> {
    /// No workers were asked for, who would have done nothing for ever.
    NoWorkers,
    /// The work on an item failed.
    Failed {
        /// How many items were done, those included that were in hand when it failed.
        done: usize,
        /// The first error. Later ones, of items that were in hand then, are dropped.
        error: E,
    },
}

impl<E: fmt::Display> fmt::Display for ProcessError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoWorkers => f.write_str("workers is 0 but must be at least 1"),
            Self::Failed { done, error } => write!(f, "after {done} items were done: {error}"),
        }
    }
}

impl<E: Error + 'static> Error for ProcessError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::NoWorkers => None,
            Self::Failed { error, .. } => Some(error),
        }
    }
}

impl<T, B: Backlog, S> WorkQueue<T, B, S> {
    /// Does `work` on each item, on at most `workers` at a time, until the queue is shut down and empty. Says how many
    /// items were done; an item that runs again counts again.
    ///
    /// All of it happens in the one task that polls this: work that computes for long is better spread over several tasks,
    /// each with a `process` of its own, or done by [`process_blocking`](Self::process_blocking).
    ///
    /// ```
    /// # use wq_core::{ProcessError, WorkQueue};
    /// # async fn fetch(page: u32) -> Result<(), std::io::Error> { assert!(page < 100); Ok(()) }
    /// # pollster::block_on(async {
    /// let queue = WorkQueue::new();
    /// queue.add_all(0..100_u32);
    /// queue.shutdown(); // Nothing more is to come: process ends when all is done.
    /// let done = queue.process(8, async |page| fetch(*page.item()).await).await?;
    /// assert_eq!(done, 100);
    /// # Ok::<(), ProcessError<std::io::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// [`ProcessError::NoWorkers`] at once if `workers` is 0. [`ProcessError::Failed`] with the first error of `work`: no
    /// further item is begun then, those in hand are finished, and the rest stays in the queue. The item at fault has
    /// ended like any other; `work` can add it again.
    ///
    /// # Panics
    ///
    /// If `work` panics, when called or when what it returned is polled: the jobs in hand are dropped with this future.
    /// If `Clone` of an item panics, as in [`get`](Self::get).
    ///
    /// # Cancel safety
    ///
    /// Dropping it drops the work in hand: those guards end, and their items are no longer in the queue. No other item is
    /// lost.
    #[doc(alias = "ParallelizeUntil")]
    pub fn process<'q, F, W, E>(&'q self, workers: usize, work: F) -> Process<'q, T, B, F, W, E>
    where
        F: FnMut(ProcessingGuard<'q, T, B>) -> W,
        W: Future<Output = Result<(), E>>,
    {
        Process { get: Some(self.get()), work, jobs: Jobs::new(workers), done: 0, error: None }
    }

    /// Does `work` on each item, on this thread and `workers - 1` more, until the queue is shut down and empty. Otherwise
    /// as [`process`](Self::process).
    ///
    /// ```
    /// # use wq_core::WorkQueue;
    /// let queue = WorkQueue::new();
    /// queue.add_all(["a", "b", "c"]);
    /// queue.shutdown();
    /// let done = queue.process_blocking(2, |name| std::fs::metadata(".").map(|_| println!("{}", name.item())))?;
    /// assert_eq!(done, 3);
    /// # Ok::<(), wq_core::ProcessError<std::io::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`process`](Self::process). Workers that wait for an item are told of an error, too.
    ///
    /// # Panics
    ///
    /// If `work` or `Clone` of an item panics: once the other workers have finished what they have in hand. If the system
    /// gives no thread.
    #[doc(alias = "ParallelizeUntil")]
    pub fn process_blocking<'q, F, E>(&'q self, workers: usize, work: F) -> Result<usize, ProcessError<E>>
    where
        T: Clone + Send,
        B: Send,
        F: Fn(ProcessingGuard<'q, T, B>) -> Result<(), E> + Sync,
        E: Send,
    {
        crew::run(self.shared_ref(), workers, &work)
    }
}

/// The future of [`WorkQueue::process`].
#[must_use = "futures do nothing unless polled"]
pub struct Process<'q, T, B: Backlog, F, W, E> {
    /// Stands in line while there is a place for a job; `None` when no further item is to be begun.
    get: Option<Get<'q, T, B>>,
    work: F,
    jobs: Jobs<W>,
    done: usize,
    error: Option<E>,
}

/// Nothing in it is ever pinned but the jobs, which are pinned where they are.
impl<T, B: Backlog, F, W, E> Unpin for Process<'_, T, B, F, W, E> {}

impl<'q, T, B, F, W, E> Process<'q, T, B, F, W, E>
where
    T: Clone,
    B: Backlog,
    F: FnMut(ProcessingGuard<'q, T, B>) -> W,
    W: Future<Output = Result<(), E>>,
{
    /// Begins a job if there are a place and an item. `Ready(false)`: the queue has ended, or is asked no more.
    fn poll_begin(&mut self, context: &mut Context<'_>) -> Poll<bool> {
        let Some(get) = self.get.as_mut() else { return Poll::Ready(false) };
        Pin::new(get)
            .poll(context)
            .map(|guard| guard.map(|guard| self.jobs.begin((self.work)(guard))).is_some())
    }

    fn ended(&mut self, ended: Result<(), E>) {
        match ended {
            Ok(()) => self.done += 1,
            Err(error) => {
                self.error.get_or_insert(error);
                self.get = None; // It may have been woken: leaving the line passes that on.
            }
        }
    }
}

impl<'q, T, B, F, W, E> Future for Process<'q, T, B, F, W, E>
where
    T: Clone,
    B: Backlog,
    F: FnMut(ProcessingGuard<'q, T, B>) -> W,
    W: Future<Output = Result<(), E>>,
{
    type Output = Result<usize, ProcessError<E>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if this.jobs.most() == 0 {
            return Poll::Ready(Err(ProcessError::NoWorkers));
        }
        this.jobs.set_task(context.waker());
        // What the queue last answered in this poll; what a job leaves behind may change it.
        let mut answer = None;
        for _ in 0..TURNS {
            if answer.is_none() && this.jobs.has_place() {
                match this.poll_begin(context) {
                    Poll::Ready(true) => {} // Its turn, or that of one begun before: who begins all and works on none hoards.
                    other => answer = Some(other),
                }
            }
            match this.jobs.poll_woken() {
                Some(Poll::Ready(ended)) => {
                    this.ended(ended);
                    answer = None;
                }
                // It may have ended its guard and go on, and nobody stands in line for what comes back after a shutdown.
                Some(Poll::Pending) if answer == Some(Poll::Ready(false)) => answer = None,
                Some(Poll::Pending) => {}
                None if this.jobs.at_work() == 0 && answer == Some(Poll::Ready(false)) => {
                    let done = this.done;
                    return Poll::Ready(match this.error.take() {
                        Some(error) => Err(ProcessError::Failed { done, error }),
                        None => Ok(done),
                    });
                }
                None => return Poll::Pending,
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<T, B: Backlog, F, W, E> fmt::Debug for Process<'_, T, B, F, W, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process")
            .field("at_work", &self.jobs.at_work())
            .field("done", &self.done)
            .finish_non_exhaustive()
    }
}
