//! The persistent volume binder: does the part of Kubernetes' own volume controllers on a server
//! that has none, beside a provisioner under test.
//!
//! Stands in for kube-controller-manager's `persistentvolume-binder-controller`,
//! `persistentvolumeclaim-protection-controller` and `persistentvolume-protection-controller`
//! (kubernetes/kubernetes, pkg/controller/volume). Claims are annotated with their provisioner and
//! bound, volumes become Bound and Released, and both lose their protection finalizers.
//!
//! Left out: deleting and recycling volumes by in-tree plug-ins, Events, node affinity, volume
//! attributes classes, the default class of claims that name none (an admission plug-in).
//!
//! ```
//! use embedded_apiserver::{EmbeddedApiServer, User};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let server = EmbeddedApiServer::builder().protect_volumes(true).build();
//! let binder = User::new(volume_binder::USER).group("system:masters");
//! tokio::spawn(volume_binder::run(server.client_as(binder)));
//! # }
//! ```
//!
//! `view` holds what the watches say, `decide` says what to write next, both without I/O; `run` is
//! the loop.

mod backoff;
mod decide;
mod run;
mod view;

pub use run::run;

/// In whose name to ask: the faults of an embedded server meet it only by this name.
pub const USER: &str = "system:embedded:volume-binder";
