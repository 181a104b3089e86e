//! Oracle: the required behaviour of a queue, written for reading and not for speed.

use std::collections::{BTreeMap, VecDeque};

use wq_core::{Added, Phase};

/// The answer to a get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Item(u8),
    Wait,
    Ended,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Oracle {
    pub(crate) fifo: VecDeque<u8>,
    /// The items in flight, and whether each will run again.
    processing: BTreeMap<u8, bool>,
    capacity: Option<usize>,
    pub(crate) paused: bool,
    pub(crate) shut_down: bool,
}

impl Oracle {
    pub(crate) fn new(capacity: Option<usize>) -> Self {
        Self {
            fifo: VecDeque::new(),
            processing: BTreeMap::new(),
            capacity,
            paused: false,
            shut_down: false,
        }
    }

    pub(crate) fn add(&mut self, item: u8) -> Added {
        if self.shut_down {
            Added::ShutDown
        } else if let Some(again) = self.processing.get_mut(&item) {
            if std::mem::replace(again, true) { Added::Merged } else { Added::Deferred }
        } else if self.fifo.contains(&item) {
            Added::Merged
        } else {
            self.fifo.push_back(item);
            Added::Queued
        }
    }

    /// `None`: no room.
    pub(crate) fn try_add(&mut self, item: u8) -> Option<Added> {
        let waits = self.fifo.contains(&item) || self.processing.get(&item) == Some(&true);
        let again = self.processing.values().filter(|again| **again).count();
        let has_room = self.capacity.is_none_or(|capacity| self.fifo.len() + again < capacity);
        (self.shut_down || waits || has_room).then(|| self.add(item))
    }

    pub(crate) fn get(&mut self) -> Next {
        if self.paused {
            return Next::Wait;
        }
        match self.fifo.pop_front() {
            Some(item) => {
                self.processing.insert(item, false);
                Next::Item(item)
            }
            None if self.shut_down => Next::Ended,
            None => Next::Wait,
        }
    }

    pub(crate) fn done(&mut self, item: u8) {
        if self.processing.remove(&item) == Some(true) {
            self.fifo.push_back(item);
        }
    }

    pub(crate) fn remove(&mut self, item: u8) -> Option<u8> {
        let place = self.fifo.iter().position(|&other| other == item)?;
        self.fifo.remove(place)
    }

    pub(crate) fn pause(&mut self) {
        self.paused = !self.shut_down;
    }

    pub(crate) fn shutdown(&mut self) {
        self.shut_down = true;
        self.paused = false;
    }

    pub(crate) fn shutdown_now(&mut self) -> Vec<u8> {
        self.shutdown();
        let mut left: Vec<u8> = self.fifo.drain(..).collect();
        for (item, again) in &mut self.processing {
            if std::mem::take(again) {
                left.push(*item);
            }
        }
        left
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.fifo.is_empty() && self.processing.is_empty()
    }

    pub(crate) fn phases(&self) -> BTreeMap<u8, Phase> {
        let queued = self.fifo.iter().map(|&item| (item, Phase::Queued));
        let processing = self.processing.iter().map(|(&item, &again)| {
            (item, if again { Phase::ProcessingDirty } else { Phase::Processing })
        });
        queued.chain(processing).collect()
    }
}
