//! Replication: a replica's state follows the state of its server.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{ByKey, Change, Expired, State};
use crate::store::stored::Stored;

/// All objects, by table.
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

    /// All objects of all tables.
    pub(crate) fn everything(&self) -> Everything {
        let objects = |table: &super::Table| {
            table.objects.iter().map(|object| Arc::clone(&object.0)).collect()
        };
        let tables = self.tables.iter().map(|(name, table)| (Arc::clone(name), objects(table)));
        let mut tables: Everything = tables.collect();
        tables.sort_by(|(one, _), (other, _)| one.cmp(other));
        tables
    }

    /// Applies a change of the followed state.
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

    /// Replaces all objects, when the history is too short to follow. Open watches expire.
    pub(crate) fn replace_with(&mut self, everything: Everything, revision: u64) {
        let mut tables: BTreeMap<Arc<str>, Vec<Arc<Stored>>> =
            self.tables.keys().map(|name| (Arc::clone(name), Vec::new())).collect();
        tables.extend(everything);
        self.revision = revision;
        // Neither state has the changes between: every watch may have missed one.
        self.watchers.announce_to_all(revision, &mut self.woken);
        for (name, objects) in tables {
            let table = self.table(&name);
            table.objects = objects.into_iter().map(ByKey).collect();
            table.forget(revision);
        }
    }
}
