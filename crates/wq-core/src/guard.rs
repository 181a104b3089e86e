//! Guards: an item is in the processing set until its guard ends.

use std::fmt;
use std::mem;
use std::ops::Deref;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::backlog::{Backlog, Fifo};
use crate::get_error::TryGetError;
use crate::planted::planted;
use crate::shared::Shared;
use crate::state::{Dequeue, Dequeued, Finished, Ticket};
use crate::transition::Transition;
use crate::waiters::Wakes;

/// An item in flight: no other getter receives it until the guard ends, by [`done`](Self::done) or
/// by being dropped.
///
/// Ending a guard does not mean success. After an early return, a panic or the end of its task, the
/// item is no longer in the queue. To run it again, add it before or after the guard ends. An add
/// before the end queues the item when the guard ends.
///
/// A guard that is never dropped ([`std::mem::forget`]) keeps its item in flight, and every
/// `drained` waiting, until [`WorkQueue::abandon`](crate::WorkQueue::abandon). Afterwards the guard
/// has no effect.
///
/// # Cancel safety
///
/// Dropping a future that holds a guard ends the guard.
#[must_use = "dropping the guard says that the item is finished"]
#[clippy::has_significant_drop]
pub struct ProcessingGuard<'q, T, B: Backlog = Fifo>(pub(crate) RawGuard<&'q Shared<T, B>, T, B>);

/// A [`ProcessingGuard`] that does not borrow the queue, at the cost of one reference count. It can
/// be sent to another task or kept in a struct.
#[must_use = "dropping the guard says that the item is finished"]
#[clippy::has_significant_drop]
pub struct OwnedProcessingGuard<T, B: Backlog = Fifo>(pub(crate) RawGuard<Arc<Shared<T, B>>, T, B>);

/// Both guards; `P` points to the queue. On drop the hand-out ends first, then the item is dropped.
pub(crate) struct RawGuard<P, T, B>
where
    P: Deref<Target = Shared<T, B>>,
    B: Backlog,
{
    hand_out: HandOut<P, T, B>,
    item: T,
    order: B::Order,
}

/// A hand-out in force. Dropping it ends the hand-out.
struct HandOut<P, T, B>
where
    P: Deref<Target = Shared<T, B>>,
    B: Backlog,
{
    shared: P,
    /// `None` once the hand-out has ended.
    ticket: Option<Ticket>,
}

impl<P, T, B> RawGuard<P, T, B>
where
    P: Deref<Target = Shared<T, B>>,
    B: Backlog,
{
    #[inline]
    pub(crate) fn new(shared: P, got: Dequeued<T, B::Order>) -> Self {
        Self {
            hand_out: HandOut { shared, ticket: Some(got.ticket) },
            item: got.item,
            order: got.order,
        }
    }

    /// Takes the guard apart and rebuilds it. A guard that a call returned lies in memory. After a
    /// rebuild, the path without that call keeps its guard in registers
    /// (`docs/decisions/0008-hot-path.md`).
    #[inline(always)]
    pub(crate) fn anew(self) -> Self {
        let Self { hand_out, item, order } = self;
        Self { hand_out, item, order }
    }

    /// As `new`. Also wakes the waiters in `wakes` and notifies the observer.
    #[inline(always)]
    pub(crate) fn begin(shared: P, got: Dequeued<T, B::Order>, wakes: Option<Wakes>) -> Self {
        let waited = got.waited;
        let guard = Self::new(shared, got);
        if wakes.is_none() && waited.is_none() {
            mem::forget(wakes); // Dropping `None` may be a call.
            return guard;
        }
        let mut told = guard;
        told.tell(wakes, waited);
        told.anew()
    }

    /// A panic in here ends the hand-out, and the item is lost.
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
            // Before the get: if it panics, the waiters must wake all the same.
            core.gather(Transition::of_finish(&finished), &mut wakes);
        }
        let taken = core.state.get(now);
        match taken {
            Dequeue::Item(Dequeued { item: next, order: of_next, ticket, waited }) => {
                drop(core);
                hand_out.ticket = Some(ticket);
                let next = Self { hand_out, item: next, order: of_next };
                let calls_nobody =
                    now.is_none() && wakes.is_none() && !mem::needs_drop::<(T, B::Order)>();
                if calls_nobody {
                    mem::forget(wakes); // Dropping `None` may be a call.
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

            /// The merged order of the adds that led to this hand-out.
            #[must_use]
            #[inline]
            pub const fn order(&self) -> &B::Order {
                &self.0.order
            }

            /// Whether this guard still holds the item. False after
            /// [`WorkQueue::abandon`](crate::WorkQueue::abandon).
            #[must_use]
            pub fn is_current(&self) -> bool {
                self.0.is_current()
            }

            /// Takes the guard apart and rebuilds it, for layers above. A guard that a call
            /// returned lies in memory. After a rebuild, the guards of an inlined
            /// [`try_get`](crate::WorkQueue::try_get) stay in registers.
            #[must_use = "dropping the guard says that the item is finished"]
            #[inline(always)]
            pub fn anew(self) -> Self {
                Self(self.0.anew())
            }

            /// Ends the work on the item, as dropping the guard does. An item that was added
            /// meanwhile is queued again, at the tail.
            ///
            /// # Panics
            ///
            /// If a waker, an observer or `Drop` of the item panics: this guard has ended. The
            /// guard and the queue each drop a clone of the item. A second panic in `Drop` aborts
            /// the program.
            #[doc(alias = "Done")]
            #[inline]
            pub fn done(self) {
                drop(self);
            }

            /// Ends the work on the item and takes the next one under the same lock. Does not wait.
            ///
            /// # Errors
            ///
            /// [`TryGetError`] if there is no next item. This guard has ended in any case.
            ///
            /// # Panics
            ///
            /// If `Clone` of the next item panics: this guard has ended, and the next item is
            /// queued at the tail. If a waker, an observer or `Drop` of this item panics, the next
            /// item is lost. A second panic in `Drop` aborts the program, as in
            /// [`done`](Self::done).
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
