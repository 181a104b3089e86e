//! Guards: an item in flight, and the call that ends its work.

use crate::finish::Finish;
use crate::outcome::Outcome;
use std::fmt;
use std::sync::Arc;
use wq_delay::{Backlog, Fifo, Rejected, Scheduled, TryGetError};

/// An item in flight: no other getter receives it until the guard ends.
///
/// End it with [`finish`](Self::finish). Dropping it, or [`done`](Self::done), tells the limiter
/// nothing: the item is not retried, its attempts stay counted, and an earlier retry still runs.
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

/// A [`ProcessingGuard`] that does not borrow the queue, at the cost of two reference counts.
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

            /// The merged order of the adds that led to this hand-out. A retry keeps it.
            #[must_use]
            pub fn order(&self) -> &B::Order {
                self.held.order()
            }

            /// The number of attempts counted before this one: 0 for the first.
            #[must_use]
            #[doc(alias = "NumRequeues")]
            pub fn num_requeues(&self) -> u32 {
                self.queue.num_requeues(self.item())
            }

            /// Whether a failure now counts as an attempt: not before the end of the item's
            /// back-off, unless [`count_early_attempts`](crate::Builder::count_early_attempts) is
            /// set.
            #[must_use]
            pub fn failure_counts(&self) -> bool {
                self.queue.failure_counts(self.item())
            }

            /// Ends the work on the item. For a retry it returns how the retry was scheduled.
            ///
            /// Returns `Ok(None)` for an outcome without a retry. After
            /// [`abandon`](crate::RateLimitingQueue::abandon) it returns the same and has no
            /// effect. An item that was added during the work is queued again at once.
            ///
            /// ```
            /// # use {std::time::Duration, wq_ratelimit::{RateLimitingQueue as Q, *}};
            /// # let timer = ManualTimer::new();
            /// # let queue = Q::builder().limiter(item_default()).timer(timer.clone()).build()?;
            /// queue.add("a");
            /// queue.try_get()?.finish(Outcome::Retry)?;
            /// timer.advance(Duration::from_millis(1)); // The limiter's first wait.
            /// queue.try_get()?.finish(Outcome::Success)?;
            /// assert_eq!(queue.num_requeues(&"a"), 0);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            ///
            /// # Errors
            ///
            /// [`Rejected`] returns the item if the outcome asks for a retry and the queue is shut
            /// down. The item then runs again only if it was marked to run again before the
            /// shutdown.
            pub fn finish(self, outcome: Outcome) -> Result<Option<Scheduled>, Rejected<T>> {
                let order = self.order().clone();
                self.finish_with(outcome, order)
            }

            /// As [`finish`](Self::finish), with another order for the retry.
            ///
            /// # Errors
            ///
            /// As [`finish`](Self::finish).
            pub fn finish_with(
                self,
                outcome: Outcome,
                order: B::Order,
            ) -> Result<Option<Scheduled>, Rejected<T>> {
                if !self.held.is_current() {
                    return Ok(None); // Another worker may hold the item.
                }
                // Before the guard ends, so that the queue holds the item at every moment.
                let finished = self.queue.finish(self.item(), order, outcome);
                self.held.done();
                finished
            }

            /// Ends the work and tells the limiter nothing, as dropping the guard does.
            ///
            /// ```
            /// # use wq_ratelimit::{RateLimitingQueue as Q, *};
            /// # let timer = ManualTimer::new();
            /// # let queue = Q::builder().limiter(item_default()).timer(timer).build()?;
            /// queue.add("a");
            /// queue.try_get()?.done();
            /// assert!(queue.counts().is_idle());
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
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
