#![cfg_attr(feature = "election", doc = include_str!("../README.md"))] // Its program elects.
#![cfg_attr(not(feature = "election"), doc = "A controller runtime for Kubernetes.")]
//!
//! ## Permissions
//!
//! | use | verbs |
//! | --- | --- |
//! | a cache | `list`, `watch` of its kind |
//! | `Context::apply` | `patch` and `create` of the kind |
//! | `Context::create`, `patch`, `delete` | the same verb of the kind |
//! | `Context::update_status` | `patch` of the kind's `status` |
//! | `Controller::finalizer` | `patch` of the controller's kind |
//! | `Context::event` | `create`, `patch` of `events` in `events.k8s.io` |
//! | an election | `get`, `create`, `update`, `watch` of `leases` in `coordination.k8s.io` |
//!
//! The log and `/readyz` name a right that a cache misses. Where the admission plugin
//! OwnerReferencesPermissionEnforcement is on, owned objects also need `update` of the subresource
//! `finalizers` of the owner's kind.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod manager;
mod controller;
mod run;
mod action;
mod failure;
mod key;
mod kind;
mod source;
mod change;
mod cache;
mod watch;
mod queue;
mod metrics;
mod report;
mod error;
mod requests;
mod hostile;
#[cfg(test)]
mod oracle;
#[cfg(feature = "admin")]
mod admin;

pub use action::Action;
#[cfg(feature = "admin")]
pub use admin::AdminServer;
#[cfg(feature = "admin")]
pub use admin::error::AdminError;
pub use cache::{Cache, CacheConfig, CacheStatus, Degraded, Index, SyncTimeout};
pub use change::{Change, ChangeKind};
pub use controller::{Controller, ControllerView};
pub use error::ManagerError;
pub use failure::{BoxError, Failure, FailureError};
pub use key::{Key, ObjectKey};
pub use kind::Kind;
#[cfg(feature = "election")]
#[doc(no_inline)]
pub use lease_election;
#[cfg(feature = "cli")]
pub use manager::flags::Flags;
pub use manager::leader_task::LeaderTask;
pub use manager::signal::shutdown_signal;
pub use manager::{Manager, ManagerBuilder};
pub use queue::inbox::Handle;
pub use queue::reasons::Reason;
#[cfg(feature = "election")]
pub use report::Release;
pub use report::{ControllerReport, Report};
pub use run::events::{EventRecorder, EventType};
pub use run::outcome::Parked;
pub use run::reconciler::{ReconcileFn, Reconciler, reconcile_fn};
pub use run::request::Request;
pub use run::{
    Cleanup, Conditions, Context, Finalizers, ObjectAdapter, ObjectReconciler, TypedKind,
};
pub use source::{Source, predicate};
#[doc(no_inline)]
pub use wq_ratelimit::RateLimiter;
