//! Objects that come from elsewhere, at the revisions that they had there.

use std::sync::Arc;

use super::{ByKey, State, Table};
use crate::stored::Stored;

impl State {
    /// Puts objects into tables, over those of the same name, and counts on from a later revision.
    /// What was there before is no longer known: whoever was reading the changes of these
    /// tables has to begin anew.
    pub(crate) fn restore(&mut self, tables: Vec<(Arc<str>, Vec<Arc<Stored>>)>, revision: u64) {
        let revision = revision.max(self.next_revision());
        self.revision = revision;
        for (name, objects) in tables {
            for object in &objects {
                self.audience.announce(&name, &object.key, revision, &mut self.woken);
            }
            let table = self.table(&name);
            for object in objects {
                table.objects.replace(ByKey(object));
            }
            table.forget(revision);
        }
    }
}

impl Table {
    /// Nothing is known of what was before a revision.
    pub(super) fn forget(&mut self, revision: u64) {
        self.history.clear();
        self.changed = revision;
        self.weight = 0;
        self.forgotten = revision;
        self.lost = revision;
    }
}
