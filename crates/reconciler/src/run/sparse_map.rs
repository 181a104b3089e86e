//! `SparseMap`: a shared map that is empty most of the time. All workers ask it in each run, and
//! while it is empty they share no lock.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::Key;

pub(crate) struct SparseMap<K, V> {
    /// Of the entries. A key's entry is written and read by workers that hold the key in turn, so
    /// the queue orders this count too.
    len: AtomicUsize,
    entries: Mutex<HashMap<K, V>>,
}

impl<K: Key, V> SparseMap<K, V> {
    pub(crate) fn new() -> Self {
        Self { len: AtomicUsize::new(0), entries: Mutex::new(HashMap::new()) }
    }

    pub(crate) fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    /// Inserts, unless the map has `most` other keys.
    pub(crate) fn insert(&self, key: K, value: V, most: usize) {
        let mut entries = self.entries.lock();
        if entries.len() < most || entries.contains_key(&key) {
            let earlier = entries.insert(key, value);
            self.len.store(entries.len(), Ordering::Relaxed);
            drop(entries);
            drop(earlier);
        }
    }

    pub(crate) fn get<T>(&self, key: &K, read: impl FnOnce(&V) -> T) -> Option<T> {
        if self.len() == 0 {
            return None;
        }
        self.entries.lock().get(key).map(read)
    }

    /// Returns whether the map had the key.
    pub(crate) fn remove(&self, key: &K) -> bool {
        if self.len() == 0 {
            return false;
        }
        let mut entries = self.entries.lock();
        let removed = entries.remove_entry(key);
        self.len.store(entries.len(), Ordering::Relaxed);
        drop(entries);
        removed.is_some()
    }

    pub(crate) fn clear(&self) {
        let mut entries = self.entries.lock();
        let cleared = std::mem::take(&mut *entries);
        self.len.store(0, Ordering::Relaxed);
        drop(entries);
        drop(cleared);
    }

    /// At most `most` of the keys, and what `read` tells of them.
    pub(crate) fn some<T>(&self, most: usize, read: impl Fn(&V) -> T) -> Vec<(K, T)> {
        let entries = self.entries.lock();
        entries.iter().take(most).map(|(key, value)| (key.clone(), read(value))).collect()
    }
}
