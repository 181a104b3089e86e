//! Guards: an item in hand, and the one call that ends the work on it.

use crate::ending::{Ending, Held, Panic};
use crate::outcome::Outcome;
use std::fmt;
use std::panic::resume_unwind;
use std::sync::Arc;
use wq_delay::{Backlog, Fifo, Rejected, Scheduled, TryGetError};

/// An item in hand: nobody else is handed it until the guard ends.
///
/// End it with [`finish`](Self::finish). Dropping it, or [`done`](Self::done), ends it without a word to the limiter: the
/// item is not retried, and its attempts stay counted.
///
/// # Cancel safety
///
/// Dropping a future that holds a guard ends the guard.
#[must_use = "dropping the guard ends the work on the item; say how it went with finish"]
#[clippy::has_significant_drop]
pub struct ProcessingGuard<'q, T, B: Backlog = Fifo> {
    pub(crate) queue: &'q (dyn Ending<T, B> + Send + Sync + 'q),
    pub(crate) held: wq_delay::ProcessingGuard<'q, T, B>,
}

/// A [`ProcessingGuard`] that does not borrow the queue, at the price of two reference counts.
#[must_use = "dropping the guard ends the work on the item; say how it went with finish"]
#[clippy::has_significant_drop]
pub struct OwnedProcessingGuard<T, B: Backlog = Fifo> {
    pub(crate) queue: Arc<dyn Ending<T, B> + Send + Sync>,
    pub(crate) held: wq_delay::OwnedProcessingGuard<T, B>,
}

/// The item was handed out, and nobody has it in hand: code of it has panicked.
#[cold]
fn put_back<T, B: Backlog>(held: impl Held<T, B>, panic: Panic) -> ! {
    drop(held);
    resume_unwind(panic)
}

macro_rules! guard {
    ($name:literal, ($($generics:tt)*), $guard:ty, $held:ty) => {
        impl<$($generics)*> $guard {
            /// The guard first: what follows may panic.
            #[inline(always)]
            pub(crate) fn begun(self) -> Self {
                match self.queue.begun(&self.held) {
                    None => self,
                    Some(panic) => put_back(self.held, panic),
                }
            }

            /// The item.
            #[must_use]
            #[inline]
            pub fn item(&self) -> &T {
                self.held.item()
            }

            /// What the adds that led to this hand-out asked for, merged. A retry keeps it.
            #[must_use]
            pub fn order(&self) -> &B::Order {
                self.held.order()
            }

            /// How many attempts were counted before this one: 0 for a first.
            ///
            /// # Panics
            ///
            /// If `Hash` or `Eq` of the item, or the limiter, panics.
            #[must_use]
            #[doc(alias = "NumRequeues")]
            pub fn num_requeues(&self) -> u32 {
                self.queue.num_requeues(self.item())
            }

            /// Takes out what waits of the item for a deadline, whoever has asked for it: for one who is about to
            /// [`finish`](Self::finish), and says it all anew. False if nothing waits, and if the item was abandoned.
            ///
            /// Unlike after [`RateLimitingQueue::cancel`](crate::RateLimitingQueue::cancel) the item backs off still, whatever becomes of
            /// this guard, so that a failure before its time does not count. An event that had joined its retry
            /// ([`DuringBackoff::Defer`](crate::DuringBackoff::Defer)) runs it again at once.
            ///
            /// # Panics
            ///
            /// If `Hash`, `Eq` or `Clone` of the item panics, or the backlog: what waits may be out by then.
            pub fn cancel(&self) -> bool {
                self.held.is_in_force() && self.queue.cancel(self.held.item())
            }

            /// Ends the work on the item, and says how it went. For a retry: when it runs again.
            ///
            /// `None` if no retry was asked for, if the item was parked, and if it was
            /// [abandoned](crate::RateLimitingQueue::abandon) before: the guard has no effect then, on the attempts neither.
            ///
            /// An add that came meanwhile is not forgotten: the item is then queued again at once.
            ///
            /// # Giving up
            ///
            /// `None` does not tell the last try from a success. A worker that must know compares
            /// [`num_requeues`](Self::num_requeues) with its limit before it calls this, and finishes with
            /// [`GiveUp`](Outcome::GiveUp) or [`Park`](Outcome::Park) itself:
            ///
            /// ```
            /// # use std::time::Duration;
            /// # use wq_ratelimit::{ExponentialBackoff, ManualTimer, Outcome, RateLimitingQueue};
            /// const RETRIES: u32 = 2;
            /// # let timer = ManualTimer::new();
            /// # let second = Duration::from_secs(1);
            /// # let limiter = ExponentialBackoff::new(second, second)?;
            /// # let queue = RateLimitingQueue::builder().limiter(limiter).timer(timer.clone()).build()?;
            /// # queue.add("claim-1");
            /// # let mut given_up = Vec::new();
            /// # for _ in 0..=RETRIES {
            /// let item = queue.try_get()?; // It fails each time.
            /// if item.num_requeues() < RETRIES {
            ///     item.finish(Outcome::Retry)?;
            /// } else {
            ///     given_up.push(*item.item()); // Tell somebody: this was the last try.
            ///     item.finish(Outcome::GiveUp)?;
            /// }
            /// # timer.advance(second);
            /// # }
            /// # assert_eq!(given_up, ["claim-1"]);
            /// # assert!(queue.try_get().is_err());
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            ///
            /// # Errors
            ///
            /// [`Rejected`] hands the item back if a retry was asked for and the queue is shut down: it does not run again, unless an
            /// add or a retry from before the shutdown waits already. All other outcomes are `Ok`.
            ///
            /// # Panics
            ///
            /// If `Hash`, `Eq` or `Clone` of the item, the limiter or the backlog panics. This guard has ended in any case; a retry
            /// from before still comes.
            pub fn finish(self, outcome: Outcome) -> Result<Option<Scheduled>, Rejected<T>> {
                // Before the guard ends: no moment in between at which the item is nowhere.
                let scheduled = self.end(outcome);
                let is_refused = scheduled.is_some_and(|scheduled| !scheduled.is_accepted());
                let refused = is_refused.then(|| self.queue.refused(self.item()));
                self.held.done();
                refused.map_or(Ok(scheduled), Err)
            }

            fn end(&self, outcome: Outcome) -> Option<Scheduled> {
                // Somebody else may have the item by now: nothing of it is for this guard to change.
                if self.held.is_in_force() { self.queue.end(&self.held, outcome) } else { None }
            }

            /// Ends the work without a word to the limiter; dropping the guard does the same.
            #[doc(alias = "Done")]
            #[inline]
            pub fn done(self) {
                self.held.done();
            }

            /// As [`done`](Self::done), and takes the next item under the same lock. Does not wait.
            ///
            /// # Errors
            ///
            /// [`TryGetError`] if there is no next item. This guard has ended in any case.
            ///
            /// # Panics
            ///
            /// As [`try_get`](crate::RateLimitingQueue::try_get). This guard has ended in any case.
            pub fn done_and_get(self) -> Result<Self, TryGetError>
            where
                T: Clone,
            {
                let Self { queue, held } = self;
                queue.move_due();
                held.done_and_get().map(|held| Self { queue, held }.begun())
            }
        }

        impl<$($generics)*> Held<T, B> for $held {
            fn item(&self) -> &T {
                self.item()
            }

            fn order(&self) -> &B::Order {
                self.order()
            }

            fn revoke(&self) -> Option<B::Order> {
                self.revoke()
            }

            fn is_in_force(&self) -> bool {
                self.is_in_force()
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

guard!(
    "ProcessingGuard",
    ('q, T, B: Backlog),
    ProcessingGuard<'q, T, B>,
    wq_delay::ProcessingGuard<'q, T, B>
);
guard!(
    "OwnedProcessingGuard",
    (T, B: Backlog),
    OwnedProcessingGuard<T, B>,
    wq_delay::OwnedProcessingGuard<T, B>
);
