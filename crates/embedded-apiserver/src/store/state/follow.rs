//! One state that follows another: what a replica takes from the server that it stands beside.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{ByKey, Change, Expired, State};
use crate::store::stored::Stored;

/// All objects of all tables, by the tables' names.
pub(crate) type Everything = Vec<(Arc<str>, Vec<Arc<Stored>>)>;

impl State {
    /// The changes of all tables after a revision, oldest first.
    pub(crate) fn since(&self, after: u64) -> Result<Vec<(Arc<str>, Change)>, Expired> {
        let mut changes = Vec::new();
        for (name, table) in &self.tables {
            if after < table.lost {
                return Err(Expired { oldest: table.lost });
            }
            let from = table.history.partition_point(|change| change.revision <= after);
            changes.extend(
                table.history.range(from..).map(|change| (Arc::clone(name), change.clone())),
            );
        }
        changes.sort_by_key(|(_, change)| change.revision);
        Ok(changes)
    }

    /// All there is.
    pub(crate) fn everything(&self) -> Everything {
        let objects = |table: &super::Table| {
            table.objects.iter().map(|object| Arc::clone(&object.0)).collect()
        };
        let tables = self.tables.iter().map(|(name, table)| (Arc::clone(name), objects(table)));
        let mut tables: Everything = tables.collect();
        tables.sort_by(|(one, _), (other, _)| one.cmp(other));
        tables
    }

    /// Does what was done elsewhere.
    pub(crate) fn follow(&mut self, table: &Arc<str>, change: Change) {
        self.revision = self.revision.max(change.revision);
        let objects = &mut self.table(table).objects;
        if change.removed {
            objects.take(&change.object.key);
        } else {
            objects.replace(ByKey(Arc::clone(&change.object)));
        }
        self.record(table, change);
    }

    /// Becomes what another state is, of which too little history is left to follow it: watches
    /// have to begin anew.
    pub(crate) fn replace_with(&mut self, everything: Everything, revision: u64) {
        let mut tables: BTreeMap<Arc<str>, Vec<Arc<Stored>>> =
            self.tables.keys().map(|name| (Arc::clone(name), Vec::new())).collect();
        tables.extend(everything);
        self.revision = revision;
        // What has come and gone meanwhile is in neither state: all have missed something, or may
        // have.
        self.audience.announce_to_all(revision, &mut self.woken);
        for (name, objects) in tables {
            let table = self.table(&name);
            table.objects = objects.into_iter().map(ByKey).collect();
            table.forget(revision);
        }
    }
}
