//! Record: the fields of a Lease that an election reads and writes, with client-go's meaning. How they look on the wire is `kube_store`'s.

use std::time::Duration;

use jiff::Timestamp;

use crate::planted::planted;
use crate::version::Version;

/// What a Lease says, as client-go's `LeaderElectionRecord` does, plus the mark of the write.
///
/// Nothing in it is trusted: it may have been written by anybody.
#[doc(alias = "LeaderElectionRecord")]
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Record {
    /// Who holds the lease; empty means nobody does, and the lease is free at once.
    pub holder: String,
    /// For how many whole seconds the holder asks to be left alone after each renewal.
    pub lease_duration_seconds: i32,
    /// When the holder began. For display.
    pub acquire_time: Option<Timestamp>,
    /// When the holder last renewed. For display, and different in each write.
    pub renew_time: Option<Timestamp>,
    /// How often the holder changed. For display: it starts again when the Lease is deleted.
    pub leader_transitions: i32,
    /// Coordinated election's strategy; empty if absent.
    pub strategy: String,
    /// Coordinated election's better candidate; empty if absent.
    pub preferred_holder: String,
    /// Names the one write that made this record: how an elector knows its own writes from those of another process that uses its identity.
    /// A store keeps it beside the record ([`WRITE_ANNOTATION`](crate::WRITE_ANNOTATION) on a Lease); `None` on records of others.
    pub write_id: Option<String>,
}

impl Record {
    /// Whether nobody holds the lease.
    #[must_use]
    pub fn is_free(&self) -> bool {
        self.holder.is_empty()
    }

    /// How long a candidate waits, from its own first sight of this record, before it takes the lease: never longer than `cap`, and a whole lease of
    /// its own (`own`) if the record names no duration above zero.
    pub(crate) fn patience(&self, own: Duration, cap: Duration) -> Duration {
        match u64::try_from(self.lease_duration_seconds) {
            Ok(0) | Err(_) => own,
            Ok(_) if planted("own-duration") => own,
            Ok(seconds) => Duration::from_secs(seconds).min(cap),
        }
    }

    /// The record with which a holder gives the lease back: nobody holds it, for one second (the API refuses zero), the rest as client-go writes it.
    pub(crate) fn released(&self, wall: Timestamp, write_id: String) -> Self {
        Self {
            holder: String::new(),
            lease_duration_seconds: 1,
            acquire_time: Some(wall),
            renew_time: Some(wall),
            leader_transitions: self.leader_transitions,
            strategy: String::new(),
            preferred_holder: String::new(),
            write_id: Some(write_id),
        }
    }
}

/// Cuts a time to the microseconds a Lease stores, so that what is read back equals what was written.
pub(crate) fn to_micros(time: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(time.as_microsecond()).unwrap_or(time)
}

/// A record, and the version of the object it was read from.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct StoredLease {
    /// Which version of which object.
    pub version: Version,
    /// What it says.
    pub record: Record,
}
