//! Merging: orders joined before the item waits do to it what they would have done one after the
//! other.

use proptest::prelude::*;
use wq_priority::{Backlog, Order, Priority, SlotId};

use crate::{orders, sequences};

fn merged(orders: &[Order]) -> Option<Order> {
    let (first, rest) = orders.split_first()?;
    Some(rest.iter().fold(*first, |mut held, new| {
        Priority::merge(&mut held, *new);
        held
    }))
}

/// The order that an item leaves with which waits with `held` and is then touched with each of
/// these.
fn leaves(held: Order, touched: impl IntoIterator<Item = Order>) -> Order {
    let (mut backlog, item) = (Priority::new(), SlotId::from_index(0));
    backlog.push(item, held);
    touched.into_iter().for_each(|order| backlog.touch(item, &order));
    backlog.pop().unwrap().1
}

proptest! {
    #![proptest_config(ProptestConfig { cases: sequences(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn merged_first_or_one_after_the_other_is_the_same(
        held in orders(),
        new in prop::collection::vec(orders(), 1..6),
        cut in 0..6_usize,
    ) {
        let expected = leaves(held, new.iter().copied());
        prop_assert_eq!(leaves(held, merged(&new)), expected);
        // As an item to which nothing was known before.
        let all: Vec<Order> = std::iter::once(held).chain(new.iter().copied()).collect();
        prop_assert_eq!(leaves(merged(&all).unwrap(), []), expected);
        // In whatever parts.
        let (some, others) = new.split_at(cut.min(new.len()));
        prop_assert_eq!(leaves(held, merged(some).into_iter().chain(merged(others))), expected);
        let parts: Vec<Order> = merged(some).into_iter().chain(merged(others)).collect();
        prop_assert_eq!(merged(&parts), merged(&new));
    }
}
