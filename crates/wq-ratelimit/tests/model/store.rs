//! The store of failures against its promises: its size is bounded, no record expires early, and
//! each dropped record is counted.

use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;
use wq_ratelimit::{
    Combine, ExponentialBackoff, ManualTimer, Outcome, PerItemBucket, RateLimiter,
    RateLimitingQueue, Remembered, Timer,
};

const SECOND: Duration = Duration::from_secs(1);
const IDLE: u64 = 100;

#[derive(Debug, Clone)]
enum Op {
    Fail(u16),
    /// Waits this many seconds from now on. Zero ends the wait.
    Wait(u16, u64),
    Forget(u16),
    Advance(u64),
    Sweep,
}

/// The expected record of an item, in seconds: `last` is its last failure, `kept` the end of its
/// extra time.
#[derive(Debug, Clone, Copy)]
struct Seen {
    attempts: u32,
    last: u64,
    kept: u64,
}

impl Seen {
    fn is_in_use(self, now: u64) -> bool {
        now - self.last < IDLE || now < self.kept
    }

    fn is_dead(self, now: u64) -> bool {
        now - self.last >= 2 * IDLE && now >= self.kept + IDLE
    }
}

/// The items in the order of their last failures, newest first.
#[derive(Debug, Default)]
struct Failures(Vec<u16>);

impl Failures {
    fn fails(&mut self, item: u16) {
        self.0.retain(|other| *other != item);
        self.0.insert(0, item);
    }

    fn are_among_the_last(&self, item: u16, count: usize) -> bool {
        self.0.iter().take(count).any(|other| *other == item)
    }
}

proptest! {
    #![proptest_config(crate::config())]

    #[test]
    fn what_is_in_use_is_remembered_and_what_leaves_is_counted(
        max_items in 2..40_usize,
        items in 1..60_u16,
        ops in prop::collection::vec((0..14_u8, any::<u16>(), 0..120_u64), 1..200),
    ) {
        let timer = ManualTimer::new();
        let mut limiter = ExponentialBackoff::<u16>::new(SECOND, SECOND * 2)
            .unwrap()
            .bounded(max_items, SECOND * u32::try_from(IDLE).unwrap())
            .unwrap();
        let half = max_items / 2;
        let mut known: BTreeMap<u16, Seen> = BTreeMap::new();
        let mut failures = Failures::default();
        let (mut now, mut begun, mut forgotten) = (0, 0_u64, 0_u64);
        let ops = ops.into_iter().flat_map(|(kind, item, by)| {
            let item = item % items;
            match kind {
                0..5 => vec![Op::Fail(item)],
                5..7 => vec![Op::Fail(item), Op::Wait(item, by)],
                7..9 => {
                    // Several items at once, all kept for long.
                    let some = (0..1 + u16::try_from(by % 6).unwrap()).map(|other| (item + other) % items);
                    some.flat_map(|item| [Op::Fail(item), Op::Wait(item, by * 50)]).collect()
                }
                9 => vec![Op::Wait(item, by.saturating_sub(60))],
                10 => vec![Op::Forget(item)],
                11 => vec![Op::Advance(by)],
                12 => vec![Op::Advance(IDLE + by / 3)],
                _ => vec![Op::Sweep],
            }
        });
        for op in ops {
            match op {
                Op::Fail(item) => {
                    let before = limiter.num_requeues(&item);
                    limiter.next_delay(&item, timer.now());
                    let counted = limiter.num_requeues(&item);
                    prop_assert!(counted == before + 1 || counted == 1, "{before}, then {counted}");
                    let seen = known.get(&item).copied();
                    if let Some(seen) = seen {
                        if seen.is_dead(now) {
                            prop_assert_eq!(counted, 1, "it was dead");
                        } else if seen.is_in_use(now) && failures.are_among_the_last(item, half) {
                            prop_assert_eq!(counted, before + 1, "it was in use");
                        }
                    }
                    // This call may have dropped the record.
                    begun += u64::from(counted == 1);
                    let kept = seen.filter(|_| counted > 1).map_or(0, |seen| seen.kept);
                    known.insert(item, Seen { attempts: counted, last: now, kept });
                    failures.fails(item);
                }
                Op::Wait(item, length) => {
                    let until = timer.now() + SECOND * u32::try_from(length).unwrap();
                    limiter.keep_until(&item, until, timer.now());
                    if let Some(seen) = known.get_mut(&item) {
                        let kept = now + length + IDLE;
                        seen.kept = if length > 0 { seen.kept.max(kept) } else { seen.kept.min(kept) };
                    }
                }
                Op::Forget(item) => {
                    if limiter.num_requeues(&item) > 0 {
                        forgotten += 1;
                    }
                    limiter.forget(&item);
                    known.remove(&item);
                    prop_assert_eq!(limiter.num_requeues(&item), 0);
                }
                Op::Advance(by) => {
                    timer.advance(Duration::from_secs(by));
                    now += by;
                }
                Op::Sweep => {
                    limiter.sweep(timer.now());
                    for (item, seen) in &known {
                        if seen.is_dead(now) {
                            prop_assert_eq!(limiter.num_requeues(item), 0, "item {} is dead", item);
                        }
                    }
                }
            }
            let Remembered { items, expired, evicted, .. } = limiter.remembered();
            prop_assert!(items <= max_items, "{items} of {max_items}");
            prop_assert_eq!(items as u64 + expired + evicted + forgotten, begun);
            for item in failures.0.iter().take(half) {
                if let Some(seen) = known.get(item).filter(|seen| seen.is_in_use(now)) {
                    prop_assert_eq!(limiter.num_requeues(item), seen.attempts, "{} failed lately", item);
                }
            }
            known.retain(|item, seen| {
                let attempts = limiter.num_requeues(item);
                assert!(attempts == 0 || attempts == seen.attempts);
                attempts > 0
            });
            prop_assert_eq!(known.len(), items);
        }
    }

    /// Holds however many tokens the other buckets owe.
    #[test]
    fn a_bucket_among_those_used_last_is_never_filled_by_being_forgotten(
        max_items in 2..16_usize,
        items in 1..30_u16,
        burst in 1..12_u64,
        takes in prop::collection::vec((any::<u16>(), 1..20_u8, 0..12_u64), 1..200),
    ) {
        const INTERVAL: u64 = 100;
        let timer = ManualTimer::new();
        let burst_tokens = u32::try_from(burst).unwrap();
        let mut limiter =
            PerItemBucket::new(1, Duration::from_secs(INTERVAL), burst_tokens).unwrap().bounded(max_items).unwrap();
        let mut full_at: BTreeMap<u16, u64> = BTreeMap::new();
        let mut uses = Failures::default();
        let mut now = 0;
        for (item, tokens, pause) in takes {
            let item = item % items;
            // Most pauses are zero. Some are longer than the time for which the record of a full
            // bucket is kept.
            let pause = pause.saturating_sub(8) * INTERVAL * burst.max(6) / 2;
            timer.advance(Duration::from_secs(pause));
            now += pause;
            for _ in 0..if tokens > 12 { tokens * 2 } else { 1 } {
                let among_the_last = uses.are_among_the_last(item, max_items / 2);
                let held = full_at.get(&item).map_or(now, |held| now.max(*held)) + INTERVAL;
                let wait = limiter.next_delay(&item, timer.now()).as_secs();
                if limiter.num_requeues(&item) > 1 || among_the_last {
                    prop_assert_eq!(wait, held.saturating_sub(INTERVAL * burst + now), "item {}", item);
                    full_at.insert(item, held);
                } else {
                    prop_assert_eq!(wait, 0);
                    full_at.insert(item, now + INTERVAL);
                }
                uses.fails(item);
                prop_assert!(limiter.remembered().items <= max_items);
            }
        }
    }

    /// An item fails as soon as it is handed out, however long it waited, while others fail. All
    /// its failures stay known.
    #[test]
    fn failures_are_remembered_through_every_wait(
        ways in prop::collection::vec((0..6_u8, 0..600_u64), 1..12),
        step in 30..300_u64,
    ) {
        // The store counts in whole seconds when a record outlives its time.
        let seconds = Duration::from_secs;
        let backoff = |base, max| {
            ExponentialBackoff::new(seconds(base), seconds(max)).unwrap().bounded(50, seconds(max + 1)).unwrap()
        };
        let timer = ManualTimer::new();
        let queue = RateLimitingQueue::builder()
            .limiter(backoff(4, 50))
            .timer(timer.clone())
            .build()
            .unwrap();
        queue.add(0_u64);
        let mut counted = 0;
        for (way, length) in ways {
            let guard = queue.try_get().unwrap();
            prop_assert_eq!(guard.num_requeues(), counted);
            let delay = seconds(length);
            let outcome = match way {
                1 => Outcome::RetryNotBefore(timer.now() + delay),
                2 => Outcome::RetryAfter(delay),
                3 => Outcome::RetryWith { delay, combine: Combine::Sum },
                4 => Outcome::RetryWith { delay, combine: Combine::Override },
                _ => Outcome::Retry,
            };
            guard.finish(outcome).unwrap();
            counted += u32::from(way != 2);
            while queue.counts().queued == 0 {
                timer.advance(seconds(step).min(queue.deadline(&0).unwrap() - timer.now()));
                let other = 1 + length % 3;
                queue.add_rate_limited(other);
                queue.cancel(&other);
            }
        }
    }
}
