//! The garbage collector: an actor on the public API that deletes what no owner is left for.
//!
//! Stands in for kube-controller-manager's `garbage-collector-controller` (kubernetes/kubernetes,
//! pkg/controller/garbagecollector). It deletes dependents in the background, holds an owner that
//! is deleted in the foreground until no dependent blocks it, and takes owners out of orphans. As
//! there, an owner is looked up in the namespace of its dependent. An object is read once more
//! before it is deleted. Events are left alone. An Event tells of a reference into another
//! namespace; unlike there, equal Events are not counted in the first.
//!
//! [`graph`] holds what the watches say, [`decide`] what is to be done about one object, [`report`]
//! what users are told, all without I/O; [`run`](mod@run) is the loop.

mod decide;
mod graph;
mod report;
mod run;

pub(crate) use run::run;

/// In whose name the collector asks; a user of the server's own, which faults meet only by name.
pub(crate) const USER: &str = "system:embedded:garbage-collector";
