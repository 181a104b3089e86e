//! Waiters: a FIFO line of sleepers, and how many of them are woken.
//!
//! Pure: it takes and returns wakers. [`Waiters`] calls, clones and drops none.
//!
//! At most [`IN_FLIGHT`] waiters are woken and have not arrived yet. A waiter that arrives wakes
//! the next while something is left, so a burst spreads without a wake-up for each waiter. This
//! rule loses no wake-up:
//!
//! Invariant: while there is something to get and a waiter sleeps, a woken waiter is on its way.
//!
//! A woken waiter that is neither polled nor dropped never arrives, and the line cannot know. After
//! [`PRESSURE`] adds that woke no waiter, the woken ones no longer count, and another is woken.
//!
//! Only an add can notice. Items stay queued while two woken getters are held and no add comes:
//! only a timer could tell, and the queue has none.
//!
//! A sleeper is behind all that came before it, also after a wake-up that brought nothing.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::task::Waker;
use std::thread;

use crate::planted::planted;

/// Two, not one: a chain of one stalls behind a preempted thread.
const IN_FLIGHT: usize = 2;

/// After this many adds that woke no waiter, the woken ones no longer count.
const PRESSURE: usize = 32;

/// The number of entries that are kept when no waiter is left.
const KEPT: usize = 64;

const NIL: u32 = u32::MAX;

/// The entry of a waiter, valid until it is given to `leave`.
#[derive(Debug)]
pub(crate) struct Key(u32);

enum Entry {
    /// The next free entry.
    Free(u32),
    Asleep {
        turn: u64,
        waker: Waker,
        before: u32,
        after: u32,
    },
    /// Woken in this epoch, and not arrived yet.
    Woken {
        turn: u64,
        epoch: u64,
    },
}

/// Wakers to call once the lock is free. `Drop` calls them too: a panic costs no other waiter its
/// wake-up.
#[derive(Default)]
#[must_use]
pub(crate) struct Wakes {
    /// The first waker, stored without an allocation. More are rare.
    one: Option<Waker>,
    more: Vec<Waker>,
}

impl Wakes {
    #[inline]
    pub(crate) const fn new() -> Self {
        Self { one: None, more: Vec::new() }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.one.is_none() && self.more.is_empty()
    }

    fn push(&mut self, waker: Waker) {
        match self.one {
            None => self.one = Some(waker),
            Some(_) => self.more.push(waker),
        }
    }

    #[inline(never)]
    pub(crate) fn fire(mut self) {
        self.call_all();
    }

    #[inline]
    fn call_all(&mut self) {
        let Some(waker) = self.one.take() else { return };
        if self.more.is_empty() && !thread::panicking() {
            waker.wake();
        } else {
            self.call_many(waker);
        }
    }

    /// Calls all wakers in order, even if some panic. The first panic goes on afterwards, unless
    /// the thread is panicking already: two panics would abort the program.
    #[cold]
    fn call_many(&mut self, first: Waker) {
        let wakers = [first].into_iter().chain(mem::take(&mut self.more));
        let mut panics =
            wakers.filter_map(|waker| catch_unwind(AssertUnwindSafe(|| waker.wake())).err());
        let Some(panic) = panics.next() else { return };
        panics.for_each(mem::forget); // Its drop may panic too.
        if thread::panicking() { mem::forget(panic) } else { resume_unwind(panic) }
    }
}

impl Drop for Wakes {
    #[inline]
    fn drop(&mut self) {
        self.call_all();
    }
}

pub(crate) struct Waiters {
    entries: Vec<Entry>,
    first_free: u32,
    first: u32,
    last: u32,
    /// The number of waiters that have come.
    turns: u64,
    asleep: usize,
    /// Waiters of this epoch that are woken and have not arrived.
    woken: usize,
    /// Waiters of earlier epochs that are woken and have not arrived.
    presumed_lost: usize,
    epoch: u64,
    pressure: usize,
}

impl Waiters {
    pub(crate) const fn new() -> Self {
        Self {
            entries: Vec::new(),
            first_free: NIL,
            first: NIL,
            last: NIL,
            turns: 0,
            asleep: 0,
            woken: 0,
            presumed_lost: 0,
            epoch: 0,
            pressure: 0,
        }
    }

    /// The number of sleepers.
    #[inline]
    pub(crate) const fn asleep(&self) -> usize {
        self.asleep
    }

    /// Whether this waiter was woken since it last slept.
    pub(crate) fn is_woken(&self, key: &Key) -> bool {
        matches!(self.entries.get(key.0 as usize), Some(Entry::Woken { .. }))
    }

    /// Whether this waiter is asleep with a waker that wakes the same task as this one.
    pub(crate) fn sleeps_with(&self, key: &Key, waker: &Waker) -> bool {
        match self.entries.get(key.0 as usize) {
            Some(Entry::Asleep { waker: held, .. }) => held.will_wake(waker),
            _ => false,
        }
    }

    /// Puts a waiter to sleep: a new one at the tail, a woken one at its old place. Returns the
    /// waker that this replaces.
    pub(crate) fn sleep(&mut self, key: &mut Option<Key>, waker: Waker) -> Option<Waker> {
        let Some(Key(index)) = *key else {
            *key = Some(self.enter(waker));
            return None;
        };
        match self.entries.get_mut(index as usize) {
            Some(Entry::Asleep { waker: held, .. }) => Some(mem::replace(held, waker)),
            Some(Entry::Woken { turn, epoch }) => {
                let (turn, epoch) = (*turn, *epoch);
                let (before, after) = self.neighbours(turn);
                if let Some(entry) = self.entries.get_mut(index as usize) {
                    *entry = Entry::Asleep { turn, waker, before, after };
                }
                self.link(before, index, after);
                self.asleep += 1;
                self.arrived(epoch);
                None
            }
            Some(Entry::Free(_)) | None => Some(waker),
        }
    }

    /// The sleepers before and after this turn.
    ///
    /// The search goes from both ends. If few were woken, each belongs to the front. If all were
    /// woken, each belongs to the back.
    fn neighbours(&self, turn: u64) -> (u32, u32) {
        let (mut early, mut late) = (self.first, self.last);
        loop {
            match self.entries.get(early as usize) {
                Some(Entry::Asleep { turn: other, after, .. }) if *other < turn => early = *after,
                Some(Entry::Asleep { before, .. }) => return (*before, early),
                _ => return (self.last, NIL),
            }
            match self.entries.get(late as usize) {
                Some(Entry::Asleep { turn: other, before, .. }) if *other > turn => late = *before,
                Some(Entry::Asleep { after, .. }) => return (late, *after),
                _ => return (NIL, self.first),
            }
        }
    }

    /// Removes a waiter that got something or gives up. Returns its waker, and whether it was
    /// woken: the next waiter may need that wake-up.
    pub(crate) fn leave(&mut self, key: Key) -> (bool, Option<Waker>) {
        let Some(entry) = self.entries.get_mut(key.0 as usize) else { return (false, None) };
        if matches!(entry, Entry::Free(_)) {
            return (false, None);
        }
        let left = match mem::replace(entry, Entry::Free(self.first_free)) {
            Entry::Asleep { waker, before, after, .. } => {
                self.unlink(before, after);
                (false, Some(waker))
            }
            Entry::Woken { epoch, .. } => {
                self.arrived(epoch);
                (true, None)
            }
            Entry::Free(_) => (false, None),
        };
        self.first_free = key.0;
        if self.entries.len() > KEPT
            && self.asleep == 0
            && self.woken == 0
            && self.presumed_lost == 0
        {
            self.forget_entries();
        }
        left
    }

    /// A woken waiter has arrived.
    fn arrived(&mut self, epoch: u64) {
        if epoch == self.epoch {
            self.woken -= 1;
        } else {
            self.presumed_lost -= 1;
        }
    }

    /// Counts one new thing. Returns whether to wake a waiter for it: not while enough are woken,
    /// except once in [`PRESSURE`].
    #[inline(always)]
    pub(crate) fn is_due(&mut self) -> bool {
        self.asleep > 0 && (self.has_wake_up() || self.record_missed_wake(1))
    }

    /// Counts an add that brings nothing new while there is something to get. Returns whether the
    /// woken waiters took too long, and another must be woken.
    #[inline]
    pub(crate) fn is_overdue(&mut self) -> bool {
        self.asleep > 0 && self.record_missed_wake(1)
    }

    /// Whether another waiter may be woken. Of the waiters in `presumed_lost`, one counts as on its
    /// way.
    #[inline]
    fn has_wake_up(&self) -> bool {
        self.woken + self.presumed_lost.min(IN_FLIGHT - 1) < IN_FLIGHT
    }

    /// Counts adds that woke no waiter. Returns true if the woken waiters no longer count.
    fn record_missed_wake(&mut self, calls: usize) -> bool {
        self.pressure = self.pressure.saturating_add(calls);
        let is_due = self.pressure >= PRESSURE && !planted("no-pressure");
        if is_due {
            self.pressure = 0;
            self.presumed_lost += mem::take(&mut self.woken);
            self.epoch += 1;
        }
        is_due
    }

    /// Counts new things, and adds that bring nothing new (`again`). Wakes a waiter for each new
    /// thing, until enough are woken.
    #[inline]
    pub(crate) fn call_for(&mut self, things: usize, again: usize, wakes: &mut Wakes) {
        let mut left = things;
        while left > 0 && self.asleep > 0 && self.has_wake_up() {
            self.wake_first(wakes);
            left -= 1;
        }
        if left == things
            && self.asleep > 0
            && self.record_missed_wake(things.saturating_add(again))
        {
            self.wake_first(wakes);
        }
    }

    pub(crate) fn call_everybody(&mut self, wakes: &mut Wakes) {
        while self.asleep > 0 {
            self.wake_first(wakes);
        }
    }

    fn enter(&mut self, waker: Waker) -> Key {
        let before = self.last;
        let entry = Entry::Asleep { turn: self.turns, waker, before, after: NIL };
        self.turns += 1;
        let index = match self.entries.get_mut(self.first_free as usize) {
            Some(place) => {
                let index = self.first_free;
                if let Entry::Free(next) = *place {
                    self.first_free = next;
                }
                *place = entry;
                index
            }
            None => {
                let index = u32::try_from(self.entries.len()).unwrap_or(NIL);
                assert!(index != NIL, "at most 2^32 - 1 waits at once on one queue");
                self.entries.push(entry);
                index
            }
        };
        self.link(before, index, NIL);
        self.asleep += 1;
        Key(index)
    }

    pub(crate) fn wake_first(&mut self, wakes: &mut Wakes) {
        let index = self.first;
        let Some(entry) = self.entries.get_mut(index as usize) else { return };
        let Entry::Asleep { turn, .. } = *entry else { return };
        if let Entry::Asleep { waker, before, after, .. } =
            mem::replace(entry, Entry::Woken { turn, epoch: self.epoch })
        {
            self.unlink(before, after);
            self.woken += 1;
            wakes.push(waker);
        }
    }

    /// Makes the neighbours of `index` point at it.
    fn link(&mut self, before: u32, index: u32, after: u32) {
        match self.entries.get_mut(before as usize) {
            Some(Entry::Asleep { after, .. }) => *after = index,
            _ => self.first = index,
        }
        match self.entries.get_mut(after as usize) {
            Some(Entry::Asleep { before, .. }) => *before = index,
            _ => self.last = index,
        }
    }

    /// Makes the neighbours of a removed entry point at each other.
    fn unlink(&mut self, before: u32, after: u32) {
        match self.entries.get_mut(before as usize) {
            Some(Entry::Asleep { after: link, .. }) => *link = after,
            _ => self.first = after,
        }
        match self.entries.get_mut(after as usize) {
            Some(Entry::Asleep { before: link, .. }) => *link = before,
            _ => self.last = before,
        }
        self.asleep -= 1;
    }

    /// Called when all entries are free.
    #[cold]
    fn forget_entries(&mut self) {
        self.entries.clear();
        self.entries.shrink_to(KEPT);
        self.first_free = NIL;
    }

    #[cfg(test)]
    pub(crate) fn counts(&self) -> (usize, usize, usize) {
        (self.asleep, self.woken, self.presumed_lost)
    }
}

#[cfg(test)]
mod tests;
