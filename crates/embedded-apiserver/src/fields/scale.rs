//! Ownership of the one field that a Scale stands for: entries go to the Scale with its path and
//! version, and come back with the object's. As `ScaleHandler` of apimachinery, quirks included.

use std::collections::BTreeMap;

use crate::fields::Element;
use crate::fields::managed::{Entry, Managed, Manager};
use crate::fields::set::Set;

/// The version that a Scale's fields are owned in.
pub(crate) const SCALE: &str = "autoscaling/v1";

/// Where the number of replicas is, for each version of a kind; nothing for a version without a
/// scale subresource.
pub(crate) type ReplicaPaths = BTreeMap<String, Option<Vec<Element>>>;

fn replicas() -> [Element; 2] {
    [Element::field("spec"), Element::field("replicas")]
}

/// Who owns what of an object's Scale.
pub(crate) fn of_scale(owned: &Managed, paths: &ReplicaPaths) -> Managed {
    let mut scale = Managed::default();
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

/// Who owns what of an object of a version, after a write to its Scale.
pub(crate) fn of_object(
    owned: &Managed,
    scale: &Managed,
    version: &str,
    paths: &ReplicaPaths,
) -> Managed {
    let mut managed = Managed::default();
    for (id, entry) in &owned.entries {
        // What was written in a version that is gone is dropped.
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
            // Its time is lost on the way, on the real server too.
            time: owned.entries.get(id).and_then(|entry| entry.time),
            fields: Set::of_path(path),
        });
    }
    managed
}
