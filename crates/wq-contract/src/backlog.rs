//! Backlog: the model that every backlog must agree with, whatever order it hands out in.

use std::collections::BTreeMap;
use std::fmt::Debug;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use wq_core::{Backlog, SlotId};

/// How many ids the model plays with. Few, so that they are reused often.
const IDS: u32 = 12;

/// What a queue does with its backlog. Ids are indices.
#[derive(Clone, Debug)]
pub enum Step<O> {
    /// Push if the id is not there, touch if it is: what an add leads to.
    Add(u32, O),
    /// Take out the next id.
    Pop,
    /// Take out this id, which may not be there.
    Remove(u32),
    /// Give memory back.
    Shrink,
}

fn steps<O: Debug + Clone + 'static>(
    orders: impl Strategy<Value = O> + 'static,
) -> impl Strategy<Value = Vec<Step<O>>> {
    let step = prop_oneof![
        5 => (0..IDS, orders).prop_map(|(id, order)| Step::Add(id, order)),
        4 => Just(Step::Pop),
        1 => (0..IDS).prop_map(Step::Remove),
        1 => Just(Step::Shrink),
    ];
    prop::collection::vec(step, 0..120)
}

/// Runs random pushes, touches, pops and removes against a backlog and a plain map.
///
/// An id comes out exactly once for each push, with the merge of all its orders since; `len` is right after every step;
/// `remove` of an id that is not there answers `None`; `pop` answers `None` exactly when nothing is there.
///
/// # Panics
///
/// When the backlog does not keep to that.
pub fn obeys_the_books<B, O>(make: impl Fn() -> B, orders: impl Strategy<Value = O> + 'static)
where
    B: Backlog<Order = O>,
    O: Clone + Debug + PartialEq + 'static,
{
    obeys_the_books_leaving(make, orders, |order| order);
}

/// [`obeys_the_books`] for a backlog whose orders do not leave as they were merged: `leaves` says how.
///
/// # Panics
///
/// When the backlog does not keep to that.
pub fn obeys_the_books_leaving<B, O>(
    make: impl Fn() -> B,
    orders: impl Strategy<Value = O> + 'static,
    leaves: impl Fn(O) -> O,
) where
    B: Backlog<Order = O>,
    O: Clone + Debug + PartialEq + 'static,
{
    run(steps(orders), |steps| play(make(), steps, &leaves));
}

/// Plays the steps on an empty backlog and a plain map, as [`obeys_the_books`] does.
///
/// # Errors
///
/// What the backlog did not keep to.
pub fn keeps_its_books<B, O>(
    backlog: B,
    steps: impl IntoIterator<Item = Step<O>>,
) -> Result<(), TestCaseError>
where
    B: Backlog<Order = O>,
    O: Clone + Debug + PartialEq,
{
    play(backlog, steps, &|order| order)
}

fn play<B, O>(
    mut backlog: B,
    steps: impl IntoIterator<Item = Step<O>>,
    leaves: &impl Fn(O) -> O,
) -> Result<(), TestCaseError>
where
    B: Backlog<Order = O>,
    O: Clone + Debug + PartialEq,
{
    let mut held: BTreeMap<u32, O> = BTreeMap::new();
    prop_assert_eq!(backlog.len(), 0);
    for step in steps {
        match step {
            Step::Add(id, order) => match held.get_mut(&id) {
                Some(merged) => {
                    backlog.touch(SlotId::from_index(id), &order);
                    B::merge(merged, order);
                }
                None => {
                    backlog.push(SlotId::from_index(id), order.clone());
                    held.insert(id, order);
                }
            },
            Step::Pop => match backlog.pop() {
                Some((id, order)) => prop_assert_eq!(held.remove(&id.index()).map(leaves), Some(order)),
                None => prop_assert!(held.is_empty(), "pop found nothing, but there are {:?}", held),
            },
            Step::Remove(id) => {
                prop_assert_eq!(backlog.remove(SlotId::from_index(id)), held.remove(&id).map(leaves));
            }
            Step::Shrink => backlog.shrink(),
        }
        prop_assert_eq!(backlog.len(), held.len());
        prop_assert_eq!(backlog.is_empty(), held.is_empty());
    }
    while let Some((id, order)) = backlog.pop() {
        prop_assert_eq!(held.remove(&id.index()).map(leaves), Some(order));
    }
    prop_assert!(held.is_empty(), "never came out: {:?}", held);
    Ok(())
}

/// Ids pushed with equal orders come out in the order of their pushes.
///
/// # Panics
///
/// When the backlog does not keep to that.
pub fn is_fair_among_equals<B, O>(make: impl Fn() -> B, orders: impl Strategy<Value = O> + 'static)
where
    B: Backlog<Order = O>,
    O: Clone + Debug + PartialEq + 'static,
{
    let plays = (orders, prop::collection::vec((0..IDS, any::<bool>()), 0..120));
    run(plays, |(order, plays)| {
        let mut backlog = make();
        let mut line: Vec<u32> = Vec::new();
        for (id, push) in plays {
            if push && !line.contains(&id) {
                backlog.push(SlotId::from_index(id), order.clone());
                line.push(id);
            } else if !push {
                let next = (!line.is_empty()).then(|| line.remove(0));
                prop_assert_eq!(backlog.pop().map(|(id, _)| id.index()), next);
            }
        }
        Ok(())
    });
}

fn run<S: Strategy>(strategy: S, test: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let cases = if cfg!(miri) { 1 } else { 512 };
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    if let Err(failure) = TestRunner::new(config).run(&strategy, test) {
        panic!("{failure}");
    }
}
