//! The bindings of one namespace, or of the cluster, by user and by group.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use api_front::User;

use crate::access::policy::binding::{Binding, Principal};

/// The bindings of a user or a group, by their names.
type BindingsOf = HashMap<Arc<str>, BTreeMap<Arc<str>, Arc<Binding>>>;

#[derive(Debug, Default)]
pub(super) struct Index {
    users: BindingsOf,
    groups: BindingsOf,
}

impl Index {
    pub(super) fn insert(&mut self, binding: &Arc<Binding>) {
        for principal in binding.principals() {
            let (map, key) = self.map_of(principal);
            let bindings = map.entry(Arc::clone(key)).or_default();
            bindings.insert(Arc::clone(&binding.name), Arc::clone(binding));
        }
    }

    pub(super) fn remove(&mut self, binding: &Binding) {
        for principal in binding.principals() {
            let (map, key) = self.map_of(principal);
            if let Some(bindings) = map.get_mut(key) {
                bindings.remove(&binding.name);
                if bindings.is_empty() {
                    map.remove(key);
                }
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.users.is_empty() && self.groups.is_empty()
    }

    /// Returns the bindings of a user and of its groups, sorted by name.
    pub(super) fn of(&self, user: &User) -> Vec<&Arc<Binding>> {
        let own = self.users.get(user.name());
        let groups = user.groups().iter().filter_map(|group| self.groups.get(group.as_str()));
        let mut all: Vec<_> = own.into_iter().chain(groups).flat_map(BTreeMap::values).collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all.dedup_by(|one, other| Arc::ptr_eq(one, other));
        all
    }

    fn map_of<'a, 'p>(
        &'a mut self,
        principal: &'p Principal,
    ) -> (&'a mut BindingsOf, &'p Arc<str>) {
        match principal {
            Principal::User(name) => (&mut self.users, name),
            Principal::Group(name) => (&mut self.groups, name),
        }
    }
}
