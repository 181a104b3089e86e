//! Platform: what the queue takes from the machine: a mutex, an atomic, threads that sleep until they are woken, values that
//! belong to a thread. The only file that knows of the model checkers, which put their own in place under `cfg(wq_loom)` and
//! `cfg(wq_shuttle)`. Their time is that of a `ManualTimer`, whose steps are steps of a thread; the timers of the real
//! clock are not for them.

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

    /// Unlocks on unwind too; there is no poison.
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
    /// How often a thread was woken. Counted at one step with the unpark behind it: as a step of its own it makes two to
    /// three times as many schedules, that differ in polls for nothing.
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

    /// loom's own `park` can be ended by a wake while its thread waits for a mutex, which then fails the model.
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

        /// Also wakes for no reason, once a thread.
        pub(crate) fn park() {
            OWN.with(Arc::clone).wait();
        }
    }
}
