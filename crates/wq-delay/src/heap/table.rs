//! Table: finds the slot of an item by its hash. One array with linear probing.
//!
//! An entry holds the whole hash. So a lookup visits memory once, and reads a slot only if its item
//! has the same hash. Growing reads one array and writes another, both in sequence.

use wq_core::ItemHash;

/// A hash in the upper half and a slot in the lower one. No hash is zero.
type Entry = u64;

const VACANT: Entry = 0;
/// At most this many of `PLACES` places are used.
const USED: usize = 4;
const PLACES: usize = 5;
/// The smallest room for slots.
const LEAST: usize = 4;

/// The place where a lookup found no slot. An insert may use it until the table changes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Vacancy(usize);

#[derive(Debug, Default)]
pub(super) struct Table {
    /// At least one is vacant. An entry is at its home or behind it.
    entries: Vec<Entry>,
    len: usize,
}

impl Table {
    /// With room for this many slots. `None` if memory is short.
    pub(super) fn try_with_capacity(slots: usize) -> Option<Self> {
        if slots == 0 {
            return Some(Self::default());
        }
        let places = slots.max(LEAST).div_ceil(USED) * PLACES;
        let mut entries = Vec::new();
        entries.try_reserve_exact(places).ok()?;
        entries.resize(places, VACANT);
        Some(Self { entries, len: 0 })
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) const fn capacity(&self) -> usize {
        self.entries.len() / PLACES * USED
    }

    /// The slot with this hash that `is_it` accepts, or else where to insert it.
    #[inline]
    pub(super) fn find(
        &self,
        hash: ItemHash,
        is_it: impl FnMut(u32) -> bool,
    ) -> Result<u32, Vacancy> {
        self.position(hash, is_it).map(|at| slot_of(self.entries[at]))
    }

    /// Where to insert a slot with this hash.
    pub(super) fn vacancy(&self, hash: ItemHash) -> Vacancy {
        match self.position(hash, |_| false) {
            Ok(at) => Vacancy(at), // unreachable: no slot is accepted
            Err(vacancy) => vacancy,
        }
    }

    /// Inserts a slot at the vacancy that its lookup returned.
    #[inline]
    pub(super) fn insert(&mut self, Vacancy(at): Vacancy, hash: ItemHash, slot: u32) {
        let entry = entry_of(hash, slot);
        if self.len < self.capacity() {
            self.entries[at] = entry;
        } else {
            self.grow();
            self.put(entry);
        }
        self.len += 1;
    }

    /// Removes a slot. Entries behind it move up, so that no gap is between an entry and its home.
    #[inline]
    pub(super) fn remove(&mut self, hash: ItemHash, slot: u32) {
        let Ok(mut gap) = self.position(hash, |other| other == slot) else { return };
        self.len -= 1;
        let mut at = gap;
        loop {
            at = self.after(at);
            let entry = self.entries[at];
            if entry == VACANT {
                break;
            }
            if self.distance(self.home(entry), at) >= self.distance(gap, at) {
                self.entries[gap] = entry;
                gap = at;
            }
        }
        self.entries[gap] = VACANT;
    }

    #[inline]
    fn position(
        &self,
        hash: ItemHash,
        mut is_it: impl FnMut(u32) -> bool,
    ) -> Result<usize, Vacancy> {
        let sought = entry_of(hash, 0);
        let mut at = self.home(sought);
        loop {
            let entry = self.entries.get(at).copied().unwrap_or(VACANT); // An empty table has none.
            if entry == VACANT {
                return Err(Vacancy(at));
            }
            if (entry ^ sought) >> 32 == 0 && is_it(slot_of(entry)) {
                return Ok(at);
            }
            at = self.after(at);
        }
    }

    #[inline]
    fn put(&mut self, entry: Entry) {
        let mut at = self.home(entry);
        while self.entries[at] != VACANT {
            at = self.after(at);
        }
        self.entries[at] = entry;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let places = (2 * self.capacity()).max(LEAST).div_ceil(USED) * PLACES;
        let old = std::mem::replace(&mut self.entries, vec![VACANT; places]);
        old.into_iter().filter(|entry| *entry != VACANT).for_each(|entry| self.put(entry));
    }

    /// The first place to look for an entry: the hash as a fraction of the array.
    #[inline]
    fn home(&self, entry: Entry) -> usize {
        ((u128::from(entry >> 32) * self.entries.len() as u128) >> 32) as usize
    }

    #[inline]
    fn after(&self, at: usize) -> usize {
        if at + 1 == self.entries.len() { 0 } else { at + 1 }
    }

    /// The number of steps from one place to another.
    #[inline]
    fn distance(&self, from: usize, to: usize) -> usize {
        if from <= to { to - from } else { to + self.entries.len() - from }
    }
}

#[inline]
const fn entry_of(hash: ItemHash, slot: u32) -> Entry {
    (hash.get().get() as u64) << 32 | slot as u64
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the lower half")]
const fn slot_of(entry: Entry) -> u32 {
    entry as u32
}
