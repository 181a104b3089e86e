//! Active runs: the keys that the workers of one controller run now, and since when.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::Key;
#[cfg(feature = "admin")]
use crate::hostile::unless_panics;

/// The active runs, in the order of their starts.
pub(crate) struct ActiveRuns<K> {
    table: Mutex<Table<K>>,
}

struct Table<K> {
    next: u64,
    runs: BTreeMap<u64, (K, Instant)>,
}

/// Identifies an active run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunId(u64);

/// The number of active runs, and the starts of the first and the last of them.
#[cfg(feature = "admin")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Starts {
    pub(crate) runs: usize,
    pub(crate) oldest: Instant,
    pub(crate) newest: Instant,
}

impl<K: Key> ActiveRuns<K> {
    pub(crate) fn new() -> Self {
        Self { table: Mutex::new(Table { next: 0, runs: BTreeMap::new() }) }
    }

    pub(crate) fn begin(&self, key: K, now: Instant) -> RunId {
        let mut table = self.table.lock();
        let id = table.next;
        table.next = id.wrapping_add(1);
        table.runs.insert(id, (key, now));
        RunId(id)
    }

    /// Returns the key, so that the caller drops it outside the lock.
    pub(crate) fn end(&self, id: RunId) -> Option<K> {
        self.table.lock().runs.remove(&id.0).map(|(key, _)| key)
    }

    /// `None` without an active run.
    #[cfg(feature = "admin")]
    pub(crate) fn starts(&self) -> Option<Starts> {
        let table = self.table.lock();
        let (oldest, newest) = (table.runs.values().next()?.1, table.runs.values().next_back()?.1);
        Some(Starts { runs: table.runs.len(), oldest, newest })
    }

    /// The runs that started first, at most `most` of them.
    #[cfg(feature = "admin")]
    pub(crate) fn oldest(&self, most: usize) -> Vec<(K, Instant)> {
        // A key's `Clone` may panic.
        unless_panics(|| self.table.lock().runs.values().take(most).cloned().collect())
            .unwrap_or_default()
    }
}
