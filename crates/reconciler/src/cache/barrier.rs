//! The barrier: waits until a cache shows a write.

use std::fmt;

use kube::core::{Selector, SelectorExt as _};
use tokio::sync::watch;

use super::Cache;
use super::scope::Scope;
use crate::{Kind, ObjectKey};

/// A write that a cache has yet to show.
pub(crate) struct Unseen {
    newest: watch::Receiver<u64>,
    /// Whether the cache shows it, when it has read all events up to this version.
    is_seen: Box<dyn Fn(u64) -> bool + Send + Sync>,
}

impl Unseen {
    pub(crate) async fn seen(&mut self) {
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
        let scope = self.scope_of(object.meta().namespace.as_deref())?;
        self.covers(scope, object).then(|| unseen(scope, move |newest| newest >= version))
    }

    /// The wait for an object that was deleted and is gone.
    pub(crate) fn deleted(&self, key: ObjectKey, uid: Option<String>) -> Option<Unseen> {
        let scope = self.scope_of(key.namespace())?;
        let cache = self.clone();
        Some(unseen(scope, move |_| cache.get(&key).is_none_or(|held| held.meta().uid != uid)))
    }

    /// Whether the cache changes objects before it stores them.
    pub(crate) fn is_transformed(&self) -> bool {
        self.shared.config.transform.is_some()
    }

    /// What the watch of a namespace does to the cache.
    #[cfg(test)]
    pub(crate) fn feed_of(&self, namespace: &str) -> super::updates::Feed<K> {
        let mut scopes = self.shared.scopes.iter();
        let scope = scopes.find(|scope| scope.namespace.as_deref() == Some(namespace));
        super::updates::Feed::new(
            self.clone(),
            std::sync::Arc::clone(scope.expect("a watch of it")),
        )
    }

    /// Whether an event of the object reaches the cache. A selector that cannot be judged here
    /// covers what the cache has.
    fn covers(&self, scope: &Scope, object: &K) -> bool {
        match self.shared.config.equal_labels(scope.namespace.as_deref()) {
            Some(labels) => {
                let held = object.meta().labels.clone().unwrap_or_default();
                Selector::from_iter(labels).matches(&held)
            }
            None => ObjectKey::of(object).is_some_and(|key| self.get(&key).is_some()),
        }
    }
}

fn unseen(scope: &Scope, is_seen: impl Fn(u64) -> bool + Send + Sync + 'static) -> Unseen {
    Unseen { newest: scope.newest.subscribe(), is_seen: Box::new(is_seen) }
}

impl Scope {
    /// All events up to this version have been read.
    pub(crate) fn has_read(&self, version: &str) {
        let Ok(version) = version.parse::<u64>() else { return };
        // Also wakes waits for a deletion, whose event may repeat an older version.
        self.newest.send_modify(|newest| *newest = version.max(*newest));
    }

    /// A list of this version was taken over. A restored cluster goes back.
    pub(crate) fn has_listed(&self, version: &str) {
        if let Ok(version) = version.parse() {
            let _: u64 = self.newest.send_replace(version);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::Api;

    use super::*;
    use crate::CacheConfig;

    #[tokio::test]
    async fn a_write_is_waited_for_in_the_watch_of_its_namespace() {
        let client = embedded_apiserver::EmbeddedApiServer::new().client();
        let config = CacheConfig::new().namespaces(["a", "b"]).labels_in("a", "x=y");
        let cache = Cache::<ConfigMap>::new(Api::all(client), config);
        let map = |namespace: &str, label: &str| -> ConfigMap {
            let (name, version) = ("m", "10");
            serde_json::from_value(serde_json::json!({"metadata": {
                "namespace": namespace, "name": name, "resourceVersion": version,
                "labels": {"x": label},
            }}))
            .unwrap()
        };
        let is_seen = || cache.written(&map("a", "y")).unwrap().seen().now_or_never().is_some();
        let scope = |namespace| cache.scope_of(Some(namespace)).unwrap();
        scope("b").has_read("20");
        assert!(!is_seen(), "b has read more, and tells nothing about a");
        scope("a").has_read("10");
        assert!(is_seen());
        assert!(cache.written(&map("c", "y")).is_none(), "no watch of the cache covers it");
        assert!(cache.written(&map("a", "z")).is_none(), "nor the selector of the namespace");
        assert!(cache.written(&map("b", "z")).is_some());
    }
}
