//! The store of failures against what it promises: never too many, never forgotten early for age, and all that leaves is
//! counted.

use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;
use wq_ratelimit::{
    Class, Combine, ExponentialBackoff, ManualTimer, Outcome, PerClass, RateLimiter, RateLimitingQueue,
    Remembered, Timer,
};

const IDLE: u64 = 100;

#[derive(Debug, Clone)]
enum Op {
    Fail(u16),
    Forget(u16),
    Advance(u64),
    Sweep,
}

proptest! {
    #![proptest_config(crate::config())]

    #[test]
    fn what_is_in_use_is_remembered_and_what_leaves_is_counted(
        max_items in 2..40_usize,
        items in 1..60_u16,
        ops in prop::collection::vec((0..10_u8, any::<u16>(), 0..120_u64), 1..200),
    ) {
        let timer = ManualTimer::new();
        let second = Duration::from_nanos(1);
        let mut limiter = ExponentialBackoff::<u16>::new(second, second * 2)
            .unwrap()
            .bounded(max_items, Duration::from_nanos(IDLE))
            .unwrap();
        // Of each item: its attempts, when it failed last, and how many others began since.
        let mut known: BTreeMap<u16, (u32, u64, usize)> = BTreeMap::new();
        let (mut now, mut begun, mut forgotten) = (0, 0_u64, 0_u64);
        let ops = ops.into_iter().map(|(kind, item, by)| match kind {
            0..7 => Op::Fail(item % items),
            7 => Op::Forget(item % items),
            8 => Op::Advance(by),
            _ => Op::Sweep,
        });
        for op in ops {
            match op {
                Op::Fail(item) => {
                    let before = limiter.num_requeues(&item);
                    if before == 0 {
                        begun += 1;
                    }
                    limiter.next_delay(&item, timer.now());
                    let counted = limiter.num_requeues(&item);
                    prop_assert!(counted == before + 1 || counted == 1, "{before}, then {counted}");
                    if let Some((_, last, others)) = known.get(&item) {
                        if now - last >= 2 * IDLE {
                            prop_assert_eq!(counted, 1, "it was dead");
                        } else if now - last < IDLE && *others < max_items / 2 {
                            prop_assert_eq!(counted, before + 1, "it was in use");
                        }
                    }
                    if before > 0 && counted == 1 {
                        begun += 1; // It was dropped in this very call.
                    }
                    known.iter_mut().filter(|(other, _)| **other != item).for_each(|(_, seen)| seen.2 += 1);
                    let entry = known.entry(item).or_insert((0, now, 0));
                    *entry = (counted, now, 0);
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
                    timer.advance(Duration::from_nanos(by));
                    now += by;
                }
                Op::Sweep => {
                    limiter.sweep(timer.now());
                    for (item, (_, last, _)) in &known {
                        if now - last >= 2 * IDLE {
                            prop_assert_eq!(limiter.num_requeues(item), 0, "item {} is dead", item);
                        }
                    }
                }
            }
            let Remembered { items, expired, evicted, .. } = limiter.remembered();
            prop_assert!(items <= max_items, "{items} of {max_items}");
            prop_assert_eq!(items as u64 + expired + evicted + forgotten, begun);
            let mut shown = Vec::new();
            limiter.each_remembered(&mut |item| shown.push(*item));
            prop_assert_eq!(shown.len(), items);
            for (item, (attempts, last, others)) in &known {
                if now - last < IDLE && others + 1 < max_items / 2 {
                    prop_assert_eq!(limiter.num_requeues(item), *attempts, "item {} is in use", item);
                }
            }
        }
    }

    /// An item that fails as soon as it is handed out, however long it had to wait, and others that fail meanwhile: all its
    /// failures are known.
    #[test]
    fn failures_are_remembered_through_every_wait(
        ways in prop::collection::vec((0..6_u8, 0..600_u64), 1..12),
        step in 30..300_u64,
    ) {
        const SLOW: Class = Class::new("slow");
        // The store counts in seconds what it keeps beyond its time.
        let seconds = Duration::from_secs;
        let backoff = |base, max| {
            ExponentialBackoff::new(seconds(base), seconds(max)).unwrap().bounded(50, seconds(max + 1)).unwrap()
        };
        let timer = ManualTimer::new();
        let queue = RateLimitingQueue::builder()
            .limiter(PerClass::new(backoff(4, 50)).with(SLOW, backoff(16, 200)))
            .timer(timer.clone())
            .build()
            .unwrap();
        queue.add(0_u64);
        let mut counted = 0;
        for (way, length) in ways {
            let guard = queue.try_get().unwrap();
            prop_assert_eq!(guard.num_requeues(), counted);
            let delay = seconds(length);
            guard.finish(match way {
                0 => Outcome::RetryAs(SLOW),
                1 => Outcome::RetryNotBefore(timer.now() + delay),
                2 => Outcome::RetryAfter(delay),
                3 => Outcome::RetryWith { delay, combine: Combine::Sum },
                4 => Outcome::RetryWith { delay, combine: Combine::Override },
                _ => Outcome::Retry,
            });
            counted += u32::from(way != 2);
            while queue.is_empty() {
                timer.advance(seconds(step).min(queue.deadline(&0).unwrap() - timer.now()));
                let other = 1 + length % 3;
                queue.add_rate_limited(other);
                queue.cancel(&other);
            }
        }
    }
}
