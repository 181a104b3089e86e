//! `DelayingQueue` under a manual timer against a naive queue: never early, exact order, one
//! hand-out at a time, merging of orders, policies, shutdown and drain.

mod many;
mod oracle;

use oracle::{Oracle, Order};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Waker};
use std::time::Duration;
use wq_delay::{
    Backlog, Debounce, DelayingQueue, ImmediateAdd, ManualTimer, ProcessingGuard, SecondAdd,
    SlotId, Timer,
};

/// First in, first out, with orders that record the merged adds in their order.
#[derive(Debug, Default)]
struct Reasons {
    line: VecDeque<(SlotId, Order)>,
}

impl Backlog for Reasons {
    type Order = Order;

    fn merge(held: &mut Order, new: Order) {
        oracle::merge(held, new);
    }

    fn push(&mut self, id: SlotId, order: Order) {
        self.line.push_back((id, order));
    }

    fn touch(&mut self, id: SlotId, order: &Order) {
        if let Some((_, held)) = self.line.iter_mut().find(|(held, _)| *held == id) {
            oracle::merge(held, order.clone());
        }
    }

    fn pop(&mut self) -> Option<(SlotId, Order)> {
        self.line.pop_front()
    }

    fn remove(&mut self, id: SlotId) -> Option<Order> {
        let at = self.line.iter().position(|(held, _)| *held == id)?;
        self.line.remove(at).map(|(_, order)| order)
    }

    fn len(&self) -> usize {
        self.line.len()
    }
}

#[derive(Debug, Clone)]
enum Op {
    Add(u8),
    AddAll(Vec<u8>),
    TryAdd(u8),
    AddAfter(u8, u64),
    /// Item, and its deadline after the start.
    AddAt(u8, u64),
    /// Item, quiet period, and how much longer the wait may be.
    AddDebounced(u8, u64, u64),
    Cancel(u8),
    Advance(u64),
    Pause,
    Resume,
    TryGet,
    Done(usize),
    Remove(u8),
    Shutdown,
}

fn op() -> impl Strategy<Value = Op> {
    let item = 0..8_u8;
    let quiet = 1..6_u64;
    let far = || prop::sample::select(vec![YEAR, YEAR * 300, u64::MAX - 1, u64::MAX]);
    let longer = prop_oneof![8 => 0..20_u64, 1 => far()];
    let delay = prop_oneof![8 => 0..12_u64, 1 => far()];
    let at = prop_oneof![8 => 0..60_u64, 1 => far()];
    let step = prop_oneof![400 => 0..6_u64, 2 => 0..YEAR, 1 => Just(YEAR * 250)];
    prop_oneof![
        60 => item.clone().prop_map(Op::Add),
        10 => prop::collection::vec(item.clone(), 0..4).prop_map(Op::AddAll),
        20 => item.clone().prop_map(Op::TryAdd),
        100 => (item.clone(), delay).prop_map(|(item, delay)| Op::AddAfter(item, delay)),
        20 => (item.clone(), at).prop_map(|(item, at)| Op::AddAt(item, at)),
        60 => (item.clone(), quiet, longer).prop_map(|(item, quiet, longer)| Op::AddDebounced(item, quiet, longer)),
        20 => item.clone().prop_map(Op::Cancel),
        80 => step.prop_map(Op::Advance),
        3 => Just(Op::Pause),
        10 => Just(Op::Resume),
        120 => Just(Op::TryGet),
        100 => any::<usize>().prop_map(Op::Done),
        10 => item.prop_map(Op::Remove),
        3 => Just(Op::Shutdown),
    ]
}

const CAPACITY: usize = 4;

/// A year in nanoseconds. A queue's time line has room for 584 of them.
const YEAR: u64 = 365 * 24 * 3_600_000_000_000;

/// The end of the time line stands for all longer delays.
fn delay(delay: u64) -> Duration {
    if delay == u64::MAX { Duration::MAX } else { Duration::from_nanos(delay) }
}

/// As `delay`, but so short that an instant can express its end.
fn ahead(delay: u64) -> Duration {
    if delay == u64::MAX { Duration::from_nanos(u64::MAX) * 2 } else { Duration::from_nanos(delay) }
}

/// The number of sequences: few in a plain run of the tests, more in the stage `model`.
fn sequences() -> u32 {
    std::env::var("MODEL_SEQUENCES")
        .map_or(500, |count| count.parse().expect("a number of sequences"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: sequences(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn behaves_like_the_naive_queue(
        ops in prop::collection::vec(op(), 0..120),
        second in prop::sample::select(vec![SecondAdd::Earliest, SecondAdd::Latest, SecondAdd::Replace]),
        immediate in prop::sample::select(vec![ImmediateAdd::Keep, ImmediateAdd::Merge, ImmediateAdd::Defer]),
    ) {
        let timer = ManualTimer::new();
        let start = timer.now();
        let queue = DelayingQueue::<u8>::builder()
            .timer(timer.clone())
            .backlog(Reasons::default())
            .second_add(second)
            .immediate_add(immediate)
            .capacity(CAPACITY)
            .build()
            .unwrap();
        let mut oracle = Oracle::new(second, immediate);
        let mut guards: Vec<ProcessingGuard<'_, u8, Reasons>> = Vec::new();
        for (number, op) in ops.into_iter().enumerate() {
            let order = vec![u8::try_from(number).unwrap()];
            match op {
                Op::Add(item) => {
                    prop_assert_eq!(queue.add_with(item, order.clone()), oracle.add(item, order));
                }
                Op::AddAll(items) => {
                    let all = queue.add_all_with(items.iter().map(|item| (*item, order.clone())));
                    prop_assert_eq!(all, items.into_iter().map(|item| oracle.add(item, order.clone())).collect());
                }
                Op::TryAdd(item) => {
                    let added = queue.try_add(item);
                    let expected = oracle.try_add(item, Vec::new(), CAPACITY);
                    prop_assert_eq!(added.map_err(|rejected| (rejected.reason(), rejected.into_item())), expected.map_err(|reason| (reason, item)));
                }
                Op::AddAfter(item, after) => {
                    prop_assert_eq!(
                        queue.add_after_with(item, delay(after), order.clone()),
                        oracle.add_after(item, after, order)
                    );
                }
                Op::AddAt(item, at) => {
                    let deadline = start + ahead(at);
                    prop_assert_eq!(
                        queue.add_at_with(item, deadline, order.clone()),
                        oracle.add_at(item, at, order)
                    );
                }
                Op::AddDebounced(item, quiet, longer) => {
                    let longest = quiet.saturating_add(longer);
                    let debounce = Debounce::new(delay(quiet), delay(longest)).unwrap();
                    prop_assert_eq!(
                        queue.add_debounced(item, debounce),
                        oracle.add_debounced(item, quiet, longest, Vec::new())
                    );
                }
                Op::Pause => {
                    queue.pause();
                    oracle.pause();
                }
                Op::Resume => {
                    queue.resume();
                    oracle.is_paused = false;
                }
                Op::Cancel(item) => prop_assert_eq!(queue.cancel(&item), oracle.cancel(item)),
                // The clock never reaches the end of the time line, because items due then never
                // come.
                Op::Advance(by) if oracle.now.checked_add(by).is_some_and(|now| now < YEAR * 584) => {
                    timer.advance(Duration::from_nanos(by));
                    oracle.now += by;
                }
                Op::Advance(_) => {}
                Op::TryGet => {
                    let got = queue.try_get().ok();
                    prop_assert_eq!(got.as_ref().map(|guard| (*guard.item(), guard.order().clone())), oracle.get());
                    guards.extend(got);
                }
                Op::Done(which) if !guards.is_empty() => {
                    let guard = guards.swap_remove(which % guards.len());
                    oracle.done(*guard.item());
                    guard.done();
                }
                Op::Done(_) => {}
                Op::Remove(item) => prop_assert_eq!(queue.remove(&item), oracle.remove(item)),
                Op::Shutdown => prop_assert_eq!(queue.shutdown(), oracle.shutdown()),
            }
            // Not at every step: a look queues due items, and the results must not depend on it.
            if oracle.now.is_multiple_of(3) {
                prop_assert_eq!(queue.counts().queued, oracle.len());
                prop_assert_eq!(queue.delayed_len(), oracle.delayed.len());
                prop_assert_eq!(queue.counts().in_flight, oracle.processing.len());
                for item in 0..8 {
                    let deadline = oracle.deadline(item).map(|at| start + Duration::from_nanos(at));
                    prop_assert_eq!(queue.deadline(&item), deadline);
                }
                let drained = Pin::new(&mut queue.drained()).poll(&mut Context::from_waker(Waker::noop()));
                prop_assert_eq!(drained.is_ready(), oracle.is_drained());
            }
        }
        for guard in guards {
            oracle.done(*guard.item());
            guard.done();
        }
        queue.resume();
        oracle.is_paused = false;
        // All accepted items come out in the end.
        timer.advance(Duration::from_secs(1));
        oracle.now += 1_000_000_000;
        loop {
            let got = queue.try_get().ok();
            prop_assert_eq!(got.as_ref().map(|guard| (*guard.item(), guard.order().clone())), oracle.get());
            let Some(guard) = got else { break };
            oracle.done(*guard.item());
        }
    }
}
