//! A level-triggered Kubernetes controller runtime on deduplicating work queues.
#![forbid(unsafe_code)]

mod reconciler;
mod action;
mod failure;
mod request;
mod key;
mod reasons;
mod outcome;
mod change;
mod cache;
mod watch;
mod hostile;
mod source;

pub use action::Action;
pub use cache::{Cache, CacheConfig, CacheStatus, Degraded, Kind, SyncTimeout, UnknownIndex};
pub use change::{Change, ChangeKind};
pub use failure::{BoxError, Failure};
pub use key::{Key, ObjectKey};
pub use outcome::Parked;
pub use reasons::Reason;
pub use reconciler::{ReconcileFn, Reconciler, reconcile_fn};
pub use request::{NoCache, Request};
pub use source::Source;
