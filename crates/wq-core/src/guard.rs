//! Guards: an item is in the processing set until its guard ends.

use std::fmt;
use std::mem;
use std::ops::Deref;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::backlog::{Backlog, Fifo};
use crate::get::TryGetError;
use crate::planted::planted;
use crate::shared::Shared;
use crate::state::{Dequeue, Dequeued, Finished, Ticket};
use crate::transition::Transition;
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
pub struct ProcessingGuard<'q, T, B: Backlog = Fifo>(pub(crate) RawGuard<&'q Shared<T, B>, T, B>);

/// A [`ProcessingGuard`] that does not borrow the queue, at the price of one reference count: it can be sent to
/// another task or kept in a struct.
#[must_use = "dropping the guard says that the item is finished"]
#[clippy::has_significant_drop]
pub struct OwnedProcessingGuard<T, B: Backlog = Fifo>(pub(crate) RawGuard<Arc<Shared<T, B>>, T, B>);

/// Both guards; `P` points to the queue. The hand-out ends first when this is dropped, then the item goes.
pub(crate) struct RawGuard<P, T, B>
where
    P: Deref<Target = Shared<T, B>>,
    B: Backlog,
{
    hand_out: HandOut<P, T, B>,
    item: T,
    order: B::Order,
}

/// A hand-out in force, which ends when this is dropped.
struct HandOut<P, T, B>
where
    P: Deref<Target = Shared<T, B>>,
    B: Backlog,
{
    shared: P,
    /// `None`: it has ended already.
    ticket: Option<Ticket>,
}

impl<P, T, B> RawGuard<P, T, B>
where
    P: Deref<Target = Shared<T, B>>,
    B: Backlog,
{
    #[inline]
    pub(crate) fn new(shared: P, got: Dequeued<T, B::Order>) -> Self {
        Self { hand_out: HandOut { shared, ticket: Some(got.ticket) }, item: got.item, order: got.order }
    }

    /// Itself, taken apart and put together. What a call hands out lies in memory; behind this, the way that makes no such
    /// call keeps its guard in registers (`docs/decisions/0008-hot-path.md`).
    #[inline(always)]
    pub(crate) fn anew(self) -> Self {
        let Self { hand_out, item, order } = self;
        Self { hand_out, item, order }
    }

    /// As `new`, of an item whose taker wakes others, and tells of it.
    #[inline(always)]
    pub(crate) fn begin(shared: P, got: Dequeued<T, B::Order>, wakes: Option<Wakes>) -> Self {
        let waited = got.waited;
        let guard = Self::new(shared, got);
        if wakes.is_none() && waited.is_none() {
            mem::forget(wakes); // Its drop, of none, may be a call.
            return guard;
        }
        let mut told = guard;
        told.tell(wakes, waited);
        told.anew()
    }

    /// A panic in here ends the hand-out: the item is lost.
    #[inline(never)]
    fn tell(&mut self, wakes: Option<Wakes>, waited: Option<Duration>) {
        if let Some(wakes) = wakes {
            wakes.fire();
        }
        if let Some(waited) = waited {
            self.hand_out.shared.observe(|observer| observer.got(waited));
        }
    }

    /// Takes an item if there is one, without waiting.
    #[inline(always)]
    pub(crate) fn take(shared: &P, now: Option<Instant>) -> Dequeue<Self>
    where
        P: Clone,
        T: Clone,
    {
        let mut core = shared.lock();
        match core.state.get(now) {
            Dequeue::Item(got) => {
                drop(core);
                Dequeue::Item(Self::begin(shared.clone(), got, None))
            }
            Dequeue::Nothing => Dequeue::Nothing,
            Dequeue::Ended => Dequeue::Ended,
        }
    }

    fn is_current(&self) -> bool {
        let HandOut { shared, ticket } = &self.hand_out;
        ticket.is_some_and(|ticket| shared.lock().state.is_current(ticket))
    }

    /// Becomes the guard of the next item, if there is one.
    #[inline]
    fn done_and_get(self) -> Result<Self, TryGetError>
    where
        T: Clone,
    {
        match self.hand_out.shared.now() {
            None => self.done_and_get_at(None),
            now => {
                let next = self.done_and_get_observed(now)?;
                Ok(next.anew())
            }
        }
    }

    #[inline(never)]
    fn done_and_get_observed(self, now: Option<Instant>) -> Result<Self, TryGetError>
    where
        T: Clone,
    {
        self.done_and_get_at(now)
    }

    #[inline(always)]
    fn done_and_get_at(self, now: Option<Instant>) -> Result<Self, TryGetError>
    where
        T: Clone,
    {
        let mut wakes = None; // Fired after the lock, also if a clone panics.
        let finished; // Dropped after the lock.
        let Self { mut hand_out, item, order } = self;
        let mut core = hand_out.shared.lock();
        finished = match hand_out.ticket.take() {
            None => Finished::Stale,
            Some(ticket) => core.state.done(ticket, now),
        };
        if core.somebody_waits() {
            // Before the get: if that panics, others must know nevertheless.
            core.gather(Transition::of_finish(&finished), &mut wakes);
        }
        let taken = core.state.get(now);
        match taken {
            Dequeue::Item(Dequeued { item: next, order: of_next, ticket, waited }) => {
                drop(core);
                hand_out.ticket = Some(ticket);
                let next = Self { hand_out, item: next, order: of_next };
                let calls_nobody = now.is_none() && wakes.is_none() && !mem::needs_drop::<(T, B::Order)>();
                if calls_nobody {
                    mem::forget(wakes); // Its drop, of none, may be a call.
                    return Ok(next);
                }
                let shared = &*next.hand_out.shared;
                shared.end_after(wakes, finished);
                if let Some(waited) = waited {
                    shared.observe(|observer| observer.got(waited));
                }
                drop((item, order));
                Ok(next.anew())
            }
            nothing => {
                drop(core);
                hand_out.shared.end_after(wakes, finished);
                Err(if matches!(nothing, Dequeue::Ended) {
                    TryGetError::ShutDown
                } else {
                    TryGetError::Empty
                })
            }
        }
    }
}

impl<P, T, B> Drop for HandOut<P, T, B>
where
    P: Deref<Target = Shared<T, B>>,
    B: Backlog,
{
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket
            && !(planted("panic-skips-done") && thread::panicking())
        {
            self.shared.finish(ticket);
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

            /// Whether the item is still in this guard's hands: not after
            /// [`WorkQueue::abandon`](crate::WorkQueue::abandon).
            #[must_use]
            pub fn is_current(&self) -> bool {
                self.0.is_current()
            }

            /// Itself, taken apart and put together: for layers above that hand out guards of a call beside those of an
            /// inlined [`try_get`](crate::WorkQueue::try_get), which keep theirs in registers.
            #[must_use = "dropping the guard says that the item is finished"]
            #[inline(always)]
            pub fn anew(self) -> Self {
                Self(self.0.anew())
            }

            /// Ends the work on the item; dropping the guard does the same. If the item was added meanwhile it is queued
            /// again, at the tail.
            ///
            /// # Panics
            ///
            /// If a waker, an observer or `Drop` of the item panics: this guard has ended. The guard and the queue have a clone each,
            /// and both are dropped: if the second `Drop` panics too, the program is aborted, as for two items of a `Vec`.
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
            /// If `Clone` of the next item panics: this guard has ended, and the next item is queued still, at the tail. If a waker,
            /// an observer or `Drop` of this item panics, the next item is lost. Two panics in `Drop` abort, as in [`done`](Self::done).
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
