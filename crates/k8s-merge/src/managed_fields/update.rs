//! Creates, updates and patches: changed fields become the manager's.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry::{Occupied, Vacant};

use jiff::Timestamp;

use crate::Object;
use crate::managed_fields::compare::Mismatch;
use crate::managed_fields::entries::{Entry, ManagedFields, RequestedFields};
use crate::managed_fields::manager::Manager;
use crate::managed_fields::operation::{Operation, stripped};

/// The most entries of updates that an object has; older ones become [`ANCIENT`].
pub(super) const MOST_UPDATERS: usize = 10;
const ANCIENT: &str = "ancient-changes";

/// Returns the owners after a create, an update or a patch: the changed fields become the
/// manager's.
///
/// `owned` are the owners of the live object's fields; a create has no live object. `requested` are
/// the entries that the request itself sets. No object has `metadata.managedFields`. An object
/// without owners stays without them until the next apply.
///
/// ```
/// use jiff::Timestamp;
/// use k8s_merge::Object;
/// use k8s_merge::managed_fields::{ManagedFields, Operation, RequestedFields, Types, update};
/// use serde_json::json;
///
/// let types = Types::deduced();
/// let object = |replicas: u32| Object::from_iter([("replicas".to_owned(), json!(replicas))]);
/// let now = Timestamp::UNIX_EPOCH;
/// let create = Operation::new(&types, "example.com/v1", "Widget", "kubectl", now);
/// let nobody = ManagedFields::default();
/// let owned = update(&create, None, &nobody, RequestedFields::Unset, &object(1))?;
/// assert_eq!(
///     owned.encode(),
///     r#"[{"apiVersion":"example.com/v1","fieldsType":"FieldsV1","fieldsV1":{"f:replicas":{}},"#
///         .to_owned()
///         + r#""manager":"kubectl","operation":"Update","time":"1970-01-01T00:00:00Z"}]"#
/// );
/// # Ok::<(), k8s_merge::managed_fields::Mismatch>(())
/// ```
///
/// # Errors
///
/// One of the objects does not fit the types. The API server writes it all the same, without
/// owners.
#[doc(alias = "FieldManager.Update")]
#[doc(alias = "UpdateNoErrors")]
pub fn update(
    operation: &Operation<'_>,
    live: Option<&Object>,
    owned: &ManagedFields,
    requested: RequestedFields,
    new: &Object,
) -> Result<ManagedFields, Mismatch> {
    let mut managed = match requested {
        // A subresource cannot set them.
        RequestedFields::Reset if operation.subresource.is_empty() => ManagedFields::default(),
        RequestedFields::Entries(managed) if operation.subresource.is_empty() => managed,
        _ => owned.clone(),
    };
    let live = match live {
        Some(live) => {
            // Its owners were reset: until an apply, none is recorded.
            if managed.is_empty() {
                return Ok(managed);
            }
            live
        }
        None => operation.types.zero(),
    };
    operation.record(&mut managed, live, new, operation.manager)?;
    cap(&mut managed);
    Ok(managed)
}

impl Operation<'_> {
    /// Gives the changed fields to a manager.
    fn record(
        &self,
        managed: &mut ManagedFields,
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

    /// The owners of an object that had none: one manager owns all its fields.
    pub(super) fn adopt(&self, object: &Object, name: &str) -> Result<ManagedFields, Mismatch> {
        let mut managed = ManagedFields::default();
        self.record(&mut managed, self.types.zero(), object, name)?;
        Ok(managed)
    }
}

/// Merges the oldest entries of updates until there are few enough.
fn cap(managed: &mut ManagedFields) {
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
