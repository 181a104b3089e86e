//! Tests of writes that land late, twice or in spite of a refusal, and of versions that repeat.

use super::*;

fn absent(candidate: &mut Candidate, now: Moment) {
    let read = candidate.begin_read(now);
    let _ = candidate.read(now, read, Ok(None));
}

fn is_mine(candidate: &Candidate) -> bool {
    matches!(candidate.observation(), Observation::Present { mine: true, .. })
}

/// The machine slept, which no request time-out counts. Another may have made the Lease meanwhile,
/// and leads although it was deleted.
#[test]
fn v10_a_create_that_is_answered_more_than_a_lease_after_it_was_sent_is_another_s() {
    for (after, is_own) in [(4500, true), (5000, true), (5001, false), (3_600_000, false)] {
        for answered in [true, false] {
            let mut candidate = Candidate::new(&config("baz"), 1);
            absent(&mut candidate, at_ms(0));
            let create = candidate.begin_write(at_ms(0), WALL, Purpose::Acquire);
            let made =
                StoredLease { version: Version::new("v", "9"), record: create.record.clone() };
            let now = at_ms(after);
            let news = if answered {
                candidate.wrote(now, &create, Ok(made))
            } else {
                candidate.heard(now, LeaseEvent::Changed(made))
            };
            assert_eq!(news, News::Nothing);
            assert_eq!(is_mine(&candidate), is_own, "{after} ms, answered: {answered}");
            let wait = if is_own { Duration::ZERO } else { config("baz").lease_duration() };
            assert_eq!(
                makes_it_at(&candidate, now),
                now.after(wait),
                "{after} ms, answered: {answered}"
            );
            // A stop releases it on the same condition: no successor may follow at once beside a
            // hidden leader.
            assert_eq!(candidate.may_forestall(now), is_own);
        }
    }
}

/// The create is sent long after the last news: the age of that news counts.
#[test]
fn v10_a_create_that_lands_more_than_a_lease_after_there_was_no_lease_is_another_s() {
    for (after, is_own) in [(2600, true), (2601, false)] {
        for answered in [true, false] {
            let mut candidate = Candidate::new(&config("baz"), 1);
            absent(&mut candidate, at_ms(0));
            let create = candidate.begin_write(at_ms(2400), WALL, Purpose::Acquire);
            let made =
                StoredLease { version: Version::new("v", "9"), record: create.record.clone() };
            let now = at_ms(2400 + after);
            let news = if answered {
                candidate.wrote(now, &create, Ok(made))
            } else {
                candidate.heard(now, LeaseEvent::Changed(made))
            };
            assert_eq!(
                matches!(news, News::Acquired(_)),
                is_own,
                "{after} ms, answered: {answered}"
            );
            assert_eq!(is_mine(&candidate), is_own, "{after} ms, answered: {answered}");
        }
    }
}

/// A slow read shows the present Lease, and none that came and went meanwhile.
#[test]
fn v10_an_answer_more_than_a_lease_after_there_was_no_lease_is_doubted_however_early_it_was_asked_for()
 {
    for asked in [100, 4900] {
        for answered in [5000, 5001] {
            let mut candidate = Candidate::new(&config("baz"), 1);
            absent(&mut candidate, at_ms(0));
            let create = candidate.begin_write(at_ms(0), WALL, Purpose::Acquire);
            let made =
                StoredLease { version: Version::new("v", "9"), record: create.record.clone() };
            let _ = candidate.wrote(at_ms(50), &create, Err(StoreError::unknown("lost")));
            let read = candidate.begin_read(at_ms(asked));
            let _ = candidate.read(at_ms(answered), read, Ok(Some(made)));
            assert_eq!(
                is_mine(&candidate),
                answered == 5000,
                "asked at {asked}, answered at {answered}"
            );
        }
    }
}

/// If the application says that the Lease is never deleted, no other one was in between.
#[test]
fn a_create_that_is_answered_late_is_one_s_own_where_deletions_are_not_waited_for() {
    let config = Config::builder("ns", "lease").fast().identity("baz").wait_after_deletion(false);
    let mut candidate = Candidate::new(&config.build().unwrap(), 1);
    absent(&mut candidate, at_ms(0));
    let create = candidate.begin_write(at_ms(0), WALL, Purpose::Acquire);
    let made = StoredLease { version: Version::new("v", "9"), record: create.record.clone() };
    assert_eq!(candidate.wrote(at_ms(60_000), &create, Ok(made)), News::Nothing);
    assert!(is_mine(&candidate));
}

/// A take-over is conditional on the record that it found: no other write was in between.
#[test]
fn a_take_over_that_is_answered_late_is_one_s_own() {
    let mut bench = Bench::new("baz");
    bench.put(Record::default());
    let read = bench.candidate.begin_read(at_ms(0));
    let _ = bench.candidate.read(at_ms(0), read, Ok(bench.lease.clone()));
    let write = bench.candidate.begin_write(at_ms(0), WALL, Purpose::Acquire);
    let answer = bench.carry_out(&write);
    assert_eq!(bench.candidate.wrote(at_ms(60_000), &write, answer), News::Nothing);
    assert!(is_mine(&bench.candidate));
}

/// Unseen, the Lease was deleted and made by another, which leads although that was deleted too.
#[test]
fn v10_one_s_own_create_that_lands_once_more_as_another_object_is_waited_for() {
    for told in [false, true] {
        let mut bench = Bench::new("baz");
        bench.settle(at_ms(0), None);
        let ours = bench.lease.clone().unwrap();
        assert_eq!(bench.candidate.tick(at_ms(8000)), News::Ended(Loss::Expired));
        bench.candidate.abdicate(at_ms(8000));
        let again = StoredLease { version: Version::new("again", "12"), record: ours.record };
        let event =
            if told { LeaseEvent::Deleted(Some(again)) } else { LeaseEvent::Changed(again) };
        assert_eq!(bench.candidate.heard(at_ms(20_000), event), News::Nothing);
        assert!(!is_mine(&bench.candidate));
        assert_eq!(makes_it_at(&bench.candidate, at_ms(20_000)), at_ms(25_000), "told: {told}");
    }
}

fn refusals() -> [StoreError; 3] {
    [
        StoreError::TooManyRequests { retry_after: None },
        StoreError::Rejected { code: 403, message: String::new() },
        StoreError::Rejected { code: 422, message: String::new() },
    ]
}

/// A proxy sent it twice: the first was applied, the second refused.
#[test]
fn a_renewal_that_was_refused_and_applied_is_one_s_own() {
    for refusal in refusals() {
        let mut bench = Bench::new("baz");
        bench.settle(at_ms(0), None);
        let renewal = bench.candidate.begin_write(at_ms(1000), WALL, Purpose::Renew);
        let applied = bench.carry_out(&renewal).unwrap();
        assert_eq!(
            bench.candidate.wrote(at_ms(1100), &renewal, Err(refusal.clone())),
            News::Nothing
        );
        let until = at_ms(1000).after(config("baz").hold());
        let news = bench.candidate.heard(at_ms(1200), LeaseEvent::Changed(applied));
        assert_eq!(news, News::Renewed(until), "{refusal}");
        // Found by a read, after the next renewal met the conflict as well.
        let mut bench = Bench::new("baz");
        bench.settle(at_ms(0), None);
        let renewal = bench.candidate.begin_write(at_ms(1000), WALL, Purpose::Renew);
        let _ = bench.carry_out(&renewal);
        let _ = bench.candidate.wrote(at_ms(1100), &renewal, Err(refusal.clone()));
        assert_eq!(bench.settle(at_ms(2000), None)[0], News::Renewed(until), "{refusal}");
    }
}

#[test]
fn an_acquisition_that_was_refused_and_applied_is_a_term_from_its_sending() {
    for refusal in refusals() {
        for held in [false, true] {
            let mut bench = Bench::new("baz");
            if held {
                bench.put(Record::default());
            }
            let read = bench.candidate.begin_read(at_ms(0));
            let _ = bench.candidate.read(at_ms(0), read, Ok(bench.lease.clone()));
            let write = bench.candidate.begin_write(at_ms(0), WALL, Purpose::Acquire);
            let applied = bench.carry_out(&write).unwrap();
            assert_eq!(
                bench.candidate.wrote(at_ms(100), &write, Err(refusal.clone())),
                News::Nothing
            );
            let News::Acquired(hold) =
                bench.candidate.heard(at_ms(200), LeaseEvent::Changed(applied))
            else {
                panic!("{refusal}, held: {held}");
            };
            assert_eq!(hold.until, at_ms(0).after(config("baz").hold()));
        }
    }
}

#[test]
fn a_release_that_was_refused_and_applied_has_released() {
    let mut bench = Bench::new("baz");
    bench.settle(at_ms(0), None);
    bench.candidate.leave();
    let release = bench.candidate.begin_write(at_ms(100), WALL, Purpose::Release);
    let applied = bench.carry_out(&release).unwrap();
    let refused = StoreError::TooManyRequests { retry_after: None };
    assert_eq!(bench.candidate.wrote(at_ms(200), &release, Err(refused)), News::Nothing);
    assert_eq!(bench.candidate.heard(at_ms(300), LeaseEvent::Changed(applied)), News::Released);
}

/// A refused write counts as never sent until it is seen: a stop does not look for it.
#[test]
fn nothing_is_waited_for_because_of_a_write_that_was_refused() {
    for refusal in refusals() {
        let mut bench = Bench::new("baz");
        bench.put(Record::default());
        let read = bench.candidate.begin_read(at_ms(0));
        let _ = bench.candidate.read(at_ms(0), read, Ok(bench.lease.clone()));
        let write = bench.candidate.begin_write(at_ms(0), WALL, Purpose::Acquire);
        assert!(bench.candidate.may_have_acquired());
        assert!(bench.candidate.may_forestall(at_ms(0)));
        let _ = bench.candidate.wrote(at_ms(100), &write, Err(refusal));
        assert!(!bench.candidate.may_have_acquired());
        assert!(!bench.candidate.may_forestall(at_ms(100)));
    }
}

/// Unanswered writes are the greater danger, and are remembered longer.
#[test]
fn refused_writes_make_room_for_unanswered_ones() {
    let mut bench = Bench::new("baz");
    absent(&mut bench.candidate, at_ms(0));
    let unanswered = bench.candidate.begin_write(at_ms(0), WALL, Purpose::Acquire);
    let _ = bench.candidate.wrote(at_ms(0), &unanswered, Err(StoreError::unknown("lost")));
    for n in 1..1000 {
        let write = bench.candidate.begin_write(at_ms(n), WALL, Purpose::Acquire);
        let refused = StoreError::TooManyRequests { retry_after: None };
        let _ = bench.candidate.wrote(at_ms(n), &write, Err(refused));
    }
    assert_eq!(bench.candidate.writes.pending.len(), MAX_PENDING);
    assert!(bench.candidate.may_have_acquired());
}

fn lease(revision: &str, holder: &str, written: i64) -> StoredLease {
    let record = Record {
        holder: holder.into(),
        lease_duration_seconds: 5,
        renew_time: Timestamp::from_second(written).ok(),
        ..Record::default()
    };
    StoredLease { version: Version::new("u", revision), record }
}

/// The store was restored from a backup, and counts on from there.
#[test]
fn another_record_of_a_version_that_was_handed_out_again_is_waited_for_from_its_own_sight() {
    for by_read in [true, false] {
        let mut candidate = Candidate::new(&config("baz"), 1);
        let _ = candidate.heard(at_ms(0), LeaseEvent::Changed(lease("7", "bing", 1)));
        let again = lease("7", "bong", 2);
        if by_read {
            let read = candidate.begin_read(at_ms(4000));
            let _ = candidate.read(at_ms(4000), read, Ok(Some(again.clone())));
        } else {
            let _ = candidate.heard(at_ms(4000), LeaseEvent::Changed(again.clone()));
        }
        assert_eq!(candidate.observation().holder(), Some("bong"));
        // A repetition changes nothing.
        let _ = candidate.heard(at_ms(4500), LeaseEvent::Changed(again));
        assert_eq!(makes_it_at(&candidate, at_ms(4500)), at_ms(9000));
    }
}

#[test]
fn a_leader_whose_version_is_another_s_record_leads_no_more() {
    let mut bench = Bench::new("baz");
    bench.settle(at_ms(0), None);
    let News::Ended(loss) =
        bench.candidate.heard(at_ms(500), LeaseEvent::Changed(lease("1", "bing", 7)))
    else {
        panic!("it leads on");
    };
    assert_eq!(loss, Loss::TakenOver { by: "bing".into() });
}

/// The evidence about one of the two records, or the ground of a write on it, does not count for
/// the other.
#[test]
fn nothing_known_of_a_record_counts_for_another_of_the_same_version() {
    let mut candidate = Candidate::new(&config("baz"), 1);
    let _ = candidate.heard(at_ms(0), LeaseEvent::Changed(lease("7", "bing", 1)));
    candidate.vacate(at_ms(0), &Version::new("u", "7"));
    let from = at_ms(0).after(config("baz").stop_margin());
    assert_eq!(candidate.action(from, true), Action::Write(Purpose::Acquire));
    let write = candidate.begin_write(from, WALL, Purpose::Acquire);
    let _ = candidate.wrote(from, &write, Err(StoreError::unknown("lost")));
    let _ = candidate.heard(at_ms(2000), LeaseEvent::Changed(lease("7", "bong", 2)));
    assert_eq!(makes_it_at(&candidate, at_ms(2000)), at_ms(7000));
    // It was sent to take over bing's lease.
    let landed = StoredLease { version: Version::new("u", "8"), record: write.record };
    assert_eq!(candidate.heard(at_ms(2500), LeaseEvent::Changed(landed)), News::Nothing);
    assert_eq!(makes_it_at(&candidate, at_ms(2500)), at_ms(7500));
}
