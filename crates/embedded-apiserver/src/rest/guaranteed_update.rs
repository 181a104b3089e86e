//! Writes that begin anew if what they have read has changed before they are made.

use std::sync::Arc;

use crate::api::status::Status;
use crate::rest::state::ApiState;
use crate::store::stored::Stored;
use crate::store::transaction::Transaction;

/// How often a write begins anew, each time because somebody else was faster.
const ATTEMPTS: usize = 1000;

/// A version that a write answers with.
#[derive(Debug, Clone)]
pub(super) enum Answer {
    /// It is there, or is only tried.
    Known(Arc<Stored>),
    /// That of a change of the transaction.
    Change(usize),
}

impl Answer {
    /// The version, when the changes have been made.
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

/// Works a write out without the store's lock and makes its changes, again from the beginning if
/// something that it has read has changed meanwhile. Answers with the versions that were written,
/// and what `work` has to say.
///
/// # Errors
///
/// What `work` refuses, by what was true at one moment.
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
