//! Lent: the closure of `run_forever`, lent to one term at a time until its work's future is made.

use std::sync::{Arc, Mutex, PoisonError};

use crate::leadership::Leadership;

/// Keeps the closure between two terms.
pub(crate) struct Home<F>(Arc<Mutex<Option<F>>>);

impl<F> Home<F> {
    pub(crate) fn of(closure: F) -> Self {
        Self(Arc::new(Mutex::new(Some(closure))))
    }

    /// `None` while the closure is lent, and after it has panicked.
    pub(crate) fn lend(&self) -> Option<Lent<F>> {
        let closure = self.0.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(Lent { closure: Some(closure), home: Self(Arc::clone(&self.0)) })
    }

    fn receive(&self, closure: F) {
        let before = self.0.lock().unwrap_or_else(PoisonError::into_inner).replace(closure);
        // Drops an old closure after the lock is free.
        drop(before);
    }
}

/// The closure, lent to one term.
pub(crate) struct Lent<F> {
    closure: Option<F>,
    home: Home<F>,
}

impl<F> Lent<F> {
    /// Makes the work's future and returns the closure to its home. A closure that panics is lost.
    pub(crate) fn call<Fut>(mut self, leadership: Leadership) -> Option<Fut>
    where
        F: FnMut(Leadership) -> Fut,
    {
        let mut closure = self.closure.take()?;
        let future = closure(leadership);
        self.home.receive(closure);
        Some(future)
    }
}

impl<F> Drop for Lent<F> {
    /// Returns the closure of a term without work.
    fn drop(&mut self) {
        if let Some(closure) = self.closure.take() {
            self.home.receive(closure);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_without_work_brings_it_home() {
        let home = Home::of(7);
        let lent = home.lend().expect("it is at home");
        assert!(home.lend().is_none(), "it is out");
        drop(lent);
        assert!(home.lend().is_some());
    }

    #[test]
    fn it_is_dropped_with_its_home_also_when_it_comes_home_later() {
        let closure = Arc::new(());
        let home = Home::of(Arc::clone(&closure));
        let lent = home.lend();
        drop(home);
        assert_eq!(Arc::strong_count(&closure), 2);
        drop(lent);
        assert_eq!(Arc::strong_count(&closure), 1);
    }
}
