//! Account: the length of a campaign's term, and what became of its lease.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What became of the lease when a campaign ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Release {
    /// Nothing to release: the elector did not lead, lost its term before the work ended, dropped
    /// the work, or never releases
    /// ([`release_on_stop(false)`](crate::ConfigBuilder::release_on_stop)).
    #[default]
    NotDue,
    /// The lease was released.
    GivenBack,
    /// The server did not confirm the release in time, or another candidate held the lease by then.
    /// If no other candidate holds it, it expires.
    Failed,
}

/// The driver of one campaign writes it; the caller reads it afterwards. Clones are the same
/// account.
#[derive(Clone, Default)]
pub(crate) struct Account(Arc<Mutex<(Duration, Release)>>);

impl Account {
    /// Notes that a term of this length has ended, and that nothing is released yet.
    pub(super) fn term_ended(&self, lasted: Duration) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (lasted, Release::NotDue);
    }

    pub(super) fn release(&self, release: Release) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1 = release;
    }

    /// The length of the term, zero if there was none, and what became of the lease.
    pub(crate) fn told(&self) -> (Duration, Release) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
