//! The naive queue: vectors, searched from the front.

use std::collections::BTreeMap;
use wq_delay::{Added, ImmediateAdd, Scheduled, SecondAdd};

#[derive(Debug)]
pub(crate) struct Oracle {
    second: SecondAdd,
    immediate: ImmediateAdd,
    pub(crate) now: u64,
    adds: u64,
    /// Deadline, number of the add, item, order, how far debounced adds may put it off.
    pub(crate) delayed: Vec<(u64, u64, u8, u32, u64)>,
    queued: Vec<(u8, u32)>,
    /// Items in hand, and the order in which they run again if they do.
    pub(crate) processing: BTreeMap<u8, Option<u32>>,
    is_shut_down: bool,
}

impl Oracle {
    pub(crate) fn new(second: SecondAdd, immediate: ImmediateAdd) -> Self {
        Self {
            second,
            immediate,
            now: 0,
            adds: 0,
            delayed: Vec::new(),
            queued: Vec::new(),
            processing: BTreeMap::new(),
            is_shut_down: false,
        }
    }

    fn enqueue(&mut self, item: u8, order: u32) -> Added {
        if let Some(again) = self.processing.get_mut(&item) {
            let was_marked = again.is_some();
            *again = Some(again.unwrap_or(0) | order);
            return if was_marked { Added::Merged } else { Added::Deferred };
        }
        if let Some((_, held)) = self.queued.iter_mut().find(|(held, _)| *held == item) {
            *held |= order;
            return Added::Merged;
        }
        self.queued.push((item, order));
        Added::Queued
    }

    fn settle(&mut self) {
        self.delayed.sort_unstable();
        while let Some(&(deadline, _, item, order, _)) = self.delayed.first() {
            if deadline > self.now || deadline == u64::MAX {
                break;
            }
            self.delayed.remove(0);
            self.enqueue(item, order);
        }
    }

    fn take_delayed(&mut self, item: u8) -> Option<(u64, u64, u8, u32, u64)> {
        let at = self.delayed.iter().position(|entry| entry.2 == item)?;
        Some(self.delayed.remove(at))
    }

    pub(crate) fn add(&mut self, item: u8, order: u32) -> Added {
        if self.is_shut_down {
            return Added::ShutDown;
        }
        match self.immediate {
            ImmediateAdd::Merge => {
                self.settle();
                let waiting = self.take_delayed(item).map_or(0, |entry| entry.3);
                self.enqueue(item, order | waiting)
            }
            ImmediateAdd::Defer => {
                self.settle();
                match self.delayed.iter_mut().find(|entry| entry.2 == item) {
                    Some(entry) => {
                        entry.3 |= order;
                        Added::Merged
                    }
                    None => self.enqueue(item, order),
                }
            }
            _ => self.enqueue(item, order),
        }
    }

    pub(crate) fn add_after(&mut self, item: u8, delay: u64, order: u32) -> Scheduled {
        if delay == 0 {
            return Scheduled::Now(self.add(item, order));
        }
        if self.is_shut_down {
            return Scheduled::ShutDown;
        }
        self.settle();
        self.adds += 1;
        let (number, new) = (self.adds, self.now.saturating_add(delay));
        let Some(entry) = self.delayed.iter_mut().find(|entry| entry.2 == item) else {
            self.delayed.push((new, number, item, order, new));
            return Scheduled::Delayed;
        };
        entry.3 |= order;
        let of = |held: u64| match self.second {
            SecondAdd::Latest => new.max(held),
            SecondAdd::Replace => new,
            _ => new.min(held),
        };
        let moved = of(entry.0);
        entry.4 = of(entry.4);
        if moved == entry.0 {
            return Scheduled::Kept;
        }
        (entry.0, entry.1) = (moved, number);
        Scheduled::Moved
    }

    pub(crate) fn add_debounced(&mut self, item: u8, quiet: u64, longest: u64, order: u32) -> Scheduled {
        if self.is_shut_down {
            return Scheduled::ShutDown;
        }
        self.settle();
        self.adds += 1;
        let (number, quiet, limit) = (self.adds, self.now + quiet, self.now.saturating_add(longest));
        let Some(entry) = self.delayed.iter_mut().find(|entry| entry.2 == item) else {
            self.delayed.push((quiet, number, item, order, limit));
            return Scheduled::Delayed;
        };
        entry.3 |= order;
        entry.4 = limit.min(entry.4);
        let moved = quiet.min(entry.4);
        if moved == entry.0 {
            return Scheduled::Kept;
        }
        (entry.0, entry.1) = (moved, number);
        Scheduled::Moved
    }

    pub(crate) fn cancel(&mut self, item: u8) -> Option<u8> {
        self.settle();
        self.take_delayed(item).map(|entry| entry.2)
    }

    pub(crate) fn postpone(&mut self, item: u8, later: u64) -> bool {
        self.settle();
        self.adds += 1;
        let (number, until) = (self.adds, self.now + later);
        let Some(entry) = self.delayed.iter_mut().find(|entry| entry.2 == item) else { return false };
        entry.4 = entry.4.max(until);
        if entry.0 < until {
            (entry.0, entry.1) = (until, number);
        }
        true
    }

    pub(crate) fn get(&mut self) -> Option<(u8, u32)> {
        self.settle();
        if self.queued.is_empty() {
            return None;
        }
        let (item, order) = self.queued.remove(0);
        assert!(self.processing.insert(item, None).is_none(), "handed out twice");
        Some((item, order))
    }

    pub(crate) fn done(&mut self, item: u8) {
        if let Some(Some(order)) = self.processing.remove(&item) {
            self.queued.push((item, order));
        }
    }

    pub(crate) fn remove(&mut self, item: u8) -> Option<u8> {
        self.settle();
        let at = self.queued.iter().position(|(held, _)| *held == item)?;
        Some(self.queued.remove(at).0)
    }

    pub(crate) fn shutdown(&mut self) -> Vec<u8> {
        self.settle();
        self.is_shut_down = true;
        self.delayed.drain(..).map(|entry| entry.2).collect()
    }

    pub(crate) fn len(&mut self) -> usize {
        self.settle();
        self.queued.len()
    }

    pub(crate) fn deadline(&self, item: u8) -> Option<u64> {
        self.delayed.iter().find(|entry| entry.2 == item).map(|entry| entry.0)
    }

    pub(crate) fn is_drained(&self) -> bool {
        self.delayed.is_empty() && self.queued.is_empty() && self.processing.is_empty()
    }
}
