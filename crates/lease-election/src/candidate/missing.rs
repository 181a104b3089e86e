//! Missing: a Lease that was not there, or one half of a Lease in two stores. That is believed for
//! a while only: another may have made it, and led, and it was deleted again, all of it unseen.

use super::state::Candidate;
use crate::clock::Moment;
use crate::observation::Observation;
use crate::record::StoredLease;

/// Whether a half of this Lease is missing, or was until an acquisition of ours made it and no
/// more.
pub(super) fn lacks_a_half(lease: &StoredLease) -> bool {
    lease.version.lacks_a_half() || lease.version.is_of_two() && lease.record.is_half_made()
}

impl Candidate {
    /// Whether there is no Lease, or but a half of one, as far as is known.
    pub(super) fn is_missing(&self) -> bool {
        match &self.observation {
            Observation::Unknown => false,
            Observation::Absent { .. } => true,
            Observation::Present { lease, .. } => lacks_a_half(lease),
        }
    }

    /// From when on another answer is asked for before anything is concluded from what is missing,
    /// if something is. Nothing but an answer tells that it still is, and before half a lease
    /// is over another is asked for, also by who stood still for so long.
    pub(super) fn missing_until(&self) -> Option<Moment> {
        self.is_missing().then(|| self.absent_at.after(self.config.lease_duration() / 2))
    }

    /// Whether something was missing a whole lease before this answer, and nobody has said so
    /// since: it tells what is there now, and not what was meanwhile.
    pub(super) fn was_absent_too_long_ago(&self, now: Moment) -> bool {
        self.is_missing() && now.since(self.absent_at) > self.config.lease_duration()
    }

    /// What was missing too long ago may have been made by another, who led, and deleted again.
    /// What we sent before begins no term beside theirs; and a half that is found beside it is
    /// free to nobody yet, whatever it says.
    pub(super) fn doubt_absence(&mut self, now: Moment, found: Option<&StoredLease>) {
        self.another_made_it |= matches!(self.observation, Observation::Absent { .. });
        self.pending.retain(|write| write.base.is_some());
        self.own = None;
        if found.is_some_and(lacks_a_half) && self.config.wait_after_deletion() {
            self.claim_not_before = self.claim_not_before.max(self.unseen_may_act_until(now));
        }
    }

    /// This takes the place of what is known. Of half a Lease nothing follows that does not follow
    /// of none.
    pub(super) fn note_half(&mut self, now: Moment, lease: &StoredLease) {
        if !lacks_a_half(lease) {
            return;
        }
        match self.observation {
            Observation::Absent { free_at } => {
                self.claim_not_before = self.claim_not_before.max(free_at);
            }
            _ if !self.is_missing() => self.absent_at = now,
            _ => {}
        }
    }

    /// Whether an acquisition of ours is half made, in two stores.
    pub(super) fn is_half_made(&self) -> bool {
        matches!(&self.observation, Observation::Present { lease, .. } if lease.version.is_of_two() && lease.record.is_half_made())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;

    use super::*;
    use crate::candidate::{Action, News, Purpose};
    use crate::config::Config;
    use crate::error::StoreError;
    use crate::record::Record;
    use crate::store::LeaseEvent;
    use crate::version::Version;

    fn candidate() -> Candidate {
        let config =
            Config::builder("ns", "lease").fast().identity("baz").takeover_jitter(Duration::ZERO);
        Candidate::new(&config.build().unwrap(), 1)
    }

    fn at_ms(millis: u64) -> Moment {
        Moment::from_origin(Duration::from_millis(10_000 + millis))
    }

    fn lease(uid: &str, resource_version: &str, record: Record) -> StoredLease {
        StoredLease { version: Version::new(uid, resource_version), record }
    }

    fn read(candidate: &mut Candidate, now: Moment, found: Option<StoredLease>) {
        let read = candidate.begin_read(now);
        let _ = candidate.read(now, read, Ok(found));
    }

    /// When it takes or makes what it knows, if it reads the same again and again.
    fn takes_at(candidate: &Candidate, mut now: Moment, found: &StoredLease) -> Moment {
        let mut candidate = candidate.clone();
        for _ in 0..100 {
            match candidate.action(now, true) {
                Action::Read => read(&mut candidate, now, Some(found.clone())),
                Action::Write(Purpose::Acquire) => return now,
                Action::Write(purpose) => panic!("{purpose:?}"),
                Action::Wait(until) => now = until,
            }
        }
        panic!("never")
    }

    #[test]
    fn v10_a_free_half_is_waited_for_by_who_has_not_looked_for_a_lease_and_a_free_lease_is_not() {
        let free = Record::default();
        let halves = [
            (lease("+s", "0+7", free.clone()), true),
            (lease("p+", "7+0", free.clone()), true),
            (lease("p+s", "7+8", Record::half_made()), true),
            (lease("p+s", "7+8", free.clone()), false),
            (lease("u", "7", free), false),
        ];
        for (found, waits) in halves {
            for silence in [4900, 5100] {
                // Nothing was there, or the same half.
                for before in [None, Some(found.clone())] {
                    let mut candidate = candidate();
                    read(&mut candidate, at_ms(0), before.clone());
                    let back = at_ms(silence);
                    read(&mut candidate, back, Some(found.clone()));
                    let from = if waits && silence > 5000 { at_ms(silence + 5000) } else { back };
                    assert_eq!(
                        takes_at(&candidate, back, &found),
                        from,
                        "{found:?} {silence} {before:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn v10_a_half_that_is_made_late_is_not_free_before_a_lease_would_be() {
        for found in
            [lease("p+", "9+0", Record::half_made()), lease("p+s", "9+8", Record::half_made())]
        {
            for told in [true, false] {
                let mut candidate = candidate();
                read(&mut candidate, at_ms(0), None);
                let late = candidate.begin_write(at_ms(0), Timestamp::UNIX_EPOCH, Purpose::Acquire);
                let _ = candidate.wrote(at_ms(900), &late, Err(StoreError::unknown("lost")));
                // One that was made and deleted unseen may be led under until 11 s, and then the
                // create arrives.
                read(&mut candidate, at_ms(6000), None);
                let now = at_ms(6500);
                if told {
                    assert_eq!(
                        candidate.heard(now, LeaseEvent::Changed(found.clone())),
                        News::Nothing
                    );
                } else {
                    read(&mut candidate, now, Some(found.clone()));
                }
                assert_eq!(takes_at(&candidate, now, &found), at_ms(11_000), "{found:?} {told}");
            }
        }
    }

    #[test]
    fn who_stood_still_looks_before_it_takes_a_half_and_events_do_not_do_for_that() {
        let mut candidate = candidate();
        let held = |version: u64| {
            let record = Record {
                holder: "bing".into(),
                lease_duration_seconds: 2,
                acquire_time: Some(Timestamp::UNIX_EPOCH),
                renew_time: Timestamp::from_second(i64::try_from(version).unwrap()).ok(),
                ..Record::default()
            };
            lease("p+", &format!("{version}+0"), record)
        };
        read(&mut candidate, at_ms(0), Some(held(1)));
        for second in 1..=8 {
            let event = LeaseEvent::Changed(held(second + 1));
            let _ = candidate.heard(at_ms(second * 1000), event);
        }
        assert_eq!(candidate.action(at_ms(8000), true), Action::Read);
        assert_eq!(candidate.action(at_ms(60_000), false), Action::Read);
        read(&mut candidate, at_ms(8000), Some(held(9)));
        assert_eq!(takes_at(&candidate, at_ms(8000), &held(9)), at_ms(13_000));
        // A half that was seen to go was there until then: what is known of it begins there.
        let whole = lease("p+s", "10+11", held(10).record);
        read(&mut candidate, at_ms(9000), Some(whole));
        let _ = candidate.heard(at_ms(60_000), LeaseEvent::Changed(held(12)));
        assert_eq!(takes_at(&candidate, at_ms(60_000), &held(12)), at_ms(62_000));
    }
}
