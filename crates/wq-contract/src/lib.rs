//! One test suite that any of the queues must pass, so that no layer can drop a promise of the one
//! below, and what their programs for the model checkers have in common.
//!
//! `contract_tests!` makes tests of the verbs that all queues share; they call a queue by the names
//! of its methods, so a layer that forgets to forward one does not compile.
//! `blocking_contract_tests!` does the same for the blocking getters, `room_contract_tests!` for
//! adds that respect a capacity. `backlog` asks a `Backlog` for every rule that the queue rests on,
//! `fragile` an item that panics where a test wants it to. Under the model checkers there are
//! `explore` (loom), `play` and `impatience` (shuttle) instead.

#![forbid(unsafe_code)]
#![cfg_attr(
    any(wq_loom, wq_shuttle),
    expect(clippy::print_stdout, reason = "programs that say what they have explored")
)]

#[cfg(not(any(wq_loom, wq_shuttle)))]
pub mod backlog;
#[cfg(not(any(wq_loom, wq_shuttle)))]
mod queue;
#[cfg(not(any(wq_loom, wq_shuttle)))]
mod blocking;
#[cfg(not(any(wq_loom, wq_shuttle)))]
mod room;
#[cfg(not(any(wq_loom, wq_shuttle)))]
pub mod wakes;
#[cfg(not(any(wq_loom, wq_shuttle)))]
pub mod fragile;
#[cfg(any(wq_loom, wq_shuttle))]
pub mod scenario;
#[cfg(wq_loom)]
pub mod explore;
#[cfg(wq_shuttle)]
pub mod play;
#[cfg(wq_shuttle)]
pub mod impatience;

#[doc(hidden)]
pub use wq_core;
