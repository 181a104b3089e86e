//! A write that is worked out without the lock: what it has read, and what it is going to change.

use std::sync::Arc;

use crate::store::Store;
use crate::store::state::{Place, State};
use crate::store::stored::{Key, Stored};

/// What was read has changed meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Conflict;

/// Reads of a store, and changes that hold only if nothing of what was read has changed when they
/// are made.
#[doc(alias = "Txn")]
pub(crate) struct Transaction<'a> {
    store: &'a Store,
    compares: Vec<Compare>,
    changes: Vec<Change>,
}

/// Something that was read.
enum Compare {
    /// An object, or that it was not there.
    Object { table: Arc<str>, key: Key, found: Option<Arc<Stored>> },
    /// The revision of the newest change of a table.
    Table { table: Arc<str>, revision: u64 },
    /// Something beside the store, which changes only under the store's lock.
    Other(Box<dyn Fn() -> bool>),
}

struct Change {
    table: Arc<str>,
    /// Its revision is that of the change, which is known when it is made.
    version: Stored,
    removes: bool,
}

impl<'a> Transaction<'a> {
    pub(crate) const fn new(store: &'a Store) -> Self {
        Self { store, compares: Vec::new(), changes: Vec::new() }
    }

    /// An object; the same as before if it was read before.
    pub(crate) fn get(&mut self, table: &Arc<str>, key: &Key) -> Option<Arc<Stored>> {
        let known = self.compares.iter().find_map(|compare| match compare {
            Compare::Object { table: of, key: known, found } if of == table && known == key => {
                Some(found.clone())
            }
            _ => None,
        });
        known.unwrap_or_else(|| {
            let found = self.store.get(table, key);
            let (table, key) = (Arc::clone(table), key.clone());
            self.compares.push(Compare::Object { table, key, found: found.clone() });
            found
        })
    }

    /// All objects of a table.
    pub(crate) fn list(&mut self, table: &Arc<str>) -> Vec<Arc<Stored>> {
        let (found, revision) = self.store.look(|state| {
            let place = Place { table, namespace: None, from: None };
            // What is now is always known.
            (state.snapshot(&place, None).unwrap_or_default(), state.last_change(table))
        });
        self.compares.push(Compare::Table { table: Arc::clone(table), revision });
        found
    }

    /// The changes hold only if `still` does when they are made. It is asked under the lock.
    pub(crate) fn require(&mut self, still: impl Fn() -> bool + 'static) {
        self.compares.push(Compare::Other(Box::new(still)));
    }

    /// Puts a version, in the place of the one that is there; answers which change this is.
    pub(crate) fn put(&mut self, table: &Arc<str>, version: Stored) -> usize {
        self.change(table, version, false)
    }

    /// Removes an object; `last` is its last content. Answers which change this is.
    pub(crate) fn remove(&mut self, table: &Arc<str>, last: Stored) -> usize {
        self.change(table, last, true)
    }

    /// The version that a change will write.
    pub(crate) fn changed(&self, change: usize) -> Option<&Stored> {
        self.changes.get(change).map(|change| &change.version)
    }

    fn change(&mut self, table: &Arc<str>, version: Stored, removes: bool) -> usize {
        self.changes.push(Change { table: Arc::clone(table), version, removes });
        self.changes.len() - 1
    }

    /// Makes the changes, if everything that was read is still so; answers with the versions that
    /// were written.
    ///
    /// # Errors
    ///
    /// [`Conflict`] if something that was read has changed: nothing is written.
    pub(crate) fn commit(self) -> Result<Vec<Arc<Stored>>, Conflict> {
        if self.changes.is_empty() {
            return Ok(Vec::new());
        }
        self.store
            .write(|state| if self.holds(state) { Ok(self.apply(state)) } else { Err(Conflict) })
    }

    /// Whether everything is as it was read: a refusal that rests on it is right.
    pub(crate) fn is_current(&self) -> bool {
        self.store.look(|state| self.holds(state))
    }

    fn holds(&self, state: &State) -> bool {
        self.compares.iter().all(|compare| match compare {
            Compare::Object { table, key, found } => {
                let revision = |found: &Arc<Stored>| found.revision;
                state.get(table, key).map(revision) == found.as_ref().map(revision)
            }
            Compare::Table { table, revision } => state.last_change(table) == *revision,
            Compare::Other(still) => still(),
        })
    }

    fn apply(self, state: &mut State) -> Vec<Arc<Stored>> {
        let mut written = Vec::with_capacity(self.changes.len());
        for Change { table, version, removes } in self.changes {
            let version = Arc::new(version.written_at(state.next_revision()));
            written.push(Arc::clone(&version));
            if removes {
                state.remove(&table, version);
            } else {
                state.put(&table, version);
            }
        }
        written
    }
}
