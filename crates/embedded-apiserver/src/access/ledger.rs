//! Counts used grants and refusals per user, sorted and bounded. Records beyond the bound are only
//! counted.

use std::collections::BTreeMap;
use std::sync::Arc;

use api_front::User;

use crate::access::attributes::Attributes;
use crate::access::policy::Binding;
use crate::access::rule::Atom;

/// The most different records of each kind. Clients cannot exceed it.
const MOST: usize = 65_536;

/// The namespace of a binding, empty for the cluster, and its name.
type BindingKey = (Arc<str>, Arc<str>);

/// A refusal, and its count.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Refused {
    pub(crate) user: Arc<str>,
    pub(crate) verb: String,
    pub(crate) group: String,
    /// With the subresource. Empty for a path.
    pub(crate) resource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) path: String,
}

#[derive(Debug, Default)]
pub(crate) struct Ledger {
    used: BTreeMap<(Arc<str>, BindingKey, Atom), u64>,
    refused: BTreeMap<Refused, u64>,
    lost: Lost,
}

/// The number of records beyond the bound.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lost {
    pub(crate) uses: u64,
    pub(crate) refusals: u64,
}

impl Ledger {
    pub(crate) fn used(&mut self, user: &User, binding: &Binding, atom: Atom) {
        let key = (binding.namespace.clone(), binding.name.clone());
        let full = self.used.len() >= MOST;
        let key = (Arc::clone(user.shared_name()), key, atom);
        if let Some(count) = self.used.get_mut(&key) {
            *count = count.saturating_add(1);
        } else if full {
            self.lost.uses = self.lost.uses.saturating_add(1);
        } else {
            self.used.insert(key, 1);
        }
    }

    pub(crate) fn refused(&mut self, user: &User, asked: &Attributes<'_>) {
        let user = Arc::clone(user.shared_name());
        let key = match asked {
            Attributes::Path { verb, path } => Refused {
                user,
                verb: verb.to_string(),
                group: String::new(),
                resource: String::new(),
                namespace: String::new(),
                name: String::new(),
                path: path.to_string(),
            },
            Attributes::Resource { verb, group, resource, subresource, namespace, name } => {
                Refused {
                    user,
                    verb: verb.to_string(),
                    group: group.to_string(),
                    resource: if subresource.is_empty() {
                        resource.to_string()
                    } else {
                        format!("{resource}/{subresource}")
                    },
                    namespace: namespace.to_string(),
                    name: name.to_string(),
                    path: String::new(),
                }
            }
        };
        let full = self.refused.len() >= MOST;
        if let Some(count) = self.refused.get_mut(&key) {
            *count = count.saturating_add(1);
        } else if full {
            self.lost.refusals = self.lost.refusals.saturating_add(1);
        } else {
            self.refused.insert(key, 1);
        }
    }

    /// How often the user needed this part of the binding.
    pub(crate) fn uses(&self, user: &User, binding: &Binding, atom: &Atom) -> u64 {
        let key = (binding.namespace.clone(), binding.name.clone());
        self.used.get(&(Arc::clone(user.shared_name()), key, atom.clone())).copied().unwrap_or(0)
    }

    /// The refusals of a user, or of all users.
    pub(crate) fn refusals(&self, user: Option<&str>) -> impl Iterator<Item = (&Refused, u64)> {
        let wanted = move |refused: &&Refused| user.is_none_or(|user| *refused.user == *user);
        self.refused
            .iter()
            .map(|(refused, count)| (refused, *count))
            .filter(move |(refused, _)| wanted(refused))
    }

    pub(crate) const fn lost(&self) -> Lost {
        self.lost
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests;
