//! Tests of the protocol, step by step: call sequences of client-go's tests, and any other input.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::writes::MAX_PENDING;
use super::*;
use crate::config::Config;
use crate::version::Version;

mod coordinated;
mod repeated;
mod silence;
mod succession;
mod unwound;

fn config(identity: &str) -> Config {
    Config::builder("ns", "lease")
        .fast()
        .identity(identity)
        .takeover_jitter(Duration::ZERO)
        .build()
        .unwrap()
}

const WALL: Timestamp = Timestamp::UNIX_EPOCH;

fn at_ms(millis: u64) -> Moment {
    Moment::from_origin(Duration::from_millis(10_000 + millis))
}

/// A candidate and its one lease, one call at a time.
struct Bench {
    candidate: Candidate,
    lease: Option<StoredLease>,
    revision: u64,
    calls: Vec<&'static str>,
}

impl Bench {
    fn new(identity: &str) -> Self {
        Self {
            candidate: Candidate::new(&config(identity), 1),
            lease: None,
            revision: 0,
            calls: Vec::new(),
        }
    }

    fn put(&mut self, record: Record) -> StoredLease {
        self.revision += 1;
        let uid = self.lease.as_ref().map_or("u", |lease| &lease.version.uid);
        let lease = StoredLease { version: Version::new(uid, self.revision.to_string()), record };
        self.lease = Some(lease.clone());
        lease
    }

    fn carry_out(&mut self, write: &Write) -> Result<StoredLease, StoreError> {
        match (&write.base, &self.lease) {
            (None, Some(_)) => Err(StoreError::Conflict),
            (Some(_), None) => Err(StoreError::NotFound),
            (Some(base), Some(lease)) if *base != lease.version => Err(StoreError::Conflict),
            _ => Ok(self.put(write.record.clone())),
        }
    }

    /// Does everything that is due at `now`. With `fault` the first write fails so, and is not
    /// carried out.
    fn settle(&mut self, now: Moment, mut fault: Option<StoreError>) -> Vec<News> {
        let mut all = Vec::new();
        for _ in 0..20 {
            let news = match self.candidate.action(now, true) {
                Action::Wait(_) => break,
                Action::Read => {
                    self.calls.push("get");
                    let read = self.candidate.begin_read(now);
                    self.candidate.read(now, read, Ok(self.lease.clone()))
                }
                Action::Write(purpose) => {
                    let write = self.candidate.begin_write(now, WALL, purpose);
                    self.calls.push(if write.base.is_some() { "update" } else { "create" });
                    let answer = match fault.take() {
                        Some(error) => Err(error),
                        None => self.carry_out(&write),
                    };
                    self.candidate.wrote(now, &write, answer)
                }
            };
            if news != News::Nothing {
                all.push(news);
            }
        }
        all
    }

    fn held_by(&mut self, holder: &str, seconds: i32) {
        self.put(Record {
            holder: holder.into(),
            lease_duration_seconds: seconds,
            ..Record::default()
        });
    }
}

#[test]
fn upstream_acquire_from_no_object() {
    let mut bench = Bench::new("baz");
    let news = bench.settle(at_ms(0), None);
    assert_eq!(bench.calls, ["get", "create"]);
    assert!(matches!(&news[..], [News::Acquired(hold)] if hold.fence.transitions == 0));
    let record = bench.lease.unwrap().record;
    assert_eq!((record.holder.as_str(), record.leader_transitions), ("baz", 0));
    assert_eq!(record.lease_duration_seconds, 5);
}

#[test]
fn upstream_acquire_from_unled_object_counts_a_transition() {
    let mut bench = Bench::new("baz");
    bench.put(Record::default());
    bench.settle(at_ms(0), None);
    assert_eq!(bench.calls, ["get", "update"]);
    assert_eq!(bench.lease.unwrap().record.leader_transitions, 1);
}

/// An annotation may hold any number, and a Lease none below zero.
#[test]
fn transitions_below_zero_are_counted_from_zero() {
    for there in [-7, i32::MIN] {
        let mut bench = Bench::new("baz");
        bench.put(Record { leader_transitions: there, ..Record::default() });
        bench.settle(at_ms(0), None);
        assert_eq!(bench.lease.unwrap().record.leader_transitions, 1);
    }
}

#[test]
fn upstream_acquire_from_led_object_after_its_duration() {
    let mut bench = Bench::new("baz");
    bench.held_by("bing", 3);
    assert!(bench.settle(at_ms(0), None).is_empty());
    assert_eq!(bench.calls, ["get"]);
    assert_eq!(bench.candidate.observation().holder(), Some("bing"));
    assert!(bench.settle(at_ms(2999), None).is_empty());
    assert!(matches!(&bench.settle(at_ms(3000), None)[..], [News::Acquired(_)]));
}

#[test]
fn upstream_do_not_acquire_from_led_acked_object() {
    let mut bench = Bench::new("baz");
    bench.held_by("bing", 5);
    bench.settle(at_ms(0), None);
    for tick in 1..10 {
        bench.held_by("bing", 5);
        let lease = bench.lease.clone().map(|mut lease| {
            lease.record.renew_time = Timestamp::from_second(tick).ok();
            lease
        });
        let now = at_ms(u64::try_from(tick).unwrap() * 2000);
        assert_eq!(bench.candidate.heard(now, LeaseEvent::Changed(lease.unwrap())), News::Nothing);
        assert!(matches!(bench.candidate.action(now, true), Action::Wait(_)));
    }
    assert_eq!(bench.calls, ["get"]);
}

#[test]
fn upstream_fast_path_one_update_per_renewal_and_a_read_after_a_conflict() {
    // client-go: get, create, update, update; and after a conflict get, update.
    let mut bench = Bench::new("baz");
    for now in [0, 1000, 2000] {
        bench.settle(at_ms(now), None);
    }
    assert_eq!(bench.calls, ["get", "create", "update", "update"]);
    assert_eq!(bench.settle(at_ms(3000), Some(StoreError::Conflict)), []);
    assert_eq!(bench.calls[4..], ["update", "get"]);
    // No foreign holder caused the conflict: the renewal is repeated at the pace.
    assert!(matches!(&bench.settle(at_ms(3500), None)[..], [News::Renewed(_)]));
    assert_eq!(bench.calls[6..], ["update"]);
}

#[test]
fn upstream_renew_already_acquired_object_keeps_acquire_time_and_transitions() {
    let mut bench = Bench::new("baz");
    bench.settle(at_ms(0), None);
    let first = bench.lease.clone().unwrap().record;
    assert!(
        matches!(&bench.settle(at_ms(1000), None)[..], [News::Renewed(until)] if *until == at_ms(1000).after(config("baz").hold()))
    );
    let second = bench.lease.unwrap().record;
    assert_eq!(first.acquire_time, second.acquire_time);
    assert_eq!(first.leader_transitions, second.leader_transitions);
    assert!(
        first.renew_time < second.renew_time,
        "strictly later although the wall clock stands still"
    );
}

/// Go candidates know a record by its whole seconds.
#[test]
fn v09_each_renewal_is_in_another_second_whatever_the_wall_clock_does() {
    let minute = SignedDuration::from_mins(1);
    let noon = Timestamp::from_second(1_767_268_800).unwrap();
    let walls: [fn(Timestamp, i64) -> Timestamp; 4] = [
        |noon, _| noon,
        |noon, n| noon + SignedDuration::from_millis(300 * n),
        |noon, n| if n < 5 { noon } else { noon - SignedDuration::from_mins(10) },
        |noon, n| noon + SignedDuration::from_millis(1999 * n),
    ];
    for (number, wall) in walls.into_iter().enumerate() {
        let mut bench = Bench::led("baz");
        let mut seconds = Vec::new();
        for n in 0..100 {
            let write = bench.candidate.begin_write(at_ms(0), wall(noon, n), Purpose::Renew);
            let answer = bench.carry_out(&write);
            let _ = bench.candidate.wrote(at_ms(0), &write, answer);
            seconds.push(write.record.renew_time.unwrap().as_second());
        }
        assert!(seconds.is_sorted_by(|a, b| a < b), "wall {number}: {seconds:?}");
    }
    // A clock that showed a far future for a moment is not followed.
    let mut bench = Bench::new("baz");
    bench.settle(at_ms(0), None);
    for (wall, written) in [(noon + minute * 60 * 48, noon + minute * 60 * 48), (noon, noon)] {
        let write = bench.candidate.begin_write(at_ms(0), wall, Purpose::Renew);
        assert_eq!(write.record.renew_time, Some(written));
    }
}

/// Two stores as one may have taken half of it: a Go candidate of that half alone has seen its
/// second.
#[test]
fn a_renewal_after_one_that_may_be_half_applied_is_in_a_later_second() {
    let noon = Timestamp::from_second(1_767_268_800).unwrap();
    for touched in [true, false] {
        let mut bench = Bench::led("baz");
        let unknown = bench.candidate.begin_write(at_ms(0), noon, Purpose::Renew);
        let _ = bench.candidate.wrote(at_ms(0), &unknown, Err(StoreError::unknown("500")));
        if touched {
            // The same record under a new version.
            let mut lease = bench.lease.clone().unwrap();
            lease.version.resource_version.push('0');
            assert_eq!(bench.candidate.heard(at_ms(0), LeaseEvent::Changed(lease)), News::Nothing);
        }
        let next = bench.candidate.begin_write(at_ms(0), noon, Purpose::Renew);
        let [sent, next] =
            [unknown, next].map(|write| write.record.renew_time.unwrap().as_second());
        assert_eq!(next > sent, touched, "{sent} {next}");
    }
}

/// `fast()` tries again after half a second, and each applied attempt is a whole second later than
/// the last one.
#[test]
fn renewals_that_fail_do_not_move_the_time_ahead() {
    let mut bench = Bench::led("baz");
    let (mut ahead, mut fails) = (SignedDuration::ZERO, true);
    for ms in (10..3_600_000).step_by(10) {
        let (now, wall) =
            (at_ms(ms), WALL + SignedDuration::from_millis(i64::try_from(ms).unwrap()));
        match bench.candidate.action(now, true) {
            Action::Write(purpose) => {
                let write = bench.candidate.begin_write(now, wall, purpose);
                let answer =
                    if fails { Err(StoreError::unknown("500")) } else { bench.carry_out(&write) };
                ahead = write.record.renew_time.unwrap().duration_since(wall);
                fails = !fails;
                let _ = bench.candidate.wrote(now, &write, answer);
            }
            Action::Read => {
                let read = bench.candidate.begin_read(now);
                let _ = bench.candidate.read(now, read, Ok(bench.lease.clone()));
            }
            Action::Wait(_) => {}
        }
        assert!(bench.candidate.is_leading());
        assert!(ahead < SignedDuration::from_secs(2), "{ahead:?} after {ms} ms");
    }
}

#[test]
fn upstream_release_empties_the_holder_and_keeps_the_transitions() {
    let mut bench = Bench::new("baz");
    bench.settle(at_ms(0), None);
    bench.candidate.leave();
    let write = bench.candidate.begin_write(at_ms(1), WALL, Purpose::Release);
    let answer = bench.carry_out(&write);
    assert_eq!(bench.candidate.wrote(at_ms(2), &write, answer), News::Released);
    let record = bench.lease.unwrap().record;
    assert_eq!(
        (record.holder.as_str(), record.leader_transitions, record.lease_duration_seconds),
        ("", 0, 1)
    );
}

#[test]
fn upstream_release_retries_on_conflict_if_the_record_is_still_ours() {
    let mut bench = Bench::new("baz");
    bench.settle(at_ms(0), None);
    // A renewal was applied, and its answer lost.
    let renewal = bench.candidate.begin_write(at_ms(1000), WALL, Purpose::Renew);
    let _ = bench.carry_out(&renewal);
    assert_eq!(
        bench.candidate.wrote(at_ms(1900), &renewal, Err(StoreError::unknown("lost"))),
        News::Nothing
    );
    bench.candidate.leave();
    bench.calls.clear();
    // While it leaves: a release that meets the conflict, a read, a release.
    let mut released = false;
    for step in 0..20 {
        let now = at_ms(1900 + step * 50);
        match bench.candidate.action(now, true) {
            Action::Read => {
                bench.calls.push("get");
                let read = bench.candidate.begin_read(now);
                let _ = bench.candidate.read(now, read, Ok(bench.lease.clone()));
            }
            Action::Write(purpose) => {
                bench.calls.push("update");
                let write = bench.candidate.begin_write(now, WALL, purpose);
                let answer = bench.carry_out(&write);
                released = bench.candidate.wrote(now, &write, answer) == News::Released;
            }
            Action::Wait(_) => {}
        }
        if released {
            break;
        }
    }
    assert!(released);
    assert_eq!(bench.calls, ["update", "get", "update"]);
}

#[test]
fn the_hold_counts_from_the_sending_also_of_the_acquisition() {
    let mut bench = Bench::new("baz");
    let read = bench.candidate.begin_read(at_ms(0));
    let _ = bench.candidate.read(at_ms(0), read, Ok(None));
    let write = bench.candidate.begin_write(at_ms(0), WALL, Purpose::Acquire);
    let answer = bench.carry_out(&write);
    let News::Acquired(hold) = bench.candidate.wrote(at_ms(800), &write, answer) else { panic!() };
    assert_eq!(hold.until, at_ms(0).after(config("baz").hold()));
}

#[test]
fn an_acquisition_found_after_its_hold_is_no_term_and_needs_no_wait() {
    let mut bench = Bench::new("baz");
    let read = bench.candidate.begin_read(at_ms(0));
    let _ = bench.candidate.read(at_ms(0), read, Ok(None));
    let write = bench.candidate.begin_write(at_ms(0), WALL, Purpose::Acquire);
    let _ = bench.carry_out(&write);
    let _ = bench.candidate.wrote(at_ms(900), &write, Err(StoreError::unknown("lost")));
    let late = at_ms(4500);
    let read = bench.candidate.begin_read(late);
    assert_eq!(bench.candidate.read(late, read, Ok(bench.lease.clone())), News::Nothing);
    assert_eq!(bench.candidate.action(late, true), Action::Write(Purpose::Acquire));
    assert!(matches!(&bench.settle(late, None)[..], [News::Acquired(_)]));
}

#[test]
fn a_renewal_applied_after_the_term_makes_no_term() {
    let mut bench = Bench::new("baz");
    bench.settle(at_ms(0), None);
    // Sent just before the end and answered just after it: its own hold would last for seconds.
    let renewal = bench.candidate.begin_write(at_ms(3900), WALL, Purpose::Renew);
    assert_eq!(bench.candidate.tick(at_ms(4000)), News::Ended(Loss::Expired));
    let answer = bench.carry_out(&renewal);
    assert_eq!(bench.candidate.wrote(at_ms(4100), &renewal, answer), News::Nothing);
    assert!(!bench.candidate.is_leading());
    bench.candidate.abdicate(at_ms(4100));
    // No work runs under the candidate's own record: it is taken as another term, one stop margin
    // after the work.
    assert_eq!(bench.candidate.action(at_ms(5100), true), Action::Write(Purpose::Acquire));
}

#[test]
fn v05_a_write_found_by_reading_counts_from_its_own_sending_and_not_from_a_later_one() {
    let mut bench = Bench::new("baz");
    bench.settle(at_ms(0), None);
    // The first renewal is applied, and its answer lost; the second, on the same version,
    // conflicts.
    let first = bench.candidate.begin_write(at_ms(1000), WALL, Purpose::Renew);
    let _ = bench.carry_out(&first);
    assert_eq!(
        bench.candidate.wrote(at_ms(1900), &first, Err(StoreError::unknown("lost"))),
        News::Nothing
    );
    let second = bench.candidate.begin_write(at_ms(2000), WALL, Purpose::Renew);
    let answer = bench.carry_out(&second);
    assert_eq!(bench.candidate.wrote(at_ms(2100), &second, answer), News::Nothing);
    let read = bench.candidate.begin_read(at_ms(2100));
    let news = bench.candidate.read(at_ms(2200), read, Ok(bench.lease.clone()));
    assert_eq!(news, News::Renewed(at_ms(1000).after(config("baz").hold())));
}

#[test]
fn v15_an_answer_at_the_end_of_the_term_does_not_extend_it() {
    let mut bench = Bench::new("baz");
    bench.settle(at_ms(0), None);
    let end = at_ms(0).after(config("baz").hold());
    let renewal = bench.candidate.begin_write(at_ms(3000), WALL, Purpose::Renew);
    let answer = bench.carry_out(&renewal);
    // The process stood still: this is the first look at the clock.
    assert_eq!(bench.candidate.wrote(end, &renewal, answer), News::Ended(Loss::Expired));
    assert!(!bench.candidate.is_leading());
}

#[test]
fn v10_a_deletion_that_may_hide_a_take_over_is_waited_for() {
    // The last record was its own, run out long ago, or a free one.
    for own in [true, false] {
        let mut bench = Bench::new("baz");
        if own {
            bench.settle(at_ms(0), None);
            assert_eq!(bench.candidate.tick(at_ms(8000)), News::Ended(Loss::Expired));
            bench.candidate.abdicate(at_ms(8000));
        } else {
            bench.held_by("", 1);
            let read = bench.candidate.begin_read(at_ms(0));
            let _ = bench.candidate.read(at_ms(0), read, Ok(bench.lease.clone()));
        }
        // Unseen, another took it and leads, and the Lease was deleted.
        let (asked, answered) = (at_ms(8000), at_ms(8100));
        let read = bench.candidate.begin_read(asked);
        let _ = bench.candidate.read(answered, read, Ok(None));
        let patience = config("baz").lease_duration();
        let next_look = answered.after(patience / 2).before(answered.since(asked));
        assert_eq!(bench.candidate.action(answered, true), Action::Wait(next_look));
        assert_eq!(makes_it_at(&bench.candidate, answered), answered.after(patience));
    }
}

#[test]
fn v10_the_deletion_of_its_own_lease_in_its_own_hold_is_not_waited_for() {
    let mut bench = Bench::new("baz");
    bench.settle(at_ms(0), None);
    let read = bench.candidate.begin_read(at_ms(3000));
    assert_eq!(bench.candidate.read(at_ms(3000), read, Ok(None)), News::Ended(Loss::Deleted));
    bench.candidate.abdicate(at_ms(3000));
    let clear = at_ms(3000).after(config("baz").stop_margin());
    assert_eq!(bench.candidate.action(clear, true), Action::Write(Purpose::Acquire));
}

#[test]
fn v10_a_lease_given_back_and_deleted_may_have_been_another_s_in_between() {
    let mut bench = Bench::new("baz");
    bench.settle(at_ms(0), None);
    bench.candidate.leave();
    let release = bench.candidate.begin_write(at_ms(100), WALL, Purpose::Release);
    let answer = bench.carry_out(&release);
    assert_eq!(bench.candidate.wrote(at_ms(200), &release, answer), News::Released);
    // Unseen, another took it at once, and the Lease was deleted.
    let read = bench.candidate.begin_read(at_ms(500));
    let _ = bench.candidate.read(at_ms(600), read, Ok(None));
    let patience = at_ms(600).after(config("baz").lease_duration());
    assert_eq!(makes_it_at(&bench.candidate, at_ms(600)), patience);
}

#[test]
fn v10_a_lease_whose_release_was_not_answered_and_that_is_deleted_may_have_been_another_s_in_between()
 {
    for answer in [StoreError::unknown("lost"), StoreError::NotFound] {
        let mut bench = Bench::new("baz");
        bench.settle(at_ms(0), None);
        bench.candidate.leave();
        let release = bench.candidate.begin_write(at_ms(100), WALL, Purpose::Release);
        let _ = bench.carry_out(&release);
        // Unseen, another took it at once, and the Lease was deleted, before the release was
        // answered or came a second time.
        let _ = bench.candidate.wrote(at_ms(200), &release, Err(answer));
        let read = bench.candidate.begin_read(at_ms(500));
        let _ = bench.candidate.read(at_ms(600), read, Ok(None));
        bench.candidate.abdicate(at_ms(600));
        assert!(
            makes_it_at(&bench.candidate, at_ms(600))
                >= at_ms(200).after(config("baz").lease_duration())
        );
    }
}

#[test]
fn v10_a_lease_that_was_in_the_way_and_is_gone_is_waited_for() {
    let mut bench = Bench::new("baz");
    let read = bench.candidate.begin_read(at_ms(0));
    let _ = bench.candidate.read(at_ms(0), read, Ok(None));
    let create = bench.candidate.begin_write(at_ms(0), WALL, Purpose::Acquire);
    let _ = bench.candidate.wrote(at_ms(100), &create, Err(StoreError::Conflict));
    let read = bench.candidate.begin_read(at_ms(200));
    let _ = bench.candidate.read(at_ms(300), read, Ok(None));
    let patience = at_ms(300).after(config("baz").lease_duration());
    let jitter = config("baz").takeover_jitter();
    let made = makes_it_at(&bench.candidate, at_ms(300));
    assert!(
        (patience..=patience.after(jitter).after(Duration::from_millis(100))).contains(&made),
        "{made:?}"
    );
}

/// When it makes or takes the Lease if nothing more changes, to the tenth of a second.
fn makes_it_at(candidate: &Candidate, from: Moment) -> Moment {
    let mut candidate = candidate.clone();
    for tenth in 0..2000 {
        let now = from.after(Duration::from_millis(tenth * 100));
        if candidate.action(now, true) == Action::Read {
            let there = match candidate.observation() {
                Observation::Present { lease, .. } => Some(lease.clone()),
                Observation::Absent { .. } | Observation::Unknown => None,
            };
            let read = candidate.begin_read(now);
            let _ = candidate.read(now, read, Ok(there));
        }
        if candidate.action(now, true) == Action::Write(Purpose::Acquire) {
            return now;
        }
    }
    panic!("it never makes it");
}

mod deletions;

#[test]
fn older_events_change_nothing() {
    let mut bench = Bench::new("baz");
    bench.held_by("bing", 5);
    let old = bench.lease.clone().unwrap();
    bench.settle(at_ms(0), None);
    bench.settle(at_ms(5000), None);
    assert!(bench.candidate.is_leading());
    assert_eq!(bench.candidate.heard(at_ms(5001), LeaseEvent::Changed(old.clone())), News::Nothing);
    assert_eq!(bench.candidate.heard(at_ms(5002), LeaseEvent::Deleted(Some(old))), News::Nothing);
    assert!(bench.candidate.is_leading());
}

#[test]
fn a_read_that_was_overtaken_by_news_ends_no_term() {
    let mut bench = Bench::new("baz");
    bench.settle(at_ms(0), None);
    let before = bench.lease.clone();
    let read = bench.candidate.begin_read(at_ms(500));
    let renewal = bench.candidate.begin_write(at_ms(501), WALL, Purpose::Renew);
    let lease = bench.carry_out(&renewal).unwrap();
    assert!(matches!(
        bench.candidate.heard(at_ms(502), LeaseEvent::Changed(lease)),
        News::Renewed(_)
    ));
    assert_eq!(bench.candidate.read(at_ms(503), read, Ok(before)), News::Nothing);
    assert!(bench.candidate.is_leading());
}

#[test]
fn a_leader_honours_retry_after_but_tries_once_before_the_end() {
    let mut bench = Bench::new("baz");
    bench.settle(at_ms(0), None);
    let asked = StoreError::TooManyRequests { retry_after: Some(Duration::from_secs(60)) };
    bench.settle(at_ms(1000), Some(asked));
    let hold = config("baz").hold();
    let last = at_ms(0).after(hold).before(Duration::from_millis(900));
    assert_eq!(bench.candidate.action(at_ms(2000), true), Action::Wait(last));
    assert!(matches!(&bench.settle(last, None)[..], [News::Renewed(_)]));
}

#[test]
fn a_release_honours_retry_after() {
    let asked =
        |millis| StoreError::TooManyRequests { retry_after: Some(Duration::from_millis(millis)) };
    // The answers to a renewal and to the release ask for a pause.
    let mut bench = Bench::new("baz");
    bench.settle(at_ms(0), None);
    let renewal = bench.candidate.begin_write(at_ms(1000), WALL, Purpose::Renew);
    let _ = bench.candidate.wrote(at_ms(1000), &renewal, Err(asked(700)));
    bench.candidate.leave();
    assert_eq!(bench.candidate.action(at_ms(1001), true), Action::Wait(at_ms(1700)));
    assert_eq!(bench.candidate.action(at_ms(1700), true), Action::Write(Purpose::Release));
    let release = bench.candidate.begin_write(at_ms(1700), WALL, Purpose::Release);
    let _ = bench.candidate.wrote(at_ms(1700), &release, Err(asked(900)));
    assert_eq!(bench.candidate.action(at_ms(1800), true), Action::Wait(at_ms(2600)));
    assert_eq!(bench.settle(at_ms(2600), None)[0], News::Released);
}

/// A controller notes something on the record before the elector, which knows no controller, learns
/// of its own write.
#[test]
fn a_second_that_was_written_is_not_named_again_although_another_changed_that_record() {
    let mut bench = Bench::new("baz");
    bench.settle(at_ms(0), None);
    let second = Timestamp::from_second(100).unwrap();
    let renewal = bench.candidate.begin_write(at_ms(1000), second, Purpose::Renew);
    let _ = bench.candidate.wrote(at_ms(1900), &renewal, Err(StoreError::unknown("lost")));
    let noted = bench.put(Record { strategy: "noted".into(), ..renewal.record });
    assert_eq!(
        bench.candidate.heard(at_ms(2000), LeaseEvent::Changed(noted)),
        News::Ended(Loss::ForeignWrite)
    );
    let again = bench.candidate.begin_write(at_ms(9000), second, Purpose::Acquire);
    assert_eq!(again.record.renew_time, Timestamp::from_second(101).ok());
}

/// A `MultiStore` makes half of an own write, or a label changes.
#[test]
fn another_version_of_what_is_known_does_not_end_the_pauses_after_failed_writes() {
    for is_told in [false, true] {
        let mut bench = Bench::new("baz");
        let mut now = at_ms(0);
        let mut pauses = Vec::new();
        for _ in 0..6 {
            let lease = bench.put(Record::default());
            if is_told && !pauses.is_empty() {
                let _ = bench.candidate.heard(now, LeaseEvent::Changed(lease));
            }
            let failed = now;
            bench.settle(now, Some(StoreError::unknown("500")));
            while bench.candidate.action(now, true) != Action::Write(Purpose::Acquire) {
                match bench.candidate.action(now, true) {
                    Action::Wait(until) => now = until,
                    Action::Read => {
                        let read = bench.candidate.begin_read(now);
                        let _ = bench.candidate.read(now, read, Ok(bench.lease.clone()));
                    }
                    Action::Write(purpose) => panic!("{purpose:?}"),
                }
            }
            pauses.push(now.since(failed));
        }
        assert!(pauses.windows(2).all(|two| two[0] < two[1]), "{is_told}: {pauses:?}");
    }
}

#[test]
fn a_release_that_fails_is_tried_again_soon_and_then_ever_more_slowly() {
    let mut bench = Bench::new("baz");
    bench.settle(at_ms(0), None);
    bench.candidate.leave();
    let (mut now, mut asked) = (at_ms(1000), Vec::new());
    // The time of two requests.
    while now < at_ms(2800) {
        now = match bench.candidate.action(now, true) {
            Action::Wait(until) => until,
            Action::Read => {
                let read = bench.candidate.begin_read(now);
                let _ = bench.candidate.read(now, read, Ok(bench.lease.clone()));
                now
            }
            Action::Write(purpose) => {
                assert_eq!(purpose, Purpose::Release);
                asked.push(now.since(at_ms(1000)));
                let release = bench.candidate.begin_write(now, WALL, purpose);
                let _ = bench.candidate.wrote(now, &release, Err(StoreError::unknown("500")));
                now
            }
        };
    }
    assert!(asked[1] < Duration::from_millis(80) && (5..=7).contains(&asked.len()), "{asked:?}");
}

#[test]
fn the_memory_of_unanswered_writes_is_bounded() {
    let mut bench = Bench::new("baz");
    let read = bench.candidate.begin_read(at_ms(0));
    let _ = bench.candidate.read(at_ms(0), read, Ok(None));
    for n in 0..1000 {
        let _ = bench.candidate.begin_write(at_ms(n), WALL, Purpose::Acquire);
    }
    assert_eq!(bench.candidate.writes.pending.len(), MAX_PENDING);
}

/// Any record that a server, an operator or an enemy may write.
fn records() -> impl Strategy<Value = Record> {
    let text =
        prop_oneof![Just(String::new()), Just("a".to_owned()), Just("b".to_owned()), ".{0,8}"];
    let time = prop_oneof![
        Just(None),
        Just(Some(Timestamp::MAX)),
        Just(Some(Timestamp::MIN)),
        (0i64..1000).prop_map(|s| Timestamp::from_second(s).ok())
    ];
    (
        text.clone(),
        any::<i32>(),
        time.clone(),
        time,
        any::<i32>(),
        text.clone(),
        proptest::option::of(text),
    )
        .prop_map(
            |(holder, seconds, acquire_time, renew_time, transitions, strategy, write_id)| Record {
                holder,
                lease_duration_seconds: seconds,
                acquire_time,
                renew_time,
                leader_transitions: transitions,
                strategy: strategy.clone(),
                preferred_holder: strategy.clone(),
                write_id,
                successor: strategy,
            },
        )
}

fn leases() -> impl Strategy<Value = StoredLease> {
    let uid = prop_oneof![Just("u"), Just("w"), Just("")];
    let version = prop_oneof!["[0-9]{0,3}", ".{0,4}"];
    (uid, version, records())
        .prop_map(|(uid, rv, record)| StoredLease { version: Version::new(uid, rv), record })
}

#[derive(Clone, Debug)]
enum Input {
    Read(Option<StoredLease>),
    Event(StoredLease),
    Deleted(Option<StoredLease>),
    Write(Result<StoredLease, StoreError>),
    Applied,
    Pass(u64),
}

fn errors() -> impl Strategy<Value = StoreError> {
    prop_oneof![
        Just(StoreError::Conflict),
        Just(StoreError::NotFound),
        Just(StoreError::Expired),
        Just(StoreError::unknown("x")),
        Just(StoreError::TooManyRequests { retry_after: Some(Duration::MAX) }),
        Just(StoreError::Rejected { code: 403, message: String::new() }),
    ]
}

fn inputs() -> impl Strategy<Value = Input> {
    prop_oneof![
        proptest::option::of(leases()).prop_map(Input::Read),
        leases().prop_map(Input::Event),
        proptest::option::of(leases()).prop_map(Input::Deleted),
        leases().prop_map(|lease| Input::Write(Ok(lease))),
        errors().prop_map(|error| Input::Write(Err(error))),
        Just(Input::Applied),
        (0u64..8000).prop_map(Input::Pass),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::default())]

    /// Whatever the server says, there is no panic. A term begins only with an own write, within
    /// its hold, and never extends beyond a hold from a sending.
    #[test]
    fn no_content_panics_or_makes_a_leader(script in proptest::collection::vec(inputs(), 1..40)) {
        let mut candidate = Candidate::new(&config("a"), 3);
        let longest = config("a").hold();
        let mut now = at_ms(0);
        let mut sent = now;
        let mut revision = 2000u64;
        for input in script {
            now = now.after(Duration::from_millis(1));
            let applied = matches!(input, Input::Applied);
            let news = match input {
                Input::Pass(millis) => {
                    now = now.after(Duration::from_millis(millis));
                    candidate.tick(now)
                }
                Input::Read(lease) => {
                    let read = candidate.begin_read(now);
                    candidate.read(now, read, Ok(lease))
                }
                Input::Event(lease) => candidate.heard(now, LeaseEvent::Changed(lease)),
                Input::Deleted(lease) => candidate.heard(now, LeaseEvent::Deleted(lease)),
                Input::Write(answer) => {
                    let purpose = if candidate.is_leading() { Purpose::Renew } else { Purpose::Acquire };
                    let write = candidate.begin_write(now, Timestamp::MAX, purpose);
                    candidate.wrote(now, &write, answer)
                }
                Input::Applied => {
                    let purpose = if candidate.is_leading() { Purpose::Renew } else { Purpose::Acquire };
                    let write = candidate.begin_write(now, WALL, purpose);
                    sent = now;
                    revision += 1;
                    let uid = write.base.as_ref().map_or("u", |base| base.uid.as_str());
                    let lease = StoredLease { version: Version::new(uid, revision.to_string()), record: write.record.clone() };
                    candidate.wrote(now, &write, Ok(lease))
                }
            };
            match news {
                News::Acquired(hold) => {
                    prop_assert!(applied);
                    prop_assert!(hold.until <= sent.after(longest));
                }
                News::Renewed(until) => prop_assert!(applied && until <= sent.after(longest)),
                _ => {}
            }
            if let Some(deadline) = candidate.deadline() {
                prop_assert!(deadline <= sent.after(longest));
            }
            let _ = candidate.action(now, true);
            let _ = candidate.action(now, false);
        }
    }
}
