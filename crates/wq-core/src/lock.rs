//! Lock: the mutex around the shared state, and the tries before a thread sleeps for it.
//!
//! A holder keeps the lock for tens of nanoseconds, so a thread that finds it taken tries again in
//! a moment. If it is taken again, others work without a pause. Each hand-over would then cost more
//! than the work under the lock.
//!
//! The thread therefore stays off the lock's cache line for a while and then tries a few times in a
//! row, in three rounds. After 110 us the system puts it to sleep. Sleep and wake cost both sides
//! 30 to 40 us. There are few rounds because a thread in its pause can lose again and again: only
//! sleepers are served fairly.

use std::hint;
use std::sync::OnceLock;

use crate::clock;
use crate::platform::{Mutex, MutexGuard};

/// The pause in nanoseconds if there is one other holder now and then.
const MOMENT: u32 = 300;

/// The pause in nanoseconds while others work without one.
const BUSY: u32 = 34_400;

const ROUNDS: u32 = 3;

/// A single try seldom finds the lock free.
const TRIES: u32 = 8;

/// The pause in nanoseconds between two tries.
const GAP: u32 = 200;

/// Unlocks when dropped, also in a panic. There is no poison.
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
        pause(MOMENT);
        if let Some(guard) = self.0.try_lock() {
            return guard;
        }
        for _ in 0..ROUNDS {
            pause(BUSY);
            for _ in 0..TRIES {
                if let Some(guard) = self.0.try_lock() {
                    return guard;
                }
                pause(GAP);
            }
        }
        self.0.lock()
    }
}

fn pause(nanoseconds: u32) {
    let pauses = u64::from(nanoseconds) * u64::from(pauses_per_microsecond()) / 1000;
    (0..pauses).for_each(|_| hint::spin_loop());
}

/// The number of pause instructions in a microsecond. Processors differ by a factor of ten.
///
/// Machines with one processor follow the same rule: a thread that is bound to one of many sees one
/// too (`docs/decisions/0009-waiting-for-the-lock.md`).
fn pauses_per_microsecond() -> u32 {
    static PAUSES: OnceLock<u32> = OnceLock::new();
    *PAUSES.get_or_init(|| {
        const SAMPLE: u32 = 256;
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
