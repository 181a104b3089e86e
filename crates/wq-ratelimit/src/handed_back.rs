//! `HandedBack`: what sees to it that items which a shutdown has taken out are not lost before the caller has them.

use crate::limiter::RateLimiter;
use crate::queue::Inner;
use std::hash::{BuildHasher, Hash};
use std::mem;
use wq_delay::Backlog;

/// What a shutdown has taken out. If a panic keeps it from being handed back, it stays for the next call.
struct HandedBack<'q, T, L, B: Backlog, S> {
    inner: &'q Inner<T, L, B, S>,
    items: Vec<T>,
}

impl<T, L, B, S> Inner<T, L, B, S>
where
    T: Hash + Eq + Clone,
    L: RateLimiter<T>,
    B: Backlog,
    S: BuildHasher,
{
    /// Hands back what this takes out of the queue below, and what an earlier one could not: none of it was parked by that.
    pub(crate) fn hand_back(&self, take: impl FnOnce() -> Vec<T>) -> Vec<T> {
        let marks = self.marks_so_far();
        let mut taken = HandedBack { inner: self, items: take() };
        self.taken_out(&taken.items, marks);
        let mut items = mem::take(&mut self.control.lock().not_handed_back);
        items.append(&mut taken.items);
        items
    }
}

impl<T, L, B: Backlog, S> Drop for HandedBack<'_, T, L, B, S> {
    fn drop(&mut self) {
        if !self.items.is_empty() {
            self.inner.control.lock().not_handed_back.append(&mut self.items);
        }
    }
}
