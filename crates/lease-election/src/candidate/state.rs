//! State: all that a candidate knows and remembers, without the rules about it.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::deeds::{Manner, Tenure, Write};
use crate::clock::Moment;
use crate::config::Config;
use crate::draws::draw;
use crate::observation::Observation;
use crate::record::{Record, StoredLease};
use crate::version::Version;

pub(super) const ORIGIN: Moment = Moment::from_origin(Duration::ZERO);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Role {
    Standby,
    Leading(Tenure),
    /// The work has ended; the lease is to be given back.
    Leaving,
}

/// What may be left of the work of all terms so far.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Remains {
    /// Each was wound up within its term, or long ago.
    Nothing,
    /// A term ended before its work did, and that may go on.
    Work,
    /// That work is gone; what it sent may land until then.
    Requests(Moment),
}

/// A grant that was met, of which is not known yet what was before it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Unproven {
    /// What was known when it was met.
    pub(super) before: StoredLease,
    /// Until then one may act who led in between.
    pub(super) until: Moment,
}

/// A version of the Lease whose holder is taken to be gone, and from when on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Vacancy {
    pub(super) version: Version,
    pub(super) from: Moment,
}

/// The acquisitions in a row that came too late.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Late {
    pub(super) in_a_row: u32,
    pub(super) not_before: Option<Moment>,
    /// Since when the lease had been anybody's before the first of them after the last term.
    pub(super) vacant_since: Option<Moment>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Candidate {
    pub(super) config: Arc<Config>,
    pub(super) manner: Manner,
    /// Since when the controller knows this candidate.
    pub(super) stands_from: Moment,
    /// Whether nobody was elected for so long that nobody is taken to elect.
    pub(super) unelected: bool,
    /// Since when no controller's hand is seen on the Lease, however often it changes, if none is.
    pub(super) untouched_from: Moment,
    /// Until then the one whose lease the controller took away may act, as far as this candidate
    /// has seen.
    pub(super) claim_not_before: Moment,
    /// The grant that is known, if somebody may have led before it whom the watch has not told of
    /// yet.
    pub(super) unproven: Option<Unproven>,
    /// The next event of the watch need not follow on what is known.
    pub(super) leaps: bool,
    /// The time in the last grant, and when that was seen: what the server's clock said.
    pub(super) servers: Option<(Timestamp, Moment)>,
    /// After a grant that was given back.
    pub(super) decline_not_before: Moment,
    /// When the Lease was seen to go.
    pub(super) went: Moment,
    /// The first part of every write's id: no other elector has it.
    pub(super) writer: String,
    pub(super) serial: u64,
    pub(super) random: u64,
    pub(super) role: Role,
    /// Of the work of a term that was not wound up within it.
    pub(super) remains: Remains,
    /// It is not to take the lease for now.
    pub(super) barred: bool,
    /// Whom the next release names; empty for nobody.
    pub(super) successor: String,
    pub(super) observation: Observation,
    /// How often the observation changed.
    pub(super) changes: u64,
    /// The record of our last write that is known to have been applied, unless another wrote after
    /// it.
    pub(super) own: Option<Record>,
    /// The time in our last write that was applied, or of which a part may have been.
    pub(super) last_time: Option<Timestamp>,
    /// Until then nobody else can have taken the lease that our last write got.
    pub(super) undisputed_until: Moment,
    /// The version known is that of another record as well, which was known before.
    pub(super) reissued: bool,
    /// The last state known of the Lease that is gone: what is older is no news.
    pub(super) gone: Option<StoredLease>,
    /// Another may have made the Lease since it was seen to be absent: one was in the way, or
    /// nothing was heard for long.
    pub(super) another_made_it: bool,
    /// Writes that may or may not have been applied, or were refused, oldest first.
    pub(super) pending: Vec<Write>,
    /// Has seen nothing of the Lease yet.
    pub(super) is_cold: bool,
    /// What the application's assumptions say of the Lease, if it makes any.
    pub(super) vacancy: Option<Vacancy>,
    /// Acquisitions that came too late.
    pub(super) late: Late,
    pub(super) must_read: bool,
    pub(super) read_not_before: Moment,
    pub(super) write_not_before: Moment,
    /// Until then the server asked to be left alone, and has answered nothing since.
    pub(super) silent_until: Moment,
    pub(super) last_heard: Moment,
    /// When there was no Lease for sure: by an answer that was asked for then, or by the news that
    /// it is gone.
    pub(super) absent_at: Moment,
    /// Failed reads in a row.
    pub(super) failed_reads: u32,
    /// Since a write was last seen to succeed, one's own or another's.
    pub(super) failed_writes: u32,
}

impl Candidate {
    pub(crate) fn new(config: &Config, seed: u64) -> Self {
        let mut candidate = Self {
            config: Arc::new(config.clone()),
            manner: Manner::Free,
            stands_from: ORIGIN,
            unelected: false,
            untouched_from: ORIGIN,
            claim_not_before: ORIGIN,
            unproven: None,
            leaps: false,
            servers: None,
            decline_not_before: ORIGIN,
            went: ORIGIN,
            writer: String::new(),
            serial: 0,
            random: seed,
            role: Role::Standby,
            remains: Remains::Nothing,
            barred: false,
            successor: String::new(),
            observation: Observation::Unknown,
            changes: 0,
            own: None,
            last_time: None,
            undisputed_until: ORIGIN,
            reissued: false,
            gone: None,
            another_made_it: false,
            pending: Vec::new(),
            is_cold: true,
            vacancy: None,
            late: Late::default(),
            must_read: false,
            read_not_before: ORIGIN,
            write_not_before: ORIGIN,
            silent_until: ORIGIN,
            last_heard: ORIGIN,
            absent_at: ORIGIN,
            failed_reads: 0,
            failed_writes: 0,
        };
        candidate.writer = format!("{:016x}", draw(&mut candidate.random));
        candidate
    }
}
