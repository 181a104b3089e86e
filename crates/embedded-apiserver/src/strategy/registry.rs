//! The registry of served kinds.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::kind::{InvalidKind, Kind};
use crate::api::metadata::Object;
use crate::strategy::builtin::named_create::BINDING;
use crate::strategy::crd::{Ended, Registered};
use crate::strategy::resource::{self, ServedResource};
use crate::strategy::reviews;
#[cfg(feature = "actors")]
use api_front::Follower;
use api_front::Signal;

/// Group, version and plural to the kind. In three levels, so that a lookup makes no key.
type Kinds = BTreeMap<String, BTreeMap<String, BTreeMap<String, Arc<ServedResource>>>>;

/// The kinds, by group, version and plural.
#[derive(Debug)]
pub(crate) struct Registry {
    kinds: Kinds,
    /// Increases with each change of the kinds. Controllers follow it.
    generation: Signal<u64>,
    /// The registered definitions, by name.
    definitions: BTreeMap<String, Registered>,
}

impl Registry {
    pub(crate) fn with_builtin_kinds() -> Self {
        let mut registry =
            Self { kinds: Kinds::new(), generation: Signal::new(0), definitions: BTreeMap::new() };
        for kind in resource::built_in() {
            registry.insert(kind);
        }
        registry.insert(ServedResource::built_in(&BINDING));
        for kind in reviews::kinds() {
            registry.insert(ServedResource::new(kind.built_in()));
        }
        registry
    }

    fn insert(&mut self, kind: ServedResource) {
        insert(&mut self.kinds, Arc::new(kind));
        self.changed();
    }

    /// Call it after each change of the kinds.
    fn changed(&self) {
        self.generation.change(|generation| {
            *generation = generation.wrapping_add(1);
            true
        });
    }

    /// Increases with each change of the served kinds.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.read(|generation| *generation)
    }

    /// Follows the generation.
    #[cfg(feature = "actors")]
    pub(crate) fn follow(&self) -> Follower<u64> {
        self.generation.follow()
    }

    /// Every kind with stored objects, by group, version and plural.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = &Arc<ServedResource>> {
        self.all().filter(|kind| reviews::is_stored(kind))
    }

    fn all(&self) -> impl Iterator<Item = &Arc<ServedResource>> {
        self.kinds.values().flat_map(BTreeMap::values).flat_map(BTreeMap::values)
    }

    /// Whether a group is served, and none of its kinds is built in.
    pub(crate) fn is_custom_group(&self, group: &str) -> bool {
        let mut versions = self.kinds.get(group).into_iter().flat_map(BTreeMap::values).peekable();
        versions.peek().is_some()
            && versions.flat_map(BTreeMap::values).all(|kind| !kind.is_built_in())
    }

    /// Adds or replaces a custom kind.
    pub(crate) fn register(&mut self, kind: Kind) -> Result<(), InvalidKind> {
        kind.check()?;
        let known = self.find(kind.group(), kind.version(), kind.plural());
        if known.is_some_and(|known| known.is_built_in()) {
            return Err(InvalidKind::is_built_in(&kind));
        }
        if self.is_built_in(kind.group(), kind.plural()) {
            return Err(InvalidKind::is_built_in(&kind));
        }
        self.insert(ServedResource::new(kind));
        Ok(())
    }

    /// Whether there is a built-in kind of this name. A custom version of it would share its
    /// objects and evade its rules.
    pub(crate) fn is_built_in(&self, group: &str, plural: &str) -> bool {
        let mut versions = self.kinds.get(group).into_iter().flat_map(BTreeMap::values);
        versions.any(|kinds| kinds.get(plural).is_some_and(|known| known.is_built_in()))
    }

    /// Registers a definition, or replaces its registration. Returns the end of the one before.
    pub(crate) fn serve(&mut self, name: &str, object: &Object, revision: u64) -> Option<Ended> {
        if self.definitions.get(name).is_some_and(|known| known.is(object)) {
            return None;
        }
        let mut before = self.definitions.remove(name);
        before.iter().for_each(|before| forget(&mut self.kinds, before));
        match Registered::next(&mut before, object, revision) {
            Ok((next, ended)) => {
                for kind in &next.served {
                    insert(&mut self.kinds, Arc::clone(kind));
                }
                self.definitions.insert(name.to_owned(), next);
                self.changed();
                ended
            }
            Err(why) => {
                // Only validated definitions are stored, so this is a missing check.
                tracing::warn!(definition = name, why, "a definition cannot be served");
                before.map(Registered::end)
            }
        }
    }

    /// Withdraws the kinds of a definition.
    pub(crate) fn withdraw(&mut self, name: &str) -> Option<Ended> {
        let before = self.definitions.remove(name)?;
        forget(&mut self.kinds, &before);
        self.changed();
        Some(before.end())
    }

    /// The names of the registered definitions.
    pub(crate) fn definitions(&self) -> Vec<String> {
        self.definitions.keys().cloned().collect()
    }

    /// The storage version of a definition, served or not.
    pub(crate) fn stored_as(&self, name: &str) -> Option<Arc<ServedResource>> {
        self.definitions.get(name).map(|known| Arc::clone(&known.stored_as))
    }

    pub(crate) fn find(
        &self,
        group: &str,
        version: &str,
        plural: &str,
    ) -> Option<Arc<ServedResource>> {
        self.kinds.get(group)?.get(version)?.get(plural).cloned()
    }

    /// All kinds whose objects are in one table.
    pub(crate) fn of_storage(&self, storage: &str) -> Vec<Arc<ServedResource>> {
        self.all().filter(|kind| &*kind.storage == storage).cloned().collect()
    }

    /// All kinds of one group and version.
    pub(crate) fn of_version(
        &self,
        group: &str,
        version: &str,
    ) -> impl Iterator<Item = &Arc<ServedResource>> {
        let kinds = self.kinds.get(group).and_then(|versions| versions.get(version));
        kinds.into_iter().flat_map(BTreeMap::values)
    }

    /// The groups with their versions, sorted. The name of the core group is empty.
    pub(crate) fn groups(&self) -> BTreeMap<&str, Vec<&str>> {
        let groups = self.kinds.iter();
        groups
            .map(|(group, versions)| (&**group, versions.keys().map(String::as_str).collect()))
            .collect()
    }
}

fn insert(kinds: &mut Kinds, kind: Arc<ServedResource>) {
    let versions = kinds.entry(kind.group().to_owned()).or_default();
    let plurals = versions.entry(kind.version().to_owned()).or_default();
    plurals.insert(kind.plural().to_owned(), kind);
}

/// Removes the kinds of a definition. Keeps kinds that replaced them, and no empty level: a group
/// without kinds is not served.
fn forget(kinds: &mut Kinds, before: &Registered) {
    for kind in &before.served {
        let Some(versions) = kinds.get_mut(kind.group()) else { continue };
        let Some(plurals) = versions.get_mut(kind.version()) else { continue };
        if plurals.get(kind.plural()).is_some_and(|known| Arc::ptr_eq(known, kind)) {
            plurals.remove(kind.plural());
        }
        versions.retain(|_, plurals| !plurals.is_empty());
        kinds.retain(|_, versions| !versions.is_empty());
    }
}
