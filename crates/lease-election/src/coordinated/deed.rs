//! Deed: what the publication asks the publisher to do, and the result.

use jiff::Timestamp;

use super::lease_candidate::Seen;
use crate::clock::Moment;
use crate::error::StoreError;

/// Whether the API server has LeaseCandidates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ApiState {
    Unknown,
    Present,
    Absent,
}

/// The next action.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Deed {
    /// Read the LeaseCandidate.
    Read,
    /// Create it with this renewal time.
    Create(Timestamp),
    /// Update it with this renewal time.
    Update(Timestamp),
    /// Delete the object with this uid.
    Delete(String),
    /// Ask the server whether it has the API.
    Probe,
    Wait(Moment),
    /// The LeaseCandidate is withdrawn, or absent anyway.
    Done,
}

/// The result of a deed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// To a read, a create or an update: the LeaseCandidate, if there is one.
    Found(Option<Seen>),
    Deleted,
    /// To a probe: whether the API is there.
    Api(bool),
    Failed(StoreError),
}
