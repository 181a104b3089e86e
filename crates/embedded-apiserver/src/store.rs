//! The store's shell: one lock around the state, wake-ups after it, and a signal for those who wait
//! for a revision.

pub(crate) mod audience;
pub(crate) mod lines;
pub(crate) mod state;
pub(crate) mod stored;
pub(crate) mod transaction;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::task::Waker;

use api_front::{Follower, Signal};
use bytes::Bytes;
use fastrand::Rng;
use parking_lot::Mutex;

use crate::store::audience::{Interest, Seat};
use crate::store::lines::{Line, Lines};
use crate::store::state::news::News;
use crate::store::state::{Change, Changes, Expired, Place, State, Visited, Window};
use crate::store::stored::{Key, Stored};

/// All objects. Every method takes the lock for a short while and never waits for anything else.
#[derive(Debug)]
pub(crate) struct Store {
    state: Mutex<State>,
    rng: Mutex<Rng>,
    lines: Mutex<Lines>,
    /// The newest revision of all.
    newest: Signal<u64>,
}

/// Some objects in order, and how many more there are.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) objects: Vec<Arc<Stored>>,
    pub(crate) remaining: usize,
}

/// What a page should say of the objects after it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rest {
    /// The page before this one knew how many there are from here on.
    Known(usize),
    /// How many there are: they are all looked at.
    Count,
    /// Only whether there is one, be it one that matches or not, as the real server: 1 or 0.
    Any,
}

/// Where a watch begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// With everything there is.
    Objects,
    /// With the next change.
    Now,
    /// With the first change after a revision.
    After(u64),
}

/// A watch that was let in.
#[derive(Debug)]
pub(crate) struct Seated {
    pub(crate) seat: Seat,
    /// The objects it begins with.
    pub(crate) objects: Vec<Arc<Stored>>,
    /// Its seat hears of everything after this revision.
    pub(crate) revision: u64,
    /// The history does not reach back to where it wants to begin.
    pub(crate) refused: Option<Expired>,
}

impl Store {
    pub(crate) fn new(window: Window, rng: Rng) -> Self {
        let state = State::new(window);
        let newest = Signal::new(state.revision());
        Self { state: Mutex::new(state), rng: Mutex::new(rng), lines: Mutex::default(), newest }
    }

    /// Writes under the lock, and afterwards wakes the watches that it concerns. For writes that
    /// are quickly decided; others are transactions.
    pub(crate) fn write<T>(&self, write: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.lock();
        let before = state.revision();
        let outcome = write(&mut state);
        let after = state.revision();
        let woken = state.take_woken();
        drop(state);
        woken.into_iter().for_each(Waker::wake);
        if after != before {
            self.newest.change(|revision| raise(revision, after));
        }
        outcome
    }

    /// What the objects are at this moment.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.state.lock())
    }

    /// Draws from the store's random numbers, which are seeded.
    pub(crate) fn draw<T>(&self, draw: impl FnOnce(&mut Rng) -> T) -> T {
        draw(&mut self.rng.lock())
    }

    /// Becomes changed with each write.
    pub(crate) fn newest(&self) -> Follower<u64> {
        self.newest.follow()
    }

    pub(crate) fn revision(&self) -> u64 {
        self.state.lock().revision()
    }

    pub(crate) fn get(&self, table: &str, key: &Key) -> Option<Arc<Stored>> {
        self.state.lock().get(table, key).cloned()
    }

    /// Lets a watch in. Its seat must be given back by [`leave`](Self::leave).
    pub(crate) fn watch(
        &self,
        table: &Arc<str>,
        place: &Place<'_>,
        interest: Interest,
        from: Beginning,
    ) -> Result<Seated, Expired> {
        let state = &mut self.state.lock();
        let now = state.revision();
        let (objects, revision, refused) = match from {
            Beginning::Objects => (state.snapshot(place, None)?, now, None),
            Beginning::Now => (Vec::new(), now, None),
            Beginning::After(revision) => {
                (Vec::new(), revision, state.can_resume(table, revision).err())
            }
        };
        let seat = state.take_seat(table, interest, revision);
        Ok(Seated { seat, objects, revision, refused })
    }

    /// Gives the seat of a watch back.
    pub(crate) fn leave(&self, seat: &Seat) {
        let waker = self.state.lock().leave_seat(seat);
        drop(waker);
    }

    /// See [`State::read`].
    pub(crate) fn read(
        &self,
        seat: &Seat,
        after: u64,
        max: usize,
        shows: impl Fn(&Change) -> bool,
        waker: Option<&Waker>,
    ) -> Result<Changes, Expired> {
        let mut old = None;
        let read = self.state.lock().read(seat, after, max, shows, waker, &mut old);
        drop(old);
        read
    }

    /// An event line: as another watch has written it a moment ago, or as `write` does.
    pub(crate) fn line(
        &self,
        line: Line,
        prefix: &Arc<str>,
        write: impl FnOnce() -> Bytes,
    ) -> Bytes {
        if let Some(known) = self.lines.lock().get(&line, prefix) {
            return known;
        }
        let bytes = write();
        self.lines.lock().keep(line, prefix, bytes.clone());
        bytes
    }

    /// One page of a part of a table: at most `limit` objects that `matches` selects.
    pub(crate) fn page(
        &self,
        place: &Place<'_>,
        at: Option<u64>,
        limit: usize,
        rest: Rest,
        matches: impl Fn(&Stored) -> bool,
    ) -> Result<Visited<Page>, Expired> {
        self.state.lock().visit(place, at, |objects| {
            let matching = (&mut *objects).filter(|object| matches(object));
            let found: Vec<_> = matching.take(limit).cloned().collect();
            let remaining = match rest {
                Rest::Known(left) => left.saturating_sub(found.len()),
                Rest::Any => usize::from(objects.next().is_some()),
                Rest::Count => objects.filter(|object| matches(object)).count(),
            };
            Page { objects: found, remaining }
        })
    }

    /// What changed in some tables since a reader looked last.
    pub(crate) fn news(&self, tables: &[&str], after: u64) -> News {
        self.state.lock().news(tables, after)
    }

    pub(crate) fn compact(&self) {
        self.state.lock().compact();
    }
}

/// Two writes may signal in the other order than they were applied.
fn raise(revision: &mut u64, to: u64) -> bool {
    let higher = *revision < to;
    *revision = (*revision).max(to);
    higher
}
