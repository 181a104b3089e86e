//! Lent: the closure of `run_forever` on its way through the terms. Each term's work has it until
//! its future is made, and it comes home however that ends.

use std::sync::{Arc, Mutex, PoisonError};

use crate::leadership::Leadership;

/// Where the closure is between two terms.
pub(crate) struct Home<F>(Arc<Mutex<Option<F>>>);

impl<F> Home<F> {
    pub(crate) fn of(closure: F) -> Self {
        Self(Arc::new(Mutex::new(Some(closure))))
    }

    /// `None` while it is out, and once it has panicked.
    pub(crate) fn lend(&self) -> Option<Lent<F>> {
        let closure = self.0.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(Lent { closure: Some(closure), home: Self(Arc::clone(&self.0)) })
    }

    fn receive(&self, closure: F) {
        let before = self.0.lock().unwrap_or_else(PoisonError::into_inner).replace(closure);
        // The lock is free by now, should there be anything to drop.
        drop(before);
    }
}

/// The closure, lent to one term.
pub(crate) struct Lent<F> {
    closure: Option<F>,
    home: Home<F>,
}

impl<F> Lent<F> {
    /// Makes the work's future, and brings the closure home. One that panics does not come home.
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
    /// A term that had no work.
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
