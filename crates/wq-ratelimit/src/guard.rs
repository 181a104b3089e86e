//! Guards: an item in hand, and the one call that ends the work on it.

use crate::finish::Finish;
use crate::outcome::Outcome;
use std::fmt;
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
    pub(crate) queue: &'q (dyn Finish<T, B> + Send + Sync + 'q),
    pub(crate) held: wq_delay::ProcessingGuard<'q, T, B>,
}

/// A [`ProcessingGuard`] that does not borrow the queue, at the price of two reference counts.
#[must_use = "dropping the guard ends the work on the item; say how it went with finish"]
#[clippy::has_significant_drop]
pub struct OwnedProcessingGuard<T, B: Backlog = Fifo> {
    pub(crate) queue: Arc<dyn Finish<T, B> + Send + Sync>,
    pub(crate) held: wq_delay::OwnedProcessingGuard<T, B>,
}

macro_rules! guard {
    ($name:literal, ($($generics:tt)*), $guard:ty) => {
        impl<$($generics)*> $guard {
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
            #[must_use]
            #[doc(alias = "NumRequeues")]
            pub fn num_requeues(&self) -> u32 {
                self.queue.num_requeues(self.item())
            }

            /// Ends the work on the item, and says how it went. For a retry: when it runs again.
            ///
            /// `None` if no retry was asked for, and if the item was
            /// [abandoned](crate::RateLimitingQueue::abandon) before: the guard has no effect then.
            ///
            /// An add that came meanwhile is not forgotten: the item is then queued again at once.
            ///
            /// # Errors
            ///
            /// [`Rejected`] hands the item back if a retry was asked for and the queue is shut down: it does not run again, unless an
            /// add or a retry from before the shutdown waits already. All other outcomes are `Ok`.
            pub fn finish(self, outcome: Outcome) -> Result<Option<Scheduled>, Rejected<T>> {
                let order = self.order().clone();
                self.finish_with(outcome, order)
            }

            /// As [`finish`](Self::finish), with an order of its own for a retry.
            ///
            /// # Errors
            ///
            /// As [`finish`](Self::finish).
            pub fn finish_with(
                self,
                outcome: Outcome,
                order: B::Order,
            ) -> Result<Option<Scheduled>, Rejected<T>> {
                if !self.held.is_in_force() {
                    return Ok(None); // Somebody else may have the item by now.
                }
                // Before the guard ends: no moment in between at which the item is nowhere.
                let finished = self.queue.finish(self.item(), order, outcome);
                self.held.done();
                finished
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
            pub fn done_and_get(self) -> Result<Self, TryGetError>
            where
                T: Clone,
            {
                let Self { queue, held } = self;
                queue.move_due();
                held.done_and_get().map(|held| Self { queue, held })
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
