//! The controllers of Kubernetes that this server can run.

#[cfg(feature = "actors")]
pub(crate) mod actors;
pub(crate) mod definitions;
#[cfg(feature = "actors")]
pub(crate) mod garbage_collector;
#[cfg(feature = "actors")]
pub(crate) mod namespace_lifecycle;
