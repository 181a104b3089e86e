//! Leader election on a Kubernetes Lease: the README, the modules in reading order, the exports.
#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod config;
mod clock;
mod planted;
mod version;
mod fnv;
mod record;
mod observation;
mod evidence;
mod decide;
mod loss;
mod candidate;
mod announcement;
mod store;
#[cfg(any(feature = "testing", test))]
mod memory_store;
#[cfg(feature = "kube")]
mod kube_store;
#[cfg(feature = "legacy-locks")]
mod legacy_locks;
#[cfg(any(feature = "pod-evidence", test))]
mod holder_pod;
#[cfg(feature = "pod-evidence")]
mod pod_evidence;
#[cfg(feature = "testing")]
pub mod contract;
#[cfg(feature = "coordinated")]
mod standing;
#[cfg(not(feature = "coordinated"))]
#[path = "standing/none.rs"]
mod standing;
#[cfg(all(feature = "kube", feature = "coordinated"))]
mod coordinated;
mod feed;
mod observer;
mod shared;
mod driver;
mod platform;
mod term;
mod term_watch;
mod leadership;
#[cfg(any(feature = "watchdog", test))]
mod watchdog;
mod pause;
mod campaigns;
mod draws;
mod maintenance;
mod warm_up;
mod lent;
mod elector;
mod liveness;
mod latency;
mod status;
#[cfg(feature = "prometheus")]
pub mod prometheus;
mod error;

pub use announcement::{Announced, Announcement};
pub use campaigns::Campaigns;
pub use clock::{BootClock, Clock, Moment, Sleep, TokioClock};
pub use config::{Config, ConfigBuilder, ConfigWarning, MAX_LEASE, MAX_RANK};
#[cfg(all(feature = "kube", feature = "coordinated"))]
pub use coordinated::{Coordination, Strategy, WithoutApi};
pub use decide::{Step, decide};
pub use driver::Release;
pub use elector::{LeaderElector, StopHandle};
pub use error::{ConfigError, StoreError};
pub use evidence::HolderEvidence;
#[cfg(feature = "kube")]
pub use kube_store::KubeLeaseStore;
pub use latency::Latency;
pub use leadership::{Ending, HandOverError, Leadership, Lost, VerifyError};
#[cfg(all(feature = "kube", feature = "legacy-locks"))]
pub use legacy_locks::AnnotationStore;
#[cfg(feature = "legacy-locks")]
pub use legacy_locks::MultiStore;
pub use liveness::{Liveness, NotLive};
pub use loss::Loss;
pub use maintenance::Maintenance;
#[cfg(any(feature = "testing", test))]
pub use memory_store::{Fault, MemoryLeaseStore, Verb};
pub use observation::Observation;
pub use observer::{Leaders, observe, observe_with_clock};
#[cfg(wq_plant)]
pub use planted::PLANTED_BUGS;
#[cfg(feature = "pod-evidence")]
pub use pod_evidence::PodEvidence;
pub use record::{Record, StoredLease};
pub use shared::Outcome;
#[cfg(feature = "coordinated")]
pub use standing::Candidacy;
pub use status::{Failures, Losses, Stats, Status};
pub use store::{LeaseEvent, LeaseEvents, LeaseStore};
pub use version::{FenceToken, Version};
pub use warm_up::WarmUp;
#[cfg(feature = "watchdog")]
pub use watchdog::{Overdue, Watchdog, WatchdogError};

/// The annotation in which a Lease stores [`Record::write_id`].
pub const WRITE_ANNOTATION: &str = "lease-election.wq-rs.dev/write";

/// The annotation in which a released Lease stores [`Record::successor`].
pub const SUCCESSOR_ANNOTATION: &str = "lease-election.wq-rs.dev/successor";
