//! Record: the fields of a Lease that an election reads and writes, with client-go's meaning. How
//! they look on the wire is `kube_store`'s.

use std::time::Duration;

use jiff::Timestamp;

use crate::fnv::Fnv;
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
    /// Names the one write that made this record: how an elector knows its own writes from those
    /// of another process that uses its identity. A store keeps it beside the record
    /// ([`WRITE_ANNOTATION`](crate::WRITE_ANNOTATION) on a Lease); `None` on records of others,
    /// but for those whose text no elector of client-go or of this crate would write: there it
    /// is a digest of the text, so that each change of it is a sign of life.
    pub write_id: Option<String>,
    /// On a record that nobody holds: who is to take it first, says the holder who gave it back;
    /// empty if it named nobody. A store keeps it beside the record
    /// ([`SUCCESSOR_ANNOTATION`](crate::SUCCESSOR_ANNOTATION) on a Lease), and reads it on records
    /// without a holder only. A hint: no safety rests on it.
    pub successor: String,
}

/// How the holder of a record begins that cannot be read; the reason follows.
const UNREADABLE: &str = "leaderelection.k8s.io/unknown: ";

impl Record {
    /// Whether nobody holds the lease.
    #[must_use]
    pub fn is_free(&self) -> bool {
        self.holder.is_empty()
    }

    /// A record that cannot be read: somebody else holds it.
    #[cfg(feature = "kube")]
    pub(crate) fn unreadable(why: &str) -> Self {
        Self { holder: format!("{UNREADABLE}{why}"), ..Self::default() }
    }

    /// Whether the record was not readable as it stands there.
    pub(crate) fn is_unreadable(&self) -> bool {
        self.holder.starts_with(UNREADABLE)
    }

    /// How long a candidate waits, from its own first sight of this record, before it takes the
    /// lease: never longer than `cap`, and a whole lease of its own (`own`) if the record names
    /// no duration above zero. That is the least where the record cannot be read, whatever its
    /// duration seems to be.
    pub(crate) fn patience(&self, own: Duration, cap: Duration) -> Duration {
        let least = if self.is_unreadable() { own } else { Duration::ZERO };
        least.max(match u64::try_from(self.lease_duration_seconds) {
            Ok(0) | Err(_) => own,
            Ok(seconds) => Duration::from_secs(seconds).min(cap),
        })
    }

    /// How often the holder changed, as it may be written: the API refuses what is below zero.
    pub(crate) fn transitions(&self) -> i32 {
        self.leader_transitions.max(0)
    }

    /// The first field in which `other` differs, as the Lease calls it.
    pub(crate) fn differs_in(&self, other: &Self) -> Option<&'static str> {
        [
            (self.holder == other.holder, "holderIdentity"),
            (self.lease_duration_seconds == other.lease_duration_seconds, "leaseDurationSeconds"),
            (self.acquire_time == other.acquire_time, "acquireTime"),
            (self.renew_time == other.renew_time, "renewTime"),
            (self.leader_transitions == other.leader_transitions, "leaseTransitions"),
            (self.strategy == other.strategy, "strategy"),
            (self.preferred_holder == other.preferred_holder, "preferredHolder"),
            (self.write_id == other.write_id, "the annotation of the write"),
            (self.successor == other.successor, "the annotation of the successor"),
        ]
        .into_iter()
        .find_map(|(same, field)| (!same).then_some(field))
    }

    /// The record under a mark of its own: `writer` and `serial` name the write, and a digest tells
    /// a record that was changed under the mark.
    pub(crate) fn marked(mut self, writer: &str, serial: u64, marks: Marks) -> Self {
        self.write_id = Some(format!("{writer}.{serial}.{:016x}", self.digest(marks)));
        self
    }

    /// Whether `writer` wrote this, and just this.
    pub(crate) fn is_as_written_by(&self, writer: &str, marks: Marks) -> bool {
        let Some(id) = &self.write_id else { return false };
        let is_writers = id.strip_prefix(writer).is_some_and(|rest| rest.starts_with('.'));
        is_writers && self.is_as_written(marks)
    }

    /// Whether this is just what stood under its mark when it was written.
    fn is_as_written(&self, marks: Marks) -> bool {
        let digest = self.write_id.as_deref().and_then(|id| id.splitn(3, '.').nth(2));
        digest.is_some_and(|digest| digest == format!("{:016x}", self.digest(marks)))
    }

    #[cfg(feature = "coordinated")]
    /// Whether `other` is this record with nothing changed but what the server's controller of
    /// coordinated elections notes on a Lease in force.
    pub(crate) fn differs_in_notes_alone(&self, other: &Self) -> bool {
        let bare = |record: &Self| Self {
            strategy: String::new(),
            preferred_holder: String::new(),
            ..record.clone()
        };
        bare(self) == bare(other)
    }

    /// Who is to take this free lease first. Only in the very record of the release: others
    /// (client-go) keep the annotations that they find, and the hint of a release long ago is
    /// none of theirs.
    pub(crate) fn hint(&self) -> Option<&str> {
        let hints = self.is_free() && !self.successor.is_empty() && self.is_as_written(Marks::All);
        hints.then_some(&self.successor)
    }

    /// Of all but the mark. Times count to the second, which is what every store keeps of them.
    fn digest(&self, marks: Marks) -> u64 {
        let mut digest = Fnv::new();
        let mut take = |bytes: &[u8]| {
            // With its length, so that no two fields can pass for one another.
            digest = digest.with(&(bytes.len() as u64).to_le_bytes()).with(bytes);
        };
        let notes = [&self.strategy, &self.preferred_holder]
            .map(|note| if marks == Marks::All { note } else { "" });
        for text in [self.holder.as_str(), notes[0], notes[1], self.successor.as_str()] {
            take(text.as_bytes());
        }
        for number in [self.lease_duration_seconds, self.leader_transitions] {
            take(&number.to_le_bytes());
        }
        for time in [self.acquire_time, self.renew_time] {
            take(&time.map_or([0; 8], |time| time.as_second().to_le_bytes()));
        }
        digest.finish()
    }

    /// The record with which a holder gives the lease back: nobody holds it, for one second (the
    /// API refuses zero), the rest as client-go writes it.
    pub(crate) fn released(&self, wall: Timestamp) -> Self {
        Self {
            holder: String::new(),
            lease_duration_seconds: 1,
            acquire_time: Some(wall),
            renew_time: Some(wall),
            leader_transitions: self.transitions(),
            strategy: String::new(),
            preferred_holder: String::new(),
            write_id: None,
            successor: String::new(),
        }
    }
}

/// What of a record its mark vouches for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Marks {
    All,
    #[cfg(feature = "coordinated")]
    /// All but what the server's controller of coordinated elections notes on the record of
    /// another.
    AllButNotes,
}

/// Cuts a time to the microseconds a Lease stores, so that what is read back equals what was
/// written.
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
