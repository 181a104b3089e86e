//! `DelayHeap` against a sorted vector, and its rules one by one.

use super::buckets::{CUTS, FULL, MERGES};
use super::slots::Slot;
use super::table::Table;
use super::timeline::CHUNK;
use super::{DelayHeap, Inserted, SMALL, Waiting};
use crate::deadline::{DeadlineRequest, SecondAdd};
use crate::tick::Tick;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::collections::BTreeSet;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::LazyLock;
use wq_core::{Fifo, ItemHash, WorkQueue};

type Heap = DelayHeap<u32, u32>;

/// Few distinct hashes, so that lookups meet collisions.
#[derive(Default)]
struct Few(u32);

impl Hasher for Few {
    fn write(&mut self, _: &[u8]) {}

    fn write_u32(&mut self, item: u32) {
        self.0 = item;
    }

    fn finish(&self) -> u64 {
        u64::from(self.0 % if self.0 < 40 { 7 } else { 97 }).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

type FewHashes = WorkQueue<u32, Fifo, BuildHasherDefault<Few>>;

fn hash(item: u32) -> ItemHash {
    static QUEUE: LazyLock<FewHashes> = LazyLock::new(|| {
        WorkQueue::builder().hasher(BuildHasherDefault::default()).build().unwrap()
    });
    QUEUE.item_hash(&item)
}

fn insert(heap: &mut Heap, item: u32, deadline: u64, policy: SecondAdd) -> Inserted {
    insert_by(heap, item, DeadlineRequest::At(Tick(deadline), policy))
}

fn insert_by(heap: &mut Heap, item: u32, request: DeadlineRequest) -> Inserted {
    let mut offer = Some(item);
    let inserted = heap.insert(hash(item), &mut offer, 1, request, |held, new| *held += new);
    assert_eq!(offer.is_none(), inserted == Inserted::New, "what is not taken is left");
    inserted
}

fn pop_due<T: Eq, O>(heap: &mut DelayHeap<T, O>, now: u64) -> Option<Waiting<T, O>> {
    let mut one = Vec::new();
    heap.pop_all_due(Tick(now), 1, &mut one);
    one.pop()
}

fn pop(heap: &mut Heap, now: u64) -> Option<(u32, u64)> {
    pop_due(heap, now).map(|waiting| (waiting.item, waiting.deadline.0))
}

/// Asserts what holds between the timeline and the table after every operation.
fn check(heap: &Heap) {
    let nodes = heap.timeline.sorted();
    assert_eq!(nodes.len(), heap.len(), "one node of each item is in force");
    assert_eq!(
        heap.timeline.calendar.first(),
        nodes.first(),
        "the first is not stale, and before all others"
    );
    for node in &nodes {
        let held = heap.timeline.slots.get(node.slot).expect("a node in force names a held slot");
        assert_eq!(heap.find(hash(held.item), &held.item), Some(node.slot));
    }
    assert_eq!(heap.timeline.slots.free().count() + nodes.len(), heap.timeline.slots.len());
    heap.timeline.calendar.check(|slot, sequence| heap.timeline.slots.deadline(slot, sequence));
}

#[test]
fn equal_deadlines_come_out_in_insertion_order() {
    let mut heap = Heap::with_room(0).unwrap();
    for item in 0..100 {
        insert(&mut heap, item, 5, SecondAdd::Earliest);
    }
    let order: Vec<u32> = std::iter::from_fn(|| pop(&mut heap, 5)).map(|(item, _)| item).collect();
    assert_eq!(order, (0..100).collect::<Vec<_>>());
}

#[test]
fn nothing_is_due_before_its_deadline() {
    let mut heap = Heap::with_room(0).unwrap();
    insert(&mut heap, 1, 10, SecondAdd::Earliest);
    assert_eq!(pop(&mut heap, 9), None);
    assert_eq!(pop(&mut heap, 10), Some((1, 10)));
}

#[test]
fn never_is_never_due() {
    let mut heap = Heap::with_room(0).unwrap();
    insert(&mut heap, 1, u64::MAX, SecondAdd::Earliest);
    assert_eq!(pop(&mut heap, u64::MAX), None);
    assert_eq!(heap.len(), 1);
}

#[test]
fn a_second_add_moves_the_deadline_as_the_policy_says() {
    for (policy, second, expected) in [
        (SecondAdd::Earliest, 5, 5),
        (SecondAdd::Earliest, 15, 10),
        (SecondAdd::Latest, 5, 10),
        (SecondAdd::Latest, 15, 15),
        (SecondAdd::Replace, 5, 5),
        (SecondAdd::Replace, 15, 15),
    ] {
        let mut heap = Heap::with_room(0).unwrap();
        insert(&mut heap, 1, 10, policy);
        let inserted = insert(&mut heap, 1, second, policy);
        assert_eq!(inserted == Inserted::Kept, expected == 10, "{policy:?} {second}");
        assert_eq!(
            pop_due(&mut heap, 100).map(plain),
            Some((1, 2, expected)),
            "{policy:?} {second}"
        );
    }
}

#[test]
fn sequence_numbers_that_run_out_are_renewed_in_order() {
    let mut heap = Heap::with_room(0).unwrap();
    heap.timeline.next_sequence = u32::MAX - 5;
    for item in 0..20 {
        insert(&mut heap, item, 7, SecondAdd::Earliest);
        check(&heap);
    }
    assert!(heap.timeline.next_sequence < 100);
    let order: Vec<u32> = std::iter::from_fn(|| pop(&mut heap, 7)).map(|(item, _)| item).collect();
    assert_eq!(order, (0..20).collect::<Vec<_>>());
}

/// Fills it, and empties it again.
fn burst(heap: &mut Heap) -> usize {
    let queue = WorkQueue::<u32>::new();
    for item in 0..100_000 {
        let request = DeadlineRequest::At(Tick(u64::from(item)), SecondAdd::Earliest);
        heap.insert(queue.item_hash(&item), &mut Some(item), 1, request, |_, _| {});
    }
    let room = heap.capacity();
    assert!(room >= 100_000);
    while pop(heap, u64::MAX - 1).is_some() {}
    room
}

#[test]
fn memory_of_a_single_peak_is_given_back() {
    let mut heap = Heap::with_room(0).unwrap();
    burst(&mut heap);
    for item in 0..1100 {
        insert(&mut heap, item, 1, SecondAdd::Earliest);
        assert_eq!(pop(&mut heap, 1), Some((item, 1)));
    }
    assert!(heap.capacity() <= 2 * SMALL, "still holds room for {}", heap.capacity());
    check(&heap);
}

#[test]
fn memory_given_back_amid_a_batch_leaves_no_item_behind() {
    for waits in [0, 40] {
        let mut heap = Heap::with_room(0).unwrap();
        burst(&mut heap);
        // In low slots once the memory is given back.
        (0..waits)
            .for_each(|item| _ = insert(&mut heap, 1_000_000 + item, 1 << 40, SecondAdd::Earliest));
        for round in 0..300 {
            (0..10)
                .for_each(|item| _ = insert(&mut heap, 10 * round + item, 1, SecondAdd::Earliest));
            let mut due = Vec::new();
            heap.pop_all_due(Tick(1), 128, &mut due);
            assert_eq!(due.len(), 10);
        }
        assert!(heap.capacity() <= 2 * SMALL, "still holds room for {}", heap.capacity());
        check(&heap);
        assert_eq!(heap.len(), waits as usize);
    }
}

#[test]
fn memory_that_burst_after_burst_needs_is_kept() {
    let mut heap = Heap::with_room(0).unwrap();
    let room = burst(&mut heap);
    for _ in 0..3 {
        assert!(heap.capacity() >= room);
        burst(&mut heap);
    }
}

#[test]
fn take_all_hands_out_everything_in_order() {
    let mut heap = Heap::with_room(0).unwrap();
    for (item, deadline) in [(1, 30), (2, 10), (3, u64::MAX), (4, 10)] {
        insert(&mut heap, item, deadline, SecondAdd::Earliest);
    }
    let all: Vec<u32> = heap.take_all().into_iter().map(|waiting| waiting.item).collect();
    assert_eq!(all, [2, 4, 1, 3]);
    assert!(heap.is_empty());
    insert(&mut heap, 1, 5, SecondAdd::Earliest);
    check(&heap);
}

#[test]
fn room_that_was_reserved_is_kept() {
    let mut heap = Heap::with_room(10_000).unwrap();
    let room = heap.capacity();
    for item in 0..10_000 {
        insert(&mut heap, item, u64::from(item), SecondAdd::Earliest);
    }
    assert_eq!(heap.capacity(), room, "no add makes room");
    while pop(&mut heap, 20_000).is_some() {}
    for item in 0..3_000 {
        insert(&mut heap, item, 1, SecondAdd::Earliest);
        pop(&mut heap, 1);
        assert!(heap.occupancy.passed == 0, "it is not said to be nearly empty");
    }
    heap.shrink();
    assert!(heap.capacity() >= 10_000);
}

#[test]
fn a_shrink_of_what_is_in_use_moves_nothing() {
    let mut heap = Heap::with_room(1000).unwrap();
    (0..1000)
        .for_each(|item| _ = insert(&mut heap, item, 10 + u64::from(item), SecondAdd::Replace));
    insert(&mut heap, 999, 5000, SecondAdd::Replace);
    let nodes = heap.timeline.calendar.len();
    heap.shrink();
    assert_eq!(heap.timeline.calendar.len(), nodes, "the stale node is there still");
    check(&heap);
}

#[test]
fn a_slot_of_a_number_takes_32_bytes() {
    assert_eq!(size_of::<Slot<u64, ()>>(), 32);
}

#[test]
fn nodes_that_are_moved_again_and_again_take_no_more_room() {
    let mut heap = Heap::with_room(0).unwrap();
    let items = 20 * u32::try_from(FULL).unwrap();
    for round in 0..50 {
        for item in 0..items {
            let deadline = u64::from(item.wrapping_mul(0x9e37_79b9) >> (round % 7));
            insert(&mut heap, item, deadline + 1, SecondAdd::Replace);
        }
        check(&heap);
        assert!(
            heap.timeline.calendar.len() <= 2 * items as usize,
            "round {round}: {} nodes",
            heap.timeline.calendar.len()
        );
    }
}

#[test]
fn all_that_is_due_at_once_comes_out_in_insertion_order_from_leaves_that_begin_alike() {
    let mut heap = Heap::with_room(0).unwrap();
    let items = 20 * u32::try_from(FULL).unwrap();
    (0..items).for_each(|item| _ = insert(&mut heap, item, 5, SecondAdd::Earliest));
    for item in (0..items).step_by(3) {
        assert!(heap.remove(hash(item), &item).is_some());
    }
    check(&heap);
    let mut due = Vec::new();
    heap.pop_all_due(Tick(5), usize::MAX, &mut due);
    let rest: Vec<u32> = (0..items).filter(|item| item % 3 != 0).collect();
    assert_eq!(due.into_iter().map(|waiting| waiting.item).collect::<Vec<_>>(), rest);
}

#[test]
fn leaves_that_are_emptied_become_one_with_their_neighbours() {
    let mut heap = Heap::with_room(0).unwrap();
    let items = 100 * u32::try_from(FULL).unwrap();
    (0..items).for_each(|item| _ = insert(&mut heap, item, u64::from(item), SecondAdd::Earliest));
    let full = heap.timeline.calendar.buckets();
    assert!(full >= 100, "{full} buckets of {items} items");
    for item in (0..items).filter(|item| item.wrapping_mul(0x9e37_79b9) >> 16 > 6553) {
        assert!(heap.remove(hash(item), &item).is_some());
    }
    check(&heap);
    let (left, buckets) = (heap.len(), heap.timeline.calendar.buckets());
    assert!(left < items as usize / 8 && buckets <= left / 2, "{buckets} buckets of {left} items");
}

#[test]
fn what_was_due_goes_back_without_a_look_at_others() {
    let mut heap = Heap::with_room(0).unwrap();
    (0..6).for_each(|item| _ = insert(&mut heap, item, 1 + u64::from(item), SecondAdd::Replace));
    insert(&mut heap, 5, 9, SecondAdd::Replace);
    let nodes = heap.timeline.calendar.len();
    assert_eq!(nodes, 7, "one is stale");
    let mut due = Vec::new();
    heap.pop_all_due(Tick(3), CHUNK, &mut due);
    due.into_iter().rev().for_each(|waiting| heap.put_back(waiting));
    check(&heap);
    assert_eq!(heap.timeline.calendar.len(), nodes, "no stale node was looked for");
}

#[derive(Debug, Clone)]
enum Op {
    Insert(u32, u64),
    InsertRetry(u32, u64),
    RemoveRetry(u32),
    Remove(u32),
    PopDue(u64),
    /// The time, the most items to pop, and how many of them are put back.
    PopAllDue(u64, usize, usize),
    MergeInto(u32),
    Shrink,
    TakeAll,
    JumpSequence,
}

fn op() -> impl Strategy<Value = Op> {
    op_among(40, 50, 2 * CHUNK, 1)
}

/// How times follow each other, 500 of them.
#[derive(Debug, Clone, Copy)]
enum Course {
    Evenly,
    /// Each a little farther than the one before.
    Faster,
    /// Near to one of two times that are far from each other.
    Clusters,
    /// Many at one time.
    Ties,
}

impl Course {
    fn time(self, number: u64) -> u64 {
        match (self, number) {
            (_, u64::MAX) => u64::MAX,
            (Self::Evenly, _) => number,
            (Self::Faster, _) => (1 << (number / 8)) + number % 8 * ((1 << (number / 8)) / 8),
            (Self::Clusters, _) => number / 250 * (1 << 50) + number,
            (Self::Ties, _) => number / 125 * 1000,
        }
    }

    fn play(self, op: Op) -> Op {
        match op {
            Op::Insert(item, at) => Op::Insert(item, self.time(at)),
            Op::InsertRetry(item, at) => Op::InsertRetry(item, self.time(at)),
            Op::PopDue(now) => Op::PopDue(self.time(now)),
            Op::PopAllDue(now, most, back) => Op::PopAllDue(self.time(now), most, back),
            other => other,
        }
    }
}

fn courses() -> impl Strategy<Value = Course> {
    use Course::{Clusters, Evenly, Faster, Ties};
    prop::sample::select(vec![Evenly, Faster, Clusters, Ties])
}

/// The number of items, the last deadline, the largest batch, and how rare operations on all items
/// are.
fn op_among(items: u32, end: u64, most: usize, rare: u32) -> impl Strategy<Value = Op> {
    let item = 0..items;
    let time = prop_oneof![9 => 0..end, 1 => Just(u64::MAX)];
    prop_oneof![
        10 * rare => (item.clone(), time.clone()).prop_map(|(item, at)| Op::Insert(item, at)),
        5 * rare => (item.clone(), time.clone()).prop_map(|(item, at)| Op::InsertRetry(item, at)),
        3 * rare => item.clone().prop_map(Op::RemoveRetry),
        3 * rare => item.clone().prop_map(Op::Remove),
        3 * rare => time.clone().prop_map(Op::PopDue),
        3 * rare => (time, 0..most, 0..most).prop_map(|(now, most, back)| Op::PopAllDue(now, most, back)),
        rare => item.prop_map(Op::MergeInto),
        1 => Just(Op::Shrink),
        1 => Just(Op::TakeAll),
        1 => Just(Op::JumpSequence),
    ]
}

/// The naive heap: a vector of (deadline, insertion number, item, order).
#[derive(Default)]
struct Sorted {
    entries: Vec<(u64, u64, u32, u32)>,
    insertions: u64,
    retries: BTreeSet<u32>,
}

impl Sorted {
    fn at(&mut self, item: u32) -> Option<&mut (u64, u64, u32, u32)> {
        self.entries.iter_mut().find(|entry| entry.2 == item)
    }

    fn insert(&mut self, item: u32, at: u64, policy: SecondAdd) -> Inserted {
        self.insertions += 1;
        let number = self.insertions;
        self.retries.remove(&item);
        let Some(entry) = self.at(item) else {
            self.entries.push((at, number, item, 1));
            return Inserted::New;
        };
        entry.3 += 1;
        let new = match policy {
            SecondAdd::Earliest => at.min(entry.0),
            SecondAdd::Latest => at.max(entry.0),
            SecondAdd::Replace => at,
        };
        if new == entry.0 {
            return Inserted::Kept;
        }
        (entry.0, entry.1) = (new, number);
        Inserted::Moved
    }

    fn take(&mut self, item: u32) -> Option<(u32, u32, u64)> {
        let at = self.entries.iter().position(|entry| entry.2 == item)?;
        let (deadline, _, item, order) = self.entries.remove(at);
        self.retries.remove(&item);
        Some((item, order, deadline))
    }

    fn entries_due(&mut self, now: u64) -> Vec<u32> {
        self.entries.sort_unstable();
        let due = self.entries.iter().filter(|entry| entry.0 <= now && entry.0 != u64::MAX);
        due.map(|entry| entry.2).collect()
    }

    fn pop_due(&mut self, now: u64) -> Option<(u32, u32, u64)> {
        self.entries.sort_unstable();
        let &(deadline, _, item, _) = self.entries.first()?;
        if deadline > now || deadline == u64::MAX { None } else { self.take(item) }
    }
}

fn plain(waiting: Waiting<u32, u32>) -> (u32, u32, u64) {
    (waiting.item, waiting.order, waiting.deadline.0)
}

/// Plays the operations on the heap and on the naive one. Checks invariants after every `step`
/// operations.
fn play(
    ops: Vec<Op>,
    items: u32,
    policy: SecondAdd,
    room: usize,
    step: usize,
) -> Result<(), TestCaseError> {
    let mut heap = Heap::with_room(room).unwrap();
    let mut sorted = Sorted::default();
    for (number, op) in ops.into_iter().enumerate() {
        match op {
            Op::Insert(item, at) => {
                prop_assert_eq!(
                    insert(&mut heap, item, at, policy),
                    sorted.insert(item, at, policy)
                );
            }
            Op::InsertRetry(item, at) => {
                let was = sorted.retries.contains(&item);
                let by = if was { SecondAdd::Replace } else { policy };
                let inserted = insert_by(&mut heap, item, DeadlineRequest::Retry(Tick(at), policy));
                prop_assert_eq!(inserted, sorted.insert(item, at, by));
                if was || inserted == Inserted::New {
                    sorted.retries.insert(item);
                }
            }
            Op::RemoveRetry(item) => {
                let is_retry = sorted.retries.contains(&item);
                let expected = if is_retry { sorted.take(item) } else { None };
                prop_assert_eq!(heap.remove_retry(hash(item), &item).map(plain), expected);
            }
            Op::Remove(item) => {
                prop_assert_eq!(heap.remove(hash(item), &item).map(plain), sorted.take(item));
            }
            Op::PopDue(now) => {
                prop_assert_eq!(pop_due(&mut heap, now).map(plain), sorted.pop_due(now));
            }
            Op::PopAllDue(now, most, back) => {
                let mut due = Vec::new();
                heap.pop_all_due(Tick(now), most, &mut due);
                let expected: Vec<_> = sorted.entries_due(now).into_iter().take(most).collect();
                prop_assert_eq!(
                    due.iter().map(|waiting| waiting.item).collect::<Vec<_>>(),
                    expected
                );
                check(&heap);
                due.split_off(due.len().saturating_sub(back))
                    .into_iter()
                    .rev()
                    .for_each(|late| heap.put_back(late));
                for waiting in due {
                    prop_assert_eq!(sorted.take(waiting.item), Some(plain(waiting)));
                }
            }
            Op::MergeInto(item) => {
                let slot = heap.find(hash(item), &item);
                slot.into_iter().for_each(|slot| heap.join(slot, 3, |held, new| *held += new));
                prop_assert_eq!(
                    slot.is_some(),
                    sorted.at(item).map(|entry| entry.3 += 3).is_some()
                );
                sorted.retries.remove(&item);
            }
            Op::Shrink => heap.shrink(),
            Op::TakeAll => {
                sorted.retries.clear();
                let mut all: Vec<_> = sorted.entries.drain(..).collect();
                all.sort_unstable();
                let all: Vec<_> =
                    all.into_iter().map(|(at, _, item, order)| (item, order, at)).collect();
                prop_assert_eq!(heap.take_all().into_iter().map(plain).collect::<Vec<_>>(), all);
            }
            Op::JumpSequence => {
                heap.timeline.next_sequence = heap.timeline.next_sequence.max(u32::MAX - 3)
            }
        }
        if number.is_multiple_of(step) {
            check(&heap);
        }
        prop_assert_eq!(heap.len(), sorted.entries.len());
        prop_assert_eq!(
            heap.earliest().map(|at| at.0),
            sorted.entries.iter().map(|entry| entry.0).min()
        );
        let looked_for = if number.is_multiple_of(step) { 0..items } else { 0..0 };
        for item in looked_for {
            let waits = sorted.at(item).map(|entry| entry.0);
            prop_assert_eq!(heap.deadline(hash(item), &item).map(|at| at.0), waits);
        }
    }
    Ok(())
}

fn policies() -> impl Strategy<Value = SecondAdd> {
    prop::sample::select(vec![SecondAdd::Earliest, SecondAdd::Latest, SecondAdd::Replace])
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn behaves_like_a_sorted_vector(
        ops in prop::collection::vec(op(), 0..150),
        policy in policies(),
        room in prop::sample::select(vec![0, 0, 30, 100]),
    ) {
        play(ops, 40, policy, room, 1)?;
    }
}

/// So many that buckets are cut, and emptied again.
#[test]
fn behaves_like_a_sorted_vector_when_leaves_are_cut_and_merged() {
    let config = ProptestConfig {
        cases: ProptestConfig::default().cases.min(32),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let any_op = || op_among(500, 500, 4, 50);
    let removal = (0..500_u32).prop_map(Op::Remove);
    let ebb = prop::collection::vec(prop_oneof![1 => any_op(), 4 => removal], 600);
    let tide = (prop::collection::vec(any_op(), 700), ebb, prop::collection::vec(any_op(), 700));
    let ops = (tide, courses()).prop_map(|((rising, ebb, again), course)| {
        let all = [rising, ebb, again].concat();
        all.into_iter().map(|op| course.play(op)).collect()
    });
    let mut runner = TestRunner::new(config);
    let (cuts, merges) = (CUTS.get(), MERGES.get());
    let rooms = prop::sample::select(vec![0, 100, 600]);
    runner
        .run(&(ops, policies(), rooms), |(ops, policy, room)| play(ops, 500, policy, room, 20))
        .unwrap();
    let (cuts, merges) = (CUTS.get() - cuts, MERGES.get() - merges);
    assert!(cuts > 100 && merges > 20, "{cuts} buckets were cut, and {merges} merged");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_table_holds_what_was_added_and_not_struck_out(
        ops in prop::collection::vec((any::<bool>(), 0..60u32), 0..300),
        room in prop::sample::select(vec![0, 1, 7, 40]),
    ) {
        let mut table = Table::try_with_capacity(room).unwrap();
        let mut slots = BTreeSet::new();
        for (is_added, slot) in ops {
            if is_added {
                if let Err(vacancy) = table.find(hash(slot), |other| other == slot) {
                    prop_assert!(slots.insert(slot));
                    table.insert(vacancy, hash(slot), slot);
                }
            } else {
                slots.remove(&slot);
                table.remove(hash(slot), slot);
            }
            prop_assert_eq!(table.len(), slots.len());
            prop_assert!(table.capacity() >= table.len());
            for slot in 0..60 {
                let found = table.find(hash(slot), |other| other == slot);
                prop_assert_eq!(found.ok(), slots.contains(&slot).then_some(slot));
            }
        }
    }
}
