//! The namespace lifecycle: empties and finalizes terminating namespaces, through the public API.
//!
//! Replaces kube-controller-manager's `namespace-controller` (kubernetes/kubernetes,
//! pkg/controller/namespace). It deletes pods first, then all other kinds. It reports remaining
//! objects and their finalizers as conditions. It removes the finalizer `kubernetes` from an empty
//! namespace. Unlike upstream, it does not wait five seconds at the start; a watch of the remaining
//! objects replaces the resync timer.
//!
//! [`conditions`] computes the status, [`run`](mod@run) is the loop.

mod conditions;
mod run;

pub(crate) use run::run;

/// Its user. A fault applies to it only if the fault names it.
pub(crate) const USER: &str = "system:embedded:namespace-lifecycle";
