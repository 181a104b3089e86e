//! One write, and the owners that lose fields by it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::Object;
use crate::managed_fields::compare::{Difference, Mismatch};
use crate::managed_fields::conflict::Conflict;
use crate::managed_fields::converter::Converter;
use crate::managed_fields::entries::{Entry, ManagedFields};
use crate::managed_fields::manager::Manager;
use crate::managed_fields::set::Set;
use crate::managed_fields::types::Types;

static NO_VERSIONS: BTreeMap<String, &Types> = BTreeMap::new();
static NO_FIELDS: Set = Set::empty();

/// One write to an object: of which kind, by which manager, at which time.
#[derive(Debug, Clone, Copy)]
#[doc(alias = "FieldManager")]
pub struct Operation<'a> {
    pub(super) types: &'a Types,
    pub(super) version: &'a str,
    pub(super) kind: &'a str,
    pub(super) manager: &'a str,
    pub(super) now: Timestamp,
    pub(super) subresource: &'a str,
    pub(super) other_versions: &'a BTreeMap<String, &'a Types>,
    pub(super) converter: Option<&'a dyn Converter>,
    pub(super) reset: &'a Set,
    pub(super) resets_every_version: bool,
}

impl<'a> Operation<'a> {
    /// A write to an object itself, of a kind of one version.
    ///
    /// `version` is the apiVersion, `types` the structure of the kind in it. Without a name the
    /// manager is `unknown`.
    pub const fn new(
        types: &'a Types,
        version: &'a str,
        kind: &'a str,
        manager: &'a str,
        now: Timestamp,
    ) -> Self {
        Self {
            types,
            version,
            kind,
            manager,
            now,
            subresource: "",
            other_versions: &NO_VERSIONS,
            converter: None,
            reset: &NO_FIELDS,
            resets_every_version: false,
        }
    }

    /// The subresource that is written to; empty for the object itself.
    #[must_use]
    pub const fn subresource(self, subresource: &'a str) -> Self {
        Self { subresource, ..self }
    }

    /// The other versions of the kind, by apiVersion. Entries of unknown versions are dropped.
    /// All versions must have the same members, unless there is a [`converter`](Self::converter).
    #[must_use]
    pub const fn other_versions(self, versions: &'a BTreeMap<String, &'a Types>) -> Self {
        Self { other_versions: versions, ..self }
    }

    /// Converts objects to the other versions, where the entries of those are compared.
    #[must_use]
    pub const fn converter(self, converter: &'a dyn Converter) -> Self {
        Self { converter: Some(converter), ..self }
    }

    /// Fields that such a write leaves as they are, as `status` for a write to an object with a
    /// status subresource. They get no owner.
    #[must_use]
    #[doc(alias = "GetResetFields")]
    pub const fn reset(self, fields: &'a Set) -> Self {
        Self { reset: fields, ..self }
    }

    /// Whether a write to the object itself leaves the fields in the other versions as they are,
    /// too. The API server does so for built-in kinds.
    #[must_use]
    pub const fn resets_every_version(self, every: bool) -> Self {
        Self { resets_every_version: every, ..self }
    }
}

/// The difference between the old and the new object, in each version of the kind.
struct Comparisons<'a> {
    operation: &'a Operation<'a>,
    old: &'a Object,
    new: &'a Object,
    own: Difference,
    others: BTreeMap<String, Option<Difference>>,
}

impl<'a> Comparisons<'a> {
    fn new(
        operation: &'a Operation<'a>,
        old: &'a Object,
        new: &'a Object,
    ) -> Result<Self, Mismatch> {
        let own = operation.types.compare(old, new)?.without(operation.reset);
        Ok(Self { operation, old, new, own, others: BTreeMap::new() })
    }

    /// `None` if the version is not known.
    fn at(&mut self, version: &str) -> Result<Option<&Difference>, Mismatch> {
        if version == self.operation.version {
            return Ok(Some(&self.own));
        }
        if !self.others.contains_key(version) {
            let difference = match self.operation.other_versions.get(version) {
                None => None,
                Some(types) => {
                    let own = self.operation.version;
                    let old = self.operation.in_version(self.old, own, version)?;
                    let new = self.operation.in_version(self.new, own, version)?;
                    let difference = types.compare(&old, &new)?;
                    // Of a write to a custom object itself, the API server knows the reset fields
                    // of the written version alone.
                    let knows_all = self.operation.resets_every_version
                        || !self.operation.subresource.is_empty();
                    Some(if knows_all {
                        difference.without(self.operation.reset)
                    } else {
                        difference
                    })
                }
            };
            self.others.insert(version.to_owned(), difference);
        }
        Ok(self.others.get(version).and_then(Option::as_ref))
    }
}

impl Operation<'_> {
    pub(super) fn entry(&self, manager: Manager, fields: Set) -> Entry {
        Entry { manager, version: self.version.to_owned(), time: Some(self.now), fields }
    }

    /// Takes changed and removed fields from every manager but one. Unless it is forced, changed
    /// fields of other managers are conflicts, and nothing is taken.
    pub(super) fn take(
        &self,
        managed: &mut ManagedFields,
        old: &Object,
        new: &Object,
        but: Option<&str>,
        force: bool,
    ) -> Result<(Difference, Vec<Conflict>), Mismatch> {
        let mut comparisons = Comparisons::new(self, old, new)?;
        let (mut conflicts, mut forgotten) = (Vec::new(), Vec::new());
        let mut left = BTreeMap::new();
        for (id, entry) in managed.entries.iter().filter(|(id, _)| Some(id.as_str()) != but) {
            let Some(difference) = comparisons.at(&entry.version)? else {
                forgotten.push(id.clone());
                continue;
            };
            let Difference { removed, modified, added } = difference;
            let changed =
                entry.fields.intersection(modified).union(&entry.fields.intersection(added));
            if !changed.is_empty() {
                let manager = &entry.manager;
                conflicts.extend(changed.paths().into_iter().map(|path| Conflict {
                    manager: manager.clone(),
                    version: entry.version.clone(),
                    path,
                }));
            }
            if !changed.is_empty() || !removed.is_empty() {
                left.insert(id.clone(), entry.fields.difference(&changed).difference(removed));
            }
        }
        if !force && !conflicts.is_empty() {
            return Ok((comparisons.own, conflicts));
        }
        for (id, fields) in left {
            if let Some(entry) = managed.entries.get_mut(&id) {
                entry.fields = fields;
            }
        }
        managed.entries.retain(|id, entry| !forgotten.contains(id) && !entry.fields.is_empty());
        Ok((comparisons.own, Vec::new()))
    }

    /// An object of one version in another one.
    pub(super) fn in_version<'a>(
        &self,
        object: &'a Object,
        from: &str,
        to: &str,
    ) -> Result<Cow<'a, Object>, Mismatch> {
        let Some(converter) = self.converter.filter(|_| from != to) else {
            return Ok(Cow::Borrowed(object));
        };
        let converted = converter.convert(object, from, to).map(Cow::Owned);
        converted.ok_or_else(|| Mismatch(format!("it is not converted from {from} to {to}")))
    }

    /// Adapts sets that were written under another schema.
    pub(super) fn reconcile(&self, managed: &mut ManagedFields) {
        for entry in managed.entries.values_mut() {
            let types = if entry.version == self.version {
                Some(self.types)
            } else {
                self.other_versions.get(&entry.version).copied()
            };
            if let Some(types) = types {
                entry.fields = types.reconciled(std::mem::take(&mut entry.fields));
            }
        }
    }
}

/// Fields without an owner: the server sets them, or they say which object it is.
pub(super) fn stripped() -> &'static Set {
    static STRIPPED: std::sync::LazyLock<Set> = std::sync::LazyLock::new(|| {
        let metadata = [
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "clusterName",
            "generation",
            "managedFields",
            "resourceVersion",
        ];
        let metadata = metadata.map(|member| ["metadata", member]);
        let mut paths: Vec<&[&str]> = vec![&["apiVersion"], &["kind"], &["metadata"]];
        paths.extend(metadata.iter().map(<[&str; 2]>::as_slice));
        Set::of_fields(&paths)
    });
    &STRIPPED
}
