//! Drawn: the same questions, with orders and steps that proptest draws and shrinks.

use std::fmt::Debug;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use wq_core::{Backlog, SlotId};

use super::{IDS, Step, play_leaving};

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

/// Random pushes, touches, pops and removes beside a plain map: see [`check`](super::check).
///
/// # Panics
///
/// When the backlog breaks a rule.
pub fn obeys_the_books<B, O>(make: impl Fn() -> B, orders: impl Strategy<Value = O> + 'static)
where
    B: Backlog<Order = O>,
    O: Clone + Debug + PartialEq + 'static,
{
    obeys_the_books_leaving(make, orders, |order| order);
}

/// [`obeys_the_books`] for a backlog whose orders do not leave as they were merged: `leaves` says
/// how.
///
/// # Panics
///
/// When the backlog breaks a rule.
pub fn obeys_the_books_leaving<B, O>(
    make: impl Fn() -> B,
    orders: impl Strategy<Value = O> + 'static,
    leaves: impl Fn(O) -> O,
) where
    B: Backlog<Order = O>,
    O: Clone + Debug + PartialEq + 'static,
{
    run(steps(orders), |steps| {
        play_leaving(make(), steps, &leaves)
            .map_err(|broken| TestCaseError::fail(broken.to_string()))
    });
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
