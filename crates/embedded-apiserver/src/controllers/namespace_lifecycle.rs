//! The namespace lifecycle: an actor on the public API that empties a namespace that is being
//! deleted, and lets it go.
//!
//! Stands in for kube-controller-manager's `namespace-controller` (kubernetes/kubernetes,
//! pkg/controller/namespace): pods first, then everything else, by kind; what is left and what
//! holds it is said in the namespace's conditions; an empty namespace loses the finalizer
//! `kubernetes`. Unlike there nothing waits five seconds before it begins, and no timer looks
//! again: a watch of what is left says when.
//!
//! [`conditions`] says what a namespace's status should be; [`run`](mod@run) is the loop.

mod conditions;
mod run;

pub(crate) use run::run;

/// In whose name it asks; a user of the server's own, which faults meet only by name.
pub(crate) const USER: &str = "system:embedded:namespace-lifecycle";
