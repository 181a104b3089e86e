//! Announcement: what an elector announces about its terms. No decision rests on it.

use std::fmt;

use jiff::Timestamp;

use crate::version::FenceToken;

/// The kind of an announcement.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Announced {
    /// A term began.
    BecameLeader,
    /// The work of a term has ended.
    StoppedLeading,
}

/// The beginning or the end of a term, for [`LeaseStore::announce`](crate::LeaseStore::announce).
/// Reads as client-go's Events do: `<identity> became leader`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Announcement {
    /// The beginning or the end.
    pub what: Announced,
    /// The identity of the leader.
    pub identity: String,
    /// The fence token of the term.
    pub fence: FenceToken,
    /// The time, by the elector's wall clock.
    pub at: Timestamp,
}

impl Announcement {
    /// An announcement from its parts.
    #[must_use]
    pub fn new(
        what: Announced,
        identity: impl Into<String>,
        fence: FenceToken,
        at: Timestamp,
    ) -> Self {
        Self { what, identity: identity.into(), fence, at }
    }
}

impl fmt::Display for Announcement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.what {
            Announced::BecameLeader => "became leader",
            Announced::StoppedLeading => "stopped leading",
        };
        write!(f, "{} {what}", self.identity)
    }
}
