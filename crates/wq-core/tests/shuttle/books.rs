//! Books: counts of every item, kept outside the queue, which must add up in the end.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use shuttle::thread;
use wq_contract::play::roll;
use wq_core::{Added, WorkQueue};

use crate::reached;

/// Few items, so that the threads compete for them.
pub(crate) const ITEMS: u8 = 5;

#[derive(Default)]
struct Known {
    /// Incremented before each add.
    changed: AtomicUsize,
    /// The value of `changed` at the last hand-out.
    seen: AtomicUsize,
    is_held: AtomicBool,
}

#[derive(Default)]
pub(crate) struct Books {
    items: [Known; ITEMS as usize],
    /// Adds after which the item is handed out or removed once.
    promised: AtomicUsize,
    handed_out: AtomicUsize,
    taken_out: AtomicUsize,
}

impl Books {
    fn known(&self, item: u8) -> &Known {
        &self.items[usize::from(item)]
    }

    /// Call before each add.
    pub(crate) fn change(&self, item: u8) {
        self.known(item).changed.fetch_add(1, SeqCst);
    }

    pub(crate) fn add(&self, queue: &WorkQueue<u8>, item: u8) {
        self.change(item);
        self.added(queue.add(item));
    }

    pub(crate) fn added(&self, added: Added) {
        match added {
            Added::Queued => self.promise(1),
            Added::Deferred => {
                reached::RUNS_AGAIN.note();
                self.promise(1);
            }
            _ => {}
        }
    }

    pub(crate) fn promise(&self, adds: usize) {
        self.promised.fetch_add(adds, SeqCst);
    }

    /// Call while the item is held. Other threads run meanwhile.
    pub(crate) fn work(&self, item: u8) {
        self.begin(item);
        if roll(2) == 0 {
            thread::yield_now();
        }
        self.end(item);
    }

    pub(crate) fn begin(&self, item: u8) {
        let known = self.known(item);
        assert!(!known.is_held.swap(true, SeqCst), "item {item} is in two hands");
        known.seen.store(known.changed.load(SeqCst), SeqCst);
        self.handed_out.fetch_add(1, SeqCst);
    }

    pub(crate) fn end(&self, item: u8) {
        assert!(self.known(item).is_held.swap(false, SeqCst));
    }

    /// Call when an item was removed before its hand-out.
    pub(crate) fn took_out(&self) {
        reached::REMOVED.note();
        self.taken_out.fetch_add(1, SeqCst);
    }

    /// Call at the end of the scenario.
    pub(crate) fn judge(&self, queue: &WorkQueue<u8>) {
        for (item, known) in self.items.iter().enumerate() {
            assert_eq!(
                known.seen.load(SeqCst),
                known.changed.load(SeqCst),
                "an add of {item} was forgotten"
            );
        }
        self.judge_counts(queue);
    }

    /// As `judge`, for scenarios with refused adds.
    pub(crate) fn judge_counts(&self, queue: &WorkQueue<u8>) {
        assert_eq!(
            self.handed_out.load(SeqCst) + self.taken_out.load(SeqCst),
            self.promised.load(SeqCst)
        );
        assert!(queue.counts().is_idle());
        assert!(queue.snapshot().items.is_empty());
    }
}
