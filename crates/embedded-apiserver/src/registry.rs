//! Which kinds are served now.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::builtin;
use crate::kind::{InvalidKind, Kind};

/// The kinds, by group, version and plural.
#[derive(Debug)]
pub(crate) struct Registry {
    kinds: BTreeMap<(String, String, String), Arc<Kind>>,
}

impl Registry {
    pub(crate) fn with_builtin_kinds() -> Self {
        let mut registry = Self { kinds: BTreeMap::new() };
        for kind in builtin::kinds() {
            registry.insert(kind);
        }
        registry
    }

    fn insert(&mut self, kind: Kind) {
        let key = (kind.group().to_owned(), kind.version().to_owned(), kind.plural().to_owned());
        self.kinds.insert(key, Arc::new(kind));
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
