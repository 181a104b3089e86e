//! A level-triggered Kubernetes controller runtime on deduplicating work queues.
#![forbid(unsafe_code)]

mod manager;
mod controller;
mod reconciler;
mod request;
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
mod parked;
mod queue;
mod backlog;
mod limiter;
mod metrics;
mod report;
mod error;
mod signal;
mod hostile;
#[cfg(feature = "admin")]
mod admin;

pub use manager::{Manager, ManagerBuilder};
pub use controller::{Controller, ControllerView};
pub use reconciler::{ReconcileFn, Reconciler, reconcile_fn};
pub use request::{NoCache, Request};
pub use action::Action;
pub use failure::{BoxError, Failure};
pub use outcome::Parked;
pub use key::{Key, ObjectKey};
pub use source::Source;
pub use change::{Change, ChangeKind};
pub use reasons::Reason;
pub use cache::{Cache, CacheConfig, CacheStatus, Degraded, Kind, SyncTimeout, UnknownIndex};
pub use inbox::Handle;
#[doc(no_inline)]
pub use wq_ratelimit::RateLimiter;
pub use leader_task::LeaderTask;
pub use report::{ControllerReport, Report};
#[cfg(feature = "election")]
pub use report::Release;
pub use error::ManagerError;
pub use signal::shutdown_signal;
#[cfg(feature = "admin")]
pub use admin::{AdminError, AdminServer};
