//! Drained: waits until nothing is queued and nothing is in flight.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::backlog::{Backlog, Fifo};
use crate::clock::Deadline;
use crate::parker::block_on;
use crate::queue::WorkQueue;
use crate::shared::Shared;
use crate::waiters::Key;

impl<T, B: Backlog, S> WorkQueue<T, B, S> {
    /// Waits until nothing is queued, nothing is in flight and nothing runs again.
    ///
    /// Before shutdown: there was such a moment after the first poll. After shutdown: the queue
    /// stays so. Any number of callers can wait. Workers must go on getting items; a forgotten
    /// guard blocks the drain until [`abandon`](Self::abandon).
    ///
    /// ```
    /// # pollster::block_on(async {
    /// use wq_core::WorkQueue;
    ///
    /// let queue = WorkQueue::new();
    /// queue.add("a");
    /// queue.shutdown();
    /// queue.get().await.unwrap().done();
    /// queue.drained().await;
    /// # });
    /// ```
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it changes nothing. Before shutdown, a new wait does not see idle moments of a
    /// dropped one.
    #[doc(alias = "ShutDownWithDrain")]
    pub fn drained(&self) -> Drained<'_, T, B> {
        Drained { shared: self.shared_ref(), key: None }
    }
}

/// The rest of a queue that [`Drained::wait_timeout`] did not see drained.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotDrained<T> {
    /// The number of queued items; [`WorkQueue::snapshot`] lists them.
    pub queued: usize,
    /// The items held by guards, in no particular order.
    pub in_flight: Vec<T>,
}

impl<T> NotDrained<T> {
    /// For layers above that have this error too.
    #[must_use]
    pub const fn new(queued: usize, in_flight: Vec<T>) -> Self {
        Self { queued, in_flight }
    }
}

impl<T> fmt::Debug for NotDrained<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NotDrained")
            .field("queued", &self.queued)
            .field("in_flight", &self.in_flight.len())
            .finish_non_exhaustive()
    }
}

impl<T> fmt::Display for NotDrained<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { queued, in_flight } = self;
        write!(
            f,
            "the queue was not drained in time: {queued} items are queued, {} in flight",
            in_flight.len()
        )
    }
}

impl<T> Error for NotDrained<T> {}

/// The future of [`WorkQueue::drained`]. It looks for the first time when it is first polled.
#[must_use = "futures do nothing unless polled"]
pub struct Drained<'q, T, B: Backlog = Fifo> {
    shared: &'q Shared<T, B>,
    key: Option<Key>,
}

impl<T, B: Backlog> Drained<'_, T, B> {
    /// Waits on this thread, for at most this long.
    ///
    /// # Errors
    ///
    /// [`NotDrained`] has the items in flight and the number of queued items.
    pub fn wait_timeout(mut self, timeout: Duration) -> Result<(), NotDrained<T>>
    where
        T: Clone,
    {
        if block_on(&mut self, Deadline::after(timeout)).is_some() {
            return Ok(());
        }
        let mut in_flight = Vec::new();
        let core = self.shared.lock();
        if core.was_drained(self.key.as_ref()) {
            // It came between the last look and now.
            return Ok(());
        }
        core.state.see_in_flight(&mut in_flight);
        Err(NotDrained { queued: core.state.counts().queued, in_flight })
    }
}

impl<T, B: Backlog> Future for Drained<'_, T, B> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let mut fresh: Option<Waker> = None;
        loop {
            let _left_waker; // Dropped after the lock.
            let mut core = this.shared.lock();
            if core.was_drained(this.key.as_ref()) {
                _left_waker = this.key.take().and_then(|key| core.drainers.leave(key).1);
                drop(core);
                return Poll::Ready(());
            }
            if this.key.as_ref().is_some_and(|key| core.drainers.sleeps_with(key, context.waker()))
            {
                return Poll::Pending;
            }
            if let Some(waker) = fresh.take() {
                _left_waker = core.drainers.sleep(&mut this.key, waker);
                drop(core);
                return Poll::Pending;
            }
            drop(core);
            fresh = Some(context.waker().clone());
        }
    }
}

impl<T, B: Backlog> Drop for Drained<'_, T, B> {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            let mut core = self.shared.lock();
            let (_, waker) = core.drainers.leave(key);
            drop(core);
            drop(waker);
        }
    }
}

impl<T, B: Backlog> fmt::Debug for Drained<'_, T, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drained").field("is_in_line", &self.key.is_some()).finish_non_exhaustive()
    }
}
