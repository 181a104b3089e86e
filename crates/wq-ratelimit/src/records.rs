//! `Records`: what a limiter remembers of each item, bounded in number and in time. Pure.
//!
//! Two generations of a map: a record that is used moves to the young one. When the young one is full, or old enough, it
//! becomes the old one, and what was still in the old one is dropped. So a record lives for at least the idle time after
//! its last use, unless there are too many.

use hashbrown::HashMap;
use std::hash::{BuildHasher, Hash};
use std::time::{Duration, Instant};

/// Most items remembered, unless said otherwise.
pub(crate) const DEFAULT_MAX_ITEMS: usize = 1 << 18;

/// The shortest time for which an unused record is kept, unless said otherwise.
pub(crate) const MIN_IDLE: Duration = Duration::from_secs(600);

#[derive(Debug, Clone)]
pub(crate) struct Records<T, V, S> {
    young: HashMap<T, V, S>,
    old: HashMap<T, V, S>,
    /// When the young generation began.
    since: Option<Instant>,
    idle: Duration,
    max_items: usize,
    /// Items dropped, and not yet taken away by the owner.
    discarded: Vec<T>,
}

impl<T, V, S: Clone> Records<T, V, S> {
    pub(crate) fn new(hasher: S, idle: Duration, max_items: usize) -> Self {
        Self {
            young: HashMap::with_hasher(hasher.clone()),
            old: HashMap::with_hasher(hasher),
            since: None,
            idle,
            max_items,
            discarded: Vec::new(),
        }
    }

    pub(crate) fn with_hasher<H: Clone>(self, hasher: H) -> Records<T, V, H> {
        Records::new(hasher, self.idle, self.max_items)
    }

    pub(crate) fn bound(&mut self, max_items: usize, idle: Duration) {
        self.max_items = max_items;
        self.idle = idle;
    }

    pub(crate) fn idle(&self) -> Duration {
        self.idle
    }

    pub(crate) fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }
}

impl<T: Hash + Eq + Clone, V: Default, S: BuildHasher + Clone> Records<T, V, S> {
    /// The record of an item, made if there is none. Records that `keep` wants survive their time, if not the bound.
    pub(crate) fn entry(&mut self, item: &T, now: Instant, keep: impl Fn(&V) -> bool) -> &mut V {
        // Left by an owner that did not take them.
        self.discarded = Vec::new();
        self.turn(now, keep);
        if !self.young.contains_key(item) {
            let (item, record) = self.old.remove_entry(item).unwrap_or_else(|| (item.clone(), V::default()));
            self.young.insert(item, record);
        }
        self.young.entry_ref(item).or_default()
    }

    pub(crate) fn get(&self, item: &T) -> Option<&V> {
        self.young.get(item).or_else(|| self.old.get(item))
    }

    pub(crate) fn remove(&mut self, item: &T) {
        let removed = self.young.remove_entry(item).or_else(|| self.old.remove_entry(item));
        self.discarded.extend(removed.map(|(item, _)| item));
    }

    pub(crate) fn take_discarded(&mut self) -> Vec<T> {
        std::mem::take(&mut self.discarded)
    }

    fn turn(&mut self, now: Instant, keep: impl Fn(&V) -> bool) {
        let since = *self.since.get_or_insert(now);
        let half = (self.max_items / 2).max(1);
        let is_full = self.young.len() >= half;
        if !is_full && now.saturating_duration_since(since) < self.idle {
            return;
        }
        self.since = Some(now);
        let hasher = self.young.hasher().clone();
        let aged = std::mem::replace(&mut self.young, HashMap::with_hasher(hasher));
        let dropped = std::mem::replace(&mut self.old, aged);
        for (item, record) in dropped {
            if !is_full && self.young.len() < half && keep(&record) {
                self.young.insert(item, record);
            } else {
                self.discarded.push(item);
            }
        }
    }
}
