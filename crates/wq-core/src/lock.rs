//! Lock: the mutex around everything that is shared, and the tries before a thread is put to sleep for it.
//!
//! A holder keeps it for tens of nanoseconds, so a thread that finds it taken tries again in a moment. If it is taken
//! then too, others are at work without a pause: each hand-over would cost more than what is done under the lock. So it
//! lets them work for a while without touching the lock's cache line, and then looks a few times in a row for a moment
//! in which the lock is free, three times over. Only then, after 110 us, does it let the system put it to sleep: that and
//! the wake cost both sides 30 to 40 us. The rounds are few because a waiter in its pause can lose again and again, and only
//! sleeping ones are served fairly.

use std::hint;
use std::sync::OnceLock;

use crate::clock;
use crate::platform::{Mutex, MutexGuard};

/// In nanoseconds: until the lock is free again, if there is one other holder now and then.
const MOMENT: u32 = 300;

/// In nanoseconds: while others are at work without a pause.
const BUSY: u32 = 34_400;

const ROUNDS: u32 = 3;

/// One alone seldom falls into a moment in which the lock is free.
const TRIES: u32 = 8;

/// In nanoseconds, between tries.
const GAP: u32 = 200;

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

/// How many pause instructions a microsecond takes: they differ by a factor of ten between processors.
///
/// One rule for all machines: a thread sees one processor too if it is bound to one of many
/// (`docs/decisions/0009-waiting-for-the-lock.md`).
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
