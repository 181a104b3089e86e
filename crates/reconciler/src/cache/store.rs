//! The objects of a cache by key, its secondary indexes, and the rules by which lists and watch
//! events change them. Pure: no lock, no clock, no task.
//!
//! The rules:
//!
//! - An older `resourceVersion` is ignored, unless an authoritative list has it. An equal version
//!   of the same object changes nothing.
//! - Versions are compared as numbers if both are numbers. Otherwise a different version counts as
//!   newer.
//! - Another uid under a known name is a deletion and an appearance.
//! - A complete list shows which objects vanished while the watch was down.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;

use crate::{Change, ObjectKey};

/// An object's values in each index, in the order of the indexes. User code computes them, so they
/// are made outside the cache's lock.
pub(crate) type Values = Box<[Box<[String]>]>;

/// The namespace of a list; `None`: all.
pub(crate) type Namespace = Option<Arc<str>>;

/// An object ready to be stored.
#[derive(Debug)]
pub(crate) struct Entering<K> {
    pub(crate) key: ObjectKey,
    pub(crate) object: Arc<K>,
    pub(crate) values: Values,
}

#[derive(Debug)]
struct Held<K> {
    object: Arc<K>,
    values: Values,
}

/// One kind's objects.
#[derive(Debug)]
pub(crate) struct Store<K> {
    /// The namespaces that wait for their first list; `None`: all namespaces.
    unlisted: Vec<Namespace>,
    objects: BTreeMap<ObjectKey, Held<K>>,
    // Values come from objects of tenants: std's keyed hash, not a fast one.
    indexes: Box<[HashMap<String, Vec<ObjectKey>>]>,
}

/// How an incoming version relates to the stored version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arrival {
    Same,
    /// Also a new object under this name, created after the stored one was deleted.
    Newer,
    /// Also an old object under this name, deleted before the stored one was created.
    Older,
}

fn version(meta: &ObjectMeta) -> Option<u64> {
    meta.resource_version.as_deref().and_then(|version| version.parse().ok())
}

fn arrival(held: &ObjectMeta, incoming: &ObjectMeta) -> Arrival {
    let same_object = held.uid == incoming.uid;
    let (older, equal) = match (version(held), version(incoming)) {
        (Some(held), Some(incoming)) => (incoming < held, incoming == held),
        _ => (
            false,
            held.resource_version.is_some() && held.resource_version == incoming.resource_version,
        ),
    };
    match (older, equal) {
        (true, _) => Arrival::Older,
        (false, true) if same_object => Arrival::Same,
        (false, _) => Arrival::Newer,
    }
}

impl<K: Resource> Store<K> {
    /// A store that is complete after a list of each of these namespaces.
    pub(crate) fn new(indexes: usize, unlisted: Vec<Namespace>) -> Self {
        let indexes = (0..indexes).map(|_| HashMap::new()).collect();
        Self { unlisted, objects: BTreeMap::new(), indexes }
    }

    pub(crate) fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.objects.get(key).map(|held| Arc::clone(&held.object))
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.unlisted.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.objects.len()
    }

    /// All objects, by namespace and name.
    pub(crate) fn list(&self) -> Vec<Arc<K>> {
        self.objects.values().map(|held| Arc::clone(&held.object)).collect()
    }

    /// The objects of one namespace, by name.
    pub(crate) fn list_in(&self, namespace: &str) -> Vec<Arc<K>> {
        self.objects
            .range((Bound::Included(ObjectKey::first_in(namespace)), Bound::Unbounded))
            .take_while(|(key, _)| key.namespace() == Some(namespace))
            .map(|(_, held)| Arc::clone(&held.object))
            .collect()
    }

    /// The objects with `value` in an index, by key.
    pub(crate) fn by_index(&self, index: usize, value: &str) -> Vec<Arc<K>> {
        let keys = self.indexes.get(index).and_then(|entries| entries.get(value));
        keys.into_iter().flatten().filter_map(|key| self.get(key)).collect()
    }

    /// Handles an added or modified object of the watch.
    pub(crate) fn apply(&mut self, entering: Entering<K>) -> Vec<Change<K>> {
        let arrival = match self.objects.get(&entering.key) {
            None => None,
            Some(held) => Some(arrival(held.object.meta(), entering.object.meta())),
        };
        match arrival {
            Some(Arrival::Same | Arrival::Older) => Vec::new(),
            None | Some(Arrival::Newer) => {
                let mut changes = self.put(entering);
                changes.iter_mut().for_each(|change| change.is_event = true);
                changes
            }
        }
    }

    /// Handles a deleted object of the watch. `meta` is the event's: it holds the deletion's own
    /// version.
    pub(crate) fn delete(&mut self, key: &ObjectKey, meta: &ObjectMeta) -> Option<Change<K>> {
        let held = self.objects.get(key)?;
        match arrival(held.object.meta(), meta) {
            // Some servers repeat the object's last version instead of the deletion's.
            Arrival::Same | Arrival::Newer => {
                let old = self.remove(key)?;
                Some(Change { is_event: true, ..Change::vanished(old) })
            }
            Arrival::Older => None,
        }
    }

    /// Stores the new versions of a complete list, and removes the objects of its namespace that it
    /// does not name.
    ///
    /// # Errors
    ///
    /// Changes nothing if the list shows an object in an older version than the store: see
    /// [`Backwards`]. `authoritative` skips this check.
    pub(crate) fn commit(
        &mut self,
        relist: Relist<K>,
        authoritative: bool,
    ) -> Result<Vec<Change<K>>, (Backwards, Relist<K>)> {
        if !authoritative && let Some(key) = relist.older.first() {
            return Err((Backwards { key: key.clone(), objects: relist.older.len() }, relist));
        }
        self.unlisted.retain(|namespace| *namespace != relist.namespace);
        let mut changes = Vec::new();
        let gone: Vec<ObjectKey> =
            self.objects.keys().filter(|key| relist.misses(key)).cloned().collect();
        for key in gone {
            changes.extend(self.remove(&key).map(Change::vanished));
        }
        for entering in relist.seen.into_values().flatten() {
            changes.extend(self.put(entering));
        }
        Ok(changes)
    }

    /// Stores unconditionally, and returns the changes.
    fn put(&mut self, entering: Entering<K>) -> Vec<Change<K>> {
        let Entering { key, object, values } = entering;
        for (index, values) in self.indexes.iter_mut().zip(&values) {
            for value in values {
                let keys = index.entry(value.clone()).or_default();
                if let Err(place) = keys.binary_search(&key) {
                    keys.insert(place, key.clone());
                }
            }
        }
        let new = Held { object: Arc::clone(&object), values };
        match self.objects.entry(key) {
            Entry::Vacant(vacant) => {
                vacant.insert(new);
                vec![Change::appeared(object)]
            }
            Entry::Occupied(mut occupied) => {
                let kept = new.values.clone();
                let old = occupied.insert(new);
                let key = occupied.key().clone();
                self.unindex(&key, &old.values, &kept);
                if old.object.meta().uid == object.meta().uid {
                    vec![Change::changed(old.object, object)]
                } else {
                    vec![Change::vanished(old.object), Change::appeared(object)]
                }
            }
        }
    }

    fn remove(&mut self, key: &ObjectKey) -> Option<Arc<K>> {
        let held = self.objects.remove(key)?;
        self.unindex(key, &held.values, &[]);
        Some(held.object)
    }

    /// Removes a key from its old index values, except the values in `kept`.
    fn unindex(&mut self, key: &ObjectKey, old: &[Box<[String]>], kept: &[Box<[String]>]) {
        for (at, (index, values)) in self.indexes.iter_mut().zip(old).enumerate() {
            for value in values {
                if kept.get(at).is_some_and(|kept| kept.contains(value)) {
                    continue;
                }
                let Some(keys) = index.get_mut(value) else { continue };
                if let Ok(place) = keys.binary_search(key) {
                    keys.remove(place);
                }
                if keys.is_empty() {
                    index.remove(value);
                }
            }
        }
    }
}

/// A list shows an object in an older version than the store. The server lags behind, or the
/// cluster was restored from a backup. The caller must list again, and accept older lists that
/// persist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Backwards {
    /// The first such object.
    pub(crate) key: ObjectKey,
    /// The number of such objects.
    pub(crate) objects: usize,
}

/// A list in progress. Unchanged objects are not stored twice.
#[derive(Debug)]
pub(crate) struct Relist<K> {
    namespace: Namespace,
    /// Every listed key, with the object if it differs from the stored one.
    seen: BTreeMap<ObjectKey, Option<Entering<K>>>,
    older: BTreeSet<ObjectKey>,
}

impl<K: Resource> Relist<K> {
    pub(crate) fn new(namespace: Namespace) -> Self {
        Self { namespace, seen: BTreeMap::new(), older: BTreeSet::new() }
    }

    /// Whether the list covers this key, and does not name it.
    fn misses(&self, key: &ObjectKey) -> bool {
        let covers = self.namespace.is_none() || self.namespace.as_deref() == key.namespace();
        covers && !self.seen.contains_key(key)
    }

    /// Adds one listed object, or its newer version. The caller drops the returned objects outside
    /// the lock.
    pub(crate) fn object(
        &mut self,
        store: &Store<K>,
        entering: Entering<K>,
    ) -> [Option<Entering<K>>; 2] {
        let key = entering.key.clone();
        self.older.remove(&key);
        match store
            .objects
            .get(&key)
            .map(|held| arrival(held.object.meta(), entering.object.meta()))
        {
            Some(Arrival::Same) => {
                return [Some(entering), self.seen.insert(key, None).flatten()];
            }
            Some(Arrival::Older) => {
                self.older.insert(key.clone());
            }
            None | Some(Arrival::Newer) => {}
        }
        [None, self.seen.insert(key, Some(entering)).flatten()]
    }

    /// Adds the key of an object that exists but does not decode. The version before it stays, of
    /// the list or of the store.
    pub(crate) fn undecodable(&mut self, key: ObjectKey) {
        self.seen.entry(key).or_insert(None);
    }

    /// Removes an object that was deleted before the end of a streaming list.
    pub(crate) fn delete(&mut self, key: &ObjectKey) {
        self.older.remove(key);
        self.seen.remove(key);
    }
}

#[cfg(test)]
mod tests;
