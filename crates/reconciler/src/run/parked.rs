//! The keys that are parked until they change, and why.

use std::collections::HashMap;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::{Key, Parked};

/// More keys than this are parked without being listed. The next event runs such a key, a change
/// of its status too.
const MOST: usize = 65_536;

/// Parked keys. A key leaves when it runs again.
pub(crate) struct ParkedKeys<K> {
    /// With the end of the run that parked the key.
    keys: Mutex<HashMap<K, (Parked, Instant)>>,
}

impl<K: Key> ParkedKeys<K> {
    pub(crate) fn new() -> Self {
        Self { keys: Mutex::new(HashMap::new()) }
    }

    pub(crate) fn insert(&self, key: K, reason: Parked, now: Instant) {
        let mut keys = self.keys.lock();
        if keys.len() < MOST || keys.contains_key(&key) {
            keys.insert(key, (reason, now));
        }
    }

    /// When the run ended that parked the key.
    pub(crate) fn since(&self, key: &K) -> Option<Instant> {
        self.keys.lock().get(key).map(|(_, since)| *since)
    }

    pub(crate) fn remove(&self, key: &K) {
        let removed = self.keys.lock().remove_entry(key);
        drop(removed);
    }

    pub(crate) fn clear(&self) {
        let cleared = std::mem::take(&mut *self.keys.lock());
        drop(cleared);
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.lock().len()
    }

    /// At most `most` of the keys.
    #[cfg(feature = "admin")]
    pub(crate) fn some(&self, most: usize) -> Vec<(K, Parked)> {
        let keys = self.keys.lock();
        keys.iter().take(most).map(|(key, (reason, _))| (key.clone(), *reason)).collect()
    }

    pub(crate) fn list(&self) -> Vec<(K, Parked)> {
        self.keys.lock().iter().map(|(key, (reason, _))| (key.clone(), *reason)).collect()
    }
}
