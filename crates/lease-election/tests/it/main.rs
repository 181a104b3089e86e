//! The public API, on an in-memory lease and under paused time.

mod cluster;
mod handover;
mod simulation;
mod suspend;
mod violations;
mod work;
#[cfg(feature = "kube")]
mod kube_store;
#[cfg(feature = "kube")]
mod stale;
