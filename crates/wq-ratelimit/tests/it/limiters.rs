//! Invalid arguments of limiters, and their behaviour at the edges.

use std::time::Duration;
use wq_ratelimit::{
    ExponentialBackoff, FastSlow, InvalidLimit, Jittered, ManualTimer, MaxOf, PerItemBucket,
    RateLimiter, Shared, Timer, TokenBucket, WithMaxWait,
};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn impossible_limits_are_refused_with_field_value_and_bound() {
    let zero = Duration::ZERO;
    let errors = [
        ExponentialBackoff::<u8>::new(zero, SECOND).map(drop).unwrap_err(),
        ExponentialBackoff::<u8>::new(SECOND * 2, SECOND).map(drop).unwrap_err(),
        FastSlow::<u8>::new(SECOND * 2, SECOND, 1).map(drop).unwrap_err(),
        FastSlow::<u8>::new(zero, zero, 1).map(drop).unwrap_err(),
        TokenBucket::per_second(0, 1).map(drop).unwrap_err(),
        TokenBucket::per_second(1, 0).map(drop).unwrap_err(),
        TokenBucket::new(1, zero, 1).map(drop).unwrap_err(),
        TokenBucket::new(1, Duration::MAX, 1).map(drop).unwrap_err(),
        PerItemBucket::<u8>::new(1, SECOND, 0).map(drop).unwrap_err(),
        Jittered::new(TokenBucket::per_second(1, 1).unwrap(), 0).map(drop).unwrap_err(),
        Jittered::new(TokenBucket::per_second(1, 1).unwrap(), 101).map(drop).unwrap_err(),
        TokenBucket::new(1, Duration::from_secs(u64::MAX / 2_000_000_000), 3)
            .map(drop)
            .unwrap_err(),
        ExponentialBackoff::<u8>::new(SECOND, SECOND)
            .unwrap()
            .bounded(1, SECOND)
            .map(drop)
            .unwrap_err(),
        ExponentialBackoff::<u8>::new(SECOND, SECOND * 2)
            .unwrap()
            .bounded(2, SECOND)
            .map(drop)
            .unwrap_err(),
        ExponentialBackoff::<u8>::new(SECOND, SECOND)
            .unwrap()
            .bounded(2, SECOND)
            .map(drop)
            .unwrap_err(),
        FastSlow::<u8>::new(zero, SECOND, 1).unwrap().bounded(2, SECOND).map(drop).unwrap_err(),
        FastSlow::<u8>::new(zero, SECOND, 1).unwrap().bounded(0, SECOND).map(drop).unwrap_err(),
        PerItemBucket::<u8>::new(1, SECOND, 1).unwrap().bounded(1).map(drop).unwrap_err(),
    ];
    let said: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        said[0],
        "base is 0ns but must be at least 1ns; add the item without a limiter for no wait at all"
    );
    assert_eq!(
        said[1],
        "base is 2s but must be at most max, which is 1s; raise max, or set both alike for a wait that stays"
    );
    assert_eq!(
        said[13],
        "idle is 1s but must be more than the longest wait, which is 2s; with that or less, a record could be gone when its \
         wait is over, and the back-off begin anew"
    );
    assert!(
        ExponentialBackoff::<u8>::new(SECOND, Duration::MAX)
            .unwrap()
            .bounded(2, Duration::MAX)
            .is_ok()
    );
    for (error, said) in errors.iter().zip(said) {
        let InvalidLimit { field, value, bound, remedy, .. } = error;
        assert_eq!(said, format!("{field} is {value} but must be {bound}; {remedy}"));
    }
}

/// D15: client-go's arithmetic breaks at 2^63.
#[test]
fn back_off_is_monotone_and_within_its_bounds_for_any_base() {
    for base in
        [Duration::from_nanos(1), Duration::from_nanos(2), Duration::from_millis(5), Duration::MAX]
    {
        let mut limiter = ExponentialBackoff::new(base, Duration::MAX).unwrap();
        let now = ManualTimer::new().now();
        let mut last = Duration::ZERO;
        for attempt in 0..10_000 {
            let delay = limiter.next_delay(&(), now);
            assert!(delay >= last.max(base), "attempt {attempt} of base {base:?}");
            last = delay;
        }
        assert_eq!(last, Duration::MAX);
    }
}

#[test]
fn clones_of_a_bucket_share_it() {
    let now = ManualTimer::new().now();
    let bucket = TokenBucket::per_second(1, 1).unwrap();
    assert_eq!(bucket.clone().reserve(now), Duration::ZERO);
    assert_eq!(bucket.reserve(now), SECOND);
}

#[test]
fn threads_take_every_token_once() {
    const TIMES: u32 = 50_000;
    let now = ManualTimer::new().now();
    let bucket = TokenBucket::per_second(1, 1).unwrap();
    let take = || (0..TIMES).map(|_| bucket.reserve(now)).collect::<Vec<_>>();
    let mut waits = std::thread::scope(|scope| {
        let other = scope.spawn(take);
        [take(), other.join().unwrap()].concat()
    });
    waits.sort_unstable();
    assert!(
        waits.iter().zip(0..).all(|(wait, taken)| *wait == SECOND * taken),
        "each wait is had once"
    );
}

#[test]
fn max_of_asks_both_each_time() {
    let now = ManualTimer::new().now();
    let backoff = ExponentialBackoff::new(SECOND, SECOND).unwrap();
    let mut limiter = MaxOf::new(backoff, TokenBucket::per_second(1, 1).unwrap());
    assert_eq!((0..10).map(|_| limiter.next_delay(&1, now)).last(), Some(SECOND * 9));
}

/// x/time/rate: the 10 000th call at one instant.
#[test]
fn a_bucket_books_the_future_without_an_end() {
    let now = ManualTimer::new().now();
    let bucket = TokenBucket::per_second(10, 100).unwrap();
    assert_eq!((0..10_000).fold(SECOND, |_, _| bucket.reserve(now)), SECOND * 990);
    let slow = TokenBucket::new(1, Duration::from_secs(u64::MAX / 2_000_000_000), 1).unwrap();
    assert!((0..100).map(|_| slow.reserve(now)).is_sorted());
}

#[test]
fn shared_limiters_share_their_records() {
    let now = ManualTimer::new().now();
    let mut one = Shared::new(ExponentialBackoff::new(SECOND, SECOND * 100).unwrap());
    let mut other = one.clone();
    one.next_delay(&1, now);
    assert_eq!(other.next_delay(&1, now), SECOND * 2);
    other.forget(&1);
    assert_eq!(one.num_requeues(&1), 0);
}

#[test]
fn jitter_stays_inside_its_band_and_repeats_with_its_seed() {
    let draw = |seed| {
        let backoff = ExponentialBackoff::new(SECOND, SECOND).unwrap();
        let mut limiter = Jittered::new(backoff, 10).unwrap().seed(seed);
        let now = ManualTimer::new().now();
        (0..1000).map(|_| limiter.next_delay(&1, now)).collect::<Vec<_>>()
    };
    let drawn = draw(7);
    assert!(drawn.iter().all(|delay| (SECOND..=SECOND + SECOND / 10).contains(delay)));
    assert!(
        drawn.iter().max().unwrap().as_millis() > 1095
            && drawn.iter().min().unwrap().as_millis() < 1005
    );
    assert_eq!(drawn, draw(7));
    assert_ne!(drawn, draw(8));
    let mut longest =
        Jittered::new(ExponentialBackoff::new(Duration::MAX, Duration::MAX).unwrap(), 100).unwrap();
    assert_eq!(longest.next_delay(&1, ManualTimer::new().now()), Duration::MAX);
}

#[test]
fn a_bucket_in_debt_outlives_its_idle_time() {
    let timer = ManualTimer::new();
    let mut limiter = PerItemBucket::new(1, SECOND, 1).unwrap();
    for _ in 0..5_000 {
        limiter.next_delay(&1, timer.now());
    }
    for _ in 0..4 {
        timer.advance(SECOND * 1000);
        limiter.next_delay(&2, timer.now());
    }
    assert_eq!(limiter.next_delay(&1, timer.now()), SECOND * 1000);
}

#[test]
fn clones_that_were_given_no_seed_draw_each_for_itself() {
    let now = ManualTimer::new().now();
    let draw =
        |mut limiter: Jittered<_>| (0..20).map(|_| limiter.next_delay(&1, now)).collect::<Vec<_>>();
    let backoff = || ExponentialBackoff::new(SECOND, SECOND * 1000).unwrap();
    let jittered = Jittered::full(backoff());
    assert_ne!(draw(jittered.clone()), draw(jittered));
    let seeded = Jittered::full(backoff()).seed(7);
    assert_eq!(draw(seeded.clone()), draw(seeded));
}

/// Each limiter is asked about one item. A sweep a day later forgets it without a further call.
#[test]
fn every_limiter_that_remembers_can_be_swept() {
    let backoff = || ExponentialBackoff::<u8>::new(SECOND, SECOND * 10).unwrap();
    let limiters: Vec<Box<dyn RateLimiter<u8> + Send>> = vec![
        Box::new(backoff()),
        Box::new(FastSlow::new(SECOND, SECOND * 10, 2).unwrap()),
        Box::new(PerItemBucket::new(1, SECOND, 1).unwrap()),
        Box::new(MaxOf::new(backoff(), FastSlow::new(SECOND, SECOND, 1).unwrap())),
        Box::new(Shared::new(WithMaxWait::new(Jittered::full(backoff()), SECOND))),
    ];
    for (which, mut limiter) in limiters.into_iter().enumerate() {
        let timer = ManualTimer::new();
        limiter.next_delay(&1, timer.now());
        timer.advance(SECOND * 599);
        limiter.sweep(timer.now());
        assert!(limiter.num_requeues(&1) == 1 && limiter.remembered().expired == 0, "{which}");
        timer.advance(SECOND * 3600 * 24);
        limiter.sweep(timer.now());
        let remembered = limiter.remembered();
        assert!(limiter.num_requeues(&1) == 0 && remembered.items == 0, "{which}");
        assert!(remembered.expired > 0 && remembered.evicted == 0, "{which}");
    }
    // A bucket that owes tokens for longer is not forgotten.
    let mut bucket = PerItemBucket::<u8>::new(1, SECOND * 60, 1).unwrap();
    let timer = ManualTimer::new();
    (0..100).for_each(|_| _ = bucket.next_delay(&1, timer.now()));
    timer.advance(SECOND * 60 * 50);
    bucket.sweep(timer.now());
    assert_eq!(bucket.num_requeues(&1), 100);
}

/// The first call need not be the earliest in time. Each token has its instant, in whatever order
/// the calls come.
#[test]
fn a_bucket_that_is_asked_before_its_first_use_counts_from_that_use() {
    let hour = SECOND * 3600;
    let now = ManualTimer::new().now();
    let bucket = TokenBucket::new(1, SECOND, 1).unwrap();
    assert_eq!(bucket.reserve(now + hour), Duration::ZERO);
    assert_eq!(bucket.reserve(now), hour + SECOND);
    assert_eq!(bucket.reserve(now + hour), SECOND * 2);
    let mut buckets = PerItemBucket::new(1, SECOND, 1).unwrap();
    assert_eq!(buckets.next_delay(&1, now + hour), Duration::ZERO);
    assert_eq!(buckets.next_delay(&1, now), hour + SECOND);
}

#[test]
fn rates_of_client_go_are_written_as_the_page_of_the_bucket_says() {
    let now = ManualTimer::new().now();
    // 0.5 and 2.5 tokens a second, as in the table of `TokenBucket`.
    for (bucket, wait) in [
        (TokenBucket::new(1, SECOND * 2, 1), SECOND * 2),
        (TokenBucket::new(5, SECOND * 2, 1), Duration::from_millis(400)),
    ] {
        let bucket = bucket.unwrap();
        assert_eq!((bucket.reserve(now), bucket.reserve(now)), (Duration::ZERO, wait));
    }
}
