//! Platform: what a term and its watchdog take from the machine: atomics, a lock, a cell that is
//! set once, a notice to all that wait. The program that plays every schedule of them
//! (`tests/loom/`) puts a model checker's in place.

pub(crate) use std::sync::OnceLock;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
#[cfg(any(feature = "watchdog", test))]
pub(crate) use std::sync::{Mutex, MutexGuard};

pub(crate) use tokio::sync::Notify;
