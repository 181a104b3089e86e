//! Observation: what one candidate knows of the Lease and since when, by its own clock.
//! No other clock enters.

use std::time::Duration;

use crate::clock::Moment;
use crate::record::StoredLease;
use crate::version::Version;

/// A candidate's knowledge of the Lease.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each elector, and a box would stand in every pattern"
)]
pub enum Observation {
    /// Not read yet.
    Unknown,
    /// The Lease does not exist.
    Absent {
        /// When a candidate may create it: later than now if a live holder's Lease was deleted.
        free_at: Moment,
    },
    /// The Lease exists.
    Present {
        /// Its last known version.
        lease: StoredLease,
        /// When this candidate first saw this record (docs/safety.md, step 2). A change of labels
        /// or annotations makes a new version, but no new record.
        since: Moment,
        /// Whether this elector wrote the record. After its term or attempt no work runs under it.
        mine: bool,
        /// This candidate's wait on top of an expiry: random, or by its rank.
        jitter: Duration,
    },
}

impl Observation {
    /// The version to watch from, and the condition of the next write.
    pub(crate) fn version(&self) -> Option<&Version> {
        match self {
            Self::Present { lease, .. } => Some(&lease.version),
            _ => None,
        }
    }

    /// The holder's identity; `None` if the lease is free or not known.
    pub(crate) fn holder(&self) -> Option<&str> {
        match self {
            Self::Present { lease, .. } if !lease.record.is_free() => Some(&lease.record.holder),
            _ => None,
        }
    }
}
