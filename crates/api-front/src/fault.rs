//! Faults on request: the plan, the pure decision, and the answers.
//!
//! ```text
//! FaultPlan (rules, seed) ──► decide(user, request) ──► Decision { delay, effects, withheld, fault }
//!                                                  ──► Backend::apply ──► answer | cut body | silence
//! ```

mod answer;
mod body;
mod control;
mod decide;
mod kind;
mod matching;
mod plan;
mod resources;
mod watch;

pub use control::Faults;
pub use decide::{Decider, Decision, Effect, Injection};
pub use kind::Fault;
pub use matching::Match;
pub use plan::{Chance, FaultPlan, Rule};
pub use resources::UnknownResource;

pub(crate) use answer::response;
pub(crate) use body::torn;
pub(crate) use resources::assert_checked;
pub(crate) use watch::{FaultyWatch, WatchDecision};
