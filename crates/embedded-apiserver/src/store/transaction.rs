//! A transaction: reads and changes that are prepared without the lock.

use std::sync::Arc;

use crate::store::Store;
use crate::store::state::{Place, State};
use crate::store::stored::{Key, Stored};

/// An object or a table that the transaction has read has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Conflict;

/// Reads of a store, and changes that are made only if all reads still hold.
#[doc(alias = "Txn")]
pub(crate) struct Transaction<'a> {
    store: &'a Store,
    compares: Vec<Compare>,
    changes: Vec<Change>,
}

/// A read to verify at the commit.
enum Compare {
    /// An object, or its absence.
    Object { table: Arc<str>, key: Key, found: Option<Arc<Stored>> },
    /// The revision of the newest change of a table.
    Table { table: Arc<str>, revision: u64 },
    /// A condition outside of the store, which changes only under the store's lock.
    Other(Box<dyn Fn() -> bool + Send>),
}

struct Change {
    table: Arc<str>,
    /// Its revision is set at the commit.
    version: Stored,
    removes: bool,
}

impl<'a> Transaction<'a> {
    pub(crate) const fn new(store: &'a Store) -> Self {
        Self { store, compares: Vec::new(), changes: Vec::new() }
    }

    /// Returns an object. A repeated read returns the same version.
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
            // The current snapshot always exists.
            (state.snapshot(&place, None).unwrap_or_default(), state.last_change(table))
        });
        self.compares.push(Compare::Table { table: Arc::clone(table), revision });
        found
    }

    /// Adds a condition of the commit. `still` runs under the lock.
    pub(crate) fn require(&mut self, still: impl Fn() -> bool + Send + 'static) {
        self.compares.push(Compare::Other(Box::new(still)));
    }

    /// Puts a version. Returns the index of the change.
    pub(crate) fn put(&mut self, table: &Arc<str>, version: Stored) -> usize {
        self.change(table, version, false)
    }

    /// Removes an object. `last` is its last content. Returns the index of the change.
    pub(crate) fn remove(&mut self, table: &Arc<str>, last: Stored) -> usize {
        self.change(table, last, true)
    }

    /// The version of a change.
    pub(crate) fn changed(&self, change: usize) -> Option<&Stored> {
        self.changes.get(change).map(|change| &change.version)
    }

    fn change(&mut self, table: &Arc<str>, version: Stored, removes: bool) -> usize {
        self.changes.push(Change { table: Arc::clone(table), version, removes });
        self.changes.len() - 1
    }

    /// The tables that the changes are in.
    pub(crate) fn changed_tables(&self) -> impl Iterator<Item = &str> {
        self.changes.iter().map(|change| &*change.table)
    }

    /// Makes the changes. Returns the written versions.
    ///
    /// # Errors
    ///
    /// [`Conflict`] if a read no longer holds. Then nothing is written.
    pub(crate) fn commit(self) -> Result<Vec<Arc<Stored>>, Conflict> {
        if self.changes.is_empty() {
            return Ok(Vec::new());
        }
        self.store
            .write(|state| if self.holds(state) { Ok(self.apply(state)) } else { Err(Conflict) })
    }

    /// Whether all reads still hold. If so, an error based on them is correct.
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
