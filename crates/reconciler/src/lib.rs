#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod manager;
mod controller;
mod reconciler;
mod request;
mod run;
mod action;
mod failure;
mod outcome;
mod key;
mod source;
mod change;
mod reasons;
mod cache;
mod watch;
mod inbox;
mod leader_task;
mod term;
mod worker;
mod active;
#[cfg(feature = "admin")]
mod stall;
mod failing;
mod parked;
pub mod predicate;
mod queue;
mod backlog;
mod limiter;
mod metrics;
mod report;
mod error;
mod events;
mod requests;
mod signal;
mod hostile;
#[cfg(test)]
mod oracle;
#[cfg(feature = "admin")]
mod admin;
#[cfg(feature = "cli")]
mod flags;

pub use action::Action;
#[cfg(feature = "admin")]
pub use admin::{AdminError, AdminServer};
pub use cache::{Cache, CacheConfig, CacheStatus, Degraded, Index, Kind, SyncTimeout};
pub use change::{Change, ChangeKind};
pub use controller::{Controller, ControllerView};
pub use error::ManagerError;
pub use events::{EventRecorder, EventType};
pub use failure::{BoxError, Failure, FailureError};
#[cfg(feature = "cli")]
pub use flags::Flags;
pub use inbox::Handle;
pub use key::{Key, ObjectKey};
pub use leader_task::LeaderTask;
pub use manager::{Manager, ManagerBuilder};
pub use outcome::Parked;
pub use reasons::Reason;
pub use reconciler::{ReconcileFn, Reconciler, reconcile_fn};
#[cfg(feature = "election")]
pub use report::Release;
pub use report::{ControllerReport, Report};
pub use request::Request;
pub use run::{
    Cleanup, Conditions, Context, Finalizers, ObjectAdapter, ObjectReconciler, TypedKind,
};
pub use signal::shutdown_signal;
pub use source::Source;
#[doc(no_inline)]
pub use wq_ratelimit::RateLimiter;
