//! Hostile: items whose Hash, Eq, Clone or Drop panic or call the queue. The queue stays usable.

use std::cell::RefCell;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use wq_contract::wakes::Wakes;
use wq_core::{Added, Observer, TryGetError, WorkQueue};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trap {
    Hash,
    Eq,
    Clone,
}

thread_local! {
    /// The trait that panics now, and the item for which it does.
    static TRAP: RefCell<Option<(Trap, u8)>> = const { RefCell::new(None) };
}

fn set(trap: Option<(Trap, u8)>) {
    TRAP.with(|set| *set.borrow_mut() = trap);
}

fn spring(trap: Trap, item: u8) {
    assert!(TRAP.with(|set| *set.borrow()) != Some((trap, item)), "the panic that this test wants");
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

fn panics<R>(call: impl FnOnce() -> R) -> bool {
    catch_unwind(AssertUnwindSafe(call)).is_err()
}

/// Takes all remaining items. The queue must be idle afterwards.
fn rest(queue: &WorkQueue<Item>) -> Vec<u8> {
    set(None);
    let items = std::iter::from_fn(|| queue.try_get().ok().map(|guard| guard.item().0)).collect();
    assert!(queue.counts().is_idle());
    items
}

#[test]
fn a_panic_in_hash_or_eq_adds_nothing_and_harms_nothing() {
    let queue = WorkQueue::new();
    queue.add_all([Item(1), Item(2)]);
    for trap in [Trap::Hash, Trap::Eq] {
        set(Some((trap, 3)));
        assert!(panics(|| queue.add(Item(3))));
        assert!(panics(|| queue.try_add(Item(3)).is_ok()));
        assert!(panics(|| queue.phase(&Item(3)).is_some()));
        assert!(panics(|| queue.remove(&Item(3))));
        assert!(panics(|| queue.abandon(&Item(3))));
        assert_eq!(queue.counts().queued, 2);
    }
    assert_eq!(rest(&queue), [1, 2]);
    assert_eq!(queue.add(Item(3)), Added::Queued);
}

#[test]
fn a_panic_in_the_middle_of_add_all_keeps_what_was_added_and_wakes_for_it() {
    let queue = WorkQueue::new();
    let wakes = Wakes::new();
    let mut get = queue.get();
    assert!(wakes.poll(&mut get).is_pending());
    set(Some((Trap::Eq, 9)));
    assert!(panics(|| queue.add_all([Item(1), Item(2), Item(9), Item(3)])));
    set(None);
    assert_eq!(wakes.count(), 1);
    drop(get);
    assert_eq!(rest(&queue), [1, 2]);
}

#[test]
fn a_panic_in_clone_leaves_the_item_queued_and_lets_others_pass() {
    let queue = WorkQueue::new();
    queue.add_all([Item(1), Item(2), Item(3)]);
    set(Some((Trap::Clone, 1)));
    assert!(panics(|| queue.try_get().is_ok()));
    assert_eq!((queue.counts().queued, queue.counts().in_flight), (3, 0));
    assert_eq!(queue.try_get().unwrap().item().0, 2);
    assert_eq!(queue.add(Item(1)), Added::Merged);
    assert_eq!(rest(&queue), [3, 1]);
}

#[test]
fn a_panic_in_clone_in_a_snapshot_changes_nothing_wherever_the_item_is() {
    let queue = WorkQueue::new();
    queue.add_all([Item(1), Item(2), Item(3)]);
    let (one, _two) = (queue.try_get().unwrap(), queue.try_get().unwrap());
    queue.add(Item(1));
    let counts = queue.counts();
    for hostile in 1..=3 {
        set(Some((Trap::Clone, hostile)));
        assert!(panics(|| queue.snapshot()));
        assert_eq!(queue.counts(), counts);
        set(None);
        let mut seen: Vec<u8> = queue.snapshot().items.iter().map(|seen| seen.item.0).collect();
        seen.sort_unstable();
        assert_eq!(seen, [1, 2, 3]);
    }
    one.done();
    assert_eq!(queue.counts().queued, 2, "the lock is free");
}

/// Calls this queue in `Drop` and another in `Clone`, as the docs allow.
#[derive(Debug)]
struct Calling {
    id: u8,
    own: Weak<OnceLock<WorkQueue<Self>>>,
    other: WorkQueue<u8>,
}

impl Hash for Calling {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl PartialEq for Calling {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Calling {}

impl Clone for Calling {
    fn clone(&self) -> Self {
        spring(Trap::Clone, self.id);
        self.other.add(self.id);
        Self { id: self.id, own: Weak::clone(&self.own), other: self.other.clone() }
    }
}

impl Drop for Calling {
    fn drop(&mut self) {
        if let Some(own) = self.own.upgrade().as_deref().and_then(OnceLock::get) {
            assert!(own.counts().queued <= 3, "which takes the lock");
        }
    }
}

#[test]
fn a_snapshot_that_panics_drops_its_clones_after_the_lock_and_clone_may_call_another_queue() {
    let (own, other) = (Arc::new(OnceLock::new()), WorkQueue::new());
    let queue = own.get_or_init(WorkQueue::new);
    for id in 1..=3 {
        queue.add(Calling { id, own: Arc::downgrade(&own), other: other.clone() });
    }
    set(Some((Trap::Clone, 3)));
    assert!(panics(|| queue.snapshot()));
    set(None);
    assert_eq!(other.counts().queued, 2, "so many clones were dropped");
    assert_eq!(queue.snapshot().items.len(), 3);
    assert_eq!(other.counts().queued, 3);
}

#[test]
fn a_panic_in_clone_does_not_use_up_a_wake_up() {
    let queue = WorkQueue::new();
    let (first, second) = (Wakes::new(), Wakes::new());
    let (mut panicking, mut next) = (queue.get(), queue.get());
    assert!(first.poll(&mut panicking).is_pending());
    assert!(second.poll(&mut next).is_pending());
    queue.add(Item(1));
    set(Some((Trap::Clone, 1)));
    assert!(panics(|| first.poll(&mut panicking).is_ready()));
    assert_eq!(second.count(), 0);
    drop(panicking);
    assert_eq!(second.count(), 1);
    set(None);
    assert!(second.poll(&mut next).is_ready());
}

#[test]
fn a_panic_in_clone_in_done_and_get_ends_the_first_item_all_the_same() {
    let queue = WorkQueue::new();
    queue.add_all([Item(1), Item(2)]);
    let guard = queue.try_get().unwrap();
    set(Some((Trap::Clone, 2)));
    assert!(panics(|| guard.done_and_get().is_ok()));
    assert_eq!((queue.counts().queued, queue.counts().in_flight), (1, 0));
    assert_eq!(rest(&queue), [2]);
}

#[test]
fn a_panic_in_clone_in_done_and_get_wakes_who_waits_for_what_runs_again() {
    let queue = WorkQueue::new();
    queue.add(Item(1));
    let guard = queue.try_get().unwrap();
    let (mut get, wakes) = (queue.get(), Wakes::new());
    assert!(wakes.poll(&mut get).is_pending());
    queue.add(Item(1));
    set(Some((Trap::Clone, 1)));
    assert!(panics(|| guard.done_and_get().is_ok()));
    set(None);
    assert_eq!((queue.counts().queued, wakes.count()), (1, 1));
    assert!(wakes.poll(&mut get).is_ready());
}

#[test]
fn a_panic_in_clone_in_shutdown_now_hands_nothing_back_and_loses_nothing() {
    let queue = WorkQueue::new();
    queue.add_all([Item(1), Item(2)]);
    let guard = queue.try_get().unwrap();
    queue.add(Item(1));
    set(Some((Trap::Clone, 1)));
    assert!(panics(|| queue.shutdown_now().len()));
    assert!(panics(|| queue.snapshot().items.len()));
    set(None);
    assert!(queue.is_shutting_down());
    guard.done();
    assert_eq!(rest(&queue), [2, 1]);
    assert_eq!(queue.try_get().unwrap_err(), TryGetError::ShutDown);
}

/// An item whose `Drop` reads the queue. Under the lock that would deadlock.
#[derive(Clone)]
struct CallsBack {
    key: u8,
    queue: WorkQueue<Self>,
    drops: Arc<AtomicUsize>,
}

impl Hash for CallsBack {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key.hash(state);
    }
}

impl PartialEq for CallsBack {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for CallsBack {}

impl Drop for CallsBack {
    fn drop(&mut self) {
        let _ = self.queue.counts();
        self.drops.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn items_are_dropped_outside_the_lock() {
    let queue = WorkQueue::<CallsBack>::builder().capacity(3).build().unwrap();
    let drops = Arc::new(AtomicUsize::new(0));
    let item = |key| CallsBack { key, queue: queue.clone(), drops: Arc::clone(&drops) };
    queue.add(item(1));
    queue.add(item(1));
    assert_eq!(drops.swap(0, Ordering::SeqCst), 1, "the merged one");
    queue.add_all([item(1), item(2), item(2)]);
    assert_eq!(drops.swap(0, Ordering::SeqCst), 2);
    let mut adds = queue.defer_wakes();
    adds.add(item(2), ());
    assert_eq!(drops.swap(0, Ordering::SeqCst), 0, "dropped with the deferred wakes");
    drop(adds);
    assert_eq!(drops.swap(0, Ordering::SeqCst), 1);
    queue.try_get().unwrap().done();
    assert_eq!(drops.swap(0, Ordering::SeqCst), 2, "the original and the guard's clone");
    let guard = queue.try_get().unwrap();
    queue.add(item(3));
    let guard = guard.done_and_get().unwrap();
    queue.add(item(3));
    queue.add_all([item(4), item(5)]);
    drop(queue.try_add(item(6)).unwrap_err());
    drop(queue.remove(&item(4)).unwrap());
    drop(queue.snapshot());
    std::mem::forget(queue.try_get().unwrap());
    assert!(queue.abandon(&item(5)));
    drop(queue.shutdown_now());
    drop(guard);
    queue.add(item(7));
    drop(queue.try_add(item(7)).unwrap_err());
    assert!(queue.counts().is_idle());
}

#[test]
fn an_observer_may_call_the_queue_and_may_panic() {
    #[derive(Default)]
    struct Nosy {
        queue: OnceLock<WorkQueue<u8>>,
        panic: std::sync::atomic::AtomicBool,
    }
    impl Nosy {
        fn look(&self) {
            let _ = self.queue.get().map(WorkQueue::counts);
            assert!(!self.panic.load(Ordering::SeqCst), "the panic that this test wants");
        }
    }
    impl Observer for Nosy {
        fn added(&self, _: Added) {
            self.look();
        }

        fn got(&self, _: std::time::Duration) {
            self.look();
        }

        fn done(&self, _: std::time::Duration) {
            self.look();
        }
    }
    let nosy = Arc::new(Nosy::default());
    let queue = WorkQueue::<u8>::builder().observer(Arc::clone(&nosy)).build().unwrap();
    nosy.queue.set(queue.clone()).unwrap();
    queue.add(1);
    queue.try_get().unwrap().done();
    let wakes = Wakes::new();
    let mut get = queue.get();
    assert!(wakes.poll(&mut get).is_pending());
    nosy.panic.store(true, Ordering::SeqCst);
    assert!(panics(|| queue.add(1)));
    assert_eq!((wakes.count(), queue.counts().queued), (1, 1), "the getter was woken before");
    nosy.panic.store(false, Ordering::SeqCst);
    assert!(wakes.poll(&mut get).is_ready());
}
