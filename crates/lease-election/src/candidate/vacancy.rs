//! Vacancy: when a holder counts as gone before its lease expires here.
//! Both ways are opt-in:
//! - The wall clock, once, for the first Lease that a candidate sees (A8).
//! - The application's evidence about the holder (A9).

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::state::Candidate;
use crate::clock::Moment;
use crate::observation::Observation;
use crate::record::Record;
use crate::version::Version;

/// What the application's assumptions say about the known Lease.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Vacancy {
    /// The version whose holder counts as gone, and from when on.
    holder_gone: Option<(Version, Moment)>,
    /// The candidate has judged its first Lease by the wall clock.
    pub(super) judged: bool,
}

impl Vacancy {
    pub(super) fn forget(&mut self) {
        self.holder_gone = None;
    }
}

impl Candidate {
    /// After news: judges the first Lease that this candidate sees by the wall clock, if configured
    /// (A8). The caller reads `wall` before `now`: time between the two only lengthens the wait.
    ///
    /// A grant is not judged: no candidate answers for the server's clock, and a leader before the
    /// grant may act for longer than the grant says.
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

    /// Records that the holder of this version is gone, by the application's evidence (A9). Its
    /// last requests may land for one stop margin. The random wait stays: all candidates may know
    /// it at once.
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

    /// When the known Lease counts as vacant.
    pub(super) fn vacant_from(&self) -> Option<Moment> {
        let (version, from) = self.vacancy.holder_gone.as_ref()?;
        (self.known.observation.version() == Some(version)).then_some(*from)
    }
}

/// How long a record still holds, by a wall clock within `bound` of its writer's.
fn left_by_wall(
    record: &Record,
    patience: Duration,
    bound: Duration,
    wall: Timestamp,
) -> Option<Duration> {
    let renewed = record.renew_time?;
    // A store that keeps whole seconds cuts off up to one.
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
        // Its last requests land first, and a second report extends no wait.
        let from = at(1).after(config.stop_margin());
        assert_eq!(candidate.vacant_from(), Some(from));
        candidate.vacate(at(2), &Version::new("u", "2"));
        assert_eq!(candidate.vacant_from(), Some(from));
    }

    /// The server's clock may be behind by more than the candidates' differ, and another process
    /// may have led until then.
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
        // A time ahead only lengthens this wait; the ordinary expiry comes first.
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
