//! The garbage collector: deletes objects whose owners are gone, through the public API.
//!
//! Replaces kube-controller-manager's `garbage-collector-controller` (kubernetes/kubernetes,
//! pkg/controller/garbagecollector):
//!
//! - It deletes dependents in the background.
//! - It holds an owner in foreground deletion until no dependent blocks it.
//! - It removes an orphaning owner from its dependents.
//! - It looks for an owner in the namespace of the dependent.
//! - It reads an object again before it deletes it.
//! - It ignores Events.
//! - It records an Event for a reference into another namespace, but does not aggregate them.
//!
//! [`graph`] holds the watched objects, [`decide`] the decisions, [`report`] the Events, all
//! without I/O. [`run`](mod@run) is the loop.

mod decide;
mod graph;
mod report;
mod run;

pub(crate) use run::run;

/// Its user. A fault applies to it only if the fault names it.
pub(crate) const USER: &str = "system:embedded:garbage-collector";
