//! `Drained`: waiting until nothing is delayed, nothing queued and nothing in flight, all in one moment.

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
    /// Waits until nothing is queued, nothing is in flight, nothing is about to come back and, unless the builder's
    /// [`drain_awaits_delayed`](crate::Builder::drain_awaits_delayed) says otherwise, nothing is delayed.
    ///
    /// Before shutdown that means: there was such a moment after the first poll. After shutdown, which ends all delays,
    /// it is final. A moment that nobody saw because items were delayed or moved around it may not count. This wait keeps no
    /// time: somebody must go on getting items.
    ///
    /// # Panics
    ///
    /// When polled, where it does not wait for what is delayed: as [`move_due`](Self::move_due).
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it only looks. A wait begun anew does not know of moments before it.
    #[doc(alias = "ShutDownWithDrain")]
    pub fn drained(&self) -> Drained<'_, T, B, S> {
        Drained { queue: self, core: self.core.drained(), empty_since: None, id: None }
    }

    /// As [`drained`](Self::drained), blocking the thread for at most this long by the queue's timer.
    ///
    /// # Errors
    ///
    /// [`NotDrained`] says what is left.
    ///
    /// # Panics
    ///
    /// As [`drained`](Self::drained) when polled. If the time is over and `Clone` of an item in flight panics, which is to be told of.
    pub fn drained_timeout(&self, timeout: Duration) -> Result<(), NotDrained<T>>
    where
        T: Clone,
    {
        let deadline = self.shared.now().after(timeout);
        if wait_until(&self.shared, &mut self.drained(), deadline).is_some() {
            return Ok(());
        }
        loop {
            let (delayed, counts) = {
                let pending = self.shared.lock(); // An item that moves meanwhile would be in both, or in neither.
                (pending.heap.len(), self.core.counts())
            };
            let waits_for_none =
                delayed == 0 || !self.shared.drain_awaits_delayed && self.shared.due_now().is_none();
            if counts.is_idle() && waits_for_none {
                return Ok(());
            }
            let held =
                self.core.drained_timeout(Duration::ZERO).map_or_else(|left| left.in_flight, |()| Vec::new());
            if counts.queued > 0 || delayed > 0 || !held.is_empty() {
                return Err(NotDrained { queued: counts.queued, delayed, in_flight: held });
            }
            // What was in hand is not any more.
        }
    }
}

/// The future of [`DelayingQueue::drained`]. It looks for the first time when it is first polled.
#[must_use = "futures do nothing unless polled"]
pub struct Drained<'q, T, B: Backlog = Fifo, S = DefaultHasher> {
    queue: &'q DelayingQueue<T, B, S>,
    core: wq_core::Drained<'q, T, B>,
    /// The heap was empty when this wait on the core began, and had been filled so often by then. If delayed items are
    /// not waited for: due items had been moved so often by then.
    empty_since: Option<u64>,
    /// The place among those who wait for the heap to become empty.
    id: Option<u64>,
}

impl<T: Hash + Eq, B: Backlog, S: BuildHasher> Drained<'_, T, B, S> {
    /// What is due is queued, also if nobody has looked yet.
    fn poll_without_delayed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let shared = &*self.queue.shared;
        loop {
            self.queue.move_due();
            let moves = shared.lock().moves;
            if self.empty_since != Some(moves) {
                // An idle moment of the core from before may have been one in which something was due.
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

/// Nothing in it is ever pinned.
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
            // The heap first: that it was empty is known before the core is asked.
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
                    // An idle moment of the core from before would not count.
                    this.empty_since = Some(pending.fills);
                    drop(pending);
                    this.core = this.queue.core.drained();
                }
            }
            drop(left_waker);
            if Pin::new(&mut this.core).poll(context).is_pending() {
                return Poll::Pending;
            }
            // The core was idle, then or since. If nothing was delayed in between, that was the moment.
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
