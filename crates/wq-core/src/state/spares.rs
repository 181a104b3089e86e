//! Spares: items that are done, kept to be overwritten by the next clone, so that what they have allocated is used again.

/// At most so many as the builder allows; none by default.
#[derive(Debug)]
pub(super) struct Spares<T> {
    items: Vec<T>,
    most: usize,
}

impl<T> Spares<T> {
    pub(super) const fn new(most: usize) -> Self {
        Self { items: Vec::new(), most }
    }

    /// A clone of the item, made from a spare if there is one. If `clone_from` panics the spare stays where it is.
    #[inline(always)]
    pub(super) fn clone_of(&mut self, item: &T) -> T
    where
        T: Clone,
    {
        if let Some(spare) = self.items.last_mut() {
            spare.clone_from(item);
        }
        self.items.pop().unwrap_or_else(|| item.clone())
    }

    /// Keeps the item, or hands it back to be dropped.
    #[inline(always)]
    pub(super) fn keep(&mut self, item: T) -> Option<T> {
        if self.items.len() >= self.most {
            return Some(item);
        }
        self.items.push(item);
        None
    }

    /// All of them, to be dropped elsewhere.
    pub(super) fn take(&mut self) -> Vec<T> {
        std::mem::take(&mut self.items)
    }

    /// Keeps none from here on.
    pub(super) fn end(&mut self) -> Vec<T> {
        self.most = 0;
        self.take()
    }
}
