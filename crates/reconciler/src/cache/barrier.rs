//! The barrier: whether a cache shows a write. Pure.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::{Selector, SelectorExt as _};

use super::Cache;
use super::scope::Scope;
use crate::hostile::let_go;
use crate::{Kind, ObjectKey};

/// A write that a cache has yet to show.
pub(crate) struct Unseen(Box<dyn Fn() -> bool + Send + Sync>);

impl Unseen {
    /// Whether the cache shows it now.
    pub(crate) fn is_seen(&self) -> bool {
        (self.0)()
    }
}

impl fmt::Debug for Unseen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unseen").finish_non_exhaustive()
    }
}

/// A cache of any kind, as it shows writes.
pub(crate) trait Shows: Any + Send + Sync {
    /// An object that was written. `None` if the cache does not cover it: an event would never
    /// come.
    fn written(&self, object: &ObjectMeta) -> Option<Unseen>;

    /// An object that was deleted and is gone. Without its uid another of its name counts as it.
    fn deleted(&self, key: &ObjectKey, uid: Option<&str>) -> Option<Unseen>;
}

impl<K: Kind> Shows for Cache<K> {
    fn written(&self, object: &ObjectMeta) -> Option<Unseen> {
        let version: u64 = object.resource_version.as_deref()?.parse().ok()?;
        let scope = self.scope_of(object.namespace.as_deref())?;
        let covers = self.covers(scope, object);
        let scope = Arc::clone(scope);
        covers.then(|| Unseen(Box::new(move || scope.newest.load(Acquire) >= version)))
    }

    fn deleted(&self, key: &ObjectKey, uid: Option<&str>) -> Option<Unseen> {
        self.scope_of(key.namespace())?;
        let (cache, key, uid) = (self.clone(), key.clone(), uid.map(str::to_owned));
        Some(Unseen(Box::new(move || {
            let held = cache.get(&key);
            let is_another = |held: &Arc<K>| uid.is_some() && held.meta().uid != uid;
            let is_seen = held.as_ref().is_none_or(is_another);
            let_go(held); // Its destructor may panic.
            is_seen
        })))
    }
}

impl<K: Kind> Cache<K> {
    /// Whether the cache changes objects before it stores them.
    pub(crate) fn is_transformed(&self) -> bool {
        self.shared.config.transform.is_some()
    }

    /// What the watch of a namespace does to the cache.
    #[cfg(test)]
    pub(crate) fn feed_of(&self, namespace: &str) -> super::updates::Feed<K> {
        let mut scopes = self.shared.scopes.iter();
        let scope = scopes.find(|scope| scope.namespace.as_deref() == Some(namespace));
        super::updates::Feed::new(self.clone(), Arc::clone(scope.expect("a watch of it")))
    }

    /// Whether an event of the object reaches the cache: the cache has the object, or the selector
    /// matches its labels. A selector that is no set of equal labels is not judged here.
    fn covers(&self, scope: &Scope, object: &ObjectMeta) -> bool {
        let labels = self.shared.config.equal_labels(scope.namespace.as_deref());
        let is_selected = labels.is_some_and(|labels| {
            let held = object.labels.clone().unwrap_or_default();
            Selector::from_iter(labels).matches(&held)
        });
        is_selected || ObjectKey::from_meta(object).is_some_and(|key| self.get(&key).is_some())
    }
}

impl Scope {
    /// All events up to this version have been read.
    pub(crate) fn has_read(&self, version: &str) {
        if let Ok(version) = version.parse() {
            self.newest.fetch_max(version, Release);
        }
    }

    /// A list of this version was taken over. A restored cluster goes back.
    pub(crate) fn has_listed(&self, version: &str) {
        if let Ok(version) = version.parse() {
            self.newest.store(version, Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::Api;

    use super::*;
    use crate::CacheConfig;

    #[tokio::test]
    async fn a_write_is_seen_by_the_watch_of_its_namespace() {
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
        let is_seen = || cache.written(&map("a", "y").metadata).unwrap().is_seen();
        let scope = |namespace| cache.scope_of(Some(namespace)).unwrap();
        scope("b").has_read("20");
        assert!(!is_seen(), "b has read more, and tells nothing about a");
        scope("a").has_read("10");
        assert!(is_seen());
        assert!(
            cache.written(&map("c", "y").metadata).is_none(),
            "no watch of the cache covers it"
        );
        assert!(
            cache.written(&map("a", "z").metadata).is_none(),
            "nor the selector of the namespace"
        );
        assert!(cache.written(&map("b", "z").metadata).is_some());
    }
}
