//! Books: what is known from outside about every item, and must add up in the end.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use shuttle::thread;
use wq_contract::play::roll;
use wq_core::{Added, WorkQueue};

use crate::reached;

/// Few, so that they meet.
pub(crate) const ITEMS: u8 = 5;

#[derive(Default)]
struct Known {
    /// Raised before each add.
    changed: AtomicUsize,
    /// As it was when the item was last handed out.
    seen: AtomicUsize,
    is_held: AtomicBool,
}

#[derive(Default)]
pub(crate) struct Books {
    items: [Known; ITEMS as usize],
    /// Adds after which the item is handed out once, or taken out.
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

    /// Call with the item in hand; others go on meanwhile.
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

    /// An item was taken out before anybody was handed it.
    pub(crate) fn took_out(&self) {
        reached::REMOVED.note();
        self.taken_out.fetch_add(1, SeqCst);
    }

    /// Call when all is over.
    pub(crate) fn judge(&self, queue: &WorkQueue<u8>) {
        for (item, known) in self.items.iter().enumerate() {
            assert_eq!(known.seen.load(SeqCst), known.changed.load(SeqCst), "an add of {item} was forgotten");
        }
        self.judge_counts(queue);
    }

    /// As `judge`, where adds were refused.
    pub(crate) fn judge_counts(&self, queue: &WorkQueue<u8>) {
        assert_eq!(self.handed_out.load(SeqCst) + self.taken_out.load(SeqCst), self.promised.load(SeqCst));
        assert!(queue.counts().is_idle());
        assert!(queue.snapshot().items.is_empty());
    }
}
