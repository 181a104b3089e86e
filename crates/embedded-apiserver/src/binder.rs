//! The persistent volume binder: an actor on the public API that does the part of Kubernetes' own
//! volume controllers.
//!
//! Stands in for kube-controller-manager's `persistentvolume-binder-controller`,
//! `persistentvolumeclaim-protection-controller` and `persistentvolume-protection-controller`
//! (kubernetes/kubernetes, pkg/controller/volume). Left out: deleting and recycling volumes by
//! in-tree plug-ins, Events, node affinity, volume attributes classes, the default class of claims
//! that name none (an admission plug-in).
//!
//! [`view`] holds what the watches say, [`decide`] says what to write next, both without I/O;
//! [`run`](mod@run) is the loop.

mod decide;
mod run;
mod view;

pub(crate) use run::run;

/// In whose name the binder asks; a user of the server's own, which faults meet only by name.
pub(crate) const USER: &str = "system:embedded:volume-binder";
