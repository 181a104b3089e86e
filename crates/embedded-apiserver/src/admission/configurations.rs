//! The configurations of one kind, compiled once for each version of an object.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::RwLock;

use crate::api::metadata::Object;
use crate::store::Store;
use crate::store::state::changes_since::ChangesSince;

/// The configurations of one kind, by name.
pub(crate) type Compiled<T> = Arc<BTreeMap<String, Arc<T>>>;

/// A view of a table: each of its objects as `read` compiles it.
pub(crate) struct Configurations<T> {
    table: String,
    read: fn(&str, &Object) -> T,
    /// With the revision of the view.
    newest: RwLock<(u64, Compiled<T>)>,
}

impl<T> fmt::Debug for Configurations<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Configurations").field("table", &self.table).finish_non_exhaustive()
    }
}

impl<T> Configurations<T> {
    /// A view of the objects of a kind, by its group and its plural. `read` gets the name of an
    /// object and the object.
    pub(crate) fn new(group: &str, plural: &str, read: fn(&str, &Object) -> T) -> Self {
        Self { table: format!("{group}/{plural}"), read, newest: RwLock::default() }
    }

    /// The configurations of now. A write uses them from beginning to end.
    pub(crate) fn now(&self, store: &Store) -> Compiled<T> {
        // By value: a reference would hold the lock.
        let (known, compiled) = self.newest.read().clone();
        let ChangesSince { anew, changes, revision } = store.changes_since(&[&self.table], known);
        if changes.is_empty() && !anew {
            return compiled;
        }
        let mut all = if anew { BTreeMap::new() } else { BTreeMap::clone(&compiled) };
        for (_, object, removed) in changes {
            let name = object.key.name();
            if removed {
                all.remove(name);
            } else {
                all.insert(name.to_owned(), Arc::new((self.read)(name, &object.object())));
            }
        }
        let all = Arc::new(all);
        let mut newest = self.newest.write();
        if newest.0 < revision {
            *newest = (revision, Arc::clone(&all));
        }
        all
    }
}
