//! `Parked`: items that have used up their retries and wait for something to change. Pure.
//!
//! A mark beside the queue, not in it, so that adds need not look here. The hand-out of an item ends its being listed, and
//! leaves the number of its attempts until one counts again. Time ends only what has come back; of very many marks
//! those that were made last stay.

use crate::records::{DEFAULT_MAX_ITEMS, Records};
use crate::remembered::Remembered;
use std::hash::{BuildHasher, Hash};
use std::mem;
use std::time::{Duration, Instant};

/// An item that has come back and is not heard of for so long is forgotten: the object is most likely gone.
const IDLE: Duration = Duration::from_hours(24);

#[derive(Debug)]
pub(crate) struct Parked<T, O, S> {
    /// Time alone takes none away.
    marks: Records<T, Mark<O>, S>,
    next: MarkId,
    /// When those that are over were looked for last.
    swept: Option<Instant>,
    expired: u64,
}

/// Tells the marks that an item had one after the other. They count up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MarkId(u64);

#[derive(Debug, Clone, Default)]
pub(crate) struct Mark<O> {
    pub(crate) order: O,
    pub(crate) attempts: u32,
    id: MarkId,
    /// When the item was handed out since, or taken out of the queue.
    back: Option<Instant>,
}

impl<O> Mark<O> {
    /// Whether the item has not come back since it was marked.
    pub(crate) const fn is_parked(&self) -> bool {
        self.back.is_none()
    }

    /// Whether it has come back so long ago that nothing of it counts any more.
    fn is_over(&self, now: Instant) -> bool {
        self.back.is_some_and(|back| now.saturating_duration_since(back) >= IDLE)
    }
}

impl<T, O, S> Parked<T, O, S> {
    pub(crate) fn new(hasher: S) -> Self {
        let marks = Records::new(hasher, Duration::MAX, DEFAULT_MAX_ITEMS);
        Self { marks, next: MarkId::default(), swept: None, expired: 0 }
    }

    pub(crate) fn items(&self) -> impl Iterator<Item = &T> {
        self.marks.iter().map(|(item, _)| item)
    }

    /// The items that have not come back since they were marked.
    pub(crate) fn listed(&self) -> impl Iterator<Item = (&T, MarkId)> {
        self.marks.iter().filter(|(_, mark)| mark.is_parked()).map(|(item, mark)| (item, mark.id))
    }

    /// All marks from now on have this number or a higher one.
    pub(crate) fn next(&self) -> MarkId {
        self.next
    }

    pub(crate) fn remembered(&self) -> Remembered {
        Remembered { expired: self.expired, ..self.marks.remembered() }
    }

    pub(crate) fn len(&self) -> usize {
        self.marks.remembered().items
    }
}

impl<T: Hash + Eq + Clone, O: Default, S: BuildHasher> Parked<T, O, S> {
    /// Hands out the mark that it had, to be dropped after the lock.
    pub(crate) fn park(
        &mut self,
        item: &T,
        order: O,
        attempts: u32,
        now: Instant,
        discarded: &mut Vec<T>,
    ) -> Mark<O> {
        let id = self.next;
        self.next.0 += 1;
        let mark = Mark { order, attempts, id, back: None };
        let held = mem::replace(self.marks.entry(item, now, |_| true), mark);
        discarded.append(&mut self.marks.take_discarded());
        held
    }

    /// Removes the marks that are over, in one look at all a day: of those that have come back nobody says when the object has
    /// vanished.
    pub(crate) fn sweep(&mut self, now: Instant, discarded: &mut Vec<T>) {
        let swept = *self.swept.get_or_insert(now);
        if now.saturating_duration_since(swept) < IDLE {
            return;
        }
        self.swept = Some(now);
        let over = self.marks.remove_where(|mark| mark.is_over(now));
        self.expired = self.expired.saturating_add(over);
        discarded.append(&mut self.marks.take_discarded());
    }

    /// The attempts that it was parked with, if that is not over.
    #[inline]
    pub(crate) fn attempts(&self, item: &T, now: Instant) -> Option<u32> {
        self.marks.get(item).filter(|mark| !mark.is_over(now)).map(|mark| mark.attempts)
    }

    /// Its mark, if it has not come back since.
    pub(crate) fn id(&self, item: &T) -> Option<MarkId> {
        self.marks.get(item).filter(|mark| mark.is_parked()).map(|mark| mark.id)
    }

    /// The item has come back, if it was marked before `before`. Hands out what is to be dropped after the lock.
    pub(crate) fn comes_back(&mut self, item: &T, before: MarkId, now: Instant) -> Option<O> {
        let mark = self.marks.get_mut(item).filter(|mark| mark.id < before)?;
        mark.back = Some(now);
        Some(mem::take(&mut mark.order))
    }

    pub(crate) fn take(&mut self, item: &T, discarded: &mut Vec<T>) -> Option<Mark<O>> {
        let mark = self.marks.remove(item);
        discarded.append(&mut self.marks.take_discarded());
        mark
    }

    pub(crate) fn shrink(&mut self) {
        self.marks.shrink();
    }
}
