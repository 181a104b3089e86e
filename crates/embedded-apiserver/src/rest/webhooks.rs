//! Admission webhooks: which are called for a write, and what becomes of their answers.

mod call;
mod context;
pub(super) mod mutating;
pub(super) mod reviewed;
pub(super) mod validating;

pub(super) use context::Context;
