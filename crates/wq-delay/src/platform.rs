//! Platform: the mutex, the atomic, sleeping threads and thread-local values of the machine.
//!
//! Under `cfg(wq_loom)` and `cfg(wq_shuttle)` a model checker replaces them; only this file knows
//! of that. Time in a model is a `ManualTimer`.

#[cfg(not(any(wq_loom, wq_shuttle)))]
pub(crate) use machine::*;
#[cfg(any(wq_loom, wq_shuttle))]
pub(crate) use model::*;

#[cfg(not(any(wq_loom, wq_shuttle)))]
mod machine {
    pub(crate) use std::sync::atomic::AtomicU64;
    pub(crate) use std::sync::atomic::AtomicUsize as WakeCount;
    pub(crate) use std::thread::{Thread, current, park};
    pub(crate) use std::thread_local;

    /// Unlocks in a panic too. There is no poison.
    pub(crate) use parking_lot::{Mutex, MutexGuard};
}

#[cfg(any(wq_loom, wq_shuttle))]
mod model {
    use std::sync::PoisonError;

    #[cfg(wq_loom)]
    use loom as checker;
    #[cfg(wq_shuttle)]
    use shuttle as checker;

    #[cfg(wq_loom)]
    pub(crate) use asleep::{Thread, current, park};
    pub(crate) use checker::sync::MutexGuard;
    pub(crate) use checker::sync::atomic::AtomicU64;
    #[cfg(wq_shuttle)]
    pub(crate) use checker::thread::{Thread, current, park};
    pub(crate) use checker::thread_local;
    /// How often a thread was woken. Not the checker's atomic: a step of its own would make
    /// two to three times as many schedules, which differ only in needless polls.
    pub(crate) use std::sync::atomic::AtomicUsize as WakeCount;

    #[derive(Debug)]
    pub(crate) struct Mutex<T>(checker::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(checker::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    /// A wake can end loom's own `park` while its thread waits for a mutex, which fails the model.
    #[cfg(wq_loom)]
    mod asleep {
        use std::sync::Arc;

        use loom::sync::Notify;

        pub(crate) struct Thread(Arc<Notify>);

        impl Thread {
            pub(crate) fn unpark(&self) {
                self.0.notify();
            }
        }

        loom::thread_local! {
            static OWN: Arc<Notify> = Arc::new(Notify::new());
        }

        pub(crate) fn current() -> Thread {
            Thread(OWN.with(Arc::clone))
        }

        /// May wake without a reason, once a thread.
        pub(crate) fn park() {
            OWN.with(Arc::clone).wait();
        }
    }
}
