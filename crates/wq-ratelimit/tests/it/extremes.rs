//! Each limiter for 10,000 failures at extreme parameters. Waits are monotone where promised and
//! never above the maximum, and failures are counted.

use std::time::Duration;
use wq_ratelimit::{
    ExponentialBackoff, FastSlow, Jittered, ManualTimer, MaxOf, PerItemBucket, RateLimiter, Shared,
    Timer, TokenBucket, WithMaxWait, controller_default,
};

const FAILURES: u32 = 10_000;
const NANO: Duration = Duration::from_nanos(1);
const SECOND: Duration = Duration::from_secs(1);
const AGE: Duration = Duration::from_nanos(u64::MAX);
/// Bases and caps at which other limiters break: the shortest, the longest, and powers of two on
/// both sides of 2^63.
const LENGTHS: [Duration; 8] = [
    NANO,
    Duration::from_nanos(2),
    Duration::from_nanos(3),
    Duration::from_millis(5),
    Duration::from_nanos(1 << 20),
    Duration::from_nanos(1 << 63),
    AGE,
    Duration::MAX,
];

fn pairs() -> impl Iterator<Item = (Duration, Duration)> {
    LENGTHS.into_iter().flat_map(|low| {
        LENGTHS.into_iter().filter(move |high| low <= *high).map(move |high| (low, high))
    })
}

/// The waits after `FAILURES` failures of one item at one moment.
fn fail(mut limiter: impl RateLimiter<u8>, who: &str) -> Vec<Duration> {
    let now = ManualTimer::new().now();
    let delays: Vec<_> = (0..FAILURES).map(|_| limiter.next_delay(&1, now)).collect();
    let counted = limiter.num_requeues(&1);
    assert!(
        counted == FAILURES || counted == 0 && who == "bucket",
        "{who}: {counted} of {FAILURES} counted"
    );
    limiter.forget(&1);
    assert_eq!(limiter.num_requeues(&1), 0, "{who}");
    delays
}

fn within(delays: &[Duration], least: Duration, most: Duration, who: &str) {
    for (attempt, delay) in delays.iter().enumerate() {
        assert!((least..=most).contains(delay), "{who}: {delay:?} at attempt {attempt}");
    }
}

fn exponential(base: Duration, max: Duration) -> ExponentialBackoff<u8> {
    ExponentialBackoff::new(base, max).unwrap()
}

#[test]
fn exponential_back_off_grows_from_base_to_max_and_stays() {
    for (base, max) in pairs() {
        let delays = fail(exponential(base, max), "exponential");
        within(&delays, base, max, "exponential");
        assert!(delays.is_sorted());
        assert_eq!((delays.first(), delays.last()), (Some(&base), Some(&max)));
    }
}

#[test]
fn fast_slow_is_one_or_the_other() {
    for (fast, slow) in pairs() {
        for attempts in [0, 1, FAILURES - 1, FAILURES, u32::MAX] {
            let delays = fail(FastSlow::new(fast, slow, attempts).unwrap(), "fast-slow");
            let fasts = usize::try_from(attempts.min(FAILURES)).unwrap();
            assert!(delays[..fasts].iter().all(|delay| *delay == fast));
            assert!(delays[fasts..].iter().all(|delay| *delay == slow));
        }
    }
}

#[test]
fn jitter_stays_in_its_band() {
    for (base, max) in pairs() {
        let plain = fail(exponential(base, max), "exponential");
        let judge = |jittered: Jittered<_>, band: fn(Duration) -> (Duration, Duration)| {
            for (delay, plain) in fail(jittered, "jittered").into_iter().zip(&plain) {
                let (least, most) = band(*plain);
                assert!((least..=most).contains(&delay), "{delay:?} of {plain:?}");
            }
        };
        judge(Jittered::new(exponential(base, max), 1).unwrap(), |d| {
            (d, d.saturating_add(d / 100))
        });
        judge(Jittered::new(exponential(base, max), 100).unwrap(), |d| (d, d.saturating_mul(2)));
        judge(Jittered::equal(exponential(base, max)), |d| (d / 2, d));
        judge(Jittered::full(exponential(base, max)), |d| (Duration::ZERO, d));
    }
}

#[test]
fn buckets_answer_by_their_formula_and_never_earlier_than_before() {
    for (tokens, per) in
        [(1, NANO), (u32::MAX, NANO), (u32::MAX, AGE), (1, AGE), (1, SECOND), (3, SECOND)]
    {
        for burst in [1, 100, u32::MAX] {
            let Ok(bucket) = TokenBucket::new(tokens, per, burst) else {
                assert!(AGE / burst < per, "only what takes an age to fill is refused");
                continue;
            };
            let delays = fail(bucket, "bucket");
            let interval = per.as_nanos().div_ceil(u128::from(tokens));
            for (taken, delay) in (1_u128..).zip(&delays) {
                // Beyond the time line there are no tokens.
                let wait = if taken * interval > u128::from(u64::MAX) {
                    Duration::MAX.as_nanos()
                } else {
                    taken.saturating_sub(burst.into()) * interval
                };
                assert_eq!(
                    delay.as_nanos(),
                    wait,
                    "token {taken} of {tokens} per {per:?}, {burst} at once"
                );
            }
            assert_eq!(
                delays,
                fail(PerItemBucket::new(tokens, per, burst).unwrap(), "per-item bucket")
            );
            for cap in [Duration::ZERO, NANO, SECOND, Duration::MAX] {
                let bucket = PerItemBucket::new(tokens, per, burst).unwrap();
                let capped = fail(WithMaxWait::new(bucket, cap), "with-max-wait");
                assert!(
                    capped.iter().zip(&delays).all(|(capped, delay)| *capped == cap.min(*delay))
                );
            }
        }
    }
}

#[test]
fn combinations_are_as_good_as_their_parts() {
    for (base, max) in pairs() {
        let both = MaxOf::new(exponential(base, max), FastSlow::new(NANO, max, 7).unwrap());
        let delays = fail(Shared::new(both), "max-of");
        assert!(delays.is_sorted());
        within(&delays, base, max, "max-of");
    }
    assert!(fail(controller_default(), "default").is_sorted());
}

/// B6: a clock that goes backwards neither adds nor delays permits. A bucket keeps the instants
/// that it has promised.
#[test]
fn a_clock_that_goes_backwards_changes_no_instant_that_a_bucket_promises() {
    let timer = ManualTimer::new();
    timer.advance(SECOND * 1000);
    let now = timer.now();
    let times = [now, now - SECOND * 5, now + SECOND, now - SECOND * 900, now];
    let bucket = TokenBucket::per_second(1, 1).unwrap();
    let mut single = PerItemBucket::new(1, SECOND, 1).unwrap();
    let mut reserve = |at| {
        let wait = bucket.reserve(at);
        assert_eq!(single.next_delay(&1, at), wait, "one item's bucket is a bucket");
        wait
    };
    let permits = times.map(|at| at + reserve(at)); // Some of these times are before the first use.
    assert_eq!(permits, [0, 1, 2, 3, 4].map(|permit| now + SECOND * permit));
    // The token comes one second after the last permit, so the wait includes the time that the
    // clock has lost.
    let far = SECOND * 1000;
    assert_eq!((reserve(now + far), reserve(now + SECOND * 100)), (Duration::ZERO, SECOND * 901));
    assert_eq!(reserve(now + far), SECOND * 2);
}

#[test]
fn a_clock_that_goes_backwards_changes_no_back_off() {
    let now = ManualTimer::new().now() + SECOND * 1000;
    let times = [now, now - SECOND * 5, now + SECOND, now - SECOND * 900, now];
    let mut limiter = exponential(SECOND, SECOND * 4);
    let delays = times.map(|at| limiter.next_delay(&1, at));
    assert_eq!(delays, [1, 2, 4, 4, 4].map(Duration::from_secs));
}
