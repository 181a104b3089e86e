//! Optimistic writes: retried if an object that they have read changes meanwhile.

use std::sync::Arc;

use futures::FutureExt;

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

/// The written versions, and the value of the work.
pub(super) type Outcome<T> = Result<(Vec<Arc<Stored>>, T), Status>;

/// Runs the work without the store's lock, then makes its changes. Starts again if something that
/// it has read has changed. The work may wait. Its value is an [`Outcome`], whose error is that of
/// the work if all that it has read still holds.
///
/// A macro, because the compiler cannot tell yet that the future of an async closure is `Send`.
#[doc(alias = "GuaranteedUpdate")]
macro_rules! guaranteed_update {
    ($api:expr, |$transaction:ident| $work:expr) => {{
        let mut attempts = $crate::rest::guaranteed_update::Attempts::of($api);
        loop {
            let mut attempt = match attempts.begin() {
                Ok(attempt) => attempt,
                Err(refused) => break Err(refused),
            };
            let worked = {
                let $transaction = &mut attempt;
                async { $work }.await
            };
            if let Some(outcome) = $crate::rest::guaranteed_update::finish($api, attempt, worked) {
                break outcome;
            }
        }
    }};
}
pub(super) use guaranteed_update;

/// The attempts of a write.
#[derive(Debug)]
pub(super) struct Attempts<'a> {
    api: &'a ApiState,
    left: usize,
}

impl<'a> Attempts<'a> {
    pub(super) const fn of(api: &'a ApiState) -> Self {
        Self { api, left: ATTEMPTS }
    }

    /// Begins the next attempt.
    ///
    /// # Errors
    ///
    /// After [`ATTEMPTS`].
    pub(super) fn begin(&mut self) -> Result<Transaction<'a>, Status> {
        let why = "what the write depends on changed each time while it was worked out";
        self.left = self.left.checked_sub(1).ok_or_else(|| Status::internal(why))?;
        Ok(Transaction::new(&self.api.store))
    }
}

/// Makes the changes of an attempt. `None` if something that it has read has changed.
pub(super) fn finish<T>(
    api: &ApiState,
    attempt: Transaction<'_>,
    worked: Result<T, Status>,
) -> Option<Outcome<T>> {
    attempt.changed_tables().for_each(|table| api.registrations.note(table));
    match worked {
        Ok(value) => attempt.commit().ok().map(|written| Ok((written, value))),
        Err(refused) => attempt.is_current().then_some(Err(refused)),
    }
}

/// Runs a write that waits for nothing: it asks no webhook.
///
/// # Errors
///
/// The error of the write.
pub(crate) fn at_once<T>(write: impl Future<Output = Result<T, Status>>) -> Result<T, Status> {
    let done = write.now_or_never();
    done.unwrap_or_else(|| Err(Status::internal("a write of the server's own has to wait")))
}
