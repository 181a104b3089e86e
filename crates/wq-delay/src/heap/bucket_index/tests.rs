//! `BucketIndex` against sorted vectors.

use super::BucketIndex;
use crate::tick::Tick;
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Op {
    PutFirst(u64),
    /// A bucket is cut: where, and where its parts begin, as sixteenths of the time that it takes.
    Insert(usize, Vec<u64>),
    Remove(usize),
    RemoveFirst,
    RemoveLast,
    Clear,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        60 => (0..8_u64).prop_map(Op::PutFirst),
        60 => (any::<usize>(), prop::collection::vec(0..16_u64, 1..6)).prop_map(|(at, parts)| Op::Insert(at, parts)),
        30 => any::<usize>().prop_map(Op::Remove),
        30 => Just(Op::RemoveFirst),
        30 => Just(Op::RemoveLast),
        1 => Just(Op::Clear),
    ]
}

/// Where buckets begin is skewed: how far is it to the first of them, and to another behind the
/// last?
fn distances() -> impl Strategy<Value = (u64, u64)> {
    let distance = || prop::sample::select(vec![0, 1, 1000, 1 << 40, u64::MAX / 4, u64::MAX]);
    (distance(), distance())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn finds_what_a_search_of_all_finds(
        ops in prop::collection::vec(op(), 0..250),
        (first, beyond) in distances(),
        has_memory in prop::sample::select(vec![true, true, true, false]),
    ) {
        let mut order = BucketIndex::default();
        let mut model: Vec<(Tick, usize)> = Vec::new();
        if has_memory {
            order.try_make_room(100).unwrap();
        }
        for (number, op) in ops.into_iter().enumerate() {
            let at = |at: usize| at.checked_rem(model.len());
            match op {
                Op::PutFirst(before) => {
                    let begin = Tick(model.first().map_or(first, |(first, _)| first.0.saturating_sub(before)));
                    order.put_first(begin, number);
                    model.insert(0, (begin, number));
                }
                Op::Insert(place, mut parts) => {
                    let Some(place) = at(place) else { continue };
                    let from = model[place].0.0;
                    let to = model.get(place + 1).map_or_else(|| from.saturating_add(beyond), |(next, _)| next.0);
                    parts.sort_unstable();
                    let parts: Vec<_> =
                        parts.into_iter().map(|part| (Tick(from + (to - from) / 16 * part), number)).collect();
                    order.insert(place + 1, &parts);
                    model.splice(place + 1..place + 1, parts);
                }
                Op::Remove(place) => {
                    let Some(place) = at(place) else { continue };
                    prop_assert_eq!(order.remove(place), model.remove(place).1);
                }
                Op::RemoveFirst | Op::RemoveLast => {
                    let Some(last) = model.len().checked_sub(1) else { continue };
                    let place = if matches!(op, Op::RemoveFirst) { 0 } else { last };
                    prop_assert_eq!(order.remove(place), model.remove(place).1);
                }
                Op::Clear => {
                    order.clear();
                    model.clear();
                }
            }
            order.check();
            prop_assert!(order.begins().iter().copied().eq(model.iter().map(|(begin, _)| *begin)));
            prop_assert!(order.buckets().iter().copied().eq(model.iter().map(|(_, bucket)| *bucket)));
        }
    }
}
