//! State: all that a candidate knows and remembers, in parts. The rules of a part have a file of
//! its name.

use std::sync::Arc;

use jiff::Timestamp;

use super::deeds::{Hold, Write};
#[cfg(feature = "coordinated")]
use super::grants::Grants;
use crate::clock::Moment;
use crate::config::Config;
use crate::draws::draw;
use crate::observation::Observation;
use crate::record::{Record, StoredLease};
use crate::version::Version;

/// Without coordinated election nothing is known of the API server's controller.
#[cfg(not(feature = "coordinated"))]
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Grants {}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Role {
    Standby,
    Leading(Hold),
    /// The work has ended, and the lease is to be released.
    Leaving,
}

/// The knowledge of the Lease.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Known {
    pub(super) observation: Observation,
    /// How often the observation changed.
    pub(super) changes: u64,
    /// The store issued the known version twice: for this record, and for one known before.
    pub(super) reissued: bool,
    /// The last known state of a deleted Lease: an older state is no news.
    pub(super) gone: Option<StoredLease>,
    /// Another process may have made the Lease since it was seen absent: a create conflicted, or
    /// the candidate heard nothing for too long.
    pub(super) another_made_it: bool,
    /// When the Lease was last certainly absent: the sending of the read that said so, or the news
    /// of the deletion.
    pub(super) absent_at: Moment,
}

impl Default for Known {
    fn default() -> Self {
        Self {
            observation: Observation::Unknown,
            changes: 0,
            reissued: false,
            gone: None,
            another_made_it: false,
            absent_at: Moment::default(),
        }
    }
}

/// The writes of this candidate, applied or not.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Writes {
    /// The prefix of every write's id; no other elector has it (A5).
    pub(super) writer: String,
    pub(super) serial: u64,
    /// Writes that may or may not have been applied, or were refused, oldest first.
    pub(super) pending: Vec<Write>,
    /// The record of this candidate's last applied write, unless another process wrote since.
    pub(super) own: Option<Record>,
    /// The time in its last write that was applied, perhaps in part.
    pub(super) last_time: Option<Timestamp>,
    /// Before this moment no other process can have taken the lease that its last write got.
    pub(super) undisputed_until: Moment,
}

impl Writes {
    pub(super) fn new(writer: String) -> Self {
        Self {
            writer,
            serial: 0,
            pending: Vec::new(),
            own: None,
            last_time: None,
            undisputed_until: Moment::default(),
        }
    }
}

/// When requests are due.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Pacing {
    pub(super) must_read: bool,
    pub(super) read_not_before: Moment,
    pub(super) write_not_before: Moment,
    /// The server asked for no requests until this moment, and has answered nothing since.
    pub(super) silent_until: Moment,
    /// After a release outside a term: a barred candidate sends the next one no earlier.
    pub(super) decline_not_before: Moment,
    pub(super) last_heard: Moment,
    /// Failed reads in a row.
    pub(super) failed_reads: u32,
    /// Failed writes since any process's write was last seen to succeed.
    pub(super) failed_writes: u32,
}

/// Late acquisitions in a row.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Late {
    pub(super) in_a_row: u32,
    pub(super) not_before: Option<Moment>,
    /// Since when the lease was vacant before the first late acquisition since the last term.
    pub(super) vacant_since: Option<Moment>,
}

/// What the work of all terms so far may have left.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Remains {
    /// All work ended within its term, or long ago.
    Nothing,
    /// A term ended before its work, which may go on.
    Work,
    /// That work is gone. Its requests may land until then.
    Requests(Moment),
}

/// A version whose holder is gone, by evidence, and from when on it counts as vacant.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Vacancy {
    pub(super) version: Version,
    pub(super) from: Moment,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Candidate {
    pub(super) config: Arc<Config>,
    pub(super) role: Role,
    /// The candidate must not acquire for now.
    pub(super) barred: bool,
    /// The successor that the next release names; empty if none.
    pub(super) successor: String,
    pub(super) known: Known,
    pub(super) writes: Writes,
    pub(super) pacing: Pacing,
    pub(super) remains: Remains,
    pub(super) late: Late,
    pub(super) vacancy: Option<Vacancy>,
    pub(super) grants: Grants,
    pub(super) random: u64,
}

impl Candidate {
    pub(crate) fn new(config: &Config, seed: u64) -> Self {
        let mut random = seed;
        let writer = format!("{:016x}", draw(&mut random));
        Self {
            config: Arc::new(config.clone()),
            role: Role::Standby,
            barred: false,
            successor: String::new(),
            known: Known::default(),
            writes: Writes::new(writer),
            pacing: Pacing::default(),
            remains: Remains::Nothing,
            late: Late::default(),
            vacancy: None,
            grants: Grants::default(),
            random,
        }
    }

    pub(super) fn draw(&mut self) -> u64 {
        draw(&mut self.random)
    }
}
