//! Decides about one object: `attemptToDeleteItem` and its kin in pkg/controller/garbagecollector,
//! without their requests.

use super::graph::{Deletion, Graph, Node, Uid};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

/// The next step for an object, as far as the graph knows.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Need {
    Nothing,
    /// Read its owners: one may be absent or in foreground deletion.
    Examination,
    /// Process its blocking dependents first.
    Wait(Vec<Uid>),
    /// Remove its foreground finalizer: nothing blocks it.
    EndOfForeground,
    /// Remove it from these dependents, then remove its orphan finalizer.
    Orphans(Vec<Uid>),
}

/// Returns the next step for an object.
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

/// The state of an owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It exists and stays.
    Solid,
    /// It does not exist.
    Absent,
    /// It is in foreground deletion.
    Waiting,
}

/// Returns the state of an owner that was read.
pub(super) fn standing(reference: &OwnerReference, found: Option<&ObjectMeta>) -> Standing {
    match found {
        Some(owner) if owner.uid.as_deref() != Some(&reference.uid) => Standing::Absent,
        Some(owner) if Deletion::of(owner) == Deletion::Foreground => Standing::Waiting,
        // Both finalizers cannot be set at once, so this misses no foreground deletion.
        Some(_) => Standing::Solid,
        None => Standing::Absent,
    }
}

/// The propagation policy of a delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Policy {
    Background,
    Foreground,
    Orphan,
}

/// The decision about an object.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Leave it alone.
    Keep,
    /// Remove these owners from it.
    Disown(Vec<String>),
    /// Delete it. `unblock`: first make it block none of its owners, because they form a cycle.
    Delete { policy: Policy, unblock: bool },
}

/// Decides about an object whose owners were read. `dependents`: the deletions of its own
/// dependents.
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
        // Dependents in foreground deletion may lead back here. Such a cycle would never be
        // deleted.
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
