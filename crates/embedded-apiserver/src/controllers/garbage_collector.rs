//! The garbage collector: an actor on the public API that deletes what no owner is left for.
//!
//! Stands in for kube-controller-manager's `garbage-collector-controller` (kubernetes/kubernetes,
//! pkg/controller/garbagecollector): deletes dependents in the background, holds an owner that is
//! deleted in the foreground until those that block it are gone, takes owners out of orphans. As
//! there, an owner is looked up in the namespace of its dependent, before anything is deleted it is
//! asked for once more, Events are left alone, and an Event tells of a reference into another
//! namespace. What it leaves out: one that tells the same again is not counted in the first.
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
