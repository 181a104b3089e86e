//! For a reader inside the server that keeps a view of some tables: what changed since it looked
//! last.

use std::sync::Arc;

use super::{Change, State};
use crate::store::stored::Stored;

/// What such a reader has to do to be up to date.
#[derive(Debug)]
pub(crate) struct News {
    /// Whether it must forget everything first: the history does not reach back to where it was.
    pub(crate) anew: bool,
    /// In the order of tables, then of revisions: the table's place among those that were named,
    /// the object, and whether that is gone.
    pub(crate) changes: Vec<(usize, Arc<Stored>, bool)>,
    /// It has read everything up to here then.
    pub(crate) revision: u64,
}

impl State {
    /// The changes of some tables after a revision; a reader that has read nothing is at 0.
    pub(crate) fn news(&self, tables: &[&str], after: u64) -> News {
        let revision = self.revision;
        if after >= revision {
            return News { anew: false, changes: Vec::new(), revision };
        }
        let named = || {
            tables.iter().enumerate().filter_map(|(at, name)| Some((at, self.tables.get(*name)?)))
        };
        let anew = named().any(|(_, table)| after < table.lost);
        let changes = if anew {
            named()
                .flat_map(|(at, table)| {
                    table.objects.iter().map(move |object| (at, Arc::clone(&object.0), false))
                })
                .collect()
        } else {
            let changed =
                |(at, change): (usize, &Change)| (at, Arc::clone(&change.object), change.removed);
            named()
                .flat_map(|(at, table)| {
                    let from = table.history.partition_point(|change| change.revision <= after);
                    table.history.range(from..).map(move |change| (at, change))
                })
                .map(changed)
                .collect()
        };
        News { anew, changes, revision }
    }
}
