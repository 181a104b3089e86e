//! Token buckets and back-off against what they are defined by.

use proptest::prelude::*;
use std::time::Duration;
use wq_ratelimit::{ExponentialBackoff, ManualTimer, PerItemBucket, RateLimiter, Timer, TokenBucket};

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// In no window `w` do more than `burst + rate * w` attempts become due.
    #[test]
    fn no_window_holds_more_than_burst_and_rate_allow(
        tokens in 1..50_u32,
        per in 1..2_000_000_u64,
        burst in 1..20_u32,
        gaps in prop::collection::vec(0..200_000_u64, 1..150),
    ) {
        let bucket = TokenBucket::new(tokens, Duration::from_nanos(per), burst).unwrap();
        let mut single = PerItemBucket::new(tokens, Duration::from_nanos(per), burst).unwrap();
        let start = ManualTimer::new().now();
        let mut now = 0;
        let mut due = Vec::new();
        for gap in gaps {
            now += gap;
            let instant = start + Duration::from_nanos(now);
            let wait = bucket.reserve(instant);
            prop_assert_eq!(single.next_delay(&1, instant), wait, "one item's bucket is a bucket");
            due.push(now + u64::try_from(wait.as_nanos()).unwrap());
        }
        prop_assert!(due.is_sorted());
        for (first, begin) in due.iter().enumerate() {
            for (last, end) in due.iter().enumerate().skip(first) {
                let window = u128::from(end - begin);
                let allowed = u128::from(burst) + window * u128::from(tokens) / u128::from(per);
                prop_assert!((last - first + 1) as u128 <= allowed, "{} in {window} ns", last - first + 1);
            }
        }
    }

    /// The same answers as a bucket that counts tokens, where the interval is a whole number.
    #[test]
    fn answers_as_a_counter_of_tokens_does(
        interval in 1..1_000_u64,
        burst in 1..20_u32,
        gaps in prop::collection::vec(0..3_000_u64, 1..100),
    ) {
        let bucket = TokenBucket::new(1, Duration::from_nanos(interval), burst).unwrap();
        let start = ManualTimer::new().now();
        // Tokens in units of 1/interval: it gains one unit each nanosecond, a token costs `interval`.
        let full = i128::from(interval) * i128::from(burst);
        let (mut level, mut now) = (full, 0);
        for gap in gaps {
            now += gap;
            level = (level + i128::from(gap)).min(full) - i128::from(interval);
            let expected = u64::try_from((-level).max(0)).unwrap();
            let wait = bucket.reserve(start + Duration::from_nanos(now));
            prop_assert_eq!(wait, Duration::from_nanos(expected));
        }
    }

    #[test]
    fn back_off_is_base_times_two_to_the_attempts(
        base in 1..u64::MAX,
        more in 0..u64::MAX,
        attempts in 1..200_u32,
    ) {
        let (base, max) = (Duration::from_nanos(base), Duration::from_nanos(base).saturating_add(Duration::from_nanos(more)));
        let mut limiter = ExponentialBackoff::new(base, max).unwrap();
        let now = ManualTimer::new().now();
        for attempt in 0..attempts {
            let exact = 2_u128.checked_pow(attempt).and_then(|factor| factor.checked_mul(base.as_nanos()));
            let expected = exact.map_or(max.as_nanos(), |nanos| nanos.min(max.as_nanos()));
            prop_assert_eq!(limiter.next_delay(&1, now).as_nanos(), expected);
            prop_assert_eq!(limiter.num_requeues(&1), attempt + 1);
        }
    }
}
