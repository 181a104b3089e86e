//! The store: one lock around the state, wake-ups after its release, and a signal of the newest
//! revision.

pub(crate) mod lines;
pub(crate) mod state;
pub(crate) mod stored;
#[cfg(test)]
mod tests;
pub(crate) mod transaction;
pub(crate) mod watcher_index;

use std::sync::Arc;
use std::task::Waker;

use api_front::{Follower, Signal};
use bytes::Bytes;
use fastrand::Rng;
use parking_lot::Mutex;

use crate::store::lines::{Line, Lines};
use crate::store::state::changes_since::ChangesSince;
use crate::store::state::{Change, Changes, Expired, Place, State, Visited, Window};
use crate::store::stored::{Key, Stored};
use crate::store::watcher_index::{Interest, WatcherId};

/// All objects. Every method holds the lock briefly and never waits for anything else.
#[derive(Debug)]
pub(crate) struct Store {
    state: Mutex<State>,
    rng: Mutex<Rng>,
    lines: Mutex<Lines>,
    /// The newest revision of all.
    newest: Signal<u64>,
}

/// A page of objects, and the number of remaining ones.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) objects: Vec<Arc<Stored>>,
    pub(crate) remaining: usize,
}

/// How a page counts the remaining objects.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rest {
    /// The page before has counted them.
    Known(usize),
    /// Visits them all.
    Count,
    /// Only whether there is any, matching or not: 1 or 0, as upstream.
    Any,
}

/// The start of a watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// All current objects.
    Objects,
    /// The next change.
    Now,
    /// The first change after a revision.
    After(u64),
}

/// A registered watch.
#[derive(Debug)]
pub(crate) struct WatchStart {
    pub(crate) id: WatcherId,
    /// The initial objects.
    pub(crate) objects: Vec<Arc<Stored>>,
    /// The watch gets every change after this revision.
    pub(crate) revision: u64,
    /// The history before its start is compacted.
    pub(crate) refused: Option<Expired>,
}

impl Store {
    pub(crate) fn new(window: Window, rng: Rng) -> Self {
        let state = State::new(window);
        let newest = Signal::new(state.revision());
        Self { state: Mutex::new(state), rng: Mutex::new(rng), lines: Mutex::default(), newest }
    }

    /// Writes under the lock, then wakes the affected watches. For simple writes; others use
    /// transactions.
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

    /// Reads the state under the lock.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.state.lock())
    }

    /// Draws from the store's seeded random numbers.
    pub(crate) fn draw<T>(&self, draw: impl FnOnce(&mut Rng) -> T) -> T {
        draw(&mut self.rng.lock())
    }

    /// Follows the newest revision.
    pub(crate) fn newest(&self) -> Follower<u64> {
        self.newest.follow()
    }

    pub(crate) fn revision(&self) -> u64 {
        self.state.lock().revision()
    }

    pub(crate) fn get(&self, table: &str, key: &Key) -> Option<Arc<Stored>> {
        self.state.lock().get(table, key).cloned()
    }

    /// Registers a watch. Call [`unwatch`](Self::unwatch) at its end.
    pub(crate) fn watch(
        &self,
        table: &Arc<str>,
        place: &Place<'_>,
        interest: Interest,
        from: Beginning,
    ) -> Result<WatchStart, Expired> {
        let state = &mut self.state.lock();
        let now = state.revision();
        let (objects, revision, refused) = match from {
            Beginning::Objects => (state.snapshot(place, None)?, now, None),
            Beginning::Now => (Vec::new(), now, None),
            Beginning::After(revision) => {
                (Vec::new(), revision, state.can_resume(table, revision).err())
            }
        };
        let id = state.register_watcher(table, interest, revision);
        Ok(WatchStart { id, objects, revision, refused })
    }

    /// Unregisters a watch.
    pub(crate) fn unwatch(&self, id: &WatcherId) {
        let waker = self.state.lock().unregister_watcher(id);
        drop(waker);
    }

    /// See [`State::read`].
    pub(crate) fn read(
        &self,
        id: &WatcherId,
        after: u64,
        max: usize,
        shows: impl Fn(&Change) -> bool,
        waker: Option<&Waker>,
    ) -> Result<Changes, Expired> {
        let mut old = None;
        let read = self.state.lock().read(id, after, max, shows, waker, &mut old);
        drop(old);
        read
    }

    /// Returns a cached event line. Calls `write` for a line that is not cached.
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

    /// Returns a page of a part of a table: at most `limit` objects that `matches` accepts.
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

    /// The changes of some tables since a revision.
    pub(crate) fn changes_since(&self, tables: &[&str], after: u64) -> ChangesSince {
        self.state.lock().changes_since(tables, after)
    }

    pub(crate) fn compact(&self) {
        self.state.lock().compact();
    }
}

/// Two writes may signal in another order than they were made.
fn raise(revision: &mut u64, to: u64) -> bool {
    let higher = *revision < to;
    *revision = (*revision).max(to);
    higher
}
