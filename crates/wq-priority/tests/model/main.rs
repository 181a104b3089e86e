//! Model: `Priority` against a scheduler by brute force, and its bounds with numbers.
//! `MODEL_SEQUENCES` says how many sequences are played.

mod bounds;
mod merging;
mod oracle;

use proptest::prelude::*;
use wq_priority::{Backlog, Depths, GroupId, OnMerge, Order, Priority, SlotId, Survey};

use oracle::{Oracle, Queued};

const WEIGHTS: [(GroupId, u32); 2] = [(GroupId::new(1), 2), (GroupId::new(2), 3)];

#[derive(Clone, Debug)]
enum Step {
    Add(u32, Order),
    Pop(u32),
    Remove(u32),
    /// So many ids, from 100 on, each with a priority or a group of its own.
    Flood(u32, bool),
    Shrink,
}

/// How many are played: a few in a plain run of the tests, more in the stage `model`.
fn sequences() -> u32 {
    std::env::var("MODEL_SEQUENCES")
        .map_or(500, |count| count.parse().expect("a number of sequences"))
}

pub(crate) fn orders() -> impl Strategy<Value = Order> {
    let priority = prop_oneof![8 => -2..3_i32, 1 => -20..20_i32, 1 => prop::sample::select(vec![i32::MIN, i32::MAX])];
    let group = prop::option::of((0..4_u64).prop_map(GroupId::new));
    let on_merge = prop::sample::select(vec![OnMerge::Raise, OnMerge::Set]);
    (priority, group, on_merge).prop_map(|(priority, group, on_merge)| {
        let order = Order::priority(priority).on_merge(on_merge);
        group.map_or(order, |group| order.in_group(group))
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        30 => (0..20_u32, orders()).prop_map(|(id, order)| Step::Add(id, order)),
        // An item whose group changes again and again.
        10 => (0..4_u64).prop_map(|group| Step::Add(0, Order::priority(-2).in_group(GroupId::new(group)))),
        30 => (1..3_u32).prop_map(Step::Pop),
        8 => (0..20_u32).prop_map(Step::Remove),
        1 => (60..90_u32, any::<bool>()).prop_map(|(count, groups)| Step::Flood(count, groups)),
        1 => (60..120_u32).prop_map(Step::Pop),
        3 => Just(Step::Shrink),
    ]
}

struct World {
    backlog: Priority,
    oracle: Oracle,
    /// Filled again and again.
    depths: Depths,
}

impl World {
    fn add(&mut self, id: u32, order: Order) {
        let slot = SlotId::from_index(id);
        if self.oracle.holds(id) {
            self.backlog.touch(slot, &order);
        } else {
            self.backlog.push(slot, order);
        }
        self.oracle.add(id, order);
    }

    fn apply(&mut self, step: &Step) -> Result<(), TestCaseError> {
        let seen = |(id, order): (SlotId, Order)| {
            assert_eq!(order.on_merge, OnMerge::Raise, "what an order leaves with");
            Queued { id: id.index(), priority: order.priority, group: order.group }
        };
        match *step {
            Step::Add(id, order) => self.add(id, order),
            Step::Pop(times) => {
                for _ in 0..times {
                    prop_assert_eq!(self.backlog.pop().map(seen), self.oracle.pop());
                }
            }
            Step::Remove(id) => {
                let slot = SlotId::from_index(id);
                let removed = self.backlog.remove(slot).map(|order| seen((slot, order)));
                prop_assert_eq!(removed, self.oracle.remove(id));
            }
            Step::Flood(count, groups) => (0..count).for_each(|n| {
                let order = if groups {
                    Order::default().in_group(GroupId::new(100 + u64::from(n)))
                } else {
                    Order::priority(-50 - i32::try_from(n).unwrap_or_default())
                };
                self.add(100 + n, order);
            }),
            Step::Shrink => self.backlog.shrink(),
        }
        prop_assert_eq!(self.backlog.len(), self.oracle.len());
        let counts = self.oracle.counts();
        prop_assert_eq!(self.backlog.counts().collect::<Vec<_>>(), counts.clone());
        self.depths.begin();
        self.backlog.survey([].into_iter(), &mut self.depths);
        prop_assert_eq!(self.depths.total(), self.oracle.len());
        let mut others = 0;
        for (priority, count) in counts {
            match self.depths.of(priority) {
                Some(labelled) => prop_assert_eq!(labelled, count),
                None => others += count,
            }
        }
        prop_assert_eq!(self.depths.others().unwrap_or(0), others);
        prop_assert!(self.depths.labels().count() <= 26);
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: sequences(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_backlog_does_what_the_oracle_does(
        every in prop::option::of(1..6_u32),
        steps in prop::collection::vec(step(), 0..120),
    ) {
        let builder = WEIGHTS.iter().fold(Priority::builder(), |builder, (group, items)| builder.weight(*group, *items));
        let builder = match every {
            Some(every) => builder.aging_interval(every),
            None => builder.strict(),
        };
        let mut world = World { backlog: builder.build().unwrap(), oracle: Oracle::new(every, &WEIGHTS), depths: Depths::default() };
        for step in steps {
            if let Err(error) = world.apply(&step) {
                return Err(TestCaseError::fail(format!("after {step:?}: {error}")));
            }
        }
        // All that is left comes out, in the same order.
        let left = u32::try_from(world.oracle.len()).unwrap();
        world.apply(&Step::Pop(left + 1))?;
    }
}
