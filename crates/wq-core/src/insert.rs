//! Insert: the argument of an add: an item, or a key from which an item can be made.

use std::borrow::Borrow;

pub(crate) trait Insert<T> {
    /// Whether a held item is equal to this one.
    fn is(&self, held: &T) -> bool;

    /// Makes the item, if that is still to do. May panic.
    fn make(&mut self);

    /// Takes the item, once.
    fn take(&mut self) -> Option<T>;
}

/// An item. If the queue does not take it, it stays here and is dropped outside the lock.
impl<T: Eq> Insert<T> for Option<T> {
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

/// A borrowed key of an item. The item is made only if the queue does not hold it.
pub(crate) struct Borrowed<'a, T, Q: ?Sized> {
    part: &'a Q,
    made: Option<T>,
}

impl<'a, T, Q: ?Sized> Borrowed<'a, T, Q> {
    pub(crate) const fn new(part: &'a Q) -> Self {
        Self { part, made: None }
    }
}

impl<T, Q> Insert<T> for Borrowed<'_, T, Q>
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
