//! Platform: the mutex, sleeping threads, thread-local values and the time, taken from the machine.
//!
//! Under `cfg(wq_loom)` and `cfg(wq_shuttle)` a model checker replaces them. Only this file and
//! `table/large.rs` know of that; the latter makes large tables small enough for a check.

#[cfg(not(any(wq_loom, wq_shuttle)))]
pub(crate) use machine::*;
#[cfg(any(wq_loom, wq_shuttle))]
pub(crate) use model::*;

#[cfg(not(any(wq_loom, wq_shuttle)))]
mod machine {
    pub(crate) use std::thread::{Thread, current, park, park_timeout};
    pub(crate) use std::thread_local;
    use std::time::Instant;

    /// Unlocks in a panic too. There is no poison.
    pub(crate) use parking_lot::{Mutex, MutexGuard};

    #[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
    pub(crate) fn now() -> Instant {
        #[cfg(test)]
        super::reads::note();
        Instant::now()
    }
}

/// How often this thread has read the clock.
#[cfg(all(test, not(any(wq_loom, wq_shuttle))))]
pub(crate) mod reads {
    use std::cell::Cell;

    std::thread_local! {
        static READS: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) fn note() {
        READS.set(READS.get() + 1);
    }

    /// The reads since the last call.
    pub(crate) fn take() -> usize {
        READS.replace(0)
    }
}

#[cfg(any(wq_loom, wq_shuttle))]
mod model {
    use std::cell::Cell;
    use std::sync::PoisonError;
    use std::time::{Duration, Instant};

    #[cfg(wq_loom)]
    use loom as checker;
    #[cfg(wq_shuttle)]
    use shuttle as checker;

    #[cfg(wq_loom)]
    pub(crate) use asleep::{Thread, current, park};
    pub(crate) use checker::sync::MutexGuard;
    #[cfg(wq_shuttle)]
    pub(crate) use checker::thread::{Thread, current, park};
    pub(crate) use checker::thread_local;

    pub(crate) struct Mutex<T>(checker::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(checker::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }

        /// Waits, so it never fails. The tries of `Lock` change how long a thread waits, not which
        /// thread comes next: they would only enlarge the model.
        #[expect(clippy::unnecessary_wraps, reason = "the machine's may fail")]
        pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            Some(self.lock())
        }
    }

    std::thread_local! {
        /// All threads of a model run on one thread of the machine, one after the other.
        static NOW: Cell<Instant> = Cell::new(begin());
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "an instant can be had from the clock alone; its value plays no part"
    )]
    fn begin() -> Instant {
        Instant::now()
    }

    /// Time advances only in `park_timeout`.
    pub(crate) fn now() -> Instant {
        NOW.get()
    }

    /// The time-out passes at once for this thread. The schedule decides what other threads do
    /// meanwhile.
    pub(crate) fn park_timeout(time: Duration) {
        NOW.set(NOW.get() + time);
        #[cfg(wq_shuttle)]
        checker::thread::yield_now();
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
