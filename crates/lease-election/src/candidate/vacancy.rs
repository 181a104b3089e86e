//! Vacancy: a holder counts as gone before its lease expires here, by the application's evidence
//! (A8). Opt-in.

use super::state::{Candidate, Vacancy};
use crate::clock::Moment;
use crate::observation::Observation;
use crate::version::Version;

impl Candidate {
    /// Records that the holder of this version is gone. Its last requests may land for one stop
    /// margin. The random wait stays: all candidates may know it at once.
    pub(crate) fn vacate(&mut self, now: Moment, version: &Version) {
        if let Observation::Present { lease, mine: false, jitter, .. } = &self.known.observation
            && lease.version == *version
            && !lease.record.is_free()
        {
            let from = now.after(self.config.stop_margin()).after(*jitter);
            if self.vacant_from().is_none_or(|known| known > from) {
                self.vacancy = Some(Vacancy { version: lease.version.clone(), from });
            }
        }
    }

    /// When the known Lease counts as vacant.
    pub(super) fn vacant_from(&self) -> Option<Moment> {
        let vacancy = self.vacancy.as_ref()?;
        (self.known.observation.version() == Some(&vacancy.version)).then_some(vacancy.from)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::Config;
    use crate::record::{Record, StoredLease};
    use crate::store::LeaseEvent;

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
}
