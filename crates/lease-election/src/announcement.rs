//! Announcement: what an elector makes known about its terms. For people; no decision rests on it.

use std::fmt;

use jiff::Timestamp;

use crate::version::FenceToken;

/// What is made known.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Announced {
    /// A term began.
    BecameLeader,
    /// Its work has ended.
    StoppedLeading,
}

/// The beginning or the end of a term, for [`LeaseStore::announce`](crate::LeaseStore::announce).
/// Reads as client-go's Events do: `<identity> became leader`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Announcement {
    /// Which of the two.
    pub what: Announced,
    /// Whose term.
    pub identity: String,
    /// Which term.
    pub fence: FenceToken,
    /// When, by the elector's wall clock.
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
