//! `Index`: finds the objects of a cache by a value that is computed from each.

use std::fmt;
use std::sync::Arc;

type ValuesOf<K> = Arc<dyn Fn(&K) -> Box<[String]> + Send + Sync>;

/// An index of objects by values. Give it to [`CacheConfig::index`](crate::CacheConfig::index), and
/// read it with [`Cache::by_index`](crate::Cache::by_index). Clones are the same index.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use reconciler::{CacheConfig, Index};
///
/// let by_node = Index::new(|pod: &Pod| pod.spec.as_ref()?.node_name.clone());
/// let config = CacheConfig::new().index(&by_node);
/// // let pods = manager.cache_with(api, config);
/// // let there = pods.by_index(&by_node, "node-7");
/// # let _: CacheConfig<Pod> = config;
/// ```
#[doc(alias = "Indexer")]
#[doc(alias = "IndexField")]
pub struct Index<K> {
    values: ValuesOf<K>,
}

impl<K> Index<K> {
    /// Creates an index. `values` returns the values under which an object is found: an `Option` or
    /// a list. It runs in the watch's task: keep it fast. If it panics, the object's new version is
    /// left out of the cache and counted.
    pub fn new<I>(values: impl Fn(&K) -> I + Send + Sync + 'static) -> Self
    where
        I: IntoIterator<Item = String>,
    {
        Self { values: Arc::new(move |object| values(object).into_iter().collect()) }
    }

    pub(super) fn values(&self, object: &K) -> Box<[String]> {
        (self.values)(object)
    }

    /// Whether this is the other index or a clone of it.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::as_ptr(&self.values).addr() == Arc::as_ptr(&other.values).addr()
    }
}

impl<K> Clone for Index<K> {
    fn clone(&self) -> Self {
        Self { values: Arc::clone(&self.values) }
    }
}

impl<K> fmt::Debug for Index<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index").finish_non_exhaustive()
    }
}
