//! A wait beyond the end of time is a back-off as any other. The item looks the same as with a wait
//! of ten years.

use std::time::Duration;
use wq_ratelimit::{
    Added, Combine, DuringBackoff, ExponentialBackoff, ManualTimer, Outcome, RateLimiter,
    RateLimitingQueue, TokenBucket,
};

const SECOND: Duration = Duration::from_secs(1);
const TEN_YEARS: Duration = Duration::from_hours(24 * 365 * 10);

#[derive(Debug, PartialEq, Eq)]
struct Seen {
    attempts: u32,
    queued: usize,
    delayed: usize,
    backs_off: usize,
}

/// An item finishes its first attempt with `first`. Then events bring it back, and it finishes with
/// `then`.
fn story(
    limiter: impl RateLimiter<u8> + Send,
    policy: DuringBackoff,
    first: Outcome,
    then: Outcome,
) -> Vec<Seen> {
    let queue = RateLimitingQueue::builder()
        .limiter(limiter)
        .during_backoff(policy)
        .timer(ManualTimer::new())
        .build()
        .unwrap();
    let see = || Seen {
        attempts: queue.num_requeues(&1),
        queued: queue.counts().queued,
        delayed: queue.delayed_len(),
        backs_off: queue.remembered().backoffs.items,
    };
    queue.add(1);
    queue.try_get().unwrap().finish(first).unwrap();
    let mut seen = vec![see()];
    for _ in 0..5 {
        queue.add(1);
        seen.push(see());
        if let Ok(guard) = queue.try_get() {
            guard.finish(then).unwrap();
        }
        seen.push(see());
    }
    seen
}

/// `Defer` holds even for a back-off without an end.
#[test]
fn an_event_that_defers_to_a_back_off_without_an_end_waits_until_that_is_canceled() {
    let timer = ManualTimer::new();
    let queue = RateLimitingQueue::builder()
        .limiter(ExponentialBackoff::new(SECOND, SECOND).unwrap())
        .during_backoff(DuringBackoff::Defer)
        .timer(timer.clone())
        .build()
        .unwrap();
    let endless = Outcome::RetryWith { delay: Duration::MAX, combine: Combine::Max };
    queue.add(1);
    queue.try_get().unwrap().finish(endless).unwrap();
    assert_eq!(queue.add(1), Added::Merged);
    timer.advance(TEN_YEARS);
    assert!(queue.try_get().is_err());
    assert_eq!(queue.cancel(&1), Some(1));
    assert_eq!(queue.add(1), Added::Queued, "nothing is left to defer to");
    queue.try_get().unwrap().finish(Outcome::Success).unwrap();
    assert_eq!((queue.counts().queued, queue.delayed_len()), (0, 0));
}

#[test]
fn a_wait_without_an_end_is_a_back_off_as_any_other() {
    use Combine::{Max, Min, Override, Sum};
    for policy in [DuringBackoff::Keep, DuringBackoff::Clear, DuringBackoff::Defer] {
        for combine in [Override, Max, Sum] {
            for later in [None, Some(Override), Some(Max), Some(Sum), Some(Min)] {
                let told = |delay| {
                    let first = Outcome::RetryWith { delay, combine };
                    let then = later
                        .map_or(Outcome::Retry, |combine| Outcome::RetryWith { delay, combine });
                    let backoff = ExponentialBackoff::new(SECOND, SECOND * 60).unwrap();
                    let bucket = TokenBucket::per_second(1, 1).unwrap();
                    [story(backoff, policy, first, then), story(bucket, policy, first, then)]
                };
                assert_eq!(
                    told(Duration::MAX),
                    told(TEN_YEARS),
                    "{policy:?}, {combine:?}, then {later:?}"
                );
            }
        }
    }
}
