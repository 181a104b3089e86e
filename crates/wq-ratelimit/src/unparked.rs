//! `Unparked`: what sees to it that an item on its way back from being parked is not lost.

use crate::limiter::RateLimiter;
use crate::parked::Mark;
use crate::queue::Inner;
use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use std::panic::{AssertUnwindSafe, catch_unwind};
use wq_delay::{Added, Backlog, Joins};

/// An item that is parked no longer, and not yet added. It is parked again if it is not: the queue was shut down in between, or
/// the add panics.
pub(crate) struct Unparked<'q, I, T, L, B, S>
where
    I: Borrow<T>,
    T: Hash + Eq + Clone,
    L: RateLimiter<T>,
    B: Backlog,
    S: BuildHasher,
{
    pub(crate) inner: &'q Inner<T, L, B, S>,
    pub(crate) item: I,
    pub(crate) mark: Option<Mark<B::Order>>,
    /// What became of the add, as soon as that is settled.
    pub(crate) added: Option<Added>,
}

impl<'q, T, L, B, S> Unparked<'q, &T, T, L, B, S>
where
    T: Hash + Eq + Clone,
    L: RateLimiter<T>,
    B: Backlog,
    S: BuildHasher,
{
    /// Whatever becomes of the one it was made with.
    pub(crate) fn with_its_own(mut self) -> Unparked<'q, T, T, L, B, S> {
        let item = self.item.clone();
        Unparked { inner: self.inner, item, mark: self.mark.take(), added: None }
    }
}

impl<I, T, L, B, S> Unparked<'_, I, T, L, B, S>
where
    I: Borrow<T>,
    T: Hash + Eq + Clone,
    L: RateLimiter<T>,
    B: Backlog,
    S: BuildHasher,
{
    /// Adds it.
    pub(crate) fn add(&mut self, joins: Joins, item: T, order: B::Order) -> Added {
        let added = self.inner.queue.add_answering(joins, item, order, &mut self.added);
        self.ends(added.is_accepted());
        added
    }

    fn ends(&mut self, is_accepted: bool) {
        let mark = self.mark.take();
        if let Some(mark) = mark.filter(|_| !is_accepted) {
            self.inner.park_again(self.item.borrow(), mark);
        }
    }
}

impl<I, T, L, B, S> Drop for Unparked<'_, I, T, L, B, S>
where
    I: Borrow<T>,
    T: Hash + Eq + Clone,
    L: RateLimiter<T>,
    B: Backlog,
    S: BuildHasher,
{
    fn drop(&mut self) {
        if self.mark.is_none() {
            return;
        }
        // A second panic would end the program.
        let _ = catch_unwind(AssertUnwindSafe(|| {
            // A waker may have panicked after the add: by now the item may be done.
            let is_added = match self.added {
                Some(added) => added.is_accepted(),
                None => self.inner.queue.holds(self.item.borrow()),
            };
            self.ends(is_added);
        }));
    }
}
