//! Keys of reconciles: any hashable type, and `ObjectKey` for API objects.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// A type that can be a key: comparable, hashable, cloneable and printable.
///
/// Implemented for every type that fits. `Hash` and `Eq` run under the queue's lock: keep them
/// cheap.
#[doc(alias = "Request")]
pub trait Key: Clone + Eq + Hash + fmt::Debug + Send + Sync + 'static {}

impl<T: Clone + Eq + Hash + fmt::Debug + Send + Sync + 'static> Key for T {}

/// The name of an object, and its namespace if its kind has one. Cheap to clone.
///
/// Ordered by namespace, then name, as API lists are.
///
/// ```
/// use reconciler::ObjectKey;
///
/// let claim = ObjectKey::namespaced("shop", "data-0");
/// assert_eq!(claim.to_string(), "shop/data-0");
/// assert_eq!(ObjectKey::cluster("node-7").namespace(), None);
/// ```
#[doc(alias = "NamespacedName")]
#[doc(alias = "ObjectRef")]
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    namespace: Option<Arc<str>>,
    name: Arc<str>,
}

impl ObjectKey {
    /// Creates the key of a namespaced object. An empty namespace counts as no namespace, as on the
    /// wire: the key is then that of [`cluster`](Self::cluster).
    pub fn namespaced(namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        let namespace = Some(namespace.into()).filter(|namespace| !namespace.is_empty());
        Self { namespace, name: name.into() }
    }

    /// Creates the key of an object without a namespace.
    pub fn cluster(name: impl Into<Arc<str>>) -> Self {
        Self { namespace: None, name: name.into() }
    }

    /// Returns the key in an object's metadata; `None` if the name is missing or empty.
    ///
    /// An empty namespace counts as no namespace, as on the wire.
    pub fn from_meta(meta: &ObjectMeta) -> Option<Self> {
        let name = meta.name.as_deref().filter(|name| !name.is_empty())?;
        Some(Self::namespaced(meta.namespace.as_deref().unwrap_or_default(), name))
    }

    /// Returns the key of an object, see [`ObjectKey::from_meta`].
    pub fn of<K: kube::Resource>(object: &K) -> Option<Self> {
        Self::from_meta(object.meta())
    }

    /// Returns the object's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the object's namespace; `None` if its kind has none.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// The lowest key of a namespace, where a range over it begins.
    pub(crate) fn first_in(namespace: &str) -> Self {
        Self::namespaced(namespace, "")
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

impl fmt::Debug for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests;
