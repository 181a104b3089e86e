//! Books: counts of every item, kept outside the queue, which must add up in the end.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use shuttle::thread;
use wq_contract::play::roll;
use wq_delay::Scheduled;

use crate::reached;
use crate::world::{Queue, delay};

/// Few items, so that the threads compete for them.
pub(crate) const ITEMS: u8 = 5;

#[derive(Default)]
struct Known {
    /// Incremented before each add.
    requested: AtomicUsize,
    /// The value of `requested` at the last hand-out.
    seen: AtomicUsize,
    is_held: AtomicBool,
}

#[derive(Default)]
pub(crate) struct Books([Known; ITEMS as usize]);

impl Books {
    fn known(&self, item: u8) -> &Known {
        &self.0[usize::from(item)]
    }

    /// Call before each add.
    pub(crate) fn request(&self, item: u8) {
        self.known(item).requested.fetch_add(1, SeqCst);
    }

    /// Adds the item, at once or delayed.
    pub(crate) fn add(&self, queue: &Queue, item: u8) {
        self.request(item);
        if roll(3) == 0 {
            queue.add(item);
        } else if queue.add_after(item, delay()) == Scheduled::Moved {
            reached::MOVED.note();
        }
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
        known.seen.store(known.requested.load(SeqCst), SeqCst);
    }

    pub(crate) fn end(&self, item: u8) {
        assert!(self.known(item).is_held.swap(false, SeqCst));
    }

    /// Call at the end of the scenario.
    pub(crate) fn judge(&self, queue: &Queue) {
        for (item, known) in self.0.iter().enumerate() {
            assert_eq!(
                known.seen.load(SeqCst),
                known.requested.load(SeqCst),
                "a request of {item} was lost"
            );
        }
        assert!(queue.counts().is_idle());
        assert_eq!(queue.delayed_len(), 0);
    }
}
