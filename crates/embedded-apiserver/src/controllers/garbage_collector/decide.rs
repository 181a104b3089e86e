//! What is to be done about one object: `attemptToDeleteItem` and its kin of
//! pkg/controller/garbagecollector, without the requests that they make.

use super::graph::{Deletion, Graph, Node, Uid};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

/// What an object needs, as far as the graph can tell.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Need {
    Nothing,
    /// Its owners have to be asked for: one may be gone, or waits.
    Examination,
    /// The dependents that block it have to be looked at first.
    Wait(Vec<Uid>),
    /// Nothing blocks it any more.
    EndOfForeground,
    /// These dependents must forget it, then it may go.
    Orphans(Vec<Uid>),
}

/// What the graph says about an object.
pub(super) fn need(graph: &Graph, uid: &str) -> Need {
    let Some(node) = graph.get(uid) else { return Need::Nothing };
    match node.deletion {
        Deletion::Orphan => {
            Need::Orphans(graph.dependents(uid).map(|(uid, _)| uid.clone()).collect())
        }
        Deletion::Foreground => {
            let blocking: Vec<_> =
                graph.dependents(uid).filter(|(_, dependent)| blocks(dependent, uid)).collect();
            if blocking.is_empty() {
                return Need::EndOfForeground;
            }
            let idle =
                blocking.into_iter().filter(|(_, node)| node.deletion != Deletion::Foreground);
            Need::Wait(idle.map(|(uid, _)| uid.clone()).collect())
        }
        Deletion::Yes => Need::Nothing,
        Deletion::No if graph.is_owned_well(node) => Need::Nothing,
        Deletion::No => Need::Examination,
    }
}

fn blocks(dependent: &Node, owner: &str) -> bool {
    dependent
        .owners
        .iter()
        .any(|reference| reference.uid == owner && reference.block_owner_deletion == Some(true))
}

/// What an owner was found to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is there and stays.
    Solid,
    /// There is no such object.
    Absent,
    /// It is being deleted, after its dependents.
    Waiting,
}

/// Of an owner that was asked for.
pub(super) fn standing(reference: &OwnerReference, found: Option<&ObjectMeta>) -> Standing {
    match found {
        Some(owner) if owner.uid.as_deref() != Some(&reference.uid) => Standing::Absent,
        Some(owner) if Deletion::of(owner) == Deletion::Foreground => Standing::Waiting,
        // Both finalizers cannot be set at once, so an owner that waits for nothing else is not
        // missed.
        Some(_) => Standing::Solid,
        None => Standing::Absent,
    }
}

/// How an object is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Policy {
    Background,
    Foreground,
    Orphan,
}

/// What happens to an object.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It stays as it is.
    Keep,
    /// It stays; these owners are taken out.
    Disown(Vec<String>),
    /// It goes. `unblock`: it no longer blocks its owners first, as it is in a circle with one of
    /// them.
    Delete { policy: Policy, unblock: bool },
}

/// What happens to an object whose owners were all asked for. `dependents`: of those that it has
/// itself, how they are being deleted.
pub(super) fn verdict(
    metadata: &ObjectMeta,
    owners: &[(OwnerReference, Standing)],
    dependents: &[Deletion],
) -> Verdict {
    let are = |wanted: Standing| owners.iter().filter(move |(_, standing)| *standing == wanted);
    let solid = are(Standing::Solid).next().is_some();
    let waiting = are(Standing::Waiting).next().is_some();
    if owners.is_empty() {
        return Verdict::Keep;
    }
    if solid {
        let gone = owners.iter().filter(|(_, standing)| *standing != Standing::Solid);
        let gone: Vec<String> = gone.map(|(reference, _)| reference.uid.clone()).collect();
        return if gone.is_empty() { Verdict::Keep } else { Verdict::Disown(gone) };
    }
    if waiting && !dependents.is_empty() {
        // If a dependent waits for its own dependents, these may lead back here: a circle in which
        // nobody would ever go first.
        let unblock = dependents.contains(&Deletion::Foreground);
        return Verdict::Delete { policy: Policy::Foreground, unblock };
    }
    let has = |name: &str| metadata.finalizers.iter().flatten().any(|finalizer| finalizer == name);
    let policy = match () {
        () if has(super::graph::ORPHAN) => Policy::Orphan,
        () if has(super::graph::FOREGROUND) => Policy::Foreground,
        () => Policy::Background,
    };
    Verdict::Delete { policy, unblock: false }
}

#[cfg(test)]
mod tests;
