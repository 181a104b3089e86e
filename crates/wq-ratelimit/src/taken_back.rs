//! `TakenBack`: what sees to it that a retry which an outcome replaces is not lost before its successor waits.

use crate::limiter::RateLimiter;
use crate::queue::Inner;
use crate::windows::Opened;
use std::hash::{BuildHasher, Hash};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;
use wq_delay::{Backlog, Scheduled};

/// A retry from before, if there was one. It comes again if a panic keeps its successor from waiting, and then at once: when it was
/// due nobody knows any more.
pub(crate) struct TakenBack<'q, T, L, B, S>
where
    T: Hash + Eq + Clone,
    L: RateLimiter<T>,
    B: Backlog,
    S: BuildHasher,
{
    inner: &'q Inner<T, L, B, S>,
    item: &'q T,
    order: Option<B::Order>,
    /// That of the delayed retry. Dropped last: that may panic.
    delayed: Option<T>,
}

impl<'q, T, L, B, S> TakenBack<'q, T, L, B, S>
where
    T: Hash + Eq + Clone,
    L: RateLimiter<T>,
    B: Backlog,
    S: BuildHasher,
{
    pub(crate) fn new(
        inner: &'q Inner<T, L, B, S>,
        item: &'q T,
        delayed: Option<T>,
        order: Option<B::Order>,
    ) -> Self {
        Self { inner, item, order, delayed }
    }

    /// It was asked for before this order was: the later one joins it.
    pub(crate) fn joined_by(&self, order: B::Order) -> B::Order {
        let Some(before) = &self.order else { return order };
        let mut before = before.clone();
        B::merge(&mut before, order);
        before
    }

    /// What replaces it, or has joined what others have asked for, waits until this deadline, which was settled when so many windows
    /// had been opened. What waited before may have been put off since, and its back-off with it: so is its successor.
    pub(crate) fn puts_off(&self, deadline: Option<Instant>, opened: Opened, scheduled: Scheduled) {
        let has_waited = self.delayed.is_some() || matches!(scheduled, Scheduled::Moved | Scheduled::Kept);
        let Some(deadline) = deadline.filter(|_| has_waited) else { return };
        let now = self.inner.queue.now();
        let until = self.inner.controlled(|control, _| control.windows.open_by(self.item, opened, now));
        if let Some(until) = until.filter(|until| deadline < *until) {
            self.inner.queue.postpone_again(self.item, deadline, until);
        }
    }

    /// What replaces it waits, or nothing is to: it does not come again.
    pub(crate) fn drop_for_good(&mut self) {
        self.order = None;
    }
}

impl<T, L, B, S> Drop for TakenBack<'_, T, L, B, S>
where
    T: Hash + Eq + Clone,
    L: RateLimiter<T>,
    B: Backlog,
    S: BuildHasher,
{
    fn drop(&mut self) {
        if let Some(order) = self.order.take() {
            let queue = &self.inner.queue;
            // A second panic would end the program.
            let _ = catch_unwind(AssertUnwindSafe(|| {
                queue.add_revocable(self.item.clone(), Some(queue.now()), order)
            }));
        }
    }
}
