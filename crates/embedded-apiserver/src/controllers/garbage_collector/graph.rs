//! The graph of owners and dependents, as the watches report it, with a work queue. Ordered data:
//! the same events give the same order of work.

use crate::controllers::actors::kinds::Resource;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// The finalizer of foreground deletion.
pub(super) const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of a deletion that orphans the dependents.
pub(super) const ORPHAN: &str = "orphan";

/// Identifies an object. Uids are unique on a server.
pub(super) type Uid = Arc<str>;

/// An object.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) resource: Arc<Resource>,
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    pub(super) owners: Vec<OwnerReference>,
    pub(super) deletion: Deletion,
}

/// An owner reference into another namespace.
#[derive(Debug, Clone)]
pub(super) struct Misplaced {
    pub(super) dependent: Uid,
    pub(super) node: Node,
    pub(super) owner: OwnerReference,
}

/// The deletion of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deletion {
    No,
    /// Background deletion, which the collector leaves alone.
    Yes,
    /// Waits until no dependent blocks it.
    Foreground,
    /// Waits until no dependent refers to it.
    Orphan,
}

impl Deletion {
    pub(super) fn of(metadata: &ObjectMeta) -> Self {
        let has =
            |name: &str| metadata.finalizers.iter().flatten().any(|finalizer| finalizer == name);
        match metadata.deletion_timestamp {
            None => Self::No,
            Some(_) if has(ORPHAN) => Self::Orphan,
            Some(_) if has(FOREGROUND) => Self::Foreground,
            Some(_) => Self::Yes,
        }
    }
}

impl Node {
    pub(super) fn new(resource: &Arc<Resource>, metadata: ObjectMeta) -> Option<(Uid, Self)> {
        let deletion = Deletion::of(&metadata);
        let node = Self {
            resource: Arc::clone(resource),
            namespace: metadata.namespace,
            name: metadata.name?,
            owners: metadata.owner_references.unwrap_or_default(),
            deletion,
        };
        Some((metadata.uid?.into(), node))
    }

    /// Whether the object is in another namespace than `dependent`. Never for cluster scope.
    fn is_elsewhere(&self, dependent: &Self) -> bool {
        self.namespace.is_some() && self.namespace != dependent.namespace
    }

    /// Whether a reference of `dependent` to this uid has the right kind and name.
    fn is_meant_by(&self, reference: &OwnerReference, dependent: &Self) -> bool {
        let api = &self.resource.api;
        let group = reference.api_version.split_once('/').map_or("", |(group, _)| group);
        reference.kind == api.kind
            && group == api.group
            && reference.name == self.name
            && (self.namespace.is_none() || self.namespace == dependent.namespace)
    }
}

/// All objects, and the work queue.
#[derive(Debug, Default)]
pub(super) struct Graph {
    nodes: BTreeMap<Uid, Node>,
    /// By the uid of the owner, known or not.
    dependents: BTreeMap<Uid, BTreeSet<Uid>>,
    order: VecDeque<Uid>,
    queued: BTreeSet<Uid>,
    /// Objects that wait for their owners' kinds to be served.
    parked: BTreeSet<Uid>,
    /// References into other namespaces without an Event so far.
    misplaced: VecDeque<Misplaced>,
}

impl Graph {
    pub(super) fn get(&self, uid: &str) -> Option<&Node> {
        self.nodes.get(uid)
    }

    pub(super) fn dependents(&self, uid: &str) -> impl Iterator<Item = (&Uid, &Node)> {
        let all = self.dependents.get(uid).into_iter().flatten();
        all.filter_map(|uid| Some((uid, self.nodes.get(uid)?)))
    }

    /// Adds an object to the end of the queue.
    pub(super) fn queue(&mut self, uid: &Uid) {
        if self.queued.insert(Arc::clone(uid)) {
            self.order.push_back(Arc::clone(uid));
        }
    }

    fn queue_dependents(&mut self, uid: &str) {
        let all: Vec<Uid> = self.dependents.get(uid).into_iter().flatten().cloned().collect();
        all.iter().for_each(|uid| self.queue(uid));
    }

    /// Removes the first object of the queue.
    pub(super) fn next(&mut self) -> Option<Uid> {
        let uid = self.order.pop_front()?;
        self.queued.remove(&uid);
        self.parked.remove(&uid);
        Some(uid)
    }

    /// Parks an object until the served kinds change.
    pub(super) fn park(&mut self, uid: &Uid) {
        if self.nodes.contains_key(uid) {
            self.parked.insert(Arc::clone(uid));
        }
    }

    /// Queues all parked objects again, after the served kinds have changed.
    pub(super) fn unpark(&mut self) {
        std::mem::take(&mut self.parked).iter().for_each(|uid| self.queue(uid));
    }

    /// The next reference that needs an Event.
    pub(super) fn next_misplaced(&mut self) -> Option<Misplaced> {
        self.misplaced.pop_front()
    }

    /// Finds references into other namespaces, when either object is first seen. Of the new
    /// references of an object, it reports only the first wrong one, if that is in another
    /// namespace (`addDependentToOwners`).
    fn find_misplaced(&mut self, uid: &Uid, node: &Node, before: Option<&Node>) {
        let is_new = |owner: &&OwnerReference| {
            before.is_none_or(|before| before.owners.iter().all(|old| old.uid != owner.uid))
        };
        let known = node
            .owners
            .iter()
            .filter(is_new)
            .filter_map(|owner| Some((owner, self.get(&owner.uid)?)));
        let odd = known.into_iter().find(|(owner, found)| !found.is_meant_by(owner, node));
        let owner =
            odd.filter(|(_, found)| found.is_elsewhere(node)).map(|(owner, _)| owner.clone());
        let own =
            owner.map(|owner| Misplaced { dependent: Arc::clone(uid), node: node.clone(), owner });
        let of_dependents = self
            .dependents(uid)
            .filter(|(_, dependent)| before.is_none() && node.is_elsewhere(dependent));
        let of_dependents = of_dependents.filter_map(|(dependent, of)| {
            let owner = of.owners.iter().find(|owner| *owner.uid == **uid)?.clone();
            Some(Misplaced { dependent: Arc::clone(dependent), node: of.clone(), owner })
        });
        let found: Vec<Misplaced> = own.into_iter().chain(of_dependents).collect();
        self.misplaced.extend(found);
    }

    /// Adds or updates an object.
    pub(super) fn put(&mut self, uid: Uid, node: Node) {
        let before = self.nodes.insert(Arc::clone(&uid), node.clone());
        self.find_misplaced(&uid, &node, before.as_ref());
        let old_owners = before.as_ref().map_or(&[][..], |before| &before.owners[..]);
        for owner in old_owners {
            let now = node.owners.iter().find(|now| now.uid == owner.uid);
            if now.is_none()
                && let Some(all) = self.dependents.get_mut(owner.uid.as_str())
            {
                all.remove(&uid);
                if all.is_empty() {
                    self.dependents.remove(owner.uid.as_str());
                }
            }
            // A dependent no longer blocks its owner.
            let blocked = owner.block_owner_deletion == Some(true);
            if blocked && now.is_none_or(|now| now.block_owner_deletion != Some(true)) {
                self.queue(&owner.uid.as_str().into());
            }
        }
        for owner in &node.owners {
            self.dependents.entry(owner.uid.as_str().into()).or_default().insert(Arc::clone(&uid));
        }
        let waited = before.as_ref().map_or(Deletion::No, |before| before.deletion);
        let waits = node.deletion != waited;
        if waits && node.deletion == Deletion::Foreground {
            self.queue_dependents(&uid);
        }
        let owned_anew = before.as_ref().is_none_or(|before| before.owners != node.owners);
        // If the owner is in foreground deletion, its next turn finds this dependent.
        if waits || (owned_anew && !self.owners_are_known(&node)) {
            self.queue(&uid);
        }
    }

    /// Removes an object.
    pub(super) fn remove(&mut self, uid: &str) {
        let Some(node) = self.nodes.remove(uid) else { return };
        self.parked.remove(uid);
        self.queue_dependents(uid);
        for owner in &node.owners {
            if let Some(all) = self.dependents.get_mut(owner.uid.as_str()) {
                all.remove(uid);
                if all.is_empty() {
                    self.dependents.remove(owner.uid.as_str());
                }
            }
            if self.get(&owner.uid).is_some_and(|owner| owner.deletion == Deletion::Foreground) {
                self.queue(&owner.uid.as_str().into());
            }
        }
    }

    /// The uids of a kind, to find what a new list lacks.
    pub(super) fn of(&self, resource: &Resource) -> Vec<Uid> {
        let of = |node: &Node| {
            node.resource.api.group == resource.api.group
                && node.resource.api.plural == resource.api.plural
        };
        self.nodes.iter().filter(|(_, node)| of(node)).map(|(uid, _)| Arc::clone(uid)).collect()
    }

    /// Whether all owners exist and match their references.
    fn owners_are_known(&self, node: &Node) -> bool {
        let known = |reference: &OwnerReference| {
            self.get(&reference.uid).is_some_and(|owner| owner.is_meant_by(reference, node))
        };
        node.owners.iter().all(known)
    }

    /// Whether all owners exist, match their references, and stay.
    pub(super) fn is_owned_well(&self, node: &Node) -> bool {
        let stays = |reference: &OwnerReference| {
            self.get(&reference.uid).is_some_and(|owner| owner.deletion != Deletion::Foreground)
        };
        self.owners_are_known(node) && node.owners.iter().all(stays)
    }
}

#[cfg(test)]
mod tests;
