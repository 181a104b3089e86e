//! Platform: what a term takes from the machine: atomics, a cell that is set once, a notice to all that wait. The program that plays every schedule
//! of a term (`tests/loom/`) puts a model checker's in place.

pub(crate) use std::sync::OnceLock;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub(crate) use tokio::sync::Notify;
