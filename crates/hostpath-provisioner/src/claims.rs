//! Claims: what is to be done about one (`decide`, pure) and doing it (`reconcile`).

mod decide;
mod reconcile;
#[cfg(test)]
mod tests;

pub use self::decide::{ClaimStep, Idle, Note, Plan, changed, decide, note_of, note_patch, verify};
pub(crate) use self::reconcile::ClaimReconciler;
