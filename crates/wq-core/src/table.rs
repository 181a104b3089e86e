//! `SlotTable`: finds the slot of an item by its hash.
//!
//! It is an array of groups of 32 bytes, half a cache line each. A lookup nearly always reads one
//! line. An insertion or removal after the lookup needs no other.

mod large;
#[cfg(test)]
mod tests;

use std::hint::black_box;
use std::mem;

use crate::hasher::ItemHash;
use large::Large;

/// The number of slots that fit in a group.
const LANES: usize = 6;
/// The average number of slots in a group at most. One group in nine then overflows.
const FILL: usize = 4;

/// This many slots leave a large table together, so that the processor fetches their groups in
/// parallel.
const TOGETHER: usize = 16;

/// A lane is a byte of `Group::tags`, the lowest first. A vacant lane is zero. A taken lane has
/// this bit and seven bits of the hash.
const TAKEN: u64 = 0x80;
const EACH_LANE: u64 = 0x0000_0101_0101_0101;
/// The two bytes above the lanes count the slots that found no room here and went to a later group.
const ONE_PASSED: u64 = 1 << 48;
/// The count saturates here, and stays so until the table moves.
const MOST_PASSED: u64 = 0xffff << 48;

/// The tags of slots, and the slots themselves.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Group {
    tags: u64,
    slots: [u32; LANES],
}

/// A set of lanes, the lowest first. The highest bit of the byte of each member is set.
#[derive(Clone, Copy)]
struct Lanes(u64);

impl Iterator for Lanes {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let lane = self.0.trailing_zeros() as usize / 8;
        self.0 &= self.0 - 1;
        Some(lane)
    }
}

impl Group {
    const EMPTY: Self = Self { tags: 0, slots: [0; LANES] };

    /// The lanes with this tag, and no others: a sum of seven bits does not reach the next lane.
    #[inline(always)]
    fn tagged(self, tag: u64) -> Lanes {
        let differ = self.tags ^ (tag * EACH_LANE);
        let low = !TAKEN & 0xff;
        Lanes(!(((differ & (low * EACH_LANE)) + low * EACH_LANE) | differ) & (TAKEN * EACH_LANE))
    }

    #[inline(always)]
    fn vacant(self) -> Lanes {
        Lanes(!self.tags & (TAKEN * EACH_LANE))
    }

    #[cfg(test)]
    fn taken(self) -> Lanes {
        Lanes(self.tags & (TAKEN * EACH_LANE))
    }

    /// The lane and slot with this tag that `is_it` accepts.
    #[inline(always)]
    fn find(&self, tag: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<(usize, u32)> {
        for lane in self.tagged(tag) {
            if let Some(&slot) = self.slots.get(lane)
                && is_it(slot)
            {
                return Some((lane, slot));
            }
        }
        None
    }

    /// Returns false if no lane is vacant.
    #[inline(always)]
    fn put(&mut self, tag: u64, slot: u32) -> bool {
        let Some(lane) = self.vacant().next() else { return false };
        let Some(place) = self.slots.get_mut(lane) else { return false };
        *place = slot;
        self.tags |= tag << (8 * lane);
        true
    }

    #[inline(always)]
    fn vacate(&mut self, lane: usize) {
        self.tags &= !(0xff << (8 * lane));
    }

    /// Whether a slot that hashes to this group may be in a later one.
    #[inline(always)]
    fn is_passed(self) -> bool {
        self.tags >= ONE_PASSED
    }

    fn pass(&mut self) {
        if self.tags < MOST_PASSED {
            self.tags += ONE_PASSED;
        }
    }

    fn pass_no_more(&mut self) {
        if self.tags < MOST_PASSED {
            self.tags -= ONE_PASSED;
        }
    }
}

/// Slots by the hashes of their items.
///
/// The table knows no items, and seven bits of each hash.
///
/// - `is_it` decides whether a slot is the wanted one. It may be asked about a slot for a while
///   after `remove`.
/// - `held` lists the held slots and their hashes, for a table that grows. These are exactly the
///   slots in the table.
///
/// Invariant: each slot that is held or pending has one entry with the tag of its hash on its path.
/// The path is the sequence of groups that begins at its home. Each group of the path before the
/// entry counts it, at least once.
///
/// A slot can be pending and held again, by the same item or by another. It then has two entries.
/// `vacate` finds an entry by tag and slot on the path of one of them, and this may be the entry of
/// the other. The other then has the same tag, and the entry that stays is on its path and counted
/// there as well.
#[derive(Debug)]
pub(crate) struct SlotTable {
    groups: Vec<Group>,
    /// The number of taken lanes.
    taken: usize,
    /// Removed slots that are still in their lanes. Only in a large table.
    pending_removals: Vec<(ItemHash, u32)>,
    large: Large,
}

/// The result of [`SlotTable::entry`].
#[derive(Debug)]
pub(crate) enum SlotEntry<'a> {
    Held(u32),
    Vacant(VacantEntry<'a>),
}

/// A vacant place for a slot.
#[derive(Debug)]
pub(crate) struct VacantEntry<'a> {
    table: &'a mut SlotTable,
    home: usize,
    tag: u64,
}

impl VacantEntry<'_> {
    #[inline(always)]
    pub(crate) fn insert(self, slot: u32) {
        self.table.taken += 1;
        self.table.put(self.home, self.tag, slot);
    }
}

/// Where a slot is.
#[derive(Clone, Copy)]
struct Place {
    group: usize,
    lane: usize,
    slot: u32,
}

impl SlotTable {
    pub(crate) fn new() -> Self {
        Self::with(Large::of_all_tables())
    }

    const fn with(large: Large) -> Self {
        Self { groups: Vec::new(), taken: 0, pending_removals: Vec::new(), large }
    }

    /// The number of slots in the table.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.taken - self.pending_removals.len()
    }

    /// The number of slots that fit before the table grows.
    #[inline]
    pub(crate) const fn capacity(&self) -> usize {
        self.groups.len() * FILL
    }

    /// Releases memory: the new table has room for twice the slots that are held.
    pub(crate) fn shrink(&mut self, held: impl Iterator<Item = (ItemHash, u32)>) {
        let groups = (2 * self.len()).div_ceil(FILL);
        self.pending_removals = Vec::new();
        self.move_to(groups, held);
    }

    /// The slot with this hash that `is_it` accepts.
    #[inline]
    pub(crate) fn find(&self, hash: ItemHash, is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        self.probe(self.home(hash), tag(hash), is_it).map(|place| place.slot)
    }

    /// The slot with this hash that `is_it` accepts, or a vacant place. A full table grows first,
    /// even if it has the slot.
    #[inline(always)]
    pub(crate) fn entry<H: Iterator<Item = (ItemHash, u32)>>(
        &mut self,
        hash: ItemHash,
        is_it: impl FnMut(u32) -> bool,
        held: impl FnOnce() -> H,
    ) -> SlotEntry<'_> {
        if self.taken >= self.capacity() {
            self.make_room(held);
        }
        let (home, tag) = (self.home(hash), tag(hash));
        match self.probe(home, tag, is_it) {
            Some(place) => SlotEntry::Held(place.slot),
            None => SlotEntry::Vacant(VacantEntry { table: self, home, tag }),
        }
    }

    /// Removes a slot, which must be in the table.
    #[inline(always)]
    pub(crate) fn remove(&mut self, hash: ItemHash, slot: u32) {
        // An item that comes and goes all the time is in the cache. Its pending entries would fill
        // its group.
        if self.groups.len() < self.large.groups()
            || self.pending_removals.last().is_some_and(|(last, _)| *last == hash)
        {
            self.vacate(hash, slot);
        } else {
            self.pending_removals.push((hash, slot));
            if self.pending_removals.len() == TOGETHER {
                self.flush();
            }
        }
    }

    #[inline]
    fn vacate(&mut self, hash: ItemHash, slot: u32) {
        let home = self.home(hash);
        let Some(place) = self.probe(home, tag(hash), |other| other == slot) else {
            debug_assert!(false, "a slot that is struck out is in the table");
            return;
        };
        self.taken -= 1;
        self.groups[place.group].vacate(place.lane);
        let mut at = home;
        while at != place.group {
            self.groups[at].pass_no_more();
            at = self.after(at);
        }
    }

    #[cold]
    #[inline(never)]
    fn flush(&mut self) {
        let mut pending_removals = mem::take(&mut self.pending_removals);
        // This first pass has no dependent branch, so the processor fetches all groups at once.
        black_box(
            pending_removals
                .iter()
                .fold(0, |seen, (hash, _)| seen ^ self.groups[self.home(*hash)].tags),
        );
        for (hash, slot) in pending_removals.drain(..) {
            self.vacate(hash, slot);
        }
        self.pending_removals = pending_removals;
    }

    #[cold]
    #[inline(never)]
    fn make_room<H: Iterator<Item = (ItemHash, u32)>>(&mut self, held: impl FnOnce() -> H) {
        self.flush();
        if self.taken >= self.capacity() {
            self.move_to((self.groups.len() * 2).max(1), held());
        }
    }

    /// The place of the slot with this hash that `is_it` accepts.
    #[inline(always)]
    fn probe(&self, home: usize, tag: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<Place> {
        let group = self.groups.get(home)?;
        if let Some((lane, slot)) = group.find(tag, &mut is_it) {
            return Some(Place { group: home, lane, slot });
        }
        if group.is_passed() { self.probe_behind(home, tag, is_it) } else { None }
    }

    #[inline(never)]
    fn probe_behind(
        &self,
        home: usize,
        tag: u64,
        mut is_it: impl FnMut(u32) -> bool,
    ) -> Option<Place> {
        let mut at = self.after(home);
        while at != home {
            let group = self.groups.get(at)?;
            if let Some((lane, slot)) = group.find(tag, &mut is_it) {
                return Some(Place { group: at, lane, slot });
            }
            if !group.is_passed() {
                return None;
            }
            at = self.after(at);
        }
        None
    }

    #[inline(always)]
    fn put(&mut self, home: usize, tag: u64, slot: u32) {
        if let Some(group) = self.groups.get_mut(home)
            && !group.put(tag, slot)
        {
            self.put_behind(home, tag, slot);
        }
    }

    #[inline(never)]
    fn put_behind(&mut self, home: usize, tag: u64, slot: u32) {
        let mut at = home;
        loop {
            self.groups[at].pass();
            at = self.after(at);
            if self.groups[at].put(tag, slot) {
                return;
            }
        }
    }

    /// Rebuilds the table with this many groups, in the order of the slots, not of the groups. A
    /// write to a random group does not stall the next step; a read of a random slot would.
    fn move_to(&mut self, groups: usize, held: impl Iterator<Item = (ItemHash, u32)>) {
        self.groups = Vec::new();
        self.groups.resize(groups, Group::EMPTY);
        self.taken = 0;
        for (hash, slot) in held {
            self.taken += 1;
            self.put(self.home(hash), tag(hash), slot);
        }
    }

    /// The first group of the path: the hash as a fraction of the array.
    #[inline(always)]
    fn home(&self, hash: ItemHash) -> usize {
        ((u64::from(hash.get().get()) * self.groups.len() as u64) >> 32) as usize
    }

    #[inline(always)]
    fn after(&self, at: usize) -> usize {
        if at + 1 == self.groups.len() { 0 } else { at + 1 }
    }
}

/// The low bits of the hash. The high bits choose the home.
#[inline(always)]
fn tag(hash: ItemHash) -> u64 {
    TAKEN | u64::from(hash.get().get() & 0x7f)
}
