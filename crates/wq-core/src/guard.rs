//! Guards: an item is in the processing set until its guard ends.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use crate::backlog::{Backlog, Fifo};
use crate::get::TryGetError;
use crate::planted::planted;
use crate::shared::{Core, Shared, release};
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

    /// As `new`, of an item taken by a waiter that wakes others. The guard first, then what may panic.
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
        let mut core = shared.lock();
        match core.state.get(now) {
            Take::Got(got) => {
                let unguarded = Unguarded { shared: &*shared, ticket: got.ticket };
                release(core, Core::room_came);
                unguarded.tell(got.waited);
                Take::Got(Self::new(shared, got))
            }
            Take::Nothing => Take::Nothing,
            Take::Ended => Take::Ended,
        }
    }

    /// Becomes the guard of the next item, if there is one.
    #[inline]
    fn done_and_get(mut self) -> Result<Self, TryGetError>
    where
        T: Clone,
    {
        let now = self.shared.now();
        let mut wakes = Wakes::new();
        let finished; // Dropped after the lock, also if a clone panics.
        self.armed = false;
        let mut core = self.shared.lock();
        finished = core.state.done(self.ticket, now);
        core.after_finish(&finished, &mut wakes);
        let next = match core.state.get(now) {
            Take::Got(got) => {
                core.room_came(&mut wakes);
                Ok(got)
            }
            Take::Nothing => Err(TryGetError::Empty),
            Take::Ended => Err(TryGetError::ShutDown),
        };
        drop(core);
        // What was in hand is dropped last: whatever panics in between, the next item has its guard.
        let mut before = None;
        let waited = next.map(|got| {
            (self.ticket, self.armed) = (got.ticket, true);
            let item = std::mem::replace(&mut self.item, got.item);
            before = Some((item, std::mem::replace(&mut self.order, got.order)));
            got.waited
        });
        wakes.fire();
        self.shared.end(finished);
        self.shared.observe(|observer| {
            if let Ok(waited) = waited {
                observer.got(waited.unwrap_or_default());
            }
        });
        drop(before);
        waited.map(|_| self)
    }
}

/// Ends a hand-out that has no guard yet, if a waker or the observer panics.
struct Unguarded<'s, T, B: Backlog> {
    shared: &'s Shared<T, B>,
    ticket: Ticket,
}

impl<T, B: Backlog> Unguarded<'_, T, B> {
    #[inline]
    fn tell(self, waited: Option<Duration>) {
        self.shared.observe(|observer| observer.got(waited.unwrap_or_default()));
        std::mem::forget(self);
    }
}

impl<T, B: Backlog> Drop for Unguarded<'_, T, B> {
    #[cold]
    fn drop(&mut self) {
        self.shared.finish(self.ticket);
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
            ///
            /// # Panics
            ///
            /// If `Clone` of the next item panics: that one is queued still, at the tail, and this guard has ended.
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
