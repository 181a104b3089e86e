//! Faults on request: the plan that says when which one happens, the pure decision, and what each
//! looks like on the wire.
//!
//! ```text
//! FaultPlan (rules, seed) ──► decide(user, request) ──► Decision { delay, effects, withheld, fault }
//!                                                  ──► clock and history moved ──► answer | cut body | silence
//! ```

mod answer;
mod body;
mod control;
mod decide;
mod matching;
mod plan;
mod resources;
mod watch;

pub use control::Faults;
pub use decide::{Decider, Decision, Effect, Injection};
pub use matching::Match;
pub use plan::{Chance, Fault, FaultPlan, Rule};
pub use resources::UnknownResource;

pub(crate) use answer::response;
pub(crate) use body::torn;
pub(crate) use resources::assert_checked;
pub(crate) use watch::{FaultyWatch, Tampered};
