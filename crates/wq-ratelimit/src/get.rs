//! Get: the getters of the delaying queue, with guards that can finish.

use crate::finish::Finish;
use crate::guard::{OwnedProcessingGuard, ProcessingGuard};
use crate::limiter::RateLimiter;
use crate::queue::RateLimitingQueue;
use std::fmt;
use std::future::Future;
use std::hash::{BuildHasher, Hash};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use wq_delay::{Backlog, DefaultHasher, Fifo, GetTimeoutError, KeepTime, TryGetError};

impl<T, L, B, S> RateLimitingQueue<T, L, B, S>
where
    T: Hash + Eq + Clone + Send,
    L: RateLimiter<T> + Send,
    B: Backlog + Send,
    S: BuildHasher + Send + Sync,
{
    /// Waits for the next item. Returns `None` if the queue is shut down and nothing is queued.
    ///
    /// ```
    /// # pollster::block_on(async {
    /// # use wq_ratelimit::{RateLimitingQueue as Queue, *};
    /// # let queue = Queue::builder().limiter(item_default()).timer(ManualTimer::new()).build()?;
    /// queue.add("a");
    /// assert!(queue.shutdown().is_empty()); // No item is delayed.
    /// while let Some(item) = queue.get().await {
    ///     item.finish(Outcome::Success)?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Cancel safety
    ///
    /// Cancel safe, as [`wq_delay::DelayingQueue::get`].
    #[doc(alias = "Get")]
    #[inline]
    pub fn get(&self) -> Get<'_, T, B, S> {
        Get { queue: &*self.inner, get: self.inner.queue.get() }
    }

    /// As [`get`](Self::get), with a future and a guard that borrow nothing.
    ///
    /// # Cancel safety
    ///
    /// As [`get`](Self::get).
    #[inline]
    pub fn get_owned(&self) -> GetOwned<T, B, S>
    where
        T: 'static,
        L: 'static,
        B: 'static,
        S: Clone + 'static,
    {
        let queue = Arc::clone(&self.inner) as Arc<dyn Finish<T, B> + Send + Sync>;
        GetOwned { queue, get: self.inner.queue.get_owned() }
    }

    /// Takes the next item if there is one now.
    ///
    /// # Errors
    ///
    /// [`TryGetError`] says whether an item may come later.
    #[inline(always)]
    pub fn try_get(&self) -> Result<ProcessingGuard<'_, T, B>, TryGetError> {
        self.inner.queue.try_get().map(|held| ProcessingGuard { queue: &*self.inner, held })
    }

    /// As [`get`](Self::get), blocking the thread.
    #[must_use = "dropping the guard ends the work on the item"]
    #[inline(always)]
    pub fn get_blocking(&self) -> Option<ProcessingGuard<'_, T, B>> {
        // The common case finds an item and prepares no wait.
        let held = match self.inner.queue.try_get() {
            Ok(held) => held,
            Err(_) => self.wait_blocking()?.anew(),
        };
        Some(ProcessingGuard { queue: &*self.inner, held })
    }

    #[cold]
    #[inline(never)]
    fn wait_blocking(&self) -> Option<wq_delay::ProcessingGuard<'_, T, B>> {
        self.inner.queue.get_blocking()
    }

    /// As [`get_blocking`](Self::get_blocking), for at most this long by the queue's timer.
    ///
    /// # Errors
    ///
    /// [`GetTimeoutError`] says whether an item may come later.
    #[inline]
    pub fn get_timeout(
        &self,
        timeout: Duration,
    ) -> Result<ProcessingGuard<'_, T, B>, GetTimeoutError> {
        self.inner
            .queue
            .get_timeout(timeout)
            .map(|held| ProcessingGuard { queue: &*self.inner, held })
    }

    /// Keeps time until shutdown, and gets no items; see [`wq_delay::DelayingQueue::keep_time`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: a dropped future passes the timekeeping on to a waiting getter.
    pub fn keep_time(&self) -> KeepTime<'_, T, B, S> {
        self.inner.queue.keep_time()
    }
}

/// The future of [`RateLimitingQueue::get`].
#[must_use = "futures do nothing unless polled"]
pub struct Get<'q, T, B: Backlog = Fifo, S = DefaultHasher> {
    queue: &'q (dyn Finish<T, B> + Send + Sync + 'q),
    get: wq_delay::Get<'q, T, B, S>,
}

/// The future of [`RateLimitingQueue::get_owned`].
#[must_use = "futures do nothing unless polled"]
pub struct GetOwned<T, B: Backlog = Fifo, S = DefaultHasher> {
    queue: Arc<dyn Finish<T, B> + Send + Sync>,
    get: wq_delay::GetOwned<T, B, S>,
}

impl<'q, T: Hash + Eq + Clone, B: Backlog, S: BuildHasher> Future for Get<'q, T, B, S> {
    type Output = Option<ProcessingGuard<'q, T, B>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let held = ready!(Pin::new(&mut self.get).poll(context));
        Poll::Ready(held.map(|held| ProcessingGuard { queue: self.queue, held }))
    }
}

impl<T: Hash + Eq + Clone, B: Backlog, S: BuildHasher> Future for GetOwned<T, B, S> {
    type Output = Option<OwnedProcessingGuard<T, B>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let held = ready!(Pin::new(&mut self.get).poll(context));
        Poll::Ready(held.map(|held| OwnedProcessingGuard { queue: Arc::clone(&self.queue), held }))
    }
}

macro_rules! debug {
    ($name:literal, ($($generics:tt)*), $future:ty) => {
        impl<$($generics)*> fmt::Debug for $future {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct($name).field("get", &self.get).finish_non_exhaustive()
            }
        }
    };
}

debug!("Get", ('q, T, B: Backlog, S), Get<'q, T, B, S>);
debug!("GetOwned", (T, B: Backlog, S), GetOwned<T, B, S>);
