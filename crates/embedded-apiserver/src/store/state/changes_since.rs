//! Changes for a cached view of some tables inside the server.

use std::sync::Arc;

use super::{Change, State};
use crate::store::stored::Stored;

/// The update of a cached view.
#[derive(Debug)]
pub(crate) struct ChangesSince {
    /// Whether the view must be cleared first: its revision is compacted.
    pub(crate) anew: bool,
    /// By table, then by revision: the index of the table in the request, the object, whether it is
    /// deleted.
    pub(crate) changes: Vec<(usize, Arc<Stored>, bool)>,
    /// The revision of the updated view.
    pub(crate) revision: u64,
}

impl State {
    /// The changes of some tables after a revision. An empty view is at 0.
    pub(crate) fn changes_since(&self, tables: &[&str], after: u64) -> ChangesSince {
        let revision = self.revision;
        if after >= revision {
            return ChangesSince { anew: false, changes: Vec::new(), revision };
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
        ChangesSince { anew, changes, revision }
    }
}
