//! Panics: every verb, with an item in every phase whose `Hash`, `Eq`, `Clone` or `Drop` panics.
//! The panic reaches the caller, no item added earlier is lost, and the queue stays usable.

use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use wq_core::{Added, HashedAdd, ProcessingGuard, WorkQueue};

/// The item that panics. Items 1 and 2 are in flight, 2 runs again, 3 and 4 are queued behind it.
const HOSTILE: u8 = 9;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trap {
    Hash,
    Eq,
    Clone,
    Drop,
}

const TRAPS: [Trap; 4] = [Trap::Hash, Trap::Eq, Trap::Clone, Trap::Drop];

thread_local! {
    /// The trait that panics for the hostile item, once.
    static TRAP: Cell<Option<Trap>> = const { Cell::new(None) };
}

fn spring(trap: Trap, item: u8) {
    if item == HOSTILE && TRAP.get() == Some(trap) {
        TRAP.set(None);
        resume_unwind(Box::new("the panic that this test wants"));
    }
}

/// All items hash alike, so that `Eq` decides.
#[derive(Debug)]
struct Item(u8);

impl Hash for Item {
    fn hash<H: Hasher>(&self, state: &mut H) {
        spring(Trap::Hash, self.0);
        0_u8.hash(state);
    }
}

impl PartialEq for Item {
    fn eq(&self, other: &Self) -> bool {
        spring(Trap::Eq, self.0.max(other.0));
        self.0 == other.0
    }
}

impl Eq for Item {}

impl Clone for Item {
    fn clone(&self) -> Self {
        spring(Trap::Clone, self.0);
        Self(self.0)
    }
}

impl Drop for Item {
    fn drop(&mut self) {
        spring(Trap::Drop, self.0);
    }
}

/// The phase of the hostile item when the verb is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Absent,
    Queued,
    InHand,
    RunsAgain,
}

/// The places that allow the most verbs come first.
const PLACES: [Place; 4] = [Place::Queued, Place::RunsAgain, Place::Absent, Place::InHand];

/// The number of places tried. Miri takes a hundred times as long for each.
const TRIED: usize = if cfg!(miri) { 2 } else { PLACES.len() };

/// The arguments of a verb.
struct Call<'q> {
    queue: &'q WorkQueue<Item>,
    /// The guard of the hostile item, if it is in flight.
    guard: Option<ProcessingGuard<'q, Item>>,
    /// The guard of item 1.
    other: Option<ProcessingGuard<'q, Item>>,
    /// The items that the verb has returned.
    taken: Vec<u8>,
}

impl<'q> Call<'q> {
    /// Records the items first, because their guards may panic when they end.
    fn took(&mut self, guards: impl IntoIterator<Item = ProcessingGuard<'q, Item>>) {
        let guards: Vec<_> = guards.into_iter().collect();
        self.taken.extend(guards.iter().map(|guard| guard.item().0));
    }
}

type Verb = (&'static str, fn(&mut Call<'_>));

const VERBS: &[Verb] = &[
    ("add", |call| _ = call.queue.add(Item(HOSTILE))),
    ("try_add", |call| drop(call.queue.try_add(Item(HOSTILE)))),
    ("add_all", |call| _ = call.queue.add_all([Item(3), Item(HOSTILE), Item(4)])),
    ("deferred add", |call| {
        let mut adds = call.queue.defer_wakes();
        adds.add(Item(HOSTILE), ());
        drop(adds);
    }),
    ("deferred add_all", |call| {
        let queue = call.queue;
        let items = [3, HOSTILE, 4].map(|item| {
            let hash = queue.item_hash(&Item(item));
            HashedAdd { item: Item(item), hash, order: () }
        });
        let mut adds = queue.defer_wakes();
        adds.add_all(items);
        drop(adds);
    }),
    ("phase", |call| _ = call.queue.phase(&Item(HOSTILE))),
    ("remove", |call| drop(call.queue.remove(&Item(HOSTILE)))),
    ("abandon", |call| _ = call.queue.abandon(&Item(HOSTILE))),
    ("try_get", |call| call.took(call.queue.try_get().ok())),
    ("get_blocking", |call| call.took(call.queue.get_blocking())),
    ("get_timeout", |call| call.took(call.queue.get_timeout(Duration::ZERO).ok())),
    ("get", |call| call.took(pollster::block_on(call.queue.get()))),
    ("get_owned", |call| {
        let guard = pollster::block_on(call.queue.get_owned());
        call.taken.extend(guard.iter().map(|guard| guard.item().0));
    }),
    ("done", |call| call.guard.take().into_iter().for_each(ProcessingGuard::done)),
    ("done_and_get", |call| {
        let guard = call.guard.take();
        call.took(guard.and_then(|guard| guard.done_and_get().ok()));
    }),
    ("done_and_get of another", |call| {
        let guard = call.other.take();
        call.took(guard.and_then(|guard| guard.done_and_get().ok()));
    }),
    ("snapshot", |call| drop(call.queue.snapshot())),
    ("gauges", |call| {
        drop(format!("{:?} {:?}", call.queue.reader().gauges().unwrap(), call.queue))
    }),
    ("drained_timeout", |call| drop(call.queue.drained().wait_timeout(Duration::ZERO))),
    ("shutdown", |call| call.queue.shutdown()),
    ("shutdown_now", |call| {
        let left = call.queue.shutdown_now();
        call.taken.extend(left.iter().map(|item| item.0));
    }),
];

/// Calls the verb, then checks the remaining items.
fn survives((name, verb): Verb, place: Place, trap: Trap) -> bool {
    let case = format!("{name}, {place:?}, {trap:?}");
    let queue = WorkQueue::builder().capacity(64).build().unwrap();
    queue.add_all([Item(1), Item(2)]);
    let (other, again) = (queue.try_get().ok(), queue.try_get().ok());
    queue.add(Item(2));
    let mut call = Call { queue: &queue, guard: None, other, taken: Vec::new() };
    if place != Place::Absent {
        queue.add(Item(HOSTILE));
    }
    if matches!(place, Place::InHand | Place::RunsAgain) {
        call.guard = queue.try_get().ok();
    }
    if place == Place::RunsAgain {
        queue.add(Item(HOSTILE));
    }
    queue.add_all([Item(3), Item(4)]);

    TRAP.set(Some(trap));
    let panicked = catch_unwind(AssertUnwindSafe(|| verb(&mut call))).is_err();
    let is_sprung = TRAP.take().is_none();
    assert_eq!(
        panicked, is_sprung,
        "{case}: whatever panics is told to the caller, and nothing else does"
    );
    if !is_sprung {
        return false;
    }

    if !queue.is_shutting_down() {
        assert_eq!(queue.add(Item(50)), Added::Queued, "{case}: it goes on");
        call.taken.retain(|item| *item != 50);
    }
    let Call { guard, other, mut taken, .. } = call;
    drop((guard, other, again));
    while let Ok(guard) = queue.try_get() {
        taken.push(guard.item().0);
    }
    taken.retain(|item| *item != 50);
    assert!(queue.counts().is_idle(), "{case}: {:?}", queue.counts());
    queue.shutdown();
    queue.drained().wait_timeout(Duration::ZERO).unwrap();

    let times = |item: u8| taken.iter().filter(|other| **other == item).count();
    if trap == Trap::Drop {
        // A panic in `Drop` may lose the item at hand.
        assert!(times(2) + times(3) + times(4) >= 2, "{case}: {taken:?}");
    } else {
        assert_eq!([times(1), times(2), times(3), times(4)], [0, 1, 1, 1], "{case}: {taken:?}");
        let expected = usize::from(matches!(place, Place::Queued | Place::RunsAgain));
        assert_eq!(
            times(HOSTILE),
            expected,
            "{case}: {taken:?}: a verb that fails has done nothing to it"
        );
    }
    true
}

#[test]
fn no_verb_loses_an_item_or_the_queue_when_code_of_an_item_panics() {
    let mut sprung: Vec<(&str, Trap)> = Vec::new();
    for &verb in VERBS {
        for (place, trap) in
            PLACES.into_iter().take(TRIED).flat_map(|place| TRAPS.map(|trap| (place, trap)))
        {
            if survives(verb, place, trap) {
                sprung.push((verb.0, trap));
            }
        }
    }
    let springs = |name: &str| TRAPS.map(|trap| sprung.contains(&(name, trap)));
    for &(name, _) in VERBS {
        let [hash, eq, clone, drop] = match name {
            "add" | "try_add" | "add_all" | "deferred add" | "deferred add_all" | "phase"
            | "remove" | "abandon" => [true, true, false, true],
            "done" | "done_and_get" => [false, false, false, true],
            "gauges" | "shutdown" => [false; 4],
            _ => [false, false, true, true],
        };
        assert_eq!(springs(name), [hash, eq, clone, drop], "{name}: what of an item it calls");
    }
}
