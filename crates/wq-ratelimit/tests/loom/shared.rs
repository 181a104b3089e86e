//! Shared: limiters that several threads use at once.

use std::time::Duration;

use wq_contract::explore::join;
use wq_ratelimit::{ExponentialBackoff, ManualTimer, RateLimiter, Shared, Timer, TokenBucket};

const SECOND: Duration = Duration::from_secs(1);

/// Each of `threads` threads takes a token from one bucket, all at one moment.
fn take(threads: u64, burst: u32) {
    let now = ManualTimer::new().now();
    let bucket = TokenBucket::per_second(1, burst).unwrap();
    let taking = (0..threads).map(|_| {
        let bucket = bucket.clone();
        loom::thread::spawn(move || bucket.reserve(now))
    });
    let mut waits = join(taking.collect::<Vec<_>>());
    waits.sort_unstable();
    let expected =
        (1..=threads).map(|taken| SECOND * u32::try_from(taken).unwrap().saturating_sub(burst));
    assert_eq!(waits, expected.collect::<Vec<_>>());
}

pub(crate) fn two_take_one_token() {
    take(2, 1);
}

pub(crate) fn three_take_two_tokens() {
    take(3, 2);
}

pub(crate) fn forget_against_failure() {
    let now = ManualTimer::new().now();
    let mut limiter = Shared::new(ExponentialBackoff::new(SECOND, SECOND * 100).unwrap());
    limiter.next_delay(&1_u8, now);
    limiter.next_delay(&1, now);
    let mut other = limiter.clone();
    let forgetting = loom::thread::spawn(move || other.forget(&1));
    let delay = limiter.next_delay(&1, now);
    forgetting.join().unwrap();
    let told = (delay, limiter.num_requeues(&1));
    assert!([(SECOND, 1), (SECOND * 4, 0)].contains(&told), "{told:?}");
}
