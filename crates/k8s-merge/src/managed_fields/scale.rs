//! Owners of the replicas: a write to a Scale takes their entries from the object, and puts them
//! back. As `ScaleHandler` of apimachinery, with its oddities.

use std::collections::BTreeMap;

use crate::managed_fields::element::Element;
use crate::managed_fields::entries::{Entry, ManagedFields};
use crate::managed_fields::manager::Manager;
use crate::managed_fields::set::Set;

/// The apiVersion of a Scale.
pub const SCALE: &str = "autoscaling/v1";

/// The path of the replicas in each version of a kind, by apiVersion. `None` for a version without
/// a scale subresource.
#[doc(alias = "ResourcePathMappings")]
pub type ReplicaPaths = BTreeMap<String, Option<Vec<Element>>>;

fn replicas() -> [Element; 2] {
    [Element::field("spec"), Element::field("replicas")]
}

/// Returns the owners of a Scale's fields: the owners of the object's replicas.
#[doc(alias = "ScaleHandler.ToSubresource")]
pub fn of_scale(owned: &ManagedFields, paths: &ReplicaPaths) -> ManagedFields {
    let mut scale = ManagedFields::default();
    for entry in owned.entries() {
        let Some(Some(path)) = paths.get(&entry.version) else { continue };
        if entry.fields.has_path(path) {
            let Manager { name, applies, subresource, .. } = &entry.manager;
            scale.insert(Entry {
                manager: Manager::new(name, *applies, SCALE, subresource),
                version: SCALE.to_owned(),
                time: entry.time,
                fields: Set::of_path(&replicas()),
            });
        }
    }
    scale
}

/// Returns the owners of an object's fields after a write to its Scale. `version` is the apiVersion
/// in which the Scale was written, `scale` are the Scale's owners after it.
#[doc(alias = "ScaleHandler.ToParent")]
pub fn of_object(
    owned: &ManagedFields,
    scale: &ManagedFields,
    version: &str,
    paths: &ReplicaPaths,
) -> ManagedFields {
    let mut managed = ManagedFields::default();
    for (id, entry) in &owned.entries {
        // Entries of unknown versions are dropped.
        let Some(path) = paths.get(&entry.version) else { continue };
        let path = path.as_ref().filter(|path| entry.fields.has_path(path));
        let still = scale.entries.contains_key(id);
        match path {
            Some(path) if !still => {
                let fields = entry.fields.difference(&Set::of_path(path));
                if !fields.is_empty() {
                    managed.insert(Entry { fields, ..entry.clone() });
                }
            }
            _ => managed.insert(entry.clone()),
        }
    }
    let Some(Some(path)) = paths.get(version) else { return managed };
    for (id, entry) in &scale.entries {
        if managed.entries.contains_key(id) || !entry.fields.has_path(&replicas()) {
            continue;
        }
        let Manager { name, applies, subresource, .. } = &entry.manager;
        managed.insert_beside(Entry {
            manager: Manager::new(name, *applies, version, subresource),
            version: version.to_owned(),
            // The Scale's time is lost, as in the API server.
            time: owned.entries.get(id).and_then(|entry| entry.time),
            fields: Set::of_path(path),
        });
    }
    managed
}
