//! Lock: the mutex around everything that is shared, and the tries before a thread is put to sleep for it.
//!
//! A holder keeps it for tens of nanoseconds, so a thread that finds it taken waits a little, three times, without
//! touching the lock's cache line, before it lets the system put it to sleep: parking costs both sides 30 to 40 us.
//! The three times are few because a waiter in its pause can lose again and again, and only parked ones are served
//! fairly.

use std::hint;
use std::sync::OnceLock;
use std::thread;

use crate::clock;
use crate::platform::{Mutex, MutexGuard};

/// How long each polite try waits, in nanoseconds. Shorter tries were slower in the middle and in the tail.
const TRIES: [u32; 3] = [4_300, 8_600, 17_200];

/// Unlocks when dropped, on unwind too; there is no poison.
pub(crate) type LockGuard<'a, T> = MutexGuard<'a, T>;

pub(crate) struct Lock<T>(Mutex<T>);

impl<T> Lock<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    #[inline]
    pub(crate) fn lock(&self) -> LockGuard<'_, T> {
        match self.0.try_lock() {
            Some(guard) => guard,
            None => self.lock_contended(),
        }
    }

    #[cold]
    #[inline(never)]
    fn lock_contended(&self) -> LockGuard<'_, T> {
        let pauses = pauses_per_microsecond();
        if pauses > 0 {
            for nanoseconds in TRIES {
                for _ in 0..u64::from(pauses) * u64::from(nanoseconds) / 1000 {
                    hint::spin_loop();
                }
                if let Some(guard) = self.0.try_lock() {
                    return guard;
                }
            }
        }
        self.0.lock()
    }
}

/// How many pause instructions a microsecond takes: they differ by a factor of ten between processors. Zero on a single
/// processor, where the holder cannot go on while we pause.
fn pauses_per_microsecond() -> u32 {
    static PAUSES: OnceLock<u32> = OnceLock::new();
    *PAUSES.get_or_init(|| {
        const SAMPLE: u32 = 256;
        if thread::available_parallelism().is_ok_and(|processors| processors.get() == 1) {
            return 0;
        }
        // The shortest of a few rounds: the others were interrupted.
        let shortest = (0..5).map(|_| {
            let start = clock::now();
            (0..SAMPLE).for_each(|_| hint::spin_loop());
            clock::now().saturating_duration_since(start).as_nanos()
        });
        let nanoseconds = shortest.min().unwrap_or_default().clamp(1, 1_000_000);
        u32::try_from(u128::from(SAMPLE) * 1000 / nanoseconds).unwrap_or(u32::MAX).clamp(1, 10_000)
    })
}
