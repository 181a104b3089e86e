//! `RateLimitingQueue` against a naive queue: when each item comes back, and how many attempts
//! count.

use crate::naive::{Ask, Event, Immediate, Naive, Nanos, PACE, Second};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use std::time::{Duration, Instant};
use wq_ratelimit::{
    Combine, DuringBackoff, ExponentialBackoff, ImmediateAdd, ManualTimer, Outcome,
    ProcessingGuard, RateLimitingQueue, Scheduled, SecondAdd, Timer,
};

const ITEMS: u8 = 5;

type Queue = RateLimitingQueue<u8, ExponentialBackoff<u8>>;

#[derive(Debug, Clone)]
enum Op {
    Add(u8),
    AddAll(Vec<u8>),
    AddRateLimited(u8),
    AddRateLimitedAfter(u8, Duration, bool),
    /// The item, and its delay from now.
    AddAt(u8, Duration),
    Get,
    Finish(usize, u8, Duration),
    /// The clock advances, and no call looks at the queue before an item is finished.
    AdvanceAndFinish(u64, usize, u8, Duration),
    /// Drops a guard without an outcome.
    Drop(usize),
    Abandon(u8),
    Remove(u8),
    Cancel(u8),
    Forget(u8),
    Advance(u64),
    Shutdown,
}

const DAY: Duration = Duration::from_hours(24);
const YEAR: Duration = Duration::from_hours(24 * 365);

/// A wait of any length. Some last days, and some end beyond the 584 years of a queue's time line.
fn wait() -> impl Strategy<Value = Duration> {
    let far = prop::sample::select(vec![DAY, DAY * 2, YEAR * 100, YEAR * 600, Duration::MAX]);
    prop_oneof![14 => (0..60_u64).prop_map(nanos), 1 => far]
}

/// A wait whose end an instant can express.
fn until() -> impl Strategy<Value = Duration> {
    wait().prop_map(|wait| wait.min(YEAR * 700))
}

fn op() -> impl Strategy<Value = Op> {
    // One item gets most of the steps. Otherwise rules about a second and a third failure are
    // seldom met.
    let item = || prop_oneof![2 => Just(0), 1 => 0..ITEMS];
    prop_oneof![
        24 => item().prop_map(Op::Add),
        4 => prop::collection::vec(item(), 0..4).prop_map(Op::AddAll),
        14 => item().prop_map(Op::AddRateLimited),
        4 => (item(), wait(), any::<bool>()).prop_map(|(item, delay, max)| Op::AddRateLimitedAfter(item, delay, max)),
        6 => (item(), until()).prop_map(|(item, until)| Op::AddAt(item, until)),
        40 => Just(Op::Get),
        40 => (any::<usize>(), 0..12_u8, wait()).prop_map(|(at, how, wait)| Op::Finish(at, how, wait)),
        10 => (0..20_u64, any::<usize>(), 0..12_u8, wait())
            .prop_map(|(by, at, how, wait)| Op::AdvanceAndFinish(by, at, how, wait)),
        8 => any::<usize>().prop_map(Op::Drop),
        3 => item().prop_map(Op::Abandon),
        4 => item().prop_map(Op::Remove),
        4 => item().prop_map(Op::Cancel),
        5 => item().prop_map(Op::Forget),
        40 => (0..20_u64).prop_map(Op::Advance),
        1 => Just(Op::Shutdown),
    ]
}

const fn nanos(nanos: u64) -> Duration {
    Duration::from_nanos(nanos)
}

/// A guard, and the number of its hand-out.
type Held<'q> = (ProcessingGuard<'q, u8>, u64);

fn finish((guard, hand_out): Held<'_>, how: u8, wait: Duration, now: Instant, naive: &mut Naive) {
    let item = *guard.item();
    assert_eq!(guard.num_requeues(), naive.attempts(item));
    let with = |combine| Outcome::RetryWith { delay: wait, combine };
    let not_before = wait.min(YEAR * 700);
    let (time, floor) = (wait.as_nanos(), naive.now + not_before.as_nanos());
    let not_before = now + not_before;
    let (outcome, ask) = match how {
        0 => (Outcome::Success, None),
        1 => (Outcome::GiveUp, None),
        2 => (Outcome::RetryAfter(wait), None),
        4 => (Outcome::RetryNotBefore(not_before), Some(Ask::NotBefore(floor))),
        5 => (with(Combine::Min), Some(Ask::Min(time))),
        6 => (with(Combine::Max), Some(Ask::Max(time))),
        7 => (with(Combine::Sum), Some(Ask::Sum(time))),
        8 => (with(Combine::Override), Some(Ask::Override(time))),
        _ => (Outcome::Retry, Some(Ask::Limiter)),
    };
    let scheduled = guard.finish(outcome).unwrap_or_else(|refused| {
        assert_eq!(refused.into_item(), item);
        Some(Scheduled::ShutDown)
    });
    if !naive.is_in_hand(item, hand_out) {
        assert_eq!(scheduled, None, "its guard is stale");
        return;
    }
    let expected = match (outcome, ask) {
        (_, Some(ask)) => Some(naive.retry(item, ask, true)),
        (Outcome::RetryAfter(_), _) => Some(naive.retry_after(item, naive.now + time)),
        _ => {
            naive.end(item);
            None
        }
    };
    assert_eq!(scheduled, expected);
    naive.done(item);
}

fn play(
    event: Event,
    immediate: Immediate,
    second: Second,
    counts_early: bool,
    ops: Vec<Op>,
) -> Result<(), TestCaseError> {
    let timer = ManualTimer::new();
    let start = timer.now();
    let at = |at: Nanos| start + nanos(u64::try_from(at).unwrap());
    let limiter = ExponentialBackoff::new(nanos(PACE.0), nanos(PACE.1)).unwrap();
    let policy = match event {
        Event::Keep => DuringBackoff::Keep,
        Event::Clear => DuringBackoff::Clear,
        Event::Defer => DuringBackoff::Defer,
    };
    let immediate_add = match immediate {
        Immediate::Keep => ImmediateAdd::Keep,
        Immediate::Merge => ImmediateAdd::Merge,
        Immediate::Defer => ImmediateAdd::Defer,
    };
    let second_add = match second {
        Second::Earliest => SecondAdd::Earliest,
        Second::Latest => SecondAdd::Latest,
        Second::Replace => SecondAdd::Replace,
    };
    let builder = RateLimitingQueue::builder()
        .limiter(limiter)
        .timer(timer.clone())
        .count_early_attempts(counts_early)
        .during_backoff(policy)
        .immediate_add(immediate_add)
        .second_add(second_add);
    let queue: Queue = builder.build().unwrap();
    let mut naive = Naive::new(event, immediate, second, counts_early);
    let mut guards: Vec<Held<'_>> = Vec::new();
    for op in ops {
        match op {
            Op::Add(item) => {
                prop_assert_eq!(queue.add(item), naive.add(item));
            }
            Op::AddAll(items) => {
                let added = queue.add_all(items.clone());
                prop_assert_eq!(added, items.into_iter().map(|item| naive.add(item)).collect());
            }
            Op::AddRateLimited(item) => {
                let scheduled = queue.add_rate_limited(item);
                prop_assert_eq!(scheduled, naive.retry(item, Ask::Limiter, false));
            }
            Op::AddRateLimitedAfter(item, delay, max) => {
                let time = delay.as_nanos();
                let (combine, ask) = if max {
                    (Combine::Max, Ask::Max(time))
                } else {
                    (Combine::Override, Ask::Override(time))
                };
                let scheduled = queue.add_rate_limited_after(item, delay, combine);
                prop_assert_eq!(scheduled, naive.retry(item, ask, false));
            }
            Op::AddAt(item, until) => {
                let scheduled = queue.add_at(item, timer.now() + until);
                prop_assert_eq!(scheduled, naive.add_at(item, naive.now + until.as_nanos()));
            }
            Op::Get => {
                let got = queue.try_get().ok();
                let expected = naive.get();
                prop_assert_eq!(
                    got.as_ref().map(|guard| *guard.item()),
                    expected.map(|(item, _)| item)
                );
                guards.extend(got.zip(expected.map(|(_, hand_out)| hand_out)));
            }
            Op::Finish(which, how, wait) if !guards.is_empty() => {
                let held = guards.swap_remove(which % guards.len());
                finish(held, how, wait, timer.now(), &mut naive);
            }
            Op::AdvanceAndFinish(by, which, how, wait) if !guards.is_empty() => {
                timer.advance(nanos(by));
                naive.now += Nanos::from(by);
                let held = guards.swap_remove(which % guards.len());
                finish(held, how, wait, timer.now(), &mut naive);
            }
            Op::Drop(which) if !guards.is_empty() => {
                let (guard, hand_out) = guards.swap_remove(which % guards.len());
                let item = *guard.item();
                drop(guard);
                if naive.is_in_hand(item, hand_out) {
                    naive.done(item);
                }
            }
            Op::Finish(..) | Op::AdvanceAndFinish(..) | Op::Drop(_) => {}
            Op::Remove(item) => prop_assert_eq!(queue.remove(&item).is_some(), naive.remove(item)),
            Op::Cancel(item) => prop_assert_eq!(queue.cancel(&item).is_some(), naive.cancel(item)),
            Op::Abandon(item) => prop_assert_eq!(queue.abandon(&item), naive.done(item)),
            Op::Forget(item) => {
                queue.forget(&item);
                naive.forget(item);
            }
            Op::Advance(by) => {
                timer.advance(nanos(by));
                naive.now += Nanos::from(by);
            }
            Op::Shutdown => {
                let left = if naive.is_down { Vec::new() } else { naive.shutdown() };
                prop_assert_eq!(queue.shutdown(), left);
            }
        }
        naive.settle();
        prop_assert_eq!(queue.counts().queued, naive.queued.len());
        prop_assert_eq!(queue.delayed_len(), naive.delayed.len());
        for item in 0..ITEMS {
            prop_assert_eq!(queue.num_requeues(&item), naive.attempts(item));
            prop_assert_eq!(queue.deadline(&item), naive.deadline(item).map(at));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(crate::config())]

    #[test]
    fn behaves_like_the_naive_queue(
        event in prop_oneof![2 => Just(Event::Keep), 1 => Just(Event::Clear), 1 => Just(Event::Defer)],
        immediate in prop_oneof![2 => Just(Immediate::Keep), 1 => Just(Immediate::Merge), 1 => Just(Immediate::Defer)],
        second in prop_oneof![2 => Just(Second::Earliest), 1 => Just(Second::Latest), 1 => Just(Second::Replace)],
        counts_early in prop::bool::weighted(0.25),
        ops in prop::collection::vec(op(), 0..120),
    ) {
        play(event, immediate, second, counts_early, ops)?;
    }
}
