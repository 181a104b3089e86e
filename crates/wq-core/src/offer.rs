//! Offer: what an add brings, an item or something that an item can be made from.

use std::borrow::Borrow;

pub(crate) trait Offer<T> {
    /// Whether this and a held item are one item.
    fn is(&self, held: &T) -> bool;

    /// Makes the item, where that is yet to be done. May panic.
    fn make(&mut self);

    /// Hands the item over, once.
    fn take(&mut self) -> Option<T>;
}

/// An item; what the queue has no use for stays in it, to be dropped outside the lock.
impl<T: Eq> Offer<T> for Option<T> {
    #[inline]
    fn is(&self, held: &T) -> bool {
        self.as_ref().is_some_and(|item| item == held)
    }

    #[inline]
    fn make(&mut self) {}

    #[inline]
    fn take(&mut self) -> Self {
        self.take()
    }
}

/// A part of an item that says which it is. The item is made only if the queue does not hold it.
pub(crate) struct Borrowed<'a, T, Q: ?Sized> {
    part: &'a Q,
    made: Option<T>,
}

impl<'a, T, Q: ?Sized> Borrowed<'a, T, Q> {
    pub(crate) const fn new(part: &'a Q) -> Self {
        Self { part, made: None }
    }
}

impl<T, Q> Offer<T> for Borrowed<'_, T, Q>
where
    T: Borrow<Q> + for<'q> From<&'q Q>,
    Q: Eq + ?Sized,
{
    #[inline]
    fn is(&self, held: &T) -> bool {
        held.borrow() == self.part
    }

    fn make(&mut self) {
        self.made = Some(T::from(self.part));
    }

    fn take(&mut self) -> Option<T> {
        self.made.take()
    }
}
