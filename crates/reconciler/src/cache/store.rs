//! What a cache holds: objects by key, secondary indexes, and the rules by which lists and watch
//! events change them. Pure: no lock, no clock, no task.
//!
//! Rules. Within one uid no object goes back to an older `resourceVersion`, and an equal one
//! changes nothing. Versions are compared as numbers if both are; else any difference counts as
//! newer. Another uid under a known name is a deletion and an appearance. A list that ends tells
//! what vanished while the watch was away.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;

use crate::{Change, ObjectKey};

/// The values under which an object stands in each index, in the order of the indexes. Made outside
/// the cache's lock, because user code makes them.
pub(crate) type Values = Box<[Box<[String]>]>;

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
    objects: BTreeMap<ObjectKey, Held<K>>,
    // Values come from objects of tenants: std's keyed hash, not a fast one.
    indexes: Box<[HashMap<String, Vec<ObjectKey>>]>,
}

/// How a version that comes in relates to the one held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arrival {
    Same,
    /// Also of another object under this name, made after ours was deleted.
    Newer,
    /// Also of another object under this name, deleted before ours was made.
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
    pub(crate) fn new(indexes: usize) -> Self {
        Self { objects: BTreeMap::new(), indexes: (0..indexes).map(|_| HashMap::new()).collect() }
    }

    pub(crate) fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.objects.get(key).map(|held| Arc::clone(&held.object))
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

    /// The objects that stand under `value` in an index, by key.
    pub(crate) fn by_index(&self, index: usize, value: &str) -> Vec<Arc<K>> {
        let keys = self.indexes.get(index).and_then(|entries| entries.get(value));
        keys.into_iter().flatten().filter_map(|key| self.get(key)).collect()
    }

    /// An object was added or modified, says the watch.
    pub(crate) fn apply(&mut self, entering: Entering<K>) -> Vec<Change<K>> {
        let arrival = match self.objects.get(&entering.key) {
            None => None,
            Some(held) => Some(arrival(held.object.meta(), entering.object.meta())),
        };
        match arrival {
            Some(Arrival::Same | Arrival::Older) => Vec::new(),
            None | Some(Arrival::Newer) => self.put(entering),
        }
    }

    /// An object was deleted, says the watch. `meta` is the event's: it holds the deletion's own
    /// version.
    pub(crate) fn delete(&mut self, key: &ObjectKey, meta: &ObjectMeta) -> Option<Change<K>> {
        let held = self.objects.get(key)?;
        match arrival(held.object.meta(), meta) {
            // Some servers repeat the object's last version instead of the deletion's.
            Arrival::Same | Arrival::Newer => self.remove(key).map(Change::vanished),
            Arrival::Older => None,
        }
    }

    /// The list is complete: takes over what is new in it, and removes what it does not name.
    ///
    /// # Errors
    ///
    /// Takes over nothing if the list shows some object older than it is held here: see
    /// [`Backwards`]. With `authoritative` the list is believed even then.
    pub(crate) fn commit(
        &mut self,
        relist: Relist<K>,
        authoritative: bool,
    ) -> Result<Vec<Change<K>>, (Backwards, Relist<K>)> {
        if !authoritative && let Some(key) = relist.older.first() {
            return Err((Backwards { key: key.clone(), objects: relist.older.len() }, relist));
        }
        let mut changes = Vec::new();
        let gone: Vec<ObjectKey> =
            self.objects.keys().filter(|key| !relist.seen.contains_key(*key)).cloned().collect();
        for key in gone {
            changes.extend(self.remove(&key).map(Change::vanished));
        }
        for entering in relist.seen.into_values().flatten() {
            changes.extend(self.put(entering));
        }
        Ok(changes)
    }

    /// Stores unconditionally, and tells what changed.
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

    /// Takes a key out from under its old values, those it still has excepted.
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

/// A list that shows an object older than we hold it: it came from a server that lags behind, or
/// the cluster was restored from a backup. Whoever lists must list again, and believe a list that
/// insists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Backwards {
    /// The first such object.
    pub(crate) key: ObjectKey,
    /// How many there are.
    pub(crate) objects: usize,
}

/// A list in progress. Objects that did not change are not held twice.
#[derive(Debug)]
pub(crate) struct Relist<K> {
    /// Every key that was listed; with the object, if it differs from the one held.
    seen: BTreeMap<ObjectKey, Option<Entering<K>>>,
    older: Vec<ObjectKey>,
}

impl<K: Resource> Relist<K> {
    pub(crate) fn new() -> Self {
        Self { seen: BTreeMap::new(), older: Vec::new() }
    }

    /// Takes one listed object. What it returns is to be dropped outside the lock.
    pub(crate) fn object(
        &mut self,
        store: &Store<K>,
        entering: Entering<K>,
    ) -> Option<Entering<K>> {
        let key = entering.key.clone();
        match store
            .objects
            .get(&key)
            .map(|held| arrival(held.object.meta(), entering.object.meta()))
        {
            Some(Arrival::Same) => {
                self.seen.insert(key, None).flatten();
                return Some(entering);
            }
            Some(Arrival::Older) => self.older.push(key.clone()),
            None | Some(Arrival::Newer) => {}
        }
        self.seen.insert(key, Some(entering)).flatten()
    }

    /// Takes the key of an object that is there, but could not be decoded: what is held of it
    /// stays.
    pub(crate) fn undecodable(&mut self, key: ObjectKey) {
        self.seen.insert(key, None);
    }
}

#[cfg(test)]
mod tests;
