//! Adornment: labels, annotations and owners that the application wants on the object. No decision
//! rests on them.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::DynamicObject;

#[derive(Clone, Debug, Default)]
pub(super) struct Adornment {
    pub(super) labels: BTreeMap<String, String>,
    pub(super) annotations: BTreeMap<String, String>,
    pub(super) owners: Vec<OwnerReference>,
}

impl Adornment {
    /// Adorns a new object.
    pub(super) fn furnish(&self, object: &mut DynamicObject) {
        self.restore(object);
        if !self.owners.is_empty() {
            object
                .metadata
                .owner_references
                .get_or_insert_default()
                .extend(self.owners.iter().cloned());
        }
    }

    /// Adorns an existing object: sets these keys, and keeps all others. Its owners stay, because
    /// an operator may have changed them.
    pub(super) fn restore(&self, object: &mut DynamicObject) {
        for (wanted, found) in [
            (&self.labels, &mut object.metadata.labels),
            (&self.annotations, &mut object.metadata.annotations),
        ] {
            if !wanted.is_empty() {
                let wanted = wanted.iter().map(|(key, value)| (key.clone(), value.clone()));
                found.get_or_insert_default().extend(wanted);
            }
        }
    }
}
