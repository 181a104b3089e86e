//! `SlotTable`: finds the slot of an item by its hash. An array of groups, each half a cache line (of 64 bytes): a look visits
//! one line of the memory, nearly always, and whoever strikes a slot out or adds one has then visited it already.

mod large;
#[cfg(test)]
mod tests;

use std::hint::black_box;
use std::mem;

use crate::hasher::ItemHash;
use large::Large;

/// How many slots a group has room for.
const LANES: usize = 6;
/// How many it holds on average at most: one group in nine is then asked for more than it has room for.
const FILL: usize = 4;

/// So many slots leave a large table together: their groups are fetched from memory side by side.
const TOGETHER: usize = 16;

/// A lane is a byte of `Group::tags`, the lowest first: zero if it is vacant, and otherwise this with seven bits of the hash.
const TAKEN: u64 = 0x80;
const EACH_LANE: u64 = 0x0000_0101_0101_0101;
/// The two bytes above the lanes count the slots that were looking for room, found none here, and stand behind.
const ONE_PASSED: u64 = 1 << 48;
/// As many as can be counted, and then so many until the table moves.
const MOST_PASSED: u64 = 0xffff << 48;

/// The tags of slots, and the slots themselves.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Group {
    tags: u64,
    slots: [u32; LANES],
}

/// Lanes, the lowest first: the highest bit of each one's byte is set.
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

    /// The lanes with this tag, and no other: a sum of seven bits does not reach the next lane.
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

    /// The right one of the slots with this tag.
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

    /// False: there is no vacant lane.
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

    /// Whether what is looked for here may stand in a group behind.
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
/// It knows no items, and of the hashes of those that are held seven bits each: who looks for a slot says which is the right one (`is_it`),
/// and who lets it grow which slots are held, with their hashes (`held`): all that are in it, and no other. Of a slot that was
/// struck out it may still be asked for a while whether it is the right one.
///
/// Invariant: for each slot that is held, and for each that is leaving, there is one entry, with the tag of its hash, on the path of
/// groups that begins at its home; and each group of that path before the entry counts it, at least once. A slot may be leaving and held again, by the
/// same item or by another, and then has an entry for either. Whoever strikes one of them out looks for tag and slot on the one's path.
/// If it is the other's that he finds there, that has the same tag and lies on his path too, and he leaves his own behind it: on the
/// other's path as well, and counted by the groups between.
#[derive(Debug)]
pub(crate) struct SlotTable {
    groups: Vec<Group>,
    /// Of the lanes that are taken.
    taken: usize,
    /// Struck out, and in their lanes still: in a large table alone.
    leaving: Vec<(ItemHash, u32)>,
    large: Large,
}

/// What [`SlotTable::entry`] has found.
#[derive(Debug)]
pub(crate) enum SlotEntry<'a> {
    Held(u32),
    Vacant(VacantEntry<'a>),
}

/// Room for a slot.
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
        Self { groups: Vec::new(), taken: 0, leaving: Vec::new(), large }
    }

    /// How many slots are in it.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.taken - self.leaving.len()
    }

    /// How many slots it holds before it grows.
    #[inline]
    pub(crate) const fn capacity(&self) -> usize {
        self.groups.len() * FILL
    }

    /// The slot with this hash that is the right one.
    #[inline]
    pub(crate) fn find(&self, hash: ItemHash, is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        self.probe(self.home(hash), tag(hash), is_it).map(|place| place.slot)
    }

    /// The slot with this hash that is the right one, or room for one. Where it is full it grows first, also if the slot is in it.
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

    /// Strikes a slot out, which is in it.
    #[inline(always)]
    pub(crate) fn strike(&mut self, hash: ItemHash, slot: u32) {
        // One that comes and goes all the time is near, and would fill its group with entries that leave.
        if self.groups.len() < self.large.groups()
            || self.leaving.last().is_some_and(|(last, _)| *last == hash)
        {
            self.vacate(hash, slot);
        } else {
            self.leaving.push((hash, slot));
            if self.leaving.len() == TOGETHER {
                self.let_go();
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
    fn let_go(&mut self) {
        let mut leaving = mem::take(&mut self.leaving);
        // A look at each first, with no branch that waits for one, has all of them fetched at once.
        black_box(leaving.iter().fold(0, |seen, (hash, _)| seen ^ self.groups[self.home(*hash)].tags));
        for (hash, slot) in leaving.drain(..) {
            self.vacate(hash, slot);
        }
        self.leaving = leaving;
    }

    /// Gives back memory, if it is half of it or more: so that there is room for no more than so many slots, or for those that are in it.
    pub(crate) fn shrink_to(&mut self, slots: usize, held: impl Iterator<Item = (ItemHash, u32)>) {
        self.let_go();
        let groups = slots.max(self.taken).div_ceil(FILL);
        if groups < self.groups.len().div_ceil(2) {
            self.move_to(groups, held);
        }
    }

    #[cold]
    #[inline(never)]
    fn make_room<H: Iterator<Item = (ItemHash, u32)>>(&mut self, held: impl FnOnce() -> H) {
        self.let_go();
        if self.taken >= self.capacity() {
            self.move_to((self.groups.len() * 2).max(1), held());
        }
    }

    /// The right one of the slots with this hash.
    #[inline(always)]
    fn probe(&self, home: usize, tag: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<Place> {
        let group = self.groups.get(home)?;
        if let Some((lane, slot)) = group.find(tag, &mut is_it) {
            return Some(Place { group: home, lane, slot });
        }
        if group.is_passed() { self.probe_behind(home, tag, is_it) } else { None }
    }

    #[inline(never)]
    fn probe_behind(&self, home: usize, tag: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<Place> {
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

    /// Into so many groups. In the order of the slots, not in that of the groups: what comes next need not wait for a group that is
    /// written, as it would for a slot that is read.
    fn move_to(&mut self, groups: usize, held: impl Iterator<Item = (ItemHash, u32)>) {
        self.groups = Vec::new();
        self.groups.resize(groups, Group::EMPTY);
        self.taken = 0;
        for (hash, slot) in held {
            self.taken += 1;
            self.put(self.home(hash), tag(hash), slot);
        }
    }

    /// Where a slot is looked for first: the hash as a fraction of the array.
    #[inline(always)]
    fn home(&self, hash: ItemHash) -> usize {
        ((u64::from(hash.get().get()) * self.groups.len() as u64) >> 32) as usize
    }

    #[inline(always)]
    fn after(&self, at: usize) -> usize {
        if at + 1 == self.groups.len() { 0 } else { at + 1 }
    }
}

/// Of the low bits: the high ones say where the home is.
#[inline(always)]
fn tag(hash: ItemHash) -> u64 {
    TAKEN | u64::from(hash.get().get() & 0x7f)
}
