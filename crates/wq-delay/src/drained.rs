//! Drained: waits until nothing is delayed, queued or in flight, at one moment.

use crate::parking::wait_until;
use crate::planted::planted;
use crate::queue::DelayingQueue;
use crate::scheduled::NotDrained;
use std::fmt;
use std::future::Future;
use std::hash::{BuildHasher, Hash};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use wq_core::{Backlog, DefaultHasher, Fifo};

impl<T: Hash + Eq, B: Backlog, S: BuildHasher> DelayingQueue<T, B, S> {
    /// Waits until nothing is queued, in flight or delayed, and nothing runs again. The builder's
    /// [`drain_awaits_delayed`](crate::Builder::drain_awaits_delayed) can exclude delayed items.
    ///
    /// Before shutdown: there was such a moment after the first poll, but a short one can be
    /// missed. After shutdown: the queue stays so. A drain does not keep the time: workers must go
    /// on getting items.
    ///
    /// ```
    /// # pollster::block_on(async {
    /// use std::time::Duration;
    /// use wq_delay::{DelayingQueue, ManualTimer};
    ///
    /// let timer = ManualTimer::new();
    /// let queue = DelayingQueue::builder().timer(timer.clone()).build()?;
    /// queue.add_after("a", Duration::from_secs(5));
    /// timer.advance(Duration::from_secs(5));
    /// queue.get().await.unwrap().done();
    /// queue.drained().await;
    /// # Ok::<(), wq_delay::BuildError>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it changes nothing. A new wait does not see idle moments of a dropped one.
    #[doc(alias = "ShutDownWithDrain")]
    pub fn drained(&self) -> Drained<'_, T, B, S> {
        Drained { queue: self, core: self.core.drained(), empty_since: None, id: None }
    }
}

/// The future of [`DelayingQueue::drained`]. Its first poll is the first look at the queue.
#[must_use = "futures do nothing unless polled"]
pub struct Drained<'q, T, B: Backlog = Fifo, S = DefaultHasher> {
    queue: &'q DelayingQueue<T, B, S>,
    core: wq_core::Drained<'q, T, B>,
    /// The value of `fills` (or of `moves`, without delayed items) when the wait on the core
    /// began.
    empty_since: Option<u64>,
    /// The entry among the drainers, while the heap has items.
    id: Option<u64>,
}

impl<T: Hash + Eq, B: Backlog, S: BuildHasher> Drained<'_, T, B, S> {
    /// Waits on this thread, for at most this long by the queue's timer.
    ///
    /// # Errors
    ///
    /// [`NotDrained`] has the items in flight, and the numbers of queued and delayed items.
    pub fn wait_timeout(mut self, timeout: Duration) -> Result<(), NotDrained<T>>
    where
        T: Clone,
    {
        let (queue, shared) = (self.queue, &*self.queue.shared);
        let deadline = shared.now().after(timeout);
        if wait_until(&queue.shared, &mut self, deadline).is_some() {
            return Ok(());
        }
        loop {
            let (delayed, counts) = {
                let pending = shared.lock(); // No item moves between the two counts.
                (pending.heap.len(), queue.core.counts())
            };
            let waits_for_none =
                delayed == 0 || !shared.drain_awaits_delayed && shared.due_now().is_none();
            if counts.is_idle() && waits_for_none {
                return Ok(());
            }
            let core = queue.core.drained().wait_timeout(Duration::ZERO);
            let in_flight = core.map_or_else(|left| left.in_flight, |()| Vec::new());
            if counts.queued > 0 || delayed > 0 || !in_flight.is_empty() {
                return Err(NotDrained { queued: counts.queued, delayed, in_flight });
            }
            // The guards have ended since `counts`.
        }
    }

    /// Moves due items, so that they count as queued.
    fn poll_without_delayed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let shared = &*self.queue.shared;
        loop {
            self.queue.move_due();
            let moves = shared.lock().moves;
            if self.empty_since != Some(moves) {
                // The core may have been idle before while an item was due.
                self.empty_since = Some(moves);
                self.core = self.queue.core.drained();
            }
            if Pin::new(&mut self.core).poll(context).is_pending() {
                return Poll::Pending;
            }
            if shared.due_now().is_none() && shared.lock().moves == moves {
                return Poll::Ready(());
            }
            self.empty_since = None;
        }
    }
}

/// Nothing in it is pinned.
impl<T, B: Backlog, S> Unpin for Drained<'_, T, B, S> {}

impl<T: Hash + Eq, B: Backlog, S: BuildHasher> Future for Drained<'_, T, B, S> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let shared = &*this.queue.shared;
        if !shared.drain_awaits_delayed || planted("drain-ignores-delayed") {
            return this.poll_without_delayed(context);
        }
        loop {
            // The heap comes first: the core is asked only while the heap is empty.
            let waker = context.waker().clone();
            let left_waker;
            {
                let mut pending = shared.lock();
                if this.id.is_some_and(|id| pending.drainers.has_seen(id)) {
                    this.id = None;
                    return Poll::Ready(());
                }
                if !pending.heap.is_empty() {
                    this.empty_since = None;
                    let replaced = pending.drainers.sleep(&mut this.id, waker);
                    drop(pending);
                    drop(replaced);
                    return Poll::Pending;
                }
                left_waker = this.id.take().and_then(|id| pending.drainers.leave(id));
                if this.queue.core.counts().is_idle() {
                    drop(pending);
                    drop(left_waker);
                    return Poll::Ready(());
                }
                if this.empty_since != Some(pending.fills) {
                    // An earlier idle moment of the core does not count.
                    this.empty_since = Some(pending.fills);
                    drop(pending);
                    this.core = this.queue.core.drained();
                }
            }
            drop(left_waker);
            if Pin::new(&mut this.core).poll(context).is_pending() {
                return Poll::Pending;
            }
            // The core was idle at some moment since the wait began. Was nothing delayed meanwhile?
            let pending = shared.lock();
            if pending.heap.is_empty() && this.empty_since == Some(pending.fills) {
                return Poll::Ready(());
            }
            drop(pending);
            this.empty_since = None;
        }
    }
}

impl<T, B: Backlog, S> Drop for Drained<'_, T, B, S> {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            let waker = self.queue.shared.lock().drainers.leave(id);
            drop(waker);
        }
    }
}

impl<T, B: Backlog, S> fmt::Debug for Drained<'_, T, B, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drained").field("core", &self.core).finish_non_exhaustive()
    }
}
