//! Optimistic writes: retried if an object that they have read changes meanwhile.

use std::sync::Arc;

use crate::api::status::Status;
use crate::rest::state::ApiState;
use crate::store::stored::Stored;
use crate::store::transaction::Transaction;

/// The largest number of attempts of a write.
const ATTEMPTS: usize = 1000;

/// The version in a response.
#[derive(Debug, Clone)]
pub(super) enum Answer {
    /// A stored version, or that of a dry run.
    Known(Arc<Stored>),
    /// The result of a change of the transaction.
    Change(usize),
}

impl Answer {
    /// Returns the version, after the changes are made.
    pub(super) fn resolve(self, written: &[Arc<Stored>]) -> Result<Arc<Stored>, Status> {
        match self {
            Self::Known(version) => Ok(version),
            Self::Change(at) => {
                let version = written.get(at).cloned();
                version.ok_or_else(|| Status::internal("a change was not made"))
            }
        }
    }
}

/// Runs `work` without the store's lock, then makes its changes. Starts again if something that it
/// has read has changed. Returns the written versions and the value of `work`.
///
/// # Errors
///
/// The error of `work`, if all that it has read still holds.
#[doc(alias = "GuaranteedUpdate")]
pub(super) fn guaranteed_update<T>(
    api: &ApiState,
    mut work: impl FnMut(&mut Transaction<'_>) -> Result<T, Status>,
) -> Result<(Vec<Arc<Stored>>, T), Status> {
    for _ in 0..ATTEMPTS {
        let mut transaction = Transaction::new(&api.store);
        match work(&mut transaction) {
            Ok(told) => {
                if let Ok(written) = transaction.commit() {
                    return Ok((written, told));
                }
            }
            Err(refused) if transaction.is_current() => return Err(refused),
            Err(_) => {}
        }
    }
    Err(Status::internal("what the write depends on changed each time while it was worked out"))
}
