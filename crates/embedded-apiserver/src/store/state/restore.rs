//! Restores an object from a backup, at its revision.

use std::sync::Arc;

use super::{ByKey, State, Table};
use crate::store::stored::Stored;

impl State {
    /// Puts an object into a table, in a revision of its own. The history before is dropped, so
    /// watches of the table expire.
    pub(crate) fn restore(&mut self, name: &Arc<str>, object: Arc<Stored>) {
        let revision = self.next_revision().max(object.revision);
        self.revision = revision;
        self.watchers.announce(name, &object.key, revision, &mut self.woken);
        let table = self.table(name);
        table.objects.replace(ByKey(object));
        table.forget(revision);
    }
}

impl Table {
    /// Drops the history before a revision.
    pub(super) fn forget(&mut self, revision: u64) {
        self.history.clear();
        self.changed = revision;
        self.weight = 0;
        self.forgotten = revision;
        self.lost = revision;
    }
}
