//! Large: random calls of a queue with hundreds of thousands of items, against a map and a line.
//! Slots leave such a large table together.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use proptest::prelude::*;
use wq_core::{Added, Phase, ProcessingGuard, WorkQueue};

/// The number of items added first: twice as many as make a table large.
const HELD: u64 = 300_000;
/// Items below this number come and go all the time.
const NEAR: u64 = 64;
/// When no more than this many items are held, the queue is filled again.
const EBB: u64 = HELD / 16;

/// Pseudo-random numbers.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

#[derive(Default)]
struct Books<'q> {
    fifo: VecDeque<u64>,
    phases: HashMap<u64, Phase>,
    guards: Vec<ProcessingGuard<'q, u64>>,
}

impl Books<'_> {
    fn add(&mut self, item: u64) -> Added {
        match self.phases.entry(item) {
            Entry::Vacant(vacant) => {
                vacant.insert(Phase::Queued);
                self.fifo.push_back(item);
                Added::Queued
            }
            Entry::Occupied(mut held) if *held.get() == Phase::Processing => {
                held.insert(Phase::ProcessingDirty);
                Added::Deferred
            }
            Entry::Occupied(_) => Added::Merged,
        }
    }

    fn done(&mut self, item: u64) {
        if self.phases.remove(&item) == Some(Phase::ProcessingDirty) {
            self.add(item);
        }
    }
}

fn play(queue: &WorkQueue<u64>, seed: u64, steps: u64) -> Result<(), TestCaseError> {
    let (mut books, mut dice) = (Books::default(), Dice(seed));
    prop_assert_eq!(queue.add_all(0..HELD).queued, HELD as usize);
    (0..HELD).for_each(|item| _ = books.add(item));
    // The first phase empties the queue.
    let (mut ebbs, mut turns) = (true, 0);
    for step in 0..steps {
        let held = books.phases.len() as u64;
        if if ebbs { held < EBB } else { held > HELD } {
            (ebbs, turns) = (!ebbs, turns + 1);
        }
        let adds = if ebbs { 4 } else { 90 };
        match dice.roll(100) {
            roll if roll < adds => {
                let among = if dice.roll(4) == 0 { NEAR } else { 2 * HELD };
                let item = dice.roll(among);
                prop_assert_eq!(queue.add(item), books.add(item), "step {}, item {}", step, item);
            }
            roll if roll < adds + (100 - adds) / 2 => {
                let (guard, next) = (queue.try_get().ok(), books.fifo.pop_front());
                prop_assert_eq!(guard.as_ref().map(|guard| *guard.item()), next, "step {}", step);
                if let (Some(guard), Some(item)) = (guard, next) {
                    books.phases.insert(item, Phase::Processing);
                    books.guards.push(guard);
                }
            }
            99 if !books.fifo.is_empty() => {
                // Removes the item at the front, because a search of the whole backlog takes long.
                if let Some(item) = books.fifo.pop_front() {
                    books.phases.remove(&item);
                    prop_assert_eq!(queue.remove(&item), Some(item), "step {}", step);
                }
            }
            _ if !books.guards.is_empty() => {
                let which = dice.roll(books.guards.len() as u64) as usize;
                let guard = books.guards.swap_remove(which);
                let item = *guard.item();
                books.done(item);
                if dice.roll(50) == 0 {
                    prop_assert!(queue.abandon(&item));
                }
                guard.done();
            }
            _ => {}
        }
        let asked = dice.roll(2 * HELD);
        prop_assert_eq!(queue.phase(&asked), books.phases.get(&asked).copied(), "step {}", step);
        let counts = queue.counts();
        prop_assert_eq!((counts.queued, counts.in_flight), (books.fifo.len(), books.guards.len()));
    }
    prop_assert!(turns > 1 || steps < 1_500_000, "the tide turned {} times", turns);
    let mut seen: Vec<_> =
        queue.snapshot().items.iter().map(|seen| (seen.item, seen.phase)).collect();
    let mut held: Vec<_> = books.phases.iter().map(|(item, phase)| (*item, *phase)).collect();
    seen.sort_unstable_by_key(|(item, _)| *item);
    held.sort_unstable_by_key(|(item, _)| *item);
    prop_assert!(seen == held, "what it holds is not what it should");
    drop(books);
    while let Ok(guard) = queue.try_get() {
        guard.done();
    }
    prop_assert!(queue.counts().is_idle());
    Ok(())
}

/// A run of the models makes a million calls.
#[test]
fn a_queue_of_hundreds_of_thousands_does_what_a_map_and_a_line_do() {
    let steps = u64::from(crate::sequences()) * 100;
    if let Err(error) = play(&WorkQueue::new(), 7, steps) {
        panic!("{error}");
    }
}
