//! Where an object is: its namespace and its name in one text, ordered as etcd orders its keys.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// `namespace/name`, or `/name` for an object of cluster scope.
///
/// The order is that of the text: the namespace `a-b` comes before `a`, because `-` comes before
/// `/`, as in every list of the real server over all namespaces.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    path: Arc<str>,
    /// Where the slash is. Names of namespaces are short; a longer one is refused before it is
    /// stored.
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

    /// A place between keys, where a part of a list begins; it need not be a key itself.
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
        // Equal texts are equal keys: no name of a namespace holds a slash.
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
