//! Tens of thousands of delayed items against maps. They are enough to fill many leaves with later
//! items, and to empty these again.

use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;
use wq_delay::{DelayingQueue, ManualTimer, Scheduled, SecondAdd};

/// A step on many items.
#[derive(Debug, Clone)]
enum Op {
    /// Each item has a delay of up to `longest`, in nanoseconds.
    Add { first: u32, items: u32, longest: u64 },
    /// Each item is due a nanosecond after the previous item.
    AddRising { first: u32, items: u32 },
    /// All items are due at one instant.
    AddTogether { first: u32, items: u32, after: u64 },
    /// Cancels each item that is a multiple of `step`.
    Cancel { step: u32 },
    /// Takes this many items, whenever they are due.
    Get { items: usize },
}

const ITEMS: u32 = 20_000;
const LONGEST: u64 = 1 << 30;

fn op() -> impl Strategy<Value = Op> {
    let (first, items) = (0..ITEMS, 1..ITEMS / 2);
    let longest = prop::sample::select(vec![1 << 10, 1 << 20, LONGEST]);
    prop_oneof![
        8 => (first.clone(), items.clone(), longest)
            .prop_map(|(first, items, longest)| Op::Add { first, items, longest }),
        2 => (first.clone(), items.clone()).prop_map(|(first, items)| Op::AddRising { first, items }),
        1 => (first, items, 0..LONGEST)
            .prop_map(|(first, items, after)| Op::AddTogether { first, items, after }),
        3 => prop::sample::select(vec![2_u32, 3, 10]).prop_map(|step| Op::Cancel { step }),
        4 => (0..ITEMS as usize / 2).prop_map(|items| Op::Get { items }),
    ]
}

/// The naive queue: items by deadline and number of the add, and the place of each item.
#[derive(Default)]
struct Sorted {
    order: BTreeMap<(u64, u64), u32>,
    places: BTreeMap<u32, (u64, u64)>,
    adds: u64,
}

impl Sorted {
    fn add(&mut self, item: u32, at: u64, policy: SecondAdd) -> Scheduled {
        self.adds += 1;
        let held = self.places.get(&item).copied();
        let new = match (held, policy) {
            (Some((held, _)), SecondAdd::Earliest) => at.min(held),
            (Some((held, _)), SecondAdd::Latest) => at.max(held),
            _ => at,
        };
        if held.is_some_and(|held| held.0 == new) {
            return Scheduled::Kept;
        }
        self.take(item);
        self.order.insert((new, self.adds), item);
        self.places.insert(item, (new, self.adds));
        if held.is_some() { Scheduled::Moved } else { Scheduled::Delayed }
    }

    fn take(&mut self, item: u32) -> bool {
        self.places.remove(&item).is_some_and(|place| self.order.remove(&place).is_some())
    }
}

/// A number for each of the items and adds.
fn spread(number: u64) -> u64 {
    number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: (crate::sequences() / 50).max(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn many_come_out_in_order_when_they_are_due(
        ops in prop::collection::vec(op(), 1..12),
        policy in prop::sample::select(vec![SecondAdd::Earliest, SecondAdd::Latest, SecondAdd::Replace]),
    ) {
        let timer = ManualTimer::new();
        let queue = DelayingQueue::<u32>::builder().timer(timer.clone()).second_add(policy).build().unwrap();
        let mut sorted = Sorted::default();
        let mut now = 0;
        for op in ops.into_iter().chain([Op::Get { items: ITEMS as usize / 2 }]) {
            match op {
                Op::Add { first, items, longest } => {
                    for item in first..first + items {
                        let after = 1 + spread(sorted.adds) % longest;
                        let scheduled = queue.add_after(item, Duration::from_nanos(after));
                        prop_assert_eq!(scheduled, sorted.add(item, now + after, policy));
                    }
                }
                Op::AddRising { first, items } => {
                    for item in first..first + items {
                        let after = LONGEST + u64::from(item);
                        let scheduled = queue.add_after(item, Duration::from_nanos(after));
                        prop_assert_eq!(scheduled, sorted.add(item, now + after, policy));
                    }
                }
                Op::AddTogether { first, items, after } => {
                    for item in first..first + items {
                        let scheduled = queue.add_after(item, Duration::from_nanos(1 + after));
                        prop_assert_eq!(scheduled, sorted.add(item, now + 1 + after, policy));
                    }
                }
                Op::Cancel { step } => {
                    for item in (0..2 * ITEMS).step_by(step as usize) {
                        prop_assert_eq!(queue.cancel(&item).is_some(), sorted.take(item));
                    }
                }
                Op::Get { items } => {
                    let Some((until, _)) = sorted.order.keys().take(items).next_back().copied() else { continue };
                    timer.advance(Duration::from_nanos(until - now));
                    now = until;
                    while let Some(entry) = sorted.order.first_entry().filter(|entry| entry.key().0 <= now) {
                        let item = entry.remove();
                        sorted.places.remove(&item);
                        prop_assert_eq!(queue.try_get().ok().map(|guard| *guard.item()), Some(item));
                    }
                    prop_assert!(queue.try_get().is_err());
                }
            }
            prop_assert_eq!(queue.delayed_len(), sorted.places.len());
        }
        let left: Vec<u32> = sorted.order.into_values().collect();
        prop_assert_eq!(queue.shutdown(), left);
    }
}
