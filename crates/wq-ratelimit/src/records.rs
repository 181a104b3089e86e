//! `Records`: the limiter's record of each item, bounded in number and in time. Pure.
//!
//! An attempt moves its record to the young table. When that is full, or after the idle time, it
//! becomes the old table. The records of the previous old table are dropped.
//!
//! - A record lives for at least the idle time after its last use, or after the item's wait.
//! - No attempt finds a record that was unused for twice the idle time, unless its item waits.
//! - The half of the bound that was used last is never evicted.
//!
//! Records of waiting items outlive their time in the old table while it has room. Otherwise they
//! move to a third table, which is evicted as a whole when it has no room. Each table holds at most
//! half of the bound. Records of the young table were used last, then those of the old one.

use crate::invalid_limit::InvalidLimit;
use crate::planted::planted;
use crate::remembered::Remembered;
use hashbrown::HashTable;
use std::hash::{BuildHasher, Hash};
use std::mem;
use std::time::{Duration, Instant};

/// The default bound.
pub(crate) const DEFAULT_MAX_ITEMS: usize = 1 << 18;

/// The least default idle time.
pub(crate) const MIN_IDLE: Duration = Duration::from_secs(600);

/// An item, its value, and the time until which it is kept.
type Record<T, V> = (T, V, Kept);

/// Whole seconds of the store's time line, to fit in beside a count. Zero: not kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Kept(u32);

impl Kept {
    fn until(after_start: Duration) -> Self {
        let seconds =
            after_start.as_secs().saturating_add(u64::from(after_start.subsec_nanos() > 0));
        Self(u32::try_from(seconds).unwrap_or(u32::MAX))
    }

    fn is_over(self, after_start: Duration) -> bool {
        after_start.as_secs() >= u64::from(self.0)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Records<T, V, S> {
    hasher: S,
    young: HashTable<Record<T, V>>,
    old: HashTable<Record<T, V>>,
    /// The third table. Nearly always empty.
    waiting: HashTable<Record<T, V>>,
    /// When the first young table began.
    start: Option<Instant>,
    since: Option<Instant>,
    idle: Duration,
    max_items: usize,
    expired: u64,
    evicted: u64,
    /// Dropped items that the owner has not taken yet. Only items whose drop does something.
    discarded: Vec<T>,
}

impl<T, V, S> Records<T, V, S> {
    pub(crate) fn new(hasher: S, idle: Duration, max_items: usize) -> Self {
        Self {
            hasher,
            young: HashTable::new(),
            old: HashTable::new(),
            waiting: HashTable::new(),
            start: None,
            since: None,
            idle,
            max_items,
            expired: 0,
            evicted: 0,
            discarded: Vec::new(),
        }
    }

    pub(crate) fn with_hasher<H>(self, hasher: H) -> Records<T, V, H> {
        Records::new(hasher, self.idle, self.max_items)
    }

    /// Sets the bounds. The idle time must be longer than `longest`, or infinite.
    pub(crate) fn bound(
        &mut self,
        max_items: usize,
        idle: Duration,
        longest: Duration,
    ) -> Result<(), InvalidLimit> {
        if max_items < 2 {
            let remedy = "a store that holds nothing counts nothing; take what may fail at once";
            return Err(InvalidLimit::new("max_items", max_items, "at least 2", remedy));
        }
        if idle <= longest && idle != Duration::MAX {
            let bound = format!("more than the longest wait, which is {longest:?}");
            let remedy = "with that or less, a record could be gone when its wait is over, and the back-off begin anew";
            return Err(InvalidLimit::new("idle", idle, bound, remedy));
        }
        if self.remembered().items > max_items / 2 {
            // The tables do not know which records were used last.
            for table in [&mut self.young, &mut self.old, &mut self.waiting] {
                self.evicted = evict(table, self.evicted, &mut self.discarded);
            }
        }
        self.max_items = max_items;
        self.idle = idle;
        Ok(())
    }

    pub(crate) const fn idle(&self) -> Duration {
        self.idle
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.young.is_empty() && self.old.is_empty() && self.waiting.is_empty()
    }

    pub(crate) fn remembered(&self) -> Remembered {
        let items = self.young.len() + self.old.len() + self.waiting.len();
        Remembered { items, expired: self.expired, evicted: self.evicted }
    }

    pub(crate) fn take_discarded(&mut self) -> Vec<T> {
        mem::take(&mut self.discarded)
    }
}

/// Leaves a dropped item to the owner, if its drop does something.
fn discard<T>(item: T, discarded: &mut Vec<T>) {
    if mem::needs_drop::<T>() {
        discarded.push(item);
    }
}

/// Empties a table before its time. Returns `evicted` plus the number of its records.
fn evict<T, V>(table: &mut HashTable<Record<T, V>>, evicted: u64, discarded: &mut Vec<T>) -> u64 {
    let mut count = 0;
    for (item, ..) in mem::take(table) {
        count += 1;
        discard(item, discarded);
    }
    evicted.saturating_add(count)
}

fn take_out<T: Eq, V>(
    table: &mut HashTable<Record<T, V>>,
    hash: u64,
    item: &T,
) -> Option<Record<T, V>> {
    if table.is_empty() {
        return None;
    }
    table.find_entry(hash, |(held, ..)| held == item).ok().map(|held| held.remove().0)
}

impl<T: Hash + Eq + Clone, V: Default, S: BuildHasher> Records<T, V, S> {
    /// The record of an item, made if absent. Records that `keep` accepts outlive their time.
    pub(crate) fn entry(&mut self, item: &T, now: Instant, keep: impl Fn(&V) -> bool) -> &mut V {
        // Not taken by the owner.
        self.discarded.clear();
        self.age(now, keep);
        let hash = self.hasher.hash_one(item);
        let is_full = self.young.len() >= self.max_items / 2 && !planted("store-without-bound");
        let mut own = None;
        if is_full && self.young.find(hash, |(held, ..)| held == item).is_none() {
            // Taken first, so that its own record is not evicted.
            own = take_out(&mut self.old, hash, item)
                .or_else(|| take_out(&mut self.waiting, hash, item));
            self.turn(now);
        }
        match self.young.find_entry(hash, |(held, ..)| held == item) {
            Ok(held) => &mut held.into_mut().1,
            Err(absent) => {
                let young = absent.into_table();
                own = own
                    .or_else(|| take_out(&mut self.old, hash, item))
                    .or_else(|| take_out(&mut self.waiting, hash, item));
                let record = own.unwrap_or_else(|| {
                    if young.len() + self.old.len() + self.waiting.len() >= self.max_items {
                        // The other tables hold the half that was used last.
                        self.evicted = evict(&mut self.waiting, self.evicted, &mut self.discarded);
                    }
                    (item.clone(), V::default(), Kept::default())
                });
                let hasher = &self.hasher;
                &mut young
                    .insert_unique(hash, record, |(held, ..)| hasher.hash_one(held))
                    .into_mut()
                    .1
            }
        }
    }

    pub(crate) fn get(&self, item: &T) -> Option<&V> {
        if self.is_empty() {
            return None;
        }
        let hash = self.hasher.hash_one(item);
        let same = |(held, ..): &Record<T, V>| held == item;
        let found = self.young.find(hash, same).or_else(|| self.old.find(hash, same));
        found.or_else(|| self.waiting.find(hash, same)).map(|(_, record, _)| record)
    }

    /// Keeps the record for the idle time after `until`, or after `now` if that is later.
    pub(crate) fn keep_until(&mut self, item: &T, until: Instant, now: Instant) {
        let Some(start) = self.start else { return };
        let kept =
            Kept::until(until.max(now).saturating_duration_since(start).saturating_add(self.idle));
        if let Some((_, _, held)) = self.find(item) {
            *held = if until > now { kept.max(*held) } else { kept.min(*held) };
        }
    }

    fn find(&mut self, item: &T) -> Option<&mut Record<T, V>> {
        if self.is_empty() {
            return None;
        }
        let hash = self.hasher.hash_one(item);
        let same = |(held, ..): &Record<T, V>| held == item;
        let found = self.young.find_mut(hash, same).or_else(|| self.old.find_mut(hash, same));
        found.or_else(|| self.waiting.find_mut(hash, same))
    }

    /// Drops old records when no failure does.
    pub(crate) fn sweep(&mut self, now: Instant, keep: impl Fn(&V) -> bool) {
        if !self.is_empty() {
            self.age(now, keep);
        }
    }

    /// Removes a record. The item goes to `discarded`.
    pub(crate) fn remove(&mut self, item: &T) -> Option<V> {
        if self.is_empty() {
            return None;
        }
        let hash = self.hasher.hash_one(item);
        let (item, record, _) = take_out(&mut self.young, hash, item)
            .or_else(|| take_out(&mut self.old, hash, item))
            .or_else(|| take_out(&mut self.waiting, hash, item))?;
        discard(item, &mut self.discarded);
        Some(record)
    }

    /// Drops records that were unused for twice the idle time, and none that was used within it.
    fn age(&mut self, now: Instant, keep: impl Fn(&V) -> bool) {
        let since = *self.since.get_or_insert(now);
        let start = *self.start.get_or_insert(now);
        let passed = now.saturating_duration_since(since);
        if passed < self.idle.max(Duration::from_nanos(1)) {
            return;
        }
        // No record was used since the young table's time ended.
        let is_silent = passed >= self.idle.saturating_mul(2);
        self.since = if is_silent { Some(now) } else { since.checked_add(self.idle) };
        let after_start = now.saturating_duration_since(start);
        let hasher = &self.hasher;
        let young = is_silent.then_some(&mut self.young);
        for table in [&mut self.old, &mut self.waiting].into_iter().chain(young) {
            let is_over =
                |(_, value, kept): &mut Record<T, V>| kept.is_over(after_start) && !keep(value);
            for (item, ..) in table.extract_if(is_over) {
                self.expired = self.expired.saturating_add(1);
                discard(item, &mut self.discarded);
            }
            table.shrink_to_fit(|(held, ..)| hasher.hash_one(held));
        }
        let mut rest = mem::replace(&mut self.old, mem::take(&mut self.young));
        let half = self.max_items / 2;
        let room = if self.old.len() + rest.len() <= half {
            &mut self.old
        } else {
            if self.waiting.len() + rest.len() > half {
                self.evicted = evict(&mut self.waiting, self.evicted, &mut self.discarded);
            }
            &mut self.waiting
        };
        if rest.len() > room.len() {
            mem::swap(room, &mut rest);
        }
        for record in rest {
            let hash = hasher.hash_one(&record.0);
            room.insert_unique(hash, record, |(held, ..)| hasher.hash_one(held));
        }
    }

    /// Makes the full young table the old one, and evicts all other records.
    fn turn(&mut self, now: Instant) {
        self.since = Some(now);
        let full = mem::take(&mut self.young);
        for mut table in [mem::replace(&mut self.old, full), mem::take(&mut self.waiting)] {
            self.evicted = evict(&mut table, self.evicted, &mut self.discarded);
        }
    }
}
