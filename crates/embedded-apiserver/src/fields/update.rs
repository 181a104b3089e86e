//! What a write that is no apply does to ownership.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry::{Occupied, Vacant};

use jiff::Timestamp;

use crate::fields::apply::Conflict;
use crate::fields::compare::{Difference, Mismatch};
use crate::fields::managed::{Entry, Managed, Manager, Sent};
use crate::fields::set::Set;
use crate::fields::types::Types;
use crate::metadata::Object;

/// The most entries of updates that an object has; older ones become [`ANCIENT`].
pub(super) const MOST_UPDATERS: usize = 10;
const ANCIENT: &str = "ancient-changes";

/// One write, as ownership sees it.
#[derive(Debug)]
pub(crate) struct Operation<'a> {
    pub(crate) types: &'a Types,
    /// The kind that is written, and its version.
    pub(crate) kind: &'a str,
    pub(crate) version: &'a str,
    /// Other versions of it, by name: all versions of a kind say the same with the same members.
    pub(crate) others: &'a BTreeMap<String, &'a Types>,
    pub(crate) manager: &'a str,
    /// Empty: the object itself.
    pub(crate) subresource: &'a str,
    /// What such a write does not change, whatever it says.
    pub(crate) reset: &'a Set,
    pub(crate) now: Timestamp,
}

/// What a comparison of two versions of an object was made into, for each version of the kind.
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

    /// Nothing: the version is not known any more.
    fn at(&mut self, version: &str) -> Result<Option<&Difference>, Mismatch> {
        if version == self.operation.version {
            return Ok(Some(&self.own));
        }
        if !self.others.contains_key(version) {
            let difference = match self.operation.others.get(version) {
                None => None,
                Some(types) => {
                    let difference = types.compare(self.old, self.new)?;
                    // What a write to the object itself does not change is known of the version
                    // that is written alone.
                    let knows_all = !self.operation.subresource.is_empty();
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

    /// Takes from every manager but one what a change has changed or removed. Unless it is forced,
    /// what others have and is changed are conflicts, and nothing is taken.
    pub(super) fn take(
        &self,
        managed: &mut Managed,
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

    /// Sets that were written when the schema was another.
    pub(super) fn reconcile(&self, managed: &mut Managed) {
        for entry in managed.entries.values_mut() {
            let types = if entry.version == self.version {
                Some(self.types)
            } else {
                self.others.get(&entry.version).copied()
            };
            if let Some(types) = types {
                entry.fields = types.reconciled(std::mem::take(&mut entry.fields));
            }
        }
    }

    /// Gives what a change has changed to the manager of this write.
    fn update(
        &self,
        managed: &mut Managed,
        old: &Object,
        new: &Object,
        name: &str,
    ) -> Result<(), Mismatch> {
        self.reconcile(managed);
        let (difference, _) = self.take(managed, old, new, None, true)?;
        let mut fields = difference.modified.united(difference.added);
        fields.subtract_with_all_below(self.reset);
        fields.subtract(stripped());
        if fields.is_empty() {
            return Ok(());
        }
        let manager = Manager::new(name, false, self.version, self.subresource);
        match managed.entries.entry(manager.id()) {
            Occupied(mut known) => {
                let entry = known.get_mut();
                entry.fields = entry.fields.union(&fields);
                entry.time = Some(self.now);
            }
            Vacant(free) => {
                free.insert(self.entry(manager, fields));
            }
        }
        Ok(())
    }

    /// For an object that nobody has owned anything of so far: all there is belongs to one manager.
    pub(super) fn adopt(&self, object: &Object, name: &str) -> Result<Managed, Mismatch> {
        let mut managed = Managed::default();
        self.update(&mut managed, self.types.zero(), object, name)?;
        Ok(managed)
    }
}

/// Fields that nobody owns: what the server sets, or what an object is.
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

/// What a create (`live` is nothing), an update or a patch does to ownership: who owned what `live`
/// was, what the client has sent, and from where to where the object goes. Objects carry no
/// managedFields.
#[doc(alias = "FieldManager.Update")]
pub(crate) fn update(
    operation: &Operation<'_>,
    live: Option<&Object>,
    owned: &Managed,
    sent: Sent,
    new: &Object,
) -> Managed {
    let mut managed = match sent {
        // A subresource cannot set them.
        Sent::Reset if operation.subresource.is_empty() => Managed::default(),
        Sent::Entries(sent) if operation.subresource.is_empty() => sent,
        _ => owned.clone(),
    };
    let live = match live {
        Some(live) => {
            // Somebody does not want them: until an apply, nothing is recorded.
            if managed.is_empty() {
                return managed;
            }
            live
        }
        None => operation.types.zero(),
    };
    match operation.update(&mut managed, live, new, operation.manager) {
        Ok(()) => {
            cap(&mut managed);
            managed
        }
        // As the real server: an object that does not fit its own schema has no owners, and is
        // written all the same.
        Err(Mismatch(why)) => {
            tracing::debug!(%why, "ownership of fields is not tracked for an object that does not fit its schema");
            Managed::default()
        }
    }
}

/// Merges the oldest entries of updates until there are few enough.
fn cap(managed: &mut Managed) {
    let mut updaters: Vec<(i64, String)> = (managed.entries.iter())
        .filter(|(_, entry)| !entry.manager.applies)
        .map(|(id, entry)| (entry.time.map_or(0, Timestamp::as_second), id.clone()))
        .collect();
    let mut count = updaters.len();
    if count <= MOST_UPDATERS {
        return;
    }
    updaters.sort();
    let mut first_of: BTreeMap<String, String> = BTreeMap::new();
    for (_, id) in updaters {
        if count <= MOST_UPDATERS {
            return;
        }
        let Some(version) = managed.entries.get(&id).map(|entry| entry.version.clone()) else {
            continue;
        };
        let Some(first) = first_of.get(&version) else {
            first_of.insert(version, id);
            continue;
        };
        let bucket = Manager::new(ANCIENT, false, &version, "");
        let bucket_id = bucket.id();
        if !managed.entries.contains_key(&bucket_id)
            && let Some(first) = managed.entries.remove(first)
        {
            managed.entries.insert(bucket_id.clone(), Entry { manager: bucket, ..first });
        }
        if let Some(entry) = managed.entries.remove(&id)
            && let Some(bucket) = managed.entries.get_mut(&bucket_id)
        {
            bucket.fields = bucket.fields.union(&entry.fields);
            bucket.time = entry.time;
            count -= 1;
        }
    }
}
