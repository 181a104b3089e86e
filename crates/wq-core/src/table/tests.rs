//! Tests of the table beside a plain array of items, whose last freed slot is reused first.

use proptest::prelude::*;

use super::*;

/// Items in slots, and the table that finds them.
struct Items {
    table: SlotTable,
    slots: Vec<Option<u32>>,
    free: Vec<u32>,
    hash_of: HashOf,
}

type HashOf = fn(u32) -> ItemHash;

/// One of few hashes, so that slots share homes and tags, or both.
fn shared(item: u32) -> ItemHash {
    ItemHash::from_raw((item % 5) * 256 + item % 3)
}

fn spread(item: u32) -> ItemHash {
    ItemHash::from_raw(item)
}

/// Three homes, and neighbouring tags, some of which differ in the lowest bit only.
fn near(item: u32) -> ItemHash {
    ItemHash::of_bits(((item % 3) << 30) + item % 4)
}

fn equal(_: u32) -> ItemHash {
    ItemHash::from_raw(1)
}

/// Every table is large.
const ALWAYS: Large = Large::from(1);
const NEVER: Large = Large::from(usize::MAX);
/// A table as full as in these tests is large, and no longer large when most slots have gone.
const AT_TIMES: Large = Large::from(8);

impl Items {
    fn new(hash_of: HashOf, large: Large) -> Self {
        Self { table: SlotTable::with(large), slots: Vec::new(), free: Vec::new(), hash_of }
    }

    fn find(&self, item: u32) -> Option<u32> {
        self.table.find((self.hash_of)(item), |slot| self.slots[slot as usize] == Some(item))
    }

    fn add(&mut self, item: u32) {
        let Self { table, slots, free, hash_of } = self;
        let is_it = |slot: u32| slots[slot as usize] == Some(item);
        if let SlotEntry::Vacant(vacant) =
            table.entry(hash_of(item), is_it, || held(slots, *hash_of))
        {
            let slot = free.pop().unwrap_or_else(|| u32::try_from(slots.len()).unwrap());
            vacant.insert(slot);
            slots.resize(slots.len().max(slot as usize + 1), None);
            slots[slot as usize] = Some(item);
        }
    }

    fn remove(&mut self, item: u32) {
        if let Some(slot) = self.find(item) {
            self.table.remove((self.hash_of)(item), slot);
            self.slots[slot as usize] = None;
            self.free.push(slot);
        }
    }

    fn check(&self, items: u32) {
        assert_eq!(self.table.len(), self.slots.iter().flatten().count());
        assert!(self.table.taken <= self.table.capacity());
        for item in 0..items {
            let slot = self.slots.iter().position(|other| *other == Some(item));
            assert_eq!(self.find(item).map(|slot| slot as usize), slot, "{item}");
        }
        let lanes: usize = self.table.groups.iter().map(|group| group.taken().count()).sum();
        assert_eq!(self.table.taken, lanes);
    }
}

fn held(slots: &[Option<u32>], hash_of: HashOf) -> impl Iterator<Item = (ItemHash, u32)> {
    (0..).zip(slots).filter_map(move |(slot, item)| Some((hash_of((*item)?), slot)))
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Add(u32),
    Strike(u32),
}

const ITEMS: u32 = 80;

fn op() -> impl Strategy<Value = Op> {
    let item = 0..ITEMS;
    prop_oneof![
        300 => item.clone().prop_map(Op::Add),
        280 => item.prop_map(Op::Strike),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 2 } else { ProptestConfig::default().cases }, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_finds_what_was_added_and_not_struck_out(
        ops in prop::collection::vec(op(), 0..if cfg!(miri) { 60 } else { 400 }),
        hash_of in prop::sample::select(vec![shared as HashOf, spread, near, equal]),
        large in prop::sample::select(vec![ALWAYS, NEVER, AT_TIMES]),
    ) {
        let mut items = Items::new(hash_of, large);
        for op in ops {
            match op {
                Op::Add(item) => items.add(item),
                Op::Strike(item) => items.remove(item),
            }
            items.check(ITEMS);
        }
    }
}

/// A slot that has left a large table stays in its lane for a while.
#[test]
fn slots_leave_a_large_table_together() {
    let mut items = Items::new(spread, ALWAYS);
    (0..60).for_each(|item| items.add(item));
    for item in 0..60 {
        items.remove(item);
        assert_eq!(items.table.len(), 59 - item as usize);
        assert_eq!(
            items.table.taken % TOGETHER,
            (60 - (item as usize + 1) / TOGETHER * TOGETHER) % TOGETHER
        );
    }
    assert_eq!(items.table.len(), 0);
}

#[test]
fn each_slot_leaves_a_small_table_at_once() {
    let mut items = Items::new(spread, NEVER);
    (0..60).for_each(|item| items.add(item));
    for item in 0..60 {
        items.remove(item);
        assert_eq!(items.table.taken, 59 - item as usize);
        assert!(items.table.pending_removals.is_empty());
    }
    assert!(items.table.groups.iter().all(|group| group.tags == 0));
}

/// The tag differs in the lowest bit only, in the lane above a slot with the wanted tag.
#[test]
fn what_leaves_does_not_take_along_another_that_is_in_its_slot_by_now() {
    let mut items = Items::new(near, ALWAYS);
    let [first, second, third, other] = [6, 30, 18, 3];
    [first, second, third].into_iter().for_each(|item| items.add(item));
    items.remove(second);
    items.table.flush();
    items.remove(third);
    items.add(other);
    items.table.flush();
    items.check(ITEMS);
    assert!(items.find(other).is_some());
}

/// All counts are right afterwards: a group that no slot has passed says so.
#[test]
fn nothing_is_looked_for_behind_a_group_when_what_stood_there_has_gone() {
    for large in [ALWAYS, NEVER] {
        let mut items = Items::new(equal, large);
        (0..30).for_each(|item| items.add(item));
        assert!(items.table.groups.iter().any(|group| group.is_passed()));
        (0..30).rev().for_each(|item| items.remove(item));
        items.table.flush();
        assert!(items.table.groups.iter().all(|group| group.tags == 0));
    }
}

/// A saturated count stays for ever, because the true one is unknown.
#[test]
fn a_count_that_is_full_stays() {
    let mut group = Group::EMPTY;
    (0..70_000).for_each(|_| group.pass());
    (0..70_000).for_each(|_| group.pass_no_more());
    assert!(group.is_passed());
    let mut group = Group::EMPTY;
    (0..60_000).for_each(|_| group.pass());
    (0..60_000).for_each(|_| group.pass_no_more());
    assert!(!group.is_passed());
}
