//! The key of an object: namespace and name in one text, in etcd's order.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// `namespace/name`, or `/name` in cluster scope.
///
/// Ordered as text: the namespace `a-b` comes before `a`, because `-` comes before `/`. Upstream's
/// lists over all namespaces have this order.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    path: Arc<str>,
    /// The offset of the slash. Namespace names are short; longer ones are refused before.
    slash: u32,
}

impl Key {
    pub(crate) fn new(namespace: &str, name: &str) -> Self {
        let mut path =
            String::with_capacity(namespace.len().saturating_add(name.len()).saturating_add(1));
        path.push_str(namespace);
        path.push('/');
        path.push_str(name);
        Self { path: path.into(), slash: u32::try_from(namespace.len()).unwrap_or(0) }
    }

    /// A position between keys, where a list begins. It need not be a key.
    pub(crate) fn place(path: &str) -> Self {
        Self { path: path.into(), slash: 0 }
    }

    /// Empty for an object of cluster scope.
    pub(crate) fn namespace(&self) -> &str {
        self.path.get(..self.slash()).unwrap_or_default()
    }

    pub(crate) fn name(&self) -> &str {
        self.path.get(self.slash().saturating_add(1)..).unwrap_or_default()
    }

    /// The whole text.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    fn slash(&self) -> usize {
        usize::try_from(self.slash).unwrap_or(usize::MAX)
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        // Equal texts are equal keys: namespace names contain no slash.
        self.path.cmp(&other.path).then(self.slash.cmp(&other.slash))
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.path, f)
    }
}
