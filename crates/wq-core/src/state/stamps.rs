//! Stamps: when items were added and handed out, for those who measure. Holds nothing in a queue that nobody measures.

use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, Default)]
struct Stamp {
    /// When the add was made that the item waits for.
    added: Option<Instant>,
    /// When the item was handed out.
    got: Option<Instant>,
}

/// By slot. `now` is `None` where nobody measures.
#[derive(Debug, Default)]
pub(super) struct Stamps(Vec<Stamp>);

impl Stamps {
    #[inline]
    pub(super) fn added(&mut self, slot: u32, now: Option<Instant>) {
        if now.is_some() {
            self.at(slot).added = now;
        }
    }

    /// The item was handed out: how long it had waited.
    #[inline]
    pub(super) fn got(&mut self, slot: u32, now: Option<Instant>) -> Option<Duration> {
        let now = now?;
        let stamp = self.at(slot);
        stamp.got = Some(now);
        Some(since(stamp.added.take(), now))
    }

    /// The hand-out has ended: how long it took.
    #[inline]
    pub(super) fn done(&mut self, slot: u32, now: Option<Instant>) -> Option<Duration> {
        let now = now?;
        Some(since(self.at(slot).got.take(), now))
    }

    /// The item waits no more.
    pub(super) fn waits_no_more(&mut self, slot: u32) {
        if let Some(stamp) = self.0.get_mut(slot as usize) {
            stamp.added = None;
        }
    }

    /// The item has left.
    #[inline]
    pub(super) fn left(&mut self, slot: u32) {
        if let Some(stamp) = self.0.get_mut(slot as usize) {
            *stamp = Stamp::default();
        }
    }

    /// How long the item has waited and how long it has been in hand.
    pub(super) fn ages(&self, slot: u32, now: Option<Instant>) -> (Option<Duration>, Option<Duration>) {
        let stamp = self.0.get(slot as usize).copied().unwrap_or_default();
        let age = |start: Option<Instant>| Some(now?.saturating_duration_since(start?));
        (age(stamp.added), age(stamp.got))
    }

    pub(super) fn shrink(&mut self, slots: usize) {
        self.0.truncate(slots);
        self.0.shrink_to_fit();
    }

    fn at(&mut self, slot: u32) -> &mut Stamp {
        let place = slot as usize;
        if self.0.len() <= place {
            self.0.resize(place + 1, Stamp::default());
        }
        &mut self.0[place]
    }
}

fn since(start: Option<Instant>, now: Instant) -> Duration {
    start.map_or(Duration::ZERO, |start| now.saturating_duration_since(start))
}
