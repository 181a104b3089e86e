//! Which kinds are served now.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::watch;

use crate::access::reviews;
use crate::builtin;
use crate::kind::{InvalidKind, Kind};

/// The kinds, by group, version and plural.
#[derive(Debug)]
pub(crate) struct Registry {
    kinds: BTreeMap<(String, String, String), Arc<Kind>>,
    /// How often the kinds changed; actors wait for it.
    generation: watch::Sender<u64>,
}

impl Registry {
    pub(crate) fn with_builtin_kinds() -> Self {
        let mut registry = Self { kinds: BTreeMap::new(), generation: watch::Sender::new(0) };
        for kind in builtin::kinds().into_iter().chain(reviews::kinds()) {
            registry.insert(kind);
        }
        registry
    }

    fn insert(&mut self, kind: Kind) {
        let key = (kind.group().to_owned(), kind.version().to_owned(), kind.plural().to_owned());
        self.kinds.insert(key, Arc::new(kind));
        self.changed();
    }

    /// To be called after every change of the kinds.
    fn changed(&self) {
        self.generation.send_modify(|generation| *generation = generation.wrapping_add(1));
    }

    /// Differs from what it was before the kinds that are served changed.
    pub(crate) fn generation(&self) -> u64 {
        *self.generation.borrow()
    }

    /// Becomes changed with the kinds that are served.
    #[cfg(feature = "actors")]
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.generation.subscribe()
    }

    /// One kind for each table of objects, by group, version and plural.
    pub(crate) fn tables(&self) -> Vec<Arc<Kind>> {
        let mut tables: Vec<Arc<Kind>> = Vec::new();
        for kind in self.kinds() {
            if tables.iter().all(|known| known.storage != kind.storage) {
                tables.push(Arc::clone(kind));
            }
        }
        tables
    }

    /// Serves what another registry serves.
    pub(crate) fn adopt(&mut self, other: &Self) {
        self.kinds.clone_from(&other.kinds);
        self.changed();
    }

    /// Every kind that has objects, by group, version and plural.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = &Arc<Kind>> {
        self.kinds.values().filter(|kind| !reviews::is_review(kind))
    }

    /// Whether a group is served, and none of its kinds is built in.
    pub(crate) fn is_custom_group(&self, group: &str) -> bool {
        let mut kinds = self.kinds.values().filter(|kind| kind.group() == group).peekable();
        kinds.peek().is_some() && kinds.all(|kind| kind.builtin.is_none() && !reviews::is_review(kind))
    }

    /// Adds or replaces a custom kind.
    pub(crate) fn register(&mut self, kind: Kind) -> Result<(), InvalidKind> {
        kind.check()?;
        let known = self.find(kind.group(), kind.version(), kind.plural());
        if known.is_some_and(|known| known.builtin.is_some()) {
            return Err(InvalidKind::is_built_in(&kind));
        }
        // Another version of it would share its objects, and get around its rules.
        let shadows = |known: &Kind| known.builtin.is_some() && known.storage == kind.storage;
        if self.kinds.values().any(|known| shadows(known)) {
            return Err(InvalidKind::is_built_in(&kind));
        }
        self.insert(kind);
        Ok(())
    }

    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Kind>> {
        self.kinds.get(&(group.to_owned(), version.to_owned(), plural.to_owned())).cloned()
    }

    /// All kinds whose objects are in one table.
    pub(crate) fn of_storage(&self, storage: &str) -> Vec<Arc<Kind>> {
        self.kinds.values().filter(|kind| &*kind.storage == storage).cloned().collect()
    }

    /// All kinds of one group and version.
    pub(crate) fn of_version(&self, group: &str, version: &str) -> impl Iterator<Item = &Arc<Kind>> {
        self.kinds.values().filter(move |k| k.group() == group && k.version() == version)
    }

    /// The groups with their versions, in order; the core group's name is empty.
    pub(crate) fn groups(&self) -> BTreeMap<&str, Vec<&str>> {
        let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for kind in self.kinds.values() {
            let versions = groups.entry(kind.group()).or_default();
            if !versions.contains(&kind.version()) {
                versions.push(kind.version());
            }
        }
        groups
    }
}
