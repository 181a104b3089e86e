//! The barrier: waits until a cache shows a write.

use std::fmt;

use kube::core::{Selector, SelectorExt as _};
use tokio::sync::watch;

use super::Cache;
use crate::{Kind, ObjectKey};

/// A write that a cache has yet to show.
pub(crate) struct Unseen {
    newest: watch::Receiver<u64>,
    /// Whether the cache shows it, when it has read all events up to this version.
    is_seen: Box<dyn Fn(u64) -> bool + Send + Sync>,
}

impl Unseen {
    pub(crate) async fn seen(mut self) {
        // Without its sender the cache is gone, and no run reads it.
        let _ = self.newest.wait_for(|version| (self.is_seen)(*version)).await;
    }
}

impl fmt::Debug for Unseen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unseen").field("newest", &*self.newest.borrow()).finish_non_exhaustive()
    }
}

impl<K: Kind> Cache<K> {
    /// The wait for an object that was written. `None` if the cache does not cover it: an event
    /// would never come.
    pub(crate) fn written(&self, object: &K) -> Option<Unseen> {
        let version: u64 = object.meta().resource_version.as_deref()?.parse().ok()?;
        self.covers(object).then(|| self.unseen(move |newest| newest >= version))
    }

    /// The wait for an object that was deleted and is gone.
    pub(crate) fn deleted(&self, key: ObjectKey, uid: Option<String>) -> Unseen {
        let cache = self.clone();
        self.unseen(move |_| cache.get(&key).is_none_or(|held| held.meta().uid != uid))
    }

    fn unseen(&self, is_seen: impl Fn(u64) -> bool + Send + Sync + 'static) -> Unseen {
        Unseen { newest: self.shared.newest.subscribe(), is_seen: Box::new(is_seen) }
    }

    /// Whether an event of the object reaches the cache. A selector that cannot be judged here
    /// covers what the cache has.
    fn covers(&self, object: &K) -> bool {
        let shared = &self.shared;
        if shared.namespace.is_some() && shared.namespace != object.meta().namespace {
            return false;
        }
        match shared.config.equal_labels() {
            Some(labels) => {
                let held = object.meta().labels.clone().unwrap_or_default();
                Selector::from_iter(labels).matches(&held)
            }
            None => ObjectKey::of(object).is_some_and(|key| self.get(&key).is_some()),
        }
    }

    /// All events up to this version have been read.
    pub(crate) fn has_read(&self, version: &str) {
        let Ok(version) = version.parse::<u64>() else { return };
        self.shared.newest.send_if_modified(|newest| {
            let is_newer = version > *newest;
            *newest = version.max(*newest);
            is_newer
        });
    }

    /// A list of this version was taken over. A restored cluster goes back.
    pub(crate) fn has_listed(&self, version: &str) {
        if let Ok(version) = version.parse() {
            let _: u64 = self.shared.newest.send_replace(version);
        }
    }
}
