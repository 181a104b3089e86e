//! Platform: the mutex and the counter, taken from the machine.
//!
//! Under `cfg(wq_loom)` and `cfg(wq_shuttle)` a model checker replaces them, in this file alone.

#[cfg(not(any(wq_loom, wq_shuttle)))]
pub(crate) use {parking_lot::Mutex, std::sync::atomic::AtomicU64};

#[cfg(any(wq_loom, wq_shuttle))]
pub(crate) use model::{AtomicU64, Mutex};

#[cfg(any(wq_loom, wq_shuttle))]
mod model {
    use std::sync::PoisonError;

    #[cfg(wq_loom)]
    use loom as checker;
    #[cfg(wq_shuttle)]
    use shuttle as checker;

    pub(crate) use checker::sync::atomic::AtomicU64;

    /// A mutex without poison, as the machine's.
    pub(crate) struct Mutex<T>(checker::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(checker::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> checker::sync::MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }
}
