//! Record: the fields of a Lease that an election reads and writes, with client-go's meaning.
//! Their wire form is in `kube_store`.

use std::time::Duration;

use jiff::Timestamp;

use crate::fnv::Fnv;
use crate::version::Version;

/// The content of a Lease: client-go's `LeaderElectionRecord`, plus the mark of the write.
///
/// Do not trust any field: any process may have written it.
#[doc(alias = "LeaderElectionRecord")]
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Record {
    /// The holder's identity. Empty means that the lease is free at once.
    pub holder: String,
    /// For how many whole seconds after each renewal the holder asks others to wait.
    pub lease_duration_seconds: i32,
    /// When the holder acquired the lease. For display.
    pub acquire_time: Option<Timestamp>,
    /// When the holder last renewed. For display, and different in each write.
    pub renew_time: Option<Timestamp>,
    /// How often the holder changed. For display: it restarts when the Lease is deleted.
    pub leader_transitions: i32,
    /// Coordinated election's strategy; empty if absent.
    pub strategy: String,
    /// The candidate that coordinated election prefers to the holder; empty if absent.
    pub preferred_holder: String,
    /// The mark of the write that made this record. By it an elector tells its own writes from
    /// those of another process with its identity. A store keeps it beside the record
    /// ([`WRITE_ANNOTATION`](crate::WRITE_ANNOTATION) on a Lease). On others' records it is `None`,
    /// except where no elector of client-go or of this crate would write the record's text. There
    /// it is a digest of that text, so that each change counts as a sign of life.
    pub write_id: Option<String>,
    /// On a free record: the identity that the last holder wants to take it first; empty if none. A
    /// store keeps it beside the record ([`SUCCESSOR_ANNOTATION`](crate::SUCCESSOR_ANNOTATION) on a
    /// Lease), and reads it only on records without a holder. A hint: no safety rests on it.
    pub successor: String,
}

/// The prefix of an unreadable record's holder; the reason follows.
const UNREADABLE: &str = "leaderelection.k8s.io/unknown: ";

impl Record {
    /// Whether the lease has no holder.
    #[must_use]
    pub fn is_free(&self) -> bool {
        self.holder.is_empty()
    }

    /// A record that cannot be read: another holder has the lease.
    #[cfg(feature = "kube")]
    pub(crate) fn unreadable(why: &str) -> Self {
        Self { holder: format!("{UNREADABLE}{why}"), ..Self::default() }
    }

    /// Whether the stored record was unreadable.
    pub(crate) fn is_unreadable(&self) -> bool {
        self.holder.starts_with(UNREADABLE)
    }

    /// How long a candidate waits, from its own first sight of this record, before it takes the
    /// lease. That is the record's duration, at most `cap`. It is the candidate's own lease (`own`)
    /// if the record names no duration above zero, and at least `own` if the record cannot be read.
    pub(crate) fn patience(&self, own: Duration, cap: Duration) -> Duration {
        let least = if self.is_unreadable() { own } else { Duration::ZERO };
        least.max(match u64::try_from(self.lease_duration_seconds) {
            Ok(0) | Err(_) => own,
            Ok(seconds) => Duration::from_secs(seconds).min(cap),
        })
    }

    /// How often the holder changed, as a write may state it: the API refuses negative numbers.
    pub(crate) fn transitions(&self) -> i32 {
        self.leader_transitions.max(0)
    }

    /// The first field in which `other` differs, by its name in a Lease.
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

    /// Marks the record: `writer` and `serial` name the write, and a digest exposes a later change.
    pub(crate) fn marked(mut self, writer: &str, serial: u64, marks: Marks) -> Self {
        self.write_id = Some(format!("{writer}.{serial}.{:016x}", self.digest(marks)));
        self
    }

    /// Whether `writer` wrote exactly this record.
    pub(crate) fn is_as_written_by(&self, writer: &str, marks: Marks) -> bool {
        let Some(id) = &self.write_id else { return false };
        let is_writers = id.strip_prefix(writer).is_some_and(|rest| rest.starts_with('.'));
        is_writers && self.is_as_written(marks)
    }

    /// Whether the record still matches the digest in its mark.
    fn is_as_written(&self, marks: Marks) -> bool {
        let digest = self.write_id.as_deref().and_then(|id| id.splitn(3, '.').nth(2));
        digest.is_some_and(|digest| digest == format!("{:016x}", self.digest(marks)))
    }

    #[cfg(feature = "coordinated")]
    /// Whether the records differ in nothing but the notes of the API server's controller on a
    /// Lease in force.
    pub(crate) fn differs_in_notes_alone(&self, other: &Self) -> bool {
        let bare = |record: &Self| Self {
            strategy: String::new(),
            preferred_holder: String::new(),
            ..record.clone()
        };
        bare(self) == bare(other)
    }

    /// The identity that should take this free lease first. It counts only in the very record of
    /// the release: client-go keeps annotations that it finds, and an old hint is not its own.
    pub(crate) fn hint(&self) -> Option<&str> {
        let hints = self.is_free() && !self.successor.is_empty() && self.is_as_written(Marks::All);
        hints.then_some(&self.successor)
    }

    /// A digest of all but the mark. Times count in whole seconds, which every store keeps.
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

    /// The record that releases the lease: no holder, a duration of one second (the API refuses
    /// zero), and the rest as client-go writes it.
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

/// The fields for which a record's mark vouches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Marks {
    All,
    #[cfg(feature = "coordinated")]
    /// All but the notes that the API server's controller puts on another's record.
    AllButNotes,
}

/// Cuts a time to microseconds, which a Lease keeps, so that a read returns what was written.
pub(crate) fn to_micros(time: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(time.as_microsecond()).unwrap_or(time)
}

/// A record, and the version of the object that held it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct StoredLease {
    /// The version, and the object it belongs to.
    pub version: Version,
    /// The record at that version.
    pub record: Record,
}
