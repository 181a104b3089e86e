//! `RateLimitingQueue` against a naive one: when each item comes back, and how many attempts are counted.

use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;
use wq_ratelimit::{ExponentialBackoff, ManualTimer, Outcome, ProcessingGuard, RateLimitingQueue, Timer};

const BASE: u64 = 4;
const MAX: u64 = 50;

#[derive(Debug, Clone)]
enum Op {
    Add(u8),
    AddRateLimited(u8),
    Get,
    Finish(usize, u8, u64),
    Forget(u8),
    Advance(u64),
}

fn op() -> impl Strategy<Value = Op> {
    let item = 0..5_u8;
    prop_oneof![
        4 => item.clone().prop_map(Op::Add),
        3 => item.clone().prop_map(Op::AddRateLimited),
        6 => Just(Op::Get),
        6 => (any::<usize>(), 0..6_u8, 0..30_u64).prop_map(|(at, how, time)| Op::Finish(at, how, time)),
        1 => item.prop_map(Op::Forget),
        5 => (0..20_u64).prop_map(Op::Advance),
    ]
}

#[derive(Debug, Default)]
struct Naive {
    now: u64,
    adds: u64,
    attempts: BTreeMap<u8, u32>,
    /// End of the back-off of each item.
    until: BTreeMap<u8, u64>,
    /// Deadline, number, item.
    delayed: Vec<(u64, u64, u8)>,
    queued: Vec<u8>,
    /// Items in hand, and whether they run again.
    processing: BTreeMap<u8, bool>,
}

impl Naive {
    fn add(&mut self, item: u8) {
        match self.processing.get_mut(&item) {
            Some(again) => *again = true,
            None if self.queued.contains(&item) => {}
            None => self.queued.push(item),
        }
    }

    fn settle(&mut self) {
        self.delayed.sort_unstable();
        while let Some(&(at, _, item)) = self.delayed.first()
            && at <= self.now
        {
            self.delayed.remove(0);
            self.add(item);
        }
    }

    fn add_at(&mut self, item: u8, at: u64) {
        if at <= self.now {
            self.add(item);
            return;
        }
        self.settle();
        self.adds += 1;
        let number = self.adds;
        match self.delayed.iter_mut().find(|entry| entry.2 == item) {
            Some(entry) if entry.0 <= at => {}
            Some(entry) => (entry.0, entry.1) = (at, number),
            None => self.delayed.push((at, number, item)),
        }
    }

    fn retry(&mut self, item: u8, floor: u64) {
        let at = match self.until.get(&item) {
            Some(&until) if until > self.now => until.max(floor),
            _ => {
                let attempts = self.attempts.entry(item).or_default();
                let delay = BASE.saturating_mul(2_u64.saturating_pow(*attempts)).min(MAX);
                *attempts += 1;
                (self.now + delay).max(floor)
            }
        };
        self.until.insert(item, at);
        self.settle();
        if let Some(entry) = self.delayed.iter_mut().find(|entry| entry.2 == item && entry.0 < floor) {
            self.adds += 1;
            (entry.0, entry.1) = (floor, self.adds);
        }
        self.add_at(item, at);
    }

    fn forget(&mut self, item: u8) {
        self.attempts.remove(&item);
        self.until.remove(&item);
    }

    fn get(&mut self) -> Option<u8> {
        self.settle();
        if self.queued.is_empty() {
            return None;
        }
        let item = self.queued.remove(0);
        assert!(self.processing.insert(item, false).is_none());
        Some(item)
    }

    fn done(&mut self, item: u8) {
        if self.processing.remove(&item) == Some(true) {
            self.queued.push(item);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn behaves_like_the_naive_queue(ops in prop::collection::vec(op(), 0..150)) {
        let timer = ManualTimer::new();
        let start = timer.now();
        let limiter = ExponentialBackoff::new(Duration::from_nanos(BASE), Duration::from_nanos(MAX)).unwrap();
        let queue = RateLimitingQueue::builder().limiter(limiter).timer(timer.clone()).build().unwrap();
        let mut naive = Naive::default();
        let mut guards: Vec<ProcessingGuard<'_, u8>> = Vec::new();
        for op in ops {
            match op {
                Op::Add(item) => {
                    queue.add(item);
                    naive.add(item);
                }
                Op::AddRateLimited(item) => {
                    queue.add_rate_limited(item);
                    naive.retry(item, 0);
                }
                Op::Get => {
                    let got = queue.try_get().ok();
                    prop_assert_eq!(got.as_ref().map(|guard| *guard.item()), naive.get());
                    guards.extend(got);
                }
                Op::Finish(which, how, time) if !guards.is_empty() => {
                    let guard = guards.swap_remove(which % guards.len());
                    let item = *guard.item();
                    prop_assert_eq!(guard.num_requeues(), naive.attempts.get(&item).copied().unwrap_or(0));
                    match how {
                        0 => {
                            guard.finish(Outcome::Success);
                            naive.forget(item);
                        }
                        1 => {
                            guard.finish(Outcome::GiveUp);
                            naive.forget(item);
                        }
                        2 => {
                            guard.finish(Outcome::RetryAfter(Duration::from_nanos(time)));
                            naive.add_at(item, naive.now + time);
                        }
                        3 => {
                            guard.finish(Outcome::RetryNotBefore(timer.now() + Duration::from_nanos(time)));
                            naive.retry(item, naive.now + time);
                        }
                        _ => {
                            guard.finish(Outcome::Retry);
                            naive.retry(item, 0);
                        }
                    }
                    naive.done(item);
                }
                Op::Finish(..) => {}
                Op::Forget(item) => {
                    queue.forget(&item);
                    naive.forget(item);
                }
                Op::Advance(by) => {
                    timer.advance(Duration::from_nanos(by));
                    naive.now += by;
                }
            }
            naive.settle();
            prop_assert_eq!(queue.len(), naive.queued.len());
            prop_assert_eq!(queue.delayed_len(), naive.delayed.len());
            for item in 0..5 {
                prop_assert_eq!(queue.num_requeues(&item), naive.attempts.get(&item).copied().unwrap_or(0));
                let deadline = naive.delayed.iter().find(|entry| entry.2 == item).map(|entry| entry.0);
                prop_assert_eq!(queue.deadline(&item), deadline.map(|at| start + Duration::from_nanos(at)));
            }
        }
    }
}
