//! Timestamps: when items were added and handed out, and which are in flight. Empty without an
//! observer.

use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, Default)]
struct Timestamp {
    /// When the pending add was made.
    added: Option<Instant>,
    /// When the item was handed out.
    got: Option<Instant>,
    /// The index of the slot in `in_hand`, while the item is in flight.
    place: usize,
}

/// The argument `now` is `None` in a queue without an observer.
#[derive(Debug, Default)]
pub(super) struct Timestamps {
    by_slot: Vec<Timestamp>,
    /// The slots of items in flight, in no order. A scrape reads only these, however many items
    /// are queued.
    in_hand: Vec<u32>,
}

impl Timestamps {
    #[inline]
    pub(super) fn added(&mut self, slot: u32, now: Option<Instant>) {
        if now.is_some() {
            self.added_at(slot, now);
        }
    }

    #[inline(never)]
    fn added_at(&mut self, slot: u32, now: Option<Instant>) {
        self.at(slot).added = now;
    }

    /// Releases the memory of slots from this one on, all of which are free.
    pub(super) fn truncate(&mut self, slots: usize) {
        self.by_slot.truncate(slots);
        self.by_slot.shrink_to_fit();
        self.in_hand.shrink_to_fit();
    }

    /// Records a hand-out. Returns how long the item had waited.
    #[inline]
    pub(super) fn got(&mut self, slot: u32, now: Option<Instant>) -> Option<Duration> {
        now.map(|now| self.got_at(slot, now))
    }

    #[inline(never)]
    fn got_at(&mut self, slot: u32, now: Instant) -> Duration {
        let place = self.in_hand.len();
        self.in_hand.push(slot);
        let stamp = self.at(slot);
        (stamp.got, stamp.place) = (Some(now), place);
        since(stamp.added.take(), now)
    }

    /// Records the end of a hand-out. Returns how long it took.
    #[inline]
    pub(super) fn done(&mut self, slot: u32, now: Option<Instant>) -> Option<Duration> {
        now.map(|now| self.done_at(slot, now))
    }

    #[inline(never)]
    fn done_at(&mut self, slot: u32, now: Instant) -> Duration {
        since(self.leaves_hand(slot), now)
    }

    /// Removes the slot from `in_hand`. Returns the time of its hand-out.
    #[inline]
    fn leaves_hand(&mut self, slot: u32) -> Option<Instant> {
        let stamp = self.by_slot.get_mut(slot as usize)?;
        let (got, place) = (stamp.got.take()?, stamp.place);
        self.in_hand.swap_remove(place);
        if let Some(&moved) = self.in_hand.get(place) {
            self.at(moved).place = place;
        }
        Some(got)
    }

    /// How long each item has been in flight, in no order.
    pub(super) fn in_hand(&self, now: Instant) -> impl Iterator<Item = Duration> {
        let got = |&slot: &u32| self.by_slot.get(slot as usize).and_then(|stamp| stamp.got);
        self.in_hand.iter().filter_map(got).map(move |got| now.saturating_duration_since(got))
    }

    /// The slots of items in flight, in no order. Empty in a queue without an observer.
    pub(super) fn slots_in_hand(&self) -> impl Iterator<Item = u32> {
        self.in_hand.iter().copied()
    }

    /// Clears the time of the pending add.
    pub(super) fn waits_no_more(&mut self, slot: u32) {
        if let Some(stamp) = self.by_slot.get_mut(slot as usize) {
            stamp.added = None;
        }
    }

    /// Clears the times of an item that has left.
    #[inline]
    pub(super) fn left(&mut self, slot: u32) {
        if let Some(stamp) = self.by_slot.get_mut(slot as usize) {
            *stamp = Timestamp::default();
        }
    }

    /// How long the item has waited, and how long it has been in flight.
    pub(super) fn ages(
        &self,
        slot: u32,
        now: Option<Instant>,
    ) -> (Option<Duration>, Option<Duration>) {
        let stamp = self.by_slot.get(slot as usize).copied().unwrap_or_default();
        let age = |start: Option<Instant>| Some(now?.saturating_duration_since(start?));
        (age(stamp.added), age(stamp.got))
    }

    fn at(&mut self, slot: u32) -> &mut Timestamp {
        let at = slot as usize;
        if self.by_slot.len() <= at {
            self.by_slot.resize(at + 1, Timestamp::default());
        }
        &mut self.by_slot[at]
    }
}

fn since(start: Option<Instant>, now: Instant) -> Duration {
    start.map_or(Duration::ZERO, |start| now.saturating_duration_since(start))
}
