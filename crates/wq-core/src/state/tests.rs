//! Tests of the state: random steps with the books checked after each, and rules that the shell
//! cannot show.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;

use super::slab::{Meta, Slot};
use super::*;
use crate::backlog::Fifo;
use crate::snapshot::Counts;

type Queue = State<u64, Fifo>;

fn new() -> Queue {
    State::new(Fifo::default(), None)
}

/// Small on purpose, so that different items share hashes.
fn hash(item: u64) -> ItemHash {
    ItemHash::from_raw(u32::try_from(item % 3).unwrap())
}

impl<B: Backlog<Order = ()>> State<u64, B> {
    fn put(&mut self, item: u64) -> Added {
        self.add(&mut Some(item), hash(item), (), false, None).unwrap()
    }

    fn next(&mut self) -> Dequeued<u64, ()> {
        match self.get(None) {
            Dequeue::Item(got) => got,
            other => panic!("{other:?}"),
        }
    }
}

impl Queue {
    /// Counts the invariants of the type anew.
    fn check(&self) {
        let mut counts = Counts::default();
        for (index, item, hash, meta) in self.slab.held() {
            match meta.phase() {
                Phase::Queued => counts.queued += 1,
                Phase::Processing => counts.in_flight += 1,
                Phase::ProcessingDirty => {
                    counts.in_flight += 1;
                    counts.to_run_again += 1;
                }
            }
            assert_eq!(
                self.find(item, hash).map(|(index, _)| index),
                Some(index),
                "the table finds {item}"
            );
        }
        assert_eq!(self.counts(), counts);
        assert_eq!(self.table.len(), counts.queued + counts.in_flight);
        let mut ids = self.backlog.clone();
        let mut popped = 0;
        while let Some((id, ())) = ids.pop() {
            let slot = self.slab.get(id.index());
            assert!(matches!(slot, Some(Slot::Held { meta, .. }) if meta.phase() == Phase::Queued));
            popped += 1;
        }
        assert_eq!(popped, counts.queued);
        self.slab.check();
        assert!(!(self.paused && self.shutting_down));
    }
}

#[test]
fn a_slot_of_a_number_takes_two_words() {
    assert_eq!(size_of::<Slot<u64, ()>>(), 16);
    assert_eq!(size_of::<Slot<std::sync::Arc<str>, ()>>(), 24);
}

#[test]
fn phase_and_generation_share_a_word() {
    let last = Meta::next_generation(u32::MAX >> 2);
    assert_eq!(last, 0, "generations wrap");
    for phase in [Phase::Queued, Phase::Processing, Phase::ProcessingDirty] {
        let meta = Meta::new(phase, (1 << 30) - 1);
        assert_eq!((meta.phase(), meta.generation()), (phase, (1 << 30) - 1));
        assert_eq!(meta.with_phase(Phase::Queued).generation(), (1 << 30) - 1);
    }
}

#[test]
fn only_the_ticket_in_force_ends_a_hand_out() {
    let mut state = new();
    state.put(1);
    let old = state.next().ticket;
    assert!(matches!(state.abandon(&1, hash(1), None), Finished::Left { item: 1, .. }));
    assert!(matches!(state.done(old, None), Finished::Stale), "the slot is free");
    state.put(2);
    assert!(matches!(state.done(old, None), Finished::Stale), "the slot holds a queued item");
    let new = state.next().ticket;
    assert_eq!(old.slot(), new.slot());
    assert!(matches!(state.done(old, None), Finished::Stale), "the slot is in other hands");
    state.put(2);
    assert!(matches!(state.done(old, None), Finished::Stale));
    assert!(matches!(state.done(new, None), Finished::Requeued { .. }));
    assert!(matches!(state.done(new, None), Finished::Stale), "once");
    state.check();
}

#[test]
fn times_are_measured_from_the_first_add_and_from_the_hand_out() {
    let start = crate::clock::now();
    let at = |seconds| Some(start + Duration::from_secs(seconds));
    let mut state = new();
    let add = |state: &mut Queue, second| state.add(&mut Some(1), hash(1), (), false, at(second));
    add(&mut state, 0);
    add(&mut state, 1);
    let Dequeue::Item(got) = state.get(at(5)) else { panic!("queued") };
    assert_eq!(got.waited, Some(Duration::from_secs(5)));
    add(&mut state, 7);
    add(&mut state, 8);
    let mut seen = Vec::new();
    state.see(&mut seen, at(9));
    assert_eq!(seen[0].waiting, Some(Duration::from_secs(2)));
    assert_eq!(seen[0].processing, Some(Duration::from_secs(4)));
    let Finished::Requeued { worked } = state.done(got.ticket, at(10)) else {
        panic!("added again")
    };
    assert_eq!(worked, Some(Duration::from_secs(5)));
    let Dequeue::Item(got) = state.get(at(11)) else { panic!("queued") };
    assert_eq!(got.waited, Some(Duration::from_secs(4)), "the rest of the running work counts");
    // A clock that goes back causes no panic.
    let Finished::Left { worked, .. } = state.done(got.ticket, at(3)) else {
        panic!("not added again")
    };
    assert_eq!(worked, Some(Duration::ZERO));
}

#[cfg(not(miri))] // It counts, over hundreds of thousands of steps.
#[test]
fn memory_comes_back_after_a_while_of_low_occupancy() {
    const MANY: u64 = 100_000;
    let hasher = crate::hasher::DefaultHasher::default();
    let hash = |item: u64| ItemHash::of(&item, &hasher);
    let mut state = new();
    let cycle = |state: &mut Queue, item: u64| {
        let _ = state.add(&mut Some(item), hash(item), (), false, None);
        let got = state.next();
        let _ = state.done(got.ticket, None);
    };
    for item in 0..MANY {
        let _ = state.add(&mut Some(item), hash(item), (), false, None);
    }
    for _ in 0..MANY {
        let got = state.next();
        let _ = state.done(got.ticket, None);
    }
    for item in 0..5000 {
        cycle(&mut state, item);
    }
    assert!(state.slab.slots() < 1000, "{} slots", state.slab.slots());
    assert!(state.table.capacity() < 10_000);
}

/// A burst that comes while items gather in the lower slots takes the upper ones too.
#[cfg(not(miri))]
#[test]
fn a_second_burst_uses_every_free_slot() {
    const MANY: u64 = 100_000;
    let hasher = crate::hasher::DefaultHasher::default();
    let hash = |item: u64| ItemHash::of(&item, &hasher);
    let mut state = new();
    let burst = |state: &mut Queue| {
        for item in 0..MANY {
            let _ = state.add(&mut Some(item), hash(item), (), false, None);
        }
    };
    burst(&mut state);
    for _ in 1..MANY {
        let got = state.next();
        let _ = state.done(got.ticket, None);
    }
    for item in 0..2000 {
        let _ = state.add(&mut Some(item), hash(item), (), false, None);
        let got = state.next();
        let _ = state.done(got.ticket, None);
    }
    assert_eq!(state.slab.slots(), MANY as usize, "too early to release any");
    burst(&mut state);
    assert_eq!(state.slab.slots(), MANY as usize);
    state.slab.check();
}

#[derive(Clone, Debug)]
enum Step {
    Add(u64),
    AddBounded(u64),
    Get,
    Done(usize),
    Abandon(u64),
    Remove(u64),
    Pause,
    Resume,
    Shutdown,
    TakeAll,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0_u64..9).prop_map(Step::Add),
        3 => (0_u64..9).prop_map(Step::AddBounded),
        8 => Just(Step::Get),
        8 => (0_usize..64).prop_map(Step::Done),
        2 => (0_u64..9).prop_map(Step::Abandon),
        2 => (0_u64..9).prop_map(Step::Remove),
        1 => Just(Step::Pause),
        2 => Just(Step::Resume),
        1 => Just(Step::TakeAll),
        1 => Just(Step::Shutdown),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 2 } else { ProptestConfig::default().cases }, failure_persistence: None, ..ProptestConfig::default() })]

    /// Uses every ticket again and again: only the last one of an item has an effect, until it has
    /// ended.
    #[test]
    fn the_books_are_right_after_every_step(steps in prop::collection::vec(step(), 0..if cfg!(miri) { 20 } else { 200 })) {
        let mut state = State::new(Fifo::default(), NonZeroUsize::new(4));
        let mut tickets: Vec<(u64, Ticket)> = Vec::new();
        let mut in_force: BTreeMap<u64, Ticket> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Add(item) => _ = state.put(item),
                Step::AddBounded(item) => {
                    let depth = state.counts().depth();
                    let held = state.phase(&item, hash(item));
                    let added = state.add(&mut Some(item), hash(item), (), true, None);
                    let full = depth >= 4 && !matches!(held, Some(Phase::Queued | Phase::ProcessingDirty));
                    prop_assert_eq!(added.is_none(), full && !state.shutting_down);
                }
                Step::Get => {
                    let queued = state.queued;
                    match state.get(None) {
                        Dequeue::Item(got) => {
                            tickets.push((got.item, got.ticket));
                            in_force.insert(got.item, got.ticket);
                        }
                        Dequeue::Nothing => prop_assert!(!state.shutting_down && (state.paused || queued == 0)),
                        Dequeue::Ended => prop_assert!(state.shutting_down && queued == 0),
                    }
                }
                Step::Done(which) => {
                    if !tickets.is_empty() {
                        let (item, ticket) = tickets[which % tickets.len()];
                        let before = state.in_flight();
                        let finished = state.done(ticket, None);
                        let ended = !matches!(finished, Finished::Stale);
                        prop_assert_eq!(ended, in_force.get(&item) == Some(&ticket));
                        prop_assert_eq!(state.in_flight(), before - usize::from(ended));
                        if let Finished::Left { item: left, .. } = finished {
                            prop_assert_eq!(left, item);
                        }
                        in_force.retain(|_, other| *other != ticket);
                    }
                }
                Step::Abandon(item) => {
                    let ended = !matches!(state.abandon(&item, hash(item), None), Finished::Stale);
                    prop_assert_eq!(ended, in_force.remove(&item).is_some());
                }
                Step::Remove(item) => {
                    let was = state.phase(&item, hash(item));
                    let removed = state.remove(&item, hash(item));
                    prop_assert_eq!(removed.is_some(), was == Some(Phase::Queued));
                }
                Step::Pause => state.pause(),
                Step::Resume => state.resume(),
                Step::Shutdown => state.shutdown(),
                Step::TakeAll => {
                    let depth = state.counts().depth();
                    let mut taken = Vec::new();
                    state.take_all(&mut taken);
                    prop_assert_eq!(taken.len(), depth);
                    prop_assert_eq!(state.counts().depth(), 0);
                }
            }
            state.check();
            prop_assert!(in_force.values().all(|ticket| state.is_current(*ticket)));
        }
    }
}

/// `TestMetrics` of client-go's metrics_test.go: the times of one item, to the microsecond.
#[test]
fn waits_and_work_are_measured_as_upstream_does() {
    let (mut state, begin) = (new(), crate::clock::now());
    let at = |micros: u64| Some(begin + Duration::from_micros(micros));
    let micros = |span: Option<Duration>| span.unwrap().as_micros();
    let add = |state: &mut Queue, now| state.add(&mut Some(1), hash(1), (), false, now).unwrap();
    let get = |state: &mut Queue, now| match state.get(now) {
        Dequeue::Item(got) => got,
        other => panic!("{other:?}"),
    };
    assert_eq!(add(&mut state, at(0)), Added::Queued);
    assert_eq!(state.gauges(at(0)).counts.depth(), 1);
    let first = get(&mut state, at(50));
    assert_eq!(micros(first.waited), 50);
    let adds: Vec<Added> = (0..5).map(|_| add(&mut state, at(50))).collect();
    assert_eq!(adds, [Added::Deferred, Added::Merged, Added::Merged, Added::Merged, Added::Merged]);
    assert_eq!(state.gauges(at(50)).counts.depth(), 1);
    let Finished::Requeued { worked } = state.done(first.ticket, at(75)) else {
        panic!("it was added again")
    };
    assert_eq!((micros(worked), state.gauges(at(75)).counts.depth()), (25, 1));
    let second = get(&mut state, at(75));
    assert_eq!(micros(second.waited), 25, "from the add, while it was being processed");
    let gauges = state.gauges(at(1075));
    assert_eq!((micros(gauges.unfinished), micros(gauges.longest)), (1000, 1000));
    let Finished::Left { worked, .. } = state.done(second.ticket, at(1075)) else {
        panic!("it leaves")
    };
    let gauges = state.gauges(at(2000));
    assert_eq!((micros(worked), micros(gauges.unfinished), micros(gauges.longest)), (1000, 0, 0));
}

#[test]
fn what_is_in_hand_is_known_whoever_ends_first() {
    let (mut state, begin) = (new(), crate::clock::now());
    let at = |seconds: u64| Some(begin + Duration::from_secs(seconds));
    let mut tickets = Vec::new();
    for item in 0..4 {
        state.add(&mut Some(item), hash(item), (), false, at(0));
        let Dequeue::Item(got) = state.get(at(item)) else { panic!("it was added") };
        tickets.push(got.ticket);
    }
    let sums = |state: &Queue| {
        let gauges = state.gauges(at(10));
        (gauges.unfinished.unwrap().as_secs(), gauges.longest.unwrap().as_secs())
    };
    assert_eq!(sums(&state), (10 + 9 + 8 + 7, 10));
    for (ended, left) in [(0, (9 + 8 + 7, 9)), (2, (9 + 7, 9)), (3, (9, 9)), (1, (0, 0))] {
        let _ = state.done(tickets[ended], at(10));
        assert_eq!(sums(&state), left);
    }
}
