//! Account: what a campaign tells beside its outcome: how long its term was, and what became of the
//! lease.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What became of the lease when a campaign ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Release {
    /// There was nothing to give back: the elector did not lead, or no longer when the work ended,
    /// or the work did not end in time, or the elector is to give nothing back
    /// ([`release_on_stop(false)`](crate::ConfigBuilder::release_on_stop)).
    #[default]
    NotDue,
    /// The lease was given back.
    GivenBack,
    /// The server did not say in time that it took the release, or the lease was another's by then:
    /// if not, it runs out.
    Failed,
}

/// Written by the driver of one campaign, read by who runs it when that has ended. Clones are one.
#[derive(Clone, Default)]
pub(crate) struct Account(Arc<Mutex<(Duration, Release)>>);

impl Account {
    /// A term has ended, after so long, and nothing was given back yet.
    pub(super) fn term_ended(&self, lasted: Duration) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (lasted, Release::NotDue);
    }

    pub(super) fn release(&self, release: Release) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1 = release;
    }

    /// How long the term was, zero if there was none; and what became of the lease.
    pub(crate) fn told(&self) -> (Duration, Release) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
