//! Volumes: what is to be done about one (`decide`, pure) and doing it (`reconcile`).

mod decide;
pub(crate) mod living;
mod reconcile;
#[cfg(test)]
mod tests;

pub use self::decide::{ClaimName, TakingBack, TakingBackStep, VolumeStep, decide};
pub(crate) use self::reconcile::VolumeReconciler;
