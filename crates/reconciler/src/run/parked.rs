//! The keys that are parked until they change, and why.

use tokio::time::Instant;

use crate::run::sparse_map::SparseMap;
use crate::{Key, Parked};

/// More keys than this are parked without being listed. The next event runs such a key, a change
/// of its status too.
const MOST: usize = 65_536;

/// Parked keys. A key leaves when it runs again.
pub(crate) struct ParkedKeys<K> {
    /// With the end of the run that parked the key.
    keys: SparseMap<K, (Parked, Instant)>,
}

impl<K: Key> ParkedKeys<K> {
    pub(crate) fn new() -> Self {
        Self { keys: SparseMap::new() }
    }

    pub(crate) fn insert(&self, key: K, reason: Parked, now: Instant) {
        self.keys.insert(key, (reason, now), MOST);
    }

    /// When the run ended that parked the key.
    pub(crate) fn since(&self, key: &K) -> Option<Instant> {
        self.keys.get(key, |(_, since)| *since)
    }

    pub(crate) fn remove(&self, key: &K) {
        _ = self.keys.remove(key);
    }

    pub(crate) fn clear(&self) {
        self.keys.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// At most `most` of the keys.
    pub(crate) fn some(&self, most: usize) -> Vec<(K, Parked)> {
        self.keys.some(most, |(reason, _)| *reason)
    }
}
