//! Shared: limiters that many threads use at once.

use std::time::Duration;

use shuttle::thread;
use wq_ratelimit::{ExponentialBackoff, ManualTimer, RateLimiter, Shared, Timer, TokenBucket};

const SECOND: Duration = Duration::from_secs(1);

pub(crate) fn a_bucket_for_all() {
    const TIMES: u32 = 6;
    let now = ManualTimer::new().now();
    let bucket = TokenBucket::per_second(1, 5).unwrap();
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let bucket = bucket.clone();
            thread::spawn(move || (0..TIMES).map(|_| bucket.reserve(now)).collect::<Vec<_>>())
        })
        .collect();
    let mut waits: Vec<Duration> =
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    waits.sort_unstable();
    let expected = (1..=8 * TIMES).map(|taken| SECOND * taken.saturating_sub(5));
    assert_eq!(waits, expected.collect::<Vec<_>>());
}

/// A wait shows the number of failures counted before it, which each forget resets.
pub(crate) fn a_limiter_for_all() {
    let now = ManualTimer::new().now();
    let limiter = Shared::new(ExponentialBackoff::new(SECOND, SECOND * (1 << 20)).unwrap());
    let failing: Vec<_> = (0..3)
        .map(|_| {
            let mut limiter = limiter.clone();
            thread::spawn(move || {
                (0..4).map(|_| limiter.next_delay(&1_u8, now)).collect::<Vec<_>>()
            })
        })
        .collect();
    let mut forgetting = limiter.clone();
    let forgets = thread::spawn(move || (0..2).for_each(|_| forgetting.forget(&1)));
    let mut waits: Vec<Duration> =
        failing.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    forgets.join().unwrap();
    waits.sort_unstable();
    let firsts = waits.iter().filter(|wait| **wait == SECOND).count();
    assert!((1..=3).contains(&firsts), "two forgets make three beginnings at most: {waits:?}");
    // No count is skipped: each wait is a first wait, or twice another one.
    for wait in &waits {
        assert!(*wait == SECOND || waits.contains(&(*wait / 2)), "{waits:?}");
    }
    let most = waits.iter().filter(|wait| **wait == waits[waits.len() - 1]).count();
    assert!(most <= firsts, "a count was reached more often than begun: {waits:?}");
}
