//! The naive queue: lists that are searched, and the rules word by word.

use std::collections::{BTreeMap, BTreeSet};

/// Of each class, usual and slow: the shortest wait and the longest.
pub(crate) const PACES: [(u64, u64); 2] = [(4, 50), (16, 200)];

/// What a failed attempt asks for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ask {
    Limiter,
    Slow,
    NotBefore(u64),
    Min(u64),
    Max(u64),
    Sum(u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    Keep,
    Clear,
    Defer,
}

/// Who has asked for a run after the one that goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Again {
    Nobody,
    /// Earlier outcomes alone.
    Outcome,
    Somebody,
}

#[derive(Debug)]
pub(crate) struct Naive {
    pub(crate) now: u64,
    pub(crate) event: Event,
    pub(crate) limit: Option<u32>,
    pub(crate) is_down: bool,
    adds: u64,
    /// Of each item, by class.
    attempts: BTreeMap<u8, [u32; 2]>,
    /// End of the back-off of each item.
    until: BTreeMap<u8, u64>,
    marked: BTreeSet<u8>,
    /// Deadline, number, item.
    pub(crate) delayed: Vec<(u64, u64, u8)>,
    /// Those of them that only outcomes have asked for.
    own: BTreeSet<u8>,
    pub(crate) queued: Vec<u8>,
    /// Items in hand, why they run again, and which hand-out it is.
    processing: BTreeMap<u8, (Again, u64)>,
    hand_outs: u64,
}

impl Naive {
    pub(crate) fn new(event: Event, limit: Option<u32>) -> Self {
        Self {
            now: 0,
            event,
            limit,
            is_down: false,
            adds: 0,
            attempts: BTreeMap::new(),
            until: BTreeMap::new(),
            marked: BTreeSet::new(),
            delayed: Vec::new(),
            own: BTreeSet::new(),
            queued: Vec::new(),
            processing: BTreeMap::new(),
            hand_outs: 0,
        }
    }

    pub(crate) fn attempts(&self, item: u8) -> u32 {
        self.attempts.get(&item).map_or(0, |attempts| attempts.iter().sum())
    }

    pub(crate) fn deadline(&self, item: u8) -> Option<u64> {
        self.delayed.iter().find(|entry| entry.2 == item).map(|entry| entry.0)
    }

    pub(crate) fn parked(&self) -> Vec<u8> {
        let is_elsewhere = |item: &u8| {
            self.queued.contains(item) || self.processing.contains_key(item) || self.deadline(*item).is_some()
        };
        self.marked.iter().copied().filter(|item| !is_elsewhere(item)).collect()
    }

    /// An add without a delay.
    pub(crate) fn add(&mut self, item: u8) {
        self.settle();
        if self.is_down {
            return;
        }
        let is_backing_off = self.until.get(&item).is_some_and(|until| *until > self.now);
        match self.event {
            Event::Clear => {
                self.forget(item);
                if is_backing_off {
                    self.delayed.retain(|entry| entry.2 != item);
                }
            }
            Event::Defer if is_backing_off && self.deadline(item).is_some() => {
                self.own.remove(&item);
                return;
            }
            Event::Keep | Event::Defer => {}
        }
        self.add_now(item, Again::Somebody);
    }

    fn add_now(&mut self, item: u8, by: Again) {
        if self.is_down {
            return;
        }
        match self.processing.get_mut(&item) {
            Some((again, _)) => *again = by.max(*again),
            None if self.queued.contains(&item) => {}
            None => self.queued.push(item),
        }
    }

    pub(crate) fn settle(&mut self) {
        self.delayed.sort_unstable();
        while let Some(&(at, _, item)) = self.delayed.first()
            && at <= self.now
        {
            self.delayed.remove(0);
            let by = if self.own.remove(&item) { Again::Outcome } else { Again::Somebody };
            self.add_now(item, by);
        }
    }

    /// A user's add for later.
    pub(crate) fn add_at(&mut self, item: u8, at: u64) {
        self.add_later(item, at, false);
    }

    /// What an outcome has asked for, and nobody else: no longer.
    fn take_back(&mut self, item: u8) {
        if self.own.remove(&item) {
            self.delayed.retain(|entry| entry.2 != item);
        }
        if let Some((again, _)) = self.processing.get_mut(&item)
            && *again == Again::Outcome
        {
            *again = Again::Nobody;
        }
    }

    pub(crate) fn retry_after(&mut self, item: u8, at: u64) {
        self.take_back(item);
        self.add_later(item, at, true);
    }

    fn add_later(&mut self, item: u8, at: u64, own: bool) {
        if at <= self.now {
            self.add_now(item, Again::Somebody);
            return;
        }
        self.settle();
        if self.is_down {
            return;
        }
        self.adds += 1;
        let number = self.adds;
        match self.delayed.iter_mut().find(|entry| entry.2 == item) {
            Some(entry) if entry.0 <= at => {}
            Some(entry) => (entry.0, entry.1) = (at, number),
            None => {
                self.delayed.push((at, number, item));
                if own {
                    self.own.insert(item);
                }
            }
        }
        if !own {
            self.own.remove(&item);
        }
    }

    /// A failed attempt. Says whether the item is tried again.
    pub(crate) fn retry(&mut self, item: u8, ask: Ask, ends: bool) -> bool {
        if self.is_down {
            return false;
        }
        let now = self.now;
        let at = match self.until.get(&item) {
            // Before its time: nothing is counted.
            Some(&until) if until > now => match ask {
                Ask::Limiter | Ask::Slow => until,
                Ask::NotBefore(floor) => until.max(floor),
                Ask::Min(own) => until.min(now + own),
                Ask::Max(own) | Ask::Sum(own) => until.max(now + own),
            },
            _ if ends && self.limit.is_some_and(|limit| self.attempts(item) >= limit) => {
                self.park(item);
                return false;
            }
            _ => {
                let class = usize::from(matches!(ask, Ask::Slow));
                let count = &mut self.attempts.entry(item).or_default()[class];
                let (base, max) = PACES[class];
                let delay = base.saturating_mul(2_u64.saturating_pow(*count)).min(max);
                *count += 1;
                match ask {
                    Ask::Limiter | Ask::Slow => now + delay,
                    Ask::NotBefore(floor) => (now + delay).max(floor),
                    Ask::Min(own) => now + delay.min(own),
                    Ask::Max(own) => now + delay.max(own),
                    Ask::Sum(own) => now + delay + own,
                }
            }
        };
        self.marked.remove(&item);
        let is_put_off = self.until.get(&item).is_some_and(|until| *until > now && *until < at);
        if ends || !is_put_off {
            self.until.insert(item, at);
        }
        if ends {
            self.take_back(item);
        }
        if let Ask::NotBefore(floor) = ask {
            self.settle();
            if let Some(entry) = self.delayed.iter_mut().find(|entry| entry.2 == item && entry.0 < floor) {
                self.adds += 1;
                (entry.0, entry.1) = (floor, self.adds);
            }
        }
        self.add_later(item, at, ends);
        true
    }

    pub(crate) fn park(&mut self, item: u8) {
        self.marked.insert(item);
        self.take_back(item);
    }

    pub(crate) fn end(&mut self, item: u8) {
        self.forget(item);
        self.take_back(item);
    }

    pub(crate) fn release(&mut self, item: u8) -> bool {
        self.settle();
        let is_parked = !self.is_down && self.parked().contains(&item);
        if is_parked {
            self.forget(item);
            self.add_now(item, Again::Somebody);
        }
        is_parked
    }

    pub(crate) fn forget(&mut self, item: u8) {
        self.attempts.remove(&item);
        self.until.remove(&item);
        self.marked.remove(&item);
    }

    /// The item, and the number of its hand-out.
    pub(crate) fn get(&mut self) -> Option<(u8, u64)> {
        self.settle();
        if self.queued.is_empty() {
            return None;
        }
        let item = self.queued.remove(0);
        self.hand_outs += 1;
        assert!(self.processing.insert(item, (Again::Nobody, self.hand_outs)).is_none());
        Some((item, self.hand_outs))
    }

    pub(crate) fn is_in_hand(&self, item: u8, hand_out: u64) -> bool {
        self.processing.get(&item).is_some_and(|(_, held)| *held == hand_out)
    }

    /// Whether somebody had it.
    pub(crate) fn done(&mut self, item: u8) -> bool {
        let held = self.processing.remove(&item);
        if held.is_some_and(|(again, _)| again != Again::Nobody) {
            self.queued.push(item);
        }
        held.is_some()
    }

    /// What was delayed, in the order of the deadlines.
    pub(crate) fn shutdown(&mut self) -> Vec<u8> {
        self.settle();
        self.is_down = true;
        self.own.clear();
        self.delayed.drain(..).map(|entry| entry.2).collect()
    }
}
