//! Vacancy: a Lease whose holder is taken to be gone before its lease has run out here, by an
//! assumption that the application made: by the wall clock, once, for the first Lease that a
//! candidate sees; and by evidence about the holder. Both are opt-in.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::state::Candidate;
use crate::clock::Moment;
use crate::observation::Observation;
use crate::record::Record;
use crate::version::Version;

/// What the application's assumptions say of the Lease, if it makes any.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Vacancy {
    /// The version whose holder is taken to be gone, and from when on.
    holder_gone: Option<(Version, Moment)>,
    /// The first Lease that was seen has been judged by the wall clock.
    pub(super) judged: bool,
}

impl Vacancy {
    pub(super) fn forget(&mut self) {
        self.holder_gone = None;
    }
}

impl Candidate {
    /// After news: judges the first Lease that this candidate sees by the wall clock, if it is
    /// configured to. `wall` must have been read before `now`: whatever lies between the two
    /// then makes it wait longer. Not a grant of the server's controller: its time is the server's,
    /// whose clock no candidate answers for, and one who led before may act for longer than it
    /// says.
    pub(crate) fn start_cold(&mut self, wall: Timestamp, now: Moment) {
        if self.vacancy.judged || self.known.observation == Observation::Unknown {
            return;
        }
        self.vacancy.judged = true;
        let Some(bound) = self.config.wall_clock_bound() else { return };
        if let Observation::Present { lease, mine: false, jitter, .. } = &self.known.observation
            && !lease.record.is_free()
            && !Self::is_grant(&lease.record)
        {
            let patience = lease
                .record
                .patience(self.config.lease_duration(), self.config.foreign_lease_cap());
            if let Some(left) = left_by_wall(&lease.record, patience, bound, wall) {
                let from = now.after(left).after(*jitter);
                self.vacancy.holder_gone = Some((lease.version.clone(), from));
            }
        }
    }

    /// The holder of this version is gone, by what the application knows. What it sent last may
    /// land for as long as the stop margin. The usual random wait stays: all candidates may
    /// know it at once.
    pub(crate) fn vacate(&mut self, now: Moment, version: &Version) {
        if let Observation::Present { lease, mine: false, jitter, .. } = &self.known.observation
            && lease.version == *version
            && !lease.record.is_free()
        {
            let from = now.after(self.config.stop_margin()).after(*jitter);
            if self.vacant_from().is_none_or(|known| known > from) {
                self.vacancy.holder_gone = Some((lease.version.clone(), from));
            }
        }
    }

    /// From when on the known Lease is taken to be vacant.
    pub(super) fn vacant_from(&self) -> Option<Moment> {
        let (version, from) = self.vacancy.holder_gone.as_ref()?;
        (self.known.observation.version() == Some(version)).then_some(*from)
    }
}

/// How long a record still holds by a wall clock that differs from that of its writer by no more
/// than `bound`.
fn left_by_wall(
    record: &Record,
    patience: Duration,
    bound: Duration,
    wall: Timestamp,
) -> Option<Duration> {
    let renewed = record.renew_time?;
    // A store that keeps whole seconds has cut off up to one.
    let cut = Duration::from_secs(u64::from(renewed.subsec_nanosecond() == 0));
    let holds =
        SignedDuration::try_from(patience.saturating_add(bound).saturating_add(cut)).ok()?;
    let ends = renewed.checked_add(holds).ok()?;
    Some(Duration::try_from(ends.duration_since(wall)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::record::StoredLease;
    use crate::store::LeaseEvent;

    const BOUND: Duration = Duration::from_millis(500);
    const LEASE: Duration = Duration::from_secs(5);

    fn left(renewed: &str, wall: &str) -> Option<Duration> {
        let record = Record { renew_time: renewed.parse().ok(), ..Record::default() };
        left_by_wall(&record, LEASE, BOUND, wall.parse().unwrap())
    }

    #[test]
    fn evidence_counts_for_the_version_that_was_asked_about_and_for_no_other() {
        let config =
            Config::builder("ns", "lease").fast().identity("baz").takeover_jitter(Duration::ZERO);
        let config = config.build().unwrap();
        let mut candidate = Candidate::new(&config, 1);
        let at = |seconds| Moment::from_origin(Duration::from_secs(seconds));
        for (revision, holder) in [("1", "a"), ("2", "b")] {
            let record =
                Record { holder: holder.into(), lease_duration_seconds: 5, ..Record::default() };
            let lease = StoredLease { version: Version::new("u", revision), record };
            let _ = candidate.heard(at(0), LeaseEvent::Changed(lease));
        }
        candidate.vacate(at(1), &Version::new("u", "1"));
        assert_eq!(candidate.vacant_from(), None);
        candidate.vacate(at(1), &Version::new("u", "2"));
        // Not before what it sent last has landed; and not later for being told once more.
        let from = at(1).after(config.stop_margin());
        assert_eq!(candidate.vacant_from(), Some(from));
        candidate.vacate(at(2), &Version::new("u", "2"));
        assert_eq!(candidate.vacant_from(), Some(from));
    }

    /// Its time is the server's, whose clock may be behind by more than the candidates' differ, and
    /// another may have led until then.
    #[test]
    fn a_grant_is_not_judged_by_the_wall_clock() {
        let config =
            Config::builder("ns", "lease").fast().identity("baz").trust_wall_clocks_within(BOUND);
        let config = config.build().unwrap();
        let at = Moment::from_origin(Duration::from_secs(100));
        let wall: Timestamp = "2026-01-01T00:01:00Z".parse().unwrap();
        for (acquire_time, is_judged) in [(Some(wall), true), (None, false)] {
            let renew_time = "2026-01-01T00:00:00Z".parse().ok();
            let record =
                Record { holder: "a".into(), renew_time, acquire_time, ..Record::default() };
            let mut candidate = Candidate::new(&config, 1);
            let lease = StoredLease { version: Version::new("u", "1"), record };
            let _ = candidate.heard(at, LeaseEvent::Changed(lease));
            candidate.start_cold(wall, at);
            assert_eq!(candidate.vacant_from().is_some(), is_judged);
        }
    }

    #[test]
    fn a_record_holds_for_its_duration_and_the_bound() {
        let renewed = "2026-01-01T00:00:00.25Z";
        assert_eq!(left(renewed, "2026-01-01T00:00:00.25Z"), Some(LEASE + BOUND));
        assert_eq!(left(renewed, "2026-01-01T00:00:05.749999999Z"), Some(Duration::from_nanos(1)));
        assert_eq!(left(renewed, "2026-01-01T00:00:05.75Z"), Some(Duration::ZERO));
        assert_eq!(left(renewed, "2027-01-01T00:00:00Z"), Some(Duration::ZERO));
        // A time that lies ahead is waited for, and the ordinary wait comes first.
        assert!(left(renewed, "2025-01-01T00:00:00Z") > Some(Duration::from_secs(1_000_000)));
    }

    #[test]
    fn whole_seconds_may_have_been_cut() {
        let whole = left("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z");
        assert_eq!(whole, Some(LEASE + BOUND + Duration::from_secs(1)));
    }

    #[test]
    fn without_a_time_nothing_is_known() {
        assert_eq!(left("never", "2026-01-01T00:00:00Z"), None);
        let record = Record { renew_time: Some(Timestamp::MAX), ..Record::default() };
        assert_eq!(left_by_wall(&record, LEASE, BOUND, Timestamp::UNIX_EPOCH), None);
        assert_eq!(left_by_wall(&record, Duration::MAX, BOUND, Timestamp::MAX), None);
    }
}
