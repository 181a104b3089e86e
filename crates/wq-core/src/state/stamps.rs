//! Stamps: when items were added and handed out, and which are in hand, for those who measure. Holds nothing in a queue
//! that nobody measures.

use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, Default)]
struct Stamp {
    /// When the add was made that the item waits for.
    added: Option<Instant>,
    /// When the item was handed out.
    got: Option<Instant>,
    /// Where in `in_hand` the slot is, if it is in hand.
    place: usize,
}

/// `now` is `None` where nobody measures.
#[derive(Debug, Default)]
pub(super) struct Stamps {
    by_slot: Vec<Stamp>,
    /// The slots in hand, in no order: a scrape looks at these alone, however many items are queued.
    in_hand: Vec<u32>,
}

impl Stamps {
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

    /// The item was handed out: how long it had waited.
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

    /// The hand-out has ended: how long it took.
    #[inline]
    pub(super) fn done(&mut self, slot: u32, now: Option<Instant>) -> Option<Duration> {
        now.map(|now| self.done_at(slot, now))
    }

    #[inline(never)]
    fn done_at(&mut self, slot: u32, now: Instant) -> Duration {
        since(self.leaves_hand(slot), now)
    }

    /// Takes the slot out of those in hand: when it came to be one.
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

    /// The times that the items in hand have been there, in no order.
    pub(super) fn in_hand(&self, now: Instant) -> impl Iterator<Item = Duration> {
        let got = |&slot: &u32| self.by_slot.get(slot as usize).and_then(|stamp| stamp.got);
        self.in_hand.iter().filter_map(got).map(move |got| now.saturating_duration_since(got))
    }

    /// The slots in hand, in no order. None in a queue that nobody measures.
    pub(super) fn slots_in_hand(&self) -> impl Iterator<Item = u32> {
        self.in_hand.iter().copied()
    }

    /// The item waits no more.
    pub(super) fn waits_no_more(&mut self, slot: u32) {
        if let Some(stamp) = self.by_slot.get_mut(slot as usize) {
            stamp.added = None;
        }
    }

    /// The item has left.
    #[inline]
    pub(super) fn left(&mut self, slot: u32) {
        if let Some(stamp) = self.by_slot.get_mut(slot as usize) {
            *stamp = Stamp::default();
        }
    }

    /// How long the item has waited and how long it has been in hand.
    pub(super) fn ages(&self, slot: u32, now: Option<Instant>) -> (Option<Duration>, Option<Duration>) {
        let stamp = self.by_slot.get(slot as usize).copied().unwrap_or_default();
        let age = |start: Option<Instant>| Some(now?.saturating_duration_since(start?));
        (age(stamp.added), age(stamp.got))
    }

    pub(super) fn shrink(&mut self, slots: usize) {
        self.by_slot.truncate(slots);
        if self.by_slot.capacity() / 2 > slots {
            self.by_slot.shrink_to_fit();
        }
        if self.in_hand.capacity() / 4 > self.in_hand.len() {
            self.in_hand.shrink_to_fit();
        }
    }

    fn at(&mut self, slot: u32) -> &mut Stamp {
        let at = slot as usize;
        if self.by_slot.len() <= at {
            self.by_slot.resize(at + 1, Stamp::default());
        }
        &mut self.by_slot[at]
    }
}

fn since(start: Option<Instant>, now: Instant) -> Duration {
    start.map_or(Duration::ZERO, |start| now.saturating_duration_since(start))
}
