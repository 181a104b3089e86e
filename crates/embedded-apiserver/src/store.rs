//! The store's shell: one lock around the state, and a signal for those who wait for a revision.

pub(crate) mod state;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::store::state::{Changes, Expired, Place, Snapshot, State, Visited};
use crate::stored::{Key, Stored};

/// All objects. Every method takes the lock for a short while and never waits for anything else.
#[derive(Debug)]
pub(crate) struct Store {
    inner: Mutex<Inner>,
    /// The newest revision of each table; its watchers wait for it.
    signals: Mutex<HashMap<Arc<str>, watch::Sender<u64>>>,
    /// The newest revision of all.
    newest: watch::Sender<u64>,
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
    /// Only whether there is one: 1 or 0.
    Any,
}

/// What a write works on while it holds the lock.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) state: State,
    pub(crate) rng: fastrand::Rng,
}

impl Store {
    pub(crate) fn new(window: usize, rng: fastrand::Rng) -> Self {
        let state = State::new(window);
        let newest = watch::Sender::new(state.revision());
        Self { inner: Mutex::new(Inner { state, rng }), signals: Mutex::new(HashMap::new()), newest }
    }

    /// Runs one write under the lock, and afterwards wakes the watchers of `table` if it changed anything.
    pub(crate) fn write<T>(&self, table: &Arc<str>, write: impl FnOnce(&mut Inner) -> T) -> T {
        let mut inner = self.inner.lock();
        let before = inner.state.revision();
        let outcome = write(&mut inner);
        let after = inner.state.revision();
        drop(inner);
        if after != before {
            self.signal(table).send_if_modified(|revision| raise(revision, after));
            self.newest.send_if_modified(|revision| raise(revision, after));
        }
        outcome
    }

    fn signal(&self, table: &Arc<str>) -> watch::Sender<u64> {
        self.signals.lock().entry(Arc::clone(table)).or_insert_with(|| watch::Sender::new(0)).clone()
    }

    /// Becomes changed with each write to the table.
    pub(crate) fn subscribe(&self, table: &Arc<str>) -> watch::Receiver<u64> {
        self.signal(table).subscribe()
    }

    /// Becomes changed with each write.
    pub(crate) fn newest(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }

    pub(crate) fn revision(&self) -> u64 {
        self.inner.lock().state.revision()
    }

    pub(crate) fn get(&self, table: &str, key: &Key) -> Option<Arc<Stored>> {
        self.inner.lock().state.get(table, key).cloned()
    }

    pub(crate) fn can_resume(&self, table: &str, after: u64) -> Result<(), Expired> {
        self.inner.lock().state.can_resume(table, after)
    }

    pub(crate) fn changes(&self, table: &str, after: u64, max: usize) -> Result<Changes, Expired> {
        self.inner.lock().state.changes(table, after, max)
    }

    pub(crate) fn snapshot(&self, place: &Place<'_>, at: Option<u64>) -> Result<Snapshot, Expired> {
        self.inner.lock().state.snapshot(place, at)
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
        self.inner.lock().state.visit(place, at, |objects| {
            let mut matching = objects.filter(|object| matches(object));
            let objects: Vec<_> = matching.by_ref().take(limit).cloned().collect();
            let remaining = match rest {
                Rest::Known(left) => left.saturating_sub(objects.len()),
                Rest::Any => usize::from(matching.next().is_some()),
                Rest::Count => matching.count(),
            };
            Page { objects, remaining }
        })
    }

    pub(crate) fn compact(&self) {
        self.inner.lock().state.compact();
    }
}

/// Two writes may signal in the other order than they were applied.
fn raise(revision: &mut u64, to: u64) -> bool {
    let higher = *revision < to;
    *revision = (*revision).max(to);
    higher
}
