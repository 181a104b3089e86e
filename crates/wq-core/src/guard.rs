//! Guards: an item is in the processing set until its guard ends.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::backlog::{Backlog, Fifo};
use crate::get::TryGetError;
use crate::planted::planted;
use crate::shared::Shared;
use crate::state::{Got, Take, Ticket};
use crate::waiters::Wakes;

/// An item in hand: nobody else is handed this item until the guard ends, by [`done`](Self::done) or by being dropped.
///
/// Ending it says "I am finished", not "it went well": after an early return, a panic, or the end of the task that
/// holds it, the item is no longer in the queue. Whoever wants it to run again adds it, before the guard ends or after;
/// an add before is remembered and queues the item when the guard ends.
///
/// A guard that is never dropped ([`std::mem::forget`]) keeps its item, and every `drained`, until
/// [`WorkQueue::abandon`](crate::WorkQueue::abandon); afterwards it has no effect, whatever happens to it.
///
/// # Cancel safety
///
/// Dropping a future that holds a guard ends the guard.
#[must_use = "dropping the guard says that the item is finished"]
#[clippy::has_significant_drop]
pub struct ProcessingGuard<'q, T, B: Backlog = Fifo>(pub(crate) Holding<&'q Shared<T, B>, T, B>);

/// A [`ProcessingGuard`] that does not borrow the queue, at the price of one reference count: it can be sent to
/// another task or kept in a struct.
#[must_use = "dropping the guard says that the item is finished"]
#[clippy::has_significant_drop]
pub struct OwnedProcessingGuard<T, B: Backlog = Fifo>(pub(crate) Holding<Arc<Shared<T, B>>, T, B>);

/// Both guards; `P` points to the queue.
pub(crate) struct Holding<P, T, B>
where
    P: Deref<Target = Shared<T, B>>,
    B: Backlog,
{
    shared: P,
    item: T,
    order: B::Order,
    ticket: Ticket,
    /// Whether the drop is to end the hand-out.
    armed: bool,
}

impl<P, T, B> Holding<P, T, B>
where
    P: Deref<Target = Shared<T, B>>,
    B: Backlog,
{
    #[inline]
    pub(crate) fn new(shared: P, got: Got<T, B::Order>) -> Self {
        Self { shared, item: got.item, order: got.order, ticket: got.ticket, armed: true }
    }

    /// The guard first, then what may panic (wakers, observers): a panic then ends the hand-out, and the item is free again.
    #[inline]
    pub(crate) fn begin(shared: P, got: Got<T, B::Order>, wakes: Wakes) -> Self {
        let waited = got.waited;
        let holding = Self::new(shared, got);
        wakes.fire();
        holding.shared.observe(|observer| observer.got(waited.unwrap_or_default()));
        holding
    }

    /// Takes an item if there is one, without waiting.
    #[inline]
    pub(crate) fn take(shared: P) -> Take<Self>
    where
        T: Clone,
    {
        let now = shared.now();
        let mut wakes = Wakes::new();
        let mut core = shared.lock();
        let take = core.state.get(now);
        if let Take::Got(_) = take {
            core.room_came(&mut wakes);
        }
        drop(core);
        match take {
            Take::Got(got) => Take::Got(Self::begin(shared, got, wakes)),
            Take::Nothing => Take::Nothing,
            Take::Ended => Take::Ended,
        }
    }

    fn done_and_get(mut self) -> Result<Self, TryGetError>
    where
        T: Clone,
        P: Clone,
    {
        self.armed = false;
        let shared = self.shared.clone();
        let now = shared.now();
        let mut wakes = Wakes::new();
        let finished;
        let mut core = shared.lock();
        finished = core.state.done(self.ticket, now);
        core.after_finish(&finished, &mut wakes);
        let take = core.state.get(now);
        if let Take::Got(_) = take {
            core.room_came(&mut wakes);
        }
        drop(core);
        let next = match take {
            Take::Got(got) => Ok(Self::begin(shared.clone(), got, wakes)),
            Take::Nothing => Err(TryGetError::Empty),
            Take::Ended => Err(TryGetError::ShutDown),
        };
        shared.end(finished);
        next
    }
}

impl<P, T, B> Drop for Holding<P, T, B>
where
    P: Deref<Target = Shared<T, B>>,
    B: Backlog,
{
    #[inline]
    fn drop(&mut self) {
        if self.armed && !(planted("panic-skips-done") && std::thread::panicking()) {
            self.shared.finish(self.ticket);
        }
    }
}

macro_rules! guard {
    ($name:literal, ($($generics:tt)*), $guard:ty) => {
        impl<$($generics)*> $guard {
            /// The item.
            #[must_use]
            #[inline]
            pub const fn item(&self) -> &T {
                &self.0.item
            }

            /// What the adds that led to this hand-out asked for, merged.
            #[must_use]
            #[inline]
            pub const fn order(&self) -> &B::Order {
                &self.0.order
            }

            /// Ends the work on the item; dropping the guard does the same. If the item was added meanwhile it is queued
            /// again, at the tail.
            #[doc(alias = "Done")]
            #[inline]
            pub fn done(self) {
                drop(self);
            }

            /// Ends the work on the item and takes the next, in one step under one lock: the fast loop of a worker.
            /// Does not wait.
            ///
            /// # Errors
            ///
            /// [`TryGetError`] if there is no next item. This guard has ended in any case.
            #[inline]
            pub fn done_and_get(self) -> Result<Self, TryGetError>
            where
                T: Clone,
            {
                self.0.done_and_get().map(Self)
            }
        }

        impl<$($generics)*> AsRef<T> for $guard {
            fn as_ref(&self) -> &T {
                self.item()
            }
        }

        impl<$($generics)*> fmt::Debug for $guard
        where
            T: fmt::Debug,
        {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct($name).field("item", self.item()).finish_non_exhaustive()
            }
        }
    };
}

guard!("ProcessingGuard", ('q, T, B: Backlog), ProcessingGuard<'q, T, B>);
guard!("OwnedProcessingGuard", (T, B: Backlog), OwnedProcessingGuard<T, B>);
