//! One test suite that any of the queues must pass, so that no layer can drop a promise of the one below.
//!
//! [`contract_tests!`] makes tests of the verbs that all queues share; they call a queue by the names of its methods, so
//! a layer that forgets to forward one does not compile. [`blocking_contract_tests!`] does the same for the blocking
//! getters. [`backlog`] is the model that every `Backlog` must agree with.

#![forbid(unsafe_code)]

pub mod backlog;
mod queue;
mod blocking;
pub mod wakes;

#[doc(hidden)]
pub use wq_core;
