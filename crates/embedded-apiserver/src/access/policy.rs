//! The compiled policy of all roles and bindings. Plain data, updated one object at a time.
//!
//! A decision reads only the bindings of the user and its groups, in the cluster and in one
//! namespace, with the rules of their roles.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use api_front::User;
use k8s_openapi::api::rbac::v1::{AggregationRule, PolicyRule};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use serde::Deserialize;
use serde_json::Value;

use crate::access::attributes::Attributes;
use crate::access::rule::{Atom, Rule};

mod binding;
mod index;
#[cfg(test)]
mod tests;

pub(crate) use binding::{Binding, Place, RoleRef, role_ref_of};
use index::Index;

/// Roles or bindings, namespaced or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Table {
    Roles,
    Bindings,
}

/// A Role or ClusterRole.
#[derive(Debug, Clone, Default)]
struct Role {
    rules: Arc<[Rule]>,
    labels: BTreeMap<String, String>,
    /// The selectors of the roles whose rules it aggregates.
    aggregates: Option<Vec<LabelSelector>>,
    /// A default role of every cluster.
    default: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Policy {
    /// By namespace, then name.
    roles: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Role>>,
    bindings: BTreeMap<Place, Arc<Binding>>,
    index: HashMap<Arc<str>, Index>,
    /// The rules of the aggregating cluster roles.
    aggregated: HashMap<Arc<str>, Arc<[Rule]>>,
    /// A cluster role has changed since the aggregation.
    stale: bool,
}

/// The decision of an authorizer.
#[derive(Debug)]
pub(crate) enum Decision {
    /// For `system:masters`, or without RBAC.
    Always,
    /// A rule of a role allows it.
    Granted { binding: Arc<Binding>, atom: Atom, reason: String },
    /// No rule allows it. `reason` names the bindings with a missing role.
    Refused { reason: String },
}

impl Decision {
    pub(crate) const fn is_allowed(&self) -> bool {
        !matches!(self, Self::Refused { .. })
    }

    pub(crate) fn reason(&self) -> &str {
        match self {
            Self::Always => "",
            Self::Granted { reason, .. } | Self::Refused { reason } => reason,
        }
    }
}

/// A binding of a user, with the rules of its role.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) binding: Arc<Binding>,
    pub(crate) rules: Arc<[Rule]>,
    /// The role is a default role of every cluster.
    pub(crate) default: bool,
}

/// The relevant members of a role.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RoleObject {
    #[serde(default)]
    metadata: ObjectMeta,
    rules: Option<Vec<PolicyRule>>,
    aggregation_rule: Option<AggregationRule>,
}

/// The rules of a role object, without aggregation.
pub(crate) fn rules_of(role: &Value) -> Vec<Rule> {
    let role = RoleObject::deserialize(role).ok();
    role.into_iter().flat_map(|role| role.rules).flatten().map(|rule| Rule::of(&rule)).collect()
}

impl Policy {
    /// Applies a change of an object. `None`: it was deleted.
    pub(crate) fn change(&mut self, table: Table, place: &Place, object: Option<&Value>) {
        match table {
            Table::Roles => self.change_role(place, object),
            Table::Bindings => self.change_binding(place, object),
        }
    }

    fn change_role(&mut self, place: &Place, object: Option<&Value>) {
        let read = object.and_then(|object| RoleObject::deserialize(object).ok());
        match read {
            Some(read) => {
                let rules = read.rules.iter().flatten().map(Rule::of).collect();
                let labels = read.metadata.labels.unwrap_or_default();
                let default = labels
                    .get("kubernetes.io/bootstrapping")
                    .is_some_and(|of| of == "rbac-defaults");
                let aggregates = read
                    .aggregation_rule
                    .map(|rule| rule.cluster_role_selectors.unwrap_or_default());
                let role = Role { rules, labels, aggregates, default };
                self.roles.entry(place.0.clone()).or_default().insert(place.1.clone(), role);
            }
            None => {
                if let Some(roles) = self.roles.get_mut(&place.0) {
                    roles.remove(&place.1);
                }
            }
        }
        self.stale |= place.0.is_empty();
    }

    /// Aggregates the rules of cluster roles, as kube-controller-manager's
    /// clusterrole-aggregation-controller writes them. Call it after changes.
    pub(crate) fn aggregate(&mut self) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        let roles = self.roles.get("").into_iter().flatten();
        let all = roles.filter(|(_, role)| role.aggregates.is_some()).map(|(name, _)| {
            let mut rules = Vec::new();
            self.collect(name, &mut BTreeSet::new(), &mut rules);
            (name.clone(), rules.into())
        });
        self.aggregated = all.collect();
    }

    fn collect(&self, name: &Arc<str>, seen: &mut BTreeSet<Arc<str>>, rules: &mut Vec<Rule>) {
        let Some(role) = self.role("", name) else { return };
        if !seen.insert(name.clone()) {
            return;
        }
        let Some(selectors) = &role.aggregates else {
            for rule in &*role.rules {
                if !rules.contains(rule) {
                    rules.push(rule.clone());
                }
            }
            return;
        };
        for selector in selectors {
            for (other, of) in self.roles.get("").into_iter().flatten() {
                if selects(selector, &of.labels) {
                    self.collect(other, seen, rules);
                }
            }
        }
    }

    fn role(&self, namespace: &str, name: &str) -> Option<&Role> {
        self.roles.get(namespace)?.get(name)
    }

    fn change_binding(&mut self, place: &Place, object: Option<&Value>) {
        if let Some(old) = self.bindings.remove(place)
            && let Some(index) = self.index.get_mut(&place.0)
        {
            index.remove(&old);
            if index.is_empty() {
                self.index.remove(&place.0);
            }
        }
        let Some(binding) = object.and_then(|object| Binding::read(place, object)) else { return };
        let binding = Arc::new(binding);
        self.index.entry(Arc::clone(&place.0)).or_default().insert(&binding);
        self.bindings.insert(place.clone(), binding);
    }

    /// Clears the policy. All objects are added again.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Decides whether the user may do this.
    pub(crate) fn decide(&self, user: &User, asked: &Attributes<'_>) -> Decision {
        if user.is_in(User::MASTERS) {
            return Decision::Always;
        }
        let mut missing = Vec::new();
        for namespace in scopes(asked.namespace()) {
            for binding in self.bindings_of(user, namespace) {
                let Some((rules, _)) = self.rules(&binding.role, &binding.namespace) else {
                    missing.push(binding.role.not_found());
                    continue;
                };
                if let Some(atom) = rules.iter().find_map(|rule| rule.allows(asked)) {
                    let reason = format!("RBAC: allowed by {}", binding.described_for(user));
                    return Decision::Granted { binding: Arc::clone(binding), atom, reason };
                }
            }
        }
        missing.sort();
        missing.dedup();
        let reason = match &*missing {
            [] => String::new(),
            [one] => format!("RBAC: {one}"),
            several => format!("RBAC: [{}]", several.join(", ")),
        };
        Decision::Refused { reason }
    }

    /// The bindings of the user in a namespace and in the cluster.
    pub(crate) fn held(&self, user: &User, namespace: &str) -> Vec<Held> {
        let bindings = scopes(namespace).flat_map(|scope| self.bindings_of(user, scope));
        let held = bindings.filter_map(|binding| {
            let (rules, default) = self.rules(&binding.role, &binding.namespace)?;
            Some(Held { binding: Arc::clone(binding), rules: Arc::clone(rules), default })
        });
        held.collect()
    }

    /// The missing roles of these bindings.
    pub(crate) fn missing(&self, user: &User, namespace: &str) -> Vec<Arc<str>> {
        let bindings = scopes(namespace).flat_map(|scope| self.bindings_of(user, scope));
        let missing =
            bindings.filter(|binding| self.rules(&binding.role, &binding.namespace).is_none());
        missing.map(|binding| binding.role.name.clone()).collect()
    }

    /// All bindings of the user.
    pub(crate) fn held_anywhere(&self, user: &User) -> Vec<Held> {
        let mut namespaces: Vec<_> = self.index.keys().collect();
        namespaces.sort();
        let bindings =
            namespaces.into_iter().flat_map(|namespace| self.bindings_of(user, namespace));
        let held = bindings.filter_map(|binding| {
            let (rules, default) = self.rules(&binding.role, &binding.namespace)?;
            Some(Held { binding: Arc::clone(binding), rules: Arc::clone(rules), default })
        });
        held.collect()
    }

    /// The bindings of one scope, sorted by name.
    fn bindings_of(&self, user: &User, namespace: &str) -> Vec<&Arc<Binding>> {
        self.index.get(namespace).map(|index| index.of(user)).unwrap_or_default()
    }

    /// The rules of a role, and whether it is a default role.
    pub(crate) fn rules(
        &self,
        role: &RoleRef,
        binding_namespace: &str,
    ) -> Option<(&Arc<[Rule]>, bool)> {
        let namespace = if &*role.kind == "Role" { binding_namespace } else { "" };
        let found = self.role(namespace, &role.name)?;
        let rules = match found.aggregates {
            Some(_) => self.aggregated.get(&role.name).unwrap_or(&found.rules),
            None => &found.rules,
        };
        Some((rules, found.default))
    }
}

/// The cluster first, then the namespace, if there is one.
fn scopes(namespace: &str) -> impl Iterator<Item = &str> {
    [""].into_iter().chain(Some(namespace).filter(|namespace| !namespace.is_empty()))
}

fn selects(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
    let equal =
        selector.match_labels.iter().flatten().all(|(key, value)| labels.get(key) == Some(value));
    let required = selector.match_expressions.iter().flatten().all(|requirement| {
        let value = labels.get(&requirement.key);
        let among = || {
            value.is_some_and(|value| requirement.values.iter().flatten().any(|one| one == value))
        };
        match requirement.operator.as_str() {
            "In" => among(),
            "NotIn" => !among(),
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            _ => false,
        }
    });
    equal && required
}
