//! The naive queue: vectors, searched from the front.

use std::collections::BTreeMap;
use wq_delay::{Added, ImmediateAdd, RejectedReason, Scheduled, SecondAdd};

/// One entry for each add of an item, in the order of the adds.
pub(crate) type Order = Vec<u8>;

pub(crate) fn merge(held: &mut Order, new: Order) {
    held.extend(new);
}

/// The limit of debounced adds. A limit beyond 292 years of the queue's life is infinite.
const fn limited(limit: u64) -> u64 {
    if limit < (1 << 63) - 1 { limit } else { u64::MAX }
}

#[derive(Debug)]
pub(crate) struct Oracle {
    second: SecondAdd,
    immediate: ImmediateAdd,
    pub(crate) now: u64,
    adds: u64,
    /// Deadline, number of the add, item, order, and the limit of debounced adds.
    pub(crate) delayed: Vec<(u64, u64, u8, Order, u64)>,
    queued: Vec<(u8, Order)>,
    /// Items in flight, and the order of each item that will run again.
    pub(crate) processing: BTreeMap<u8, Option<Order>>,
    is_shut_down: bool,
    pub(crate) is_paused: bool,
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
            is_paused: false,
        }
    }

    fn enqueue(&mut self, item: u8, order: Order) -> Added {
        if let Some(again) = self.processing.get_mut(&item) {
            let was_marked = again.is_some();
            merge(again.get_or_insert_default(), order);
            return if was_marked { Added::Merged } else { Added::Deferred };
        }
        if let Some((_, held)) = self.queued.iter_mut().find(|(held, _)| *held == item) {
            merge(held, order);
            return Added::Merged;
        }
        self.queued.push((item, order));
        Added::Queued
    }

    fn settle(&mut self) {
        self.delayed.sort_unstable();
        while self
            .delayed
            .first()
            .is_some_and(|(deadline, ..)| *deadline <= self.now && *deadline != u64::MAX)
        {
            let (_, _, item, order, _) = self.delayed.remove(0);
            self.enqueue(item, order);
        }
    }

    fn take_delayed(&mut self, item: u8) -> Option<(u64, u64, u8, Order, u64)> {
        let at = self.delayed.iter().position(|entry| entry.2 == item)?;
        Some(self.delayed.remove(at))
    }

    pub(crate) fn add(&mut self, item: u8, order: Order) -> Added {
        if self.is_shut_down {
            return Added::ShutDown;
        }
        match self.immediate {
            ImmediateAdd::Merge => {
                self.settle();
                let mut held = self.take_delayed(item).map(|entry| entry.3).unwrap_or_default();
                merge(&mut held, order);
                self.enqueue(item, held)
            }
            ImmediateAdd::Defer => {
                self.settle();
                match self.delayed.iter_mut().find(|entry| entry.2 == item) {
                    Some(entry) => {
                        merge(&mut entry.3, order);
                        Added::Merged
                    }
                    None => self.enqueue(item, order),
                }
            }
            _ => self.enqueue(item, order),
        }
    }

    /// As `add`, with a capacity.
    pub(crate) fn try_add(
        &mut self,
        item: u8,
        order: Order,
        capacity: usize,
    ) -> Result<Added, RejectedReason> {
        if self.immediate == ImmediateAdd::Defer && !self.is_shut_down {
            self.settle();
            if self.deadline(item).is_some() {
                return Ok(self.add(item, order));
            }
        }
        if self.is_shut_down {
            return Err(RejectedReason::ShutDown);
        }
        self.settle();
        let again = self.processing.values().flatten().count();
        let waits = self.queued.iter().any(|(held, _)| *held == item)
            || self.processing.get(&item).is_some_and(Option::is_some);
        if !waits && self.queued.len() + again >= capacity {
            let capacity = capacity.try_into().expect("a capacity");
            return Err(RejectedReason::Full { capacity });
        }
        if self.immediate != ImmediateAdd::Merge {
            return Ok(self.enqueue(item, order));
        }
        // The add comes first. If it is accepted, it takes the delayed request along.
        let added = self.enqueue(item, order);
        if let Some(entry) = self.take_delayed(item) {
            self.enqueue(item, entry.3);
        }
        Ok(added)
    }

    pub(crate) fn add_at(&mut self, item: u8, deadline: u64, order: Order) -> Scheduled {
        match deadline.saturating_sub(self.now) {
            0 => self.add_at_once(item, order),
            delay => self.add_after(item, delay, order),
        }
    }

    fn add_at_once(&mut self, item: u8, order: Order) -> Scheduled {
        match self.add(item, order) {
            Added::ShutDown => Scheduled::ShutDown,
            added => Scheduled::Now(added),
        }
    }

    pub(crate) fn add_after(&mut self, item: u8, delay: u64, order: Order) -> Scheduled {
        if delay == 0 {
            return self.add_at_once(item, order);
        }
        if self.is_shut_down {
            return Scheduled::ShutDown;
        }
        self.settle();
        self.adds += 1;
        let (number, new) = (self.adds, self.now.saturating_add(delay));
        let Some(entry) = self.delayed.iter_mut().find(|entry| entry.2 == item) else {
            self.delayed.push((new, number, item, order, limited(new)));
            return Scheduled::Delayed;
        };
        merge(&mut entry.3, order);
        let of = |held: u64| match self.second {
            SecondAdd::Latest => new.max(held),
            SecondAdd::Replace => new,
            _ => new.min(held),
        };
        let moved = of(entry.0);
        entry.4 = limited(of(entry.4));
        if moved == entry.0 {
            return Scheduled::Kept;
        }
        (entry.0, entry.1) = (moved, number);
        Scheduled::Moved
    }

    pub(crate) fn add_debounced(
        &mut self,
        item: u8,
        quiet: u64,
        longest: u64,
        order: Order,
    ) -> Scheduled {
        if self.is_shut_down {
            return Scheduled::ShutDown;
        }
        self.settle();
        self.adds += 1;
        let (number, quiet, limit) =
            (self.adds, self.now.saturating_add(quiet), self.now.saturating_add(longest));
        let Some(entry) = self.delayed.iter_mut().find(|entry| entry.2 == item) else {
            self.delayed.push((quiet, number, item, order, limited(limit)));
            return Scheduled::Delayed;
        };
        merge(&mut entry.3, order);
        entry.4 = limited(limit.min(entry.4));
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

    pub(crate) fn pause(&mut self) {
        self.is_paused = !self.is_shut_down;
    }

    pub(crate) fn get(&mut self) -> Option<(u8, Order)> {
        self.settle();
        if self.queued.is_empty() || self.is_paused {
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
        self.is_paused = false;
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
