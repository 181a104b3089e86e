//! Token buckets against their definition.

use proptest::prelude::*;
use std::time::Duration;
use wq_ratelimit::{ManualTimer, PerItemBucket, RateLimiter, Timer, TokenBucket};

proptest! {
    #![proptest_config(crate::config())]

    /// In any window `w` at most `burst + rate * w` attempts become due.
    #[test]
    fn no_window_holds_more_than_burst_and_rate_allow(
        tokens in 1..50_u32,
        per in prop_oneof![8 => 1..2_000_000_u64, 1 => 1_u64 << 56..],
        burst in 1..20_u32,
        gaps in prop::collection::vec(0..200_000_u64, 1..60),
    ) {
        let Ok(bucket) = TokenBucket::new(tokens, Duration::from_nanos(per), burst) else {
            prop_assert!(per.div_ceil(tokens.into()).checked_mul(burst.into()).is_none(), "it fills in time");
            return Ok(());
        };
        let mut single = PerItemBucket::new(tokens, Duration::from_nanos(per), burst).unwrap();
        let start = ManualTimer::new().now();
        let mut now = 0;
        let mut due = Vec::new();
        for gap in gaps {
            now += gap;
            let instant = start + Duration::from_nanos(now);
            let wait = bucket.reserve(instant);
            prop_assert_eq!(single.next_delay(&1, instant), wait, "one item's bucket is a bucket");
            // Beyond the time line there are no tokens.
            if wait < Duration::MAX {
                due.push(u128::from(now) + wait.as_nanos());
            }
        }
        prop_assert!(due.is_sorted());
        for (first, begin) in due.iter().enumerate() {
            for (last, end) in due.iter().enumerate().skip(first) {
                let window = end - begin;
                let allowed = u128::from(burst) + window * u128::from(tokens) / u128::from(per);
                prop_assert!((last - first + 1) as u128 <= allowed, "{} in {window} ns", last - first + 1);
            }
        }
    }

    /// The answers equal those of a token counter, where the interval is a whole number.
    #[test]
    fn answers_as_a_counter_of_tokens_does(
        interval in 1..1_000_u64,
        burst in 1..20_u32,
        gaps in prop::collection::vec(0..3_000_u64, 1..100),
    ) {
        let bucket = TokenBucket::new(1, Duration::from_nanos(interval), burst).unwrap();
        let start = ManualTimer::new().now();
        // Tokens in units of 1/interval: the bucket gains a unit each nanosecond, and a token costs
        // `interval`.
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
}
