//! The namespace lifecycle: an actor on the public API that empties a namespace that is being
//! deleted, and lets it go.
//!
//! Stands in for kube-controller-manager's `namespace-controller` (kubernetes/kubernetes,
//! pkg/controller/namespace). It deletes pods first, then everything else, by kind. The namespace's
//! conditions name the remaining objects and their finalizers. An empty namespace loses the
//! finalizer `kubernetes`. Unlike there nothing waits five seconds before it begins, and no timer
//! looks again: watches of the remaining objects say when.
//!
//! [`conditions`] says what a namespace's status should be; [`run`](mod@run) is the loop.

mod conditions;
mod run;

pub(crate) use run::run;

/// In whose name it asks; a user of the server's own, which faults meet only by name.
pub(crate) const USER: &str = "system:embedded:namespace-lifecycle";
