//! Limiters against their defining formulas.

use proptest::prelude::*;
use std::time::Duration;
use wq_ratelimit::{
    ExponentialBackoff, FastSlow, Jittered, ManualTimer, MaxOf, RateLimiter, Timer, TokenBucket,
    WithMaxWait,
};

/// What happens to one of three items: it fails, or it is forgotten.
#[derive(Debug, Clone, Copy)]
enum Event {
    Fail(u8),
    Forget(u8),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let item = 0..3_u8;
    let event = prop_oneof![
        11 => item.clone().prop_map(Event::Fail),
        1 => item.prop_map(Event::Forget),
    ];
    prop::collection::vec(event, 1..120)
}

/// A base, and a maximum that is at least the base.
fn lengths() -> impl Strategy<Value = (Duration, Duration)> {
    let nanos = || {
        prop_oneof![
            1..1_000_u64,
            1_000_000..10_000_000_000_u64,
            any::<u64>().prop_map(|nanos| nanos.max(1))
        ]
    };
    (nanos(), nanos()).prop_map(|(base, more)| {
        let base = Duration::from_nanos(base);
        (base, base.saturating_add(Duration::from_nanos(more)))
    })
}

/// `base * 2^attempts`, at most `max`.
fn doubled(base: Duration, max: Duration, attempts: u32) -> Duration {
    let exact = 2_u128.checked_pow(attempts).and_then(|factor| factor.checked_mul(base.as_nanos()));
    match exact {
        Some(nanos) if nanos < max.as_nanos() => Duration::from_nanos_u128(nanos),
        _ => max,
    }
}

proptest! {
    #![proptest_config(crate::config())]

    #[test]
    fn back_off_is_base_times_two_to_the_attempts(
        (base, max) in lengths(),
        attempts in 1..200_u32,
    ) {
        let mut limiter = ExponentialBackoff::new(base, max).unwrap();
        let now = ManualTimer::new().now();
        for attempt in 0..attempts {
            prop_assert_eq!(limiter.next_delay(&1, now), doubled(base, max, attempt));
            prop_assert_eq!(limiter.num_requeues(&1), attempt + 1);
        }
    }

    /// Max-of asks both; fast-slow counts; a cap caps.
    #[test]
    fn combined_limiters_answer_as_their_formulas(
        (base, max) in lengths(),
        fast_attempts in 0..6_u32,
        cap in lengths(),
        events in events(),
    ) {
        let now = ManualTimer::new().now();
        let fast_slow = FastSlow::new(base, max, fast_attempts).unwrap();
        let bucket = TokenBucket::new(1, Duration::from_nanos(1000), 1).unwrap();
        let inner = ExponentialBackoff::new(base, max).unwrap();
        let mut limiter = MaxOf::new(WithMaxWait::new(inner, cap.1), MaxOf::new(fast_slow, bucket));
        let (mut failed, mut all) = ([0_u32; 3], 0_u64);
        for event in events {
            let (item, expected, delay) = match event {
                Event::Fail(item) => {
                    let at = usize::from(item);
                    failed[at] += 1;
                    (at, doubled(base, max, failed[at] - 1), limiter.next_delay(&item, now))
                }
                Event::Forget(item) => {
                    limiter.forget(&item);
                    failed[usize::from(item)] = 0;
                    continue;
                }
            };
            let attempts = failed[item];
            let paced = if attempts <= fast_attempts { base } else { max };
            let bucket = Duration::from_nanos(1000 * all);
            all += 1;
            prop_assert_eq!(delay, expected.min(cap.1).max(paced).max(bucket));
            prop_assert_eq!(limiter.num_requeues(&u8::try_from(item).unwrap()), attempts);
        }
    }

    #[test]
    fn jitter_stays_in_its_band_and_repeats_with_its_seed(
        (base, max) in lengths(),
        percent in 1..=100_u8,
        seed in any::<u64>(),
        attempts in 1..80_u32,
    ) {
        let now = ManualTimer::new().now();
        let exponential = || ExponentialBackoff::new(base, max).unwrap();
        let make = || {
            let longer = Jittered::new(exponential(), percent).unwrap().seed(seed);
            let (equal, full) = (Jittered::equal(exponential()).seed(seed), Jittered::full(exponential()).seed(seed));
            (longer, equal, full)
        };
        let ((mut longer, mut equal, mut full), mut again) = (make(), make());
        for attempt in 0..attempts {
            let plain = doubled(base, max, attempt);
            let delay = longer.next_delay(&1, now);
            let most = plain.as_nanos() * (100 + u128::from(percent)) / 100;
            prop_assert!((plain.as_nanos()..=most).contains(&delay.as_nanos()), "{delay:?} of {plain:?}");
            prop_assert_eq!(delay, again.0.next_delay(&1, now));
            let delay = equal.next_delay(&1, now);
            prop_assert!((plain / 2..=plain).contains(&delay), "{delay:?} of {plain:?}");
            prop_assert_eq!(delay, again.1.next_delay(&1, now));
            let delay = full.next_delay(&1, now);
            prop_assert!(delay <= plain, "{delay:?} of {plain:?}");
            prop_assert_eq!(delay, again.2.next_delay(&1, now));
        }
    }
}
