//! Objects that come from elsewhere, at the revisions that they had there.

use std::sync::Arc;

use super::State;
use crate::stored::Stored;

impl State {
    /// Puts objects into a table, over those of the same name. What was there before is no longer known: whoever was
    /// reading the table's changes has to begin anew.
    pub(crate) fn restore(&mut self, table: &Arc<str>, objects: Vec<Arc<Stored>>) {
        let highest = objects.iter().map(|object| object.revision).max().unwrap_or(0);
        self.advance(highest);
        let table = self.table(table);
        for object in objects {
            table.objects.insert(object.key.clone(), object);
        }
        table.history.clear();
    }

    /// Counts on from a revision, and forgets the history before it in a table that was [restored](Self::restore).
    pub(crate) fn restored(&mut self, table: &Arc<str>) {
        let revision = self.revision;
        let table = self.table(table);
        table.forgotten = revision;
        table.lost = revision;
    }

    /// The revision is at least this one.
    pub(crate) fn advance(&mut self, revision: u64) {
        self.revision = self.revision.max(revision);
    }
}
