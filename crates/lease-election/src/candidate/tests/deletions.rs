//! Tests of a deleted Lease: how long a candidate waits, which old or foreign news never shortens.

use super::*;

fn lease(version: u64, holder: &str, seconds: i32) -> StoredLease {
    let record = Record {
        holder: holder.into(),
        lease_duration_seconds: seconds,
        renew_time: Timestamp::from_second(i64::try_from(version).unwrap()).ok(),
        ..Record::default()
    };
    StoredLease { version: Version::new("u", version.to_string()), record }
}

fn changed(lease: &StoredLease) -> LeaseEvent {
    LeaseEvent::Changed(lease.clone())
}

/// The deletion of a lease, as the server reports it, with a version of its own.
fn deleted(lease: &StoredLease, version: u64) -> LeaseEvent {
    let version = Version::new(lease.version.uid.clone(), version.to_string());
    LeaseEvent::Deleted(Some(StoredLease { version, record: lease.record.clone() }))
}

/// A candidate that saw another's lease at 0 s, and its deletion at 1 s.
fn after_a_deletion(told: bool) -> (Candidate, Moment) {
    let mut candidate = Candidate::new(&config("baz"), 1);
    let read = candidate.begin_read(at_ms(0));
    let theirs = lease(10, "bing", 5);
    let _ = candidate.read(at_ms(0), read, Ok(Some(theirs.clone())));
    if told {
        let _ = candidate.heard(at_ms(1000), deleted(&theirs, 12));
    } else {
        let read = candidate.begin_read(at_ms(1000));
        let _ = candidate.read(at_ms(1000), read, Ok(None));
    }
    let free = makes_it_at(&candidate, at_ms(1000));
    (candidate, free)
}

#[test]
fn old_news_of_a_lease_that_is_gone_neither_shortens_nor_renews_the_wait() {
    for told in [true, false] {
        let (candidate, free) = after_a_deletion(told);
        assert_eq!(free, if told { at_ms(5000) } else { at_ms(6000) });
        let stories = [
            // A renewal; the same version; a released lease; the whole life of an earlier object.
            vec![changed(&lease(8, "bing", 5))],
            vec![changed(&lease(10, "bing", 5))],
            vec![changed(&lease(9, "", 1))],
            vec![
                changed(&lease(4, "", 1)),
                deleted(&lease(4, "", 1), 5),
                changed(&lease(7, "bing", 5)),
            ],
            vec![deleted(&lease(6, "", 1), 7)],
        ];
        for story in stories {
            let mut candidate = candidate.clone();
            for event in &story {
                assert_eq!(candidate.heard(at_ms(3000), event.clone()), News::Nothing);
            }
            assert_eq!(makes_it_at(&candidate, at_ms(3000)), free, "told: {told}, {story:?}");
        }
    }
}

#[test]
fn a_change_before_the_deletion_that_comes_after_it_is_old_news() {
    // The deletion has version 12; a label was changed before it.
    let (mut candidate, free) = after_a_deletion(true);
    let mut label = lease(10, "bing", 5);
    label.version.resource_version = "11".into();
    let _ = candidate.heard(at_ms(3000), changed(&label));
    assert_eq!(makes_it_at(&candidate, at_ms(3000)), free);
}

#[test]
fn a_lease_made_after_the_deletion_is_news() {
    let (mut candidate, _) = after_a_deletion(true);
    let _ = candidate.heard(at_ms(3000), changed(&lease(13, "bong", 5)));
    assert_eq!(candidate.observation().holder(), Some("bong"));
    assert_eq!(makes_it_at(&candidate, at_ms(3000)), at_ms(8000));
}

#[test]
fn a_lease_that_was_made_and_deleted_unseen_is_waited_for_as_long_as_it_says() {
    let (mut candidate, _) = after_a_deletion(true);
    let _ = candidate.heard(at_ms(3000), deleted(&lease(13, "bong", 15), 14));
    assert_eq!(makes_it_at(&candidate, at_ms(3000)), at_ms(18_000));
    // A repetition, or a release before the deletion, does not lengthen the wait.
    let _ = candidate.heard(at_ms(4000), deleted(&lease(13, "bong", 15), 14));
    let _ = candidate.heard(at_ms(4000), deleted(&lease(15, "", 1), 16));
    assert_eq!(makes_it_at(&candidate, at_ms(4000)), at_ms(18_000));
}

#[test]
fn a_server_that_went_back_to_before_the_deletion_is_believed_when_it_is_asked() {
    let (mut candidate, _) = after_a_deletion(true);
    let read = candidate.begin_read(at_ms(3000));
    let _ = candidate.read(at_ms(3000), read, Ok(Some(lease(9, "bing", 5))));
    assert_eq!(candidate.observation().holder(), Some("bing"));
}

#[test]
fn v10_an_unseen_taker_with_longer_leases_is_missed_by_the_difference_and_not_by_more() {
    // A candidate with leases of 5 s saw a free Lease. Unseen, another took it, and the Lease was
    // deleted at 1 s.
    for (theirs, told, waits) in
        [(5, false, 5000), (15, false, 5000), (15, true, 15_000), (3, false, 5000)]
    {
        let mut candidate = Candidate::new(&config("baz"), 1);
        let read = candidate.begin_read(at_ms(0));
        let _ = candidate.read(at_ms(0), read, Ok(Some(lease(10, "", 1))));
        if told {
            let _ = candidate.heard(at_ms(1000), deleted(&lease(11, "bing", theirs), 12));
        } else {
            let read = candidate.begin_read(at_ms(1000));
            let _ = candidate.read(at_ms(1000), read, Ok(None));
        }
        let free = makes_it_at(&candidate, at_ms(1000));
        assert_eq!(free, at_ms(1000 + waits), "leases of {theirs} s, told: {told}");
        // The taker's lease ends at most its own length after the deletion.
        let ends = at_ms(1000).after(Duration::from_secs(theirs.unsigned_abs().into()));
        let bound = Duration::from_secs(u64::from(theirs.unsigned_abs().saturating_sub(5)));
        assert!(ends.since(free.min(ends)) <= bound);
    }
}

fn conflict_on_create(candidate: &mut Candidate, now: Moment) {
    let create = candidate.begin_write(now, WALL, Purpose::Acquire);
    assert!(create.base.is_none());
    let _ = candidate.wrote(now, &create, Err(StoreError::Conflict));
}

fn read_absent(candidate: &mut Candidate, now: Moment) -> News {
    let read = candidate.begin_read(now);
    candidate.read(now, read, Ok(None))
}

#[test]
fn a_late_create_of_ours_begins_no_term_beside_one_who_made_the_lease_before_it_arrived() {
    // The create arrives before or after the read of the absence, within its own hold or later.
    for (arrives, reads_first) in [(1500, false), (1500, true), (4500, false), (4500, true)] {
        let mut candidate = Candidate::new(&config("baz"), 1);
        let _ = read_absent(&mut candidate, at_ms(0));
        let late = candidate.begin_write(at_ms(0), WALL, Purpose::Acquire);
        let _ = candidate.wrote(at_ms(900), &late, Err(StoreError::unknown("lost")));
        let _ = read_absent(&mut candidate, at_ms(1000));
        // Another has made the Lease, which is then deleted while its leader is cut off.
        conflict_on_create(&mut candidate, at_ms(1200));
        if reads_first {
            let _ = read_absent(&mut candidate, at_ms(1300));
        }
        let ours = StoredLease { version: Version::new("v", "9"), record: late.record };
        assert_eq!(candidate.heard(at_ms(arrives), changed(&ours)), News::Nothing);
        let read = candidate.begin_read(at_ms(arrives));
        assert_eq!(candidate.read(at_ms(arrives), read, Ok(Some(ours))), News::Nothing);
        assert!(
            makes_it_at(&candidate, at_ms(arrives)) >= at_ms(arrives + 5000),
            "{arrives} {reads_first}"
        );
    }
}

#[test]
fn a_create_that_was_sent_twice_on_its_way_is_still_known_after_the_conflict() {
    let mut candidate = Candidate::new(&config("baz"), 1);
    let _ = read_absent(&mut candidate, at_ms(0));
    let create = candidate.begin_write(at_ms(0), WALL, Purpose::Acquire);
    let _ = candidate.wrote(at_ms(100), &create, Err(StoreError::Conflict));
    let read = candidate.begin_read(at_ms(200));
    let applied = StoredLease { version: Version::new("v", "9"), record: create.record };
    assert!(matches!(candidate.read(at_ms(200), read, Ok(Some(applied))), News::Acquired(_)));
}

#[test]
fn our_old_record_written_back_by_somebody_else_is_not_ours() {
    for leads_first in [true, false] {
        let mut bench = Bench::new("baz");
        bench.settle(at_ms(0), None);
        let old = bench.lease.clone().unwrap().record;
        if leads_first {
            assert_eq!(bench.candidate.tick(at_ms(8000)), News::Ended(Loss::Expired));
        }
        bench.held_by("bing", 5);
        let theirs = bench.lease.clone().unwrap();
        let _ = bench.candidate.heard(at_ms(8000), changed(&theirs));
        bench.candidate.abdicate(at_ms(8000));
        // A backup is restored.
        let restored = bench.put(old);
        let _ = bench.candidate.heard(at_ms(9000), changed(&restored));
        assert!(!bench.candidate.is_leading());
        assert_eq!(makes_it_at(&bench.candidate, at_ms(9000)), at_ms(14_000));
    }
}

#[test]
fn who_heard_nothing_for_a_lease_does_not_trust_an_old_absence() {
    // The Lease is absent since 1 s and free at 5 s; then the candidate is cut off.
    for silence in [4900, 5100] {
        let (mut candidate, free) = after_a_deletion(true);
        assert_eq!(read_absent(&mut candidate, free), News::Nothing);
        let back = free.after(Duration::from_millis(silence));
        assert_eq!(read_absent(&mut candidate, back), News::Nothing);
        let waits = if silence > 5000 { Duration::from_secs(5) } else { Duration::ZERO };
        assert_eq!(makes_it_at(&candidate, back), back.after(waits), "{silence}");
    }
}

#[test]
fn a_campaign_begins_with_a_look_at_what_was_absent() {
    let (mut candidate, free) = after_a_deletion(true);
    let later = free.after(Duration::from_secs(3600));
    candidate.resume(later);
    assert_eq!(candidate.action(later, true), Action::Read);
    let _ = read_absent(&mut candidate, later);
    assert_eq!(makes_it_at(&candidate, later), later.after(Duration::from_secs(5)));
}

#[test]
fn who_stood_still_looks_before_it_makes_a_lease_that_was_absent() {
    for (told, bookmarks) in [(true, false), (false, false), (true, true), (false, true)] {
        let (mut candidate, free) = after_a_deletion(told);
        // The candidate stops before the wait is over. When it goes on, another may have led and
        // gone.
        let back = free.after(Duration::from_secs(60));
        if bookmarks {
            let _ = candidate.heard(back, LeaseEvent::Alive);
        }
        assert_eq!(candidate.action(back, true), Action::Read, "told {told}");
        assert_eq!(candidate.action(back, false), Action::Read, "told {told}");
        assert_eq!(
            makes_it_at(&candidate, back),
            back.after(Duration::from_secs(5)),
            "told {told}"
        );
    }
}

#[test]
fn who_may_not_make_it_for_long_goes_on_looking() {
    let (mut candidate, free) = after_a_deletion(true);
    let mut reads = 0;
    for tenth in 0..200 {
        let now = free.after(Duration::from_millis(tenth * 100));
        match candidate.action(now, true) {
            Action::Read => {
                reads += 1;
                let _ = read_absent(&mut candidate, now);
            }
            Action::Write(purpose) => {
                let write = candidate.begin_write(now, WALL, purpose);
                let refused =
                    StoreError::TooManyRequests { retry_after: Some(Duration::from_secs(1)) };
                let _ = candidate.wrote(now, &write, Err(refused));
            }
            Action::Wait(_) => {}
        }
    }
    assert!(
        (5..=10).contains(&reads),
        "{reads} in 20 s: one in each half of a lease, and a wait after each refusal"
    );
    let now = free.after(Duration::from_secs(21));
    assert!(
        makes_it_at(&candidate, now) < now.after(Duration::from_secs(2)),
        "nobody can have led meanwhile"
    );
}

#[test]
fn a_late_create_of_ours_begins_no_term_after_a_long_silence_either() {
    let mut candidate = Candidate::new(&config("baz"), 1);
    let _ = read_absent(&mut candidate, at_ms(0));
    let late = candidate.begin_write(at_ms(0), WALL, Purpose::Acquire);
    let _ = candidate.wrote(at_ms(900), &late, Err(StoreError::unknown("lost")));
    // Unheard, another made the Lease and led, it was deleted, and the own create arrived.
    let read = candidate.begin_read(at_ms(6000));
    let ours = StoredLease { version: Version::new("v", "9"), record: late.record };
    assert_eq!(candidate.read(at_ms(6000), read, Ok(Some(ours))), News::Nothing);
    assert_eq!(
        makes_it_at(&candidate, at_ms(6000)),
        at_ms(11_000),
        "it is waited for like any other's"
    );
}

/// A server that reports no Lease, and shows it again a moment later, was wrong once.
#[test]
fn one_s_own_lease_that_is_back_in_its_own_hold_is_not_waited_for() {
    let leader = || {
        let mut bench = Bench::new("baz");
        assert!(matches!(&bench.settle(at_ms(0), None)[..], [News::Acquired(_)]));
        bench
    };
    let mut bench = leader();
    assert_eq!(bench.settle(at_ms(1000), Some(StoreError::NotFound)), [News::Ended(Loss::Deleted)]);
    bench.candidate.abdicate(at_ms(1000));
    // Its create fails, and half a retry period later it reads.
    assert!(bench.settle(at_ms(2000), Some(StoreError::Conflict)).is_empty());
    let news = bench.settle(at_ms(2500), None);
    assert!(matches!(&news[..], [News::Acquired(_)]), "{news:?}");

    // After the hold another may have had the lease, and the record shown now is older than that.
    let mut bench = leader();
    let own = bench.lease.clone();
    assert_eq!(bench.candidate.tick(at_ms(4000)), News::Ended(Loss::Expired));
    let write = bench.candidate.begin_write(at_ms(4000), WALL, Purpose::Acquire);
    let _ = bench.candidate.wrote(at_ms(4000), &write, Err(StoreError::NotFound));
    let read = bench.candidate.begin_read(at_ms(4100));
    let _ = bench.candidate.read(at_ms(4100), read, Ok(own));
    assert!(matches!(bench.candidate.observation(), Observation::Present { mine: false, .. }));
}

/// A server restored from an earlier state counts on from there.
#[test]
fn a_lease_made_on_a_server_that_went_back_is_one_s_own() {
    let mut bench = Bench::new("baz");
    bench.revision = 100;
    bench.held_by("bing", 5);
    bench.settle(at_ms(0), None);
    // The Lease is gone, and the next revision is a smaller one.
    bench.lease = None;
    bench.revision = 10;
    for tick in 1..=300 {
        let news = bench.settle(at_ms(tick * 100), None);
        if let [News::Acquired(hold)] = &news[..] {
            assert_eq!(hold.fence.resource_version, "11");
            assert_eq!(bench.calls.iter().filter(|call| **call == "create").count(), 1);
            return;
        }
        assert!(bench.lease.is_none(), "it was made, and nobody leads: {news:?}");
    }
    panic!("nobody leads");
}

/// The answer to a create may come after the deletion of its Lease.
#[test]
fn a_create_that_is_answered_after_the_deletion_of_what_it_made_begins_no_term() {
    let (mut candidate, free) = after_a_deletion(true);
    let read = candidate.begin_read(free);
    let _ = candidate.read(free, read, Ok(None));
    let write = candidate.begin_write(free, WALL, Purpose::Acquire);
    let made = StoredLease { version: Version::new("v", "20"), record: write.record.clone() };
    let _ = candidate.heard(free, deleted(&made, 21));
    assert_eq!(candidate.wrote(free, &write, Ok(made)), News::Nothing);
    let read = candidate.begin_read(free);
    assert_eq!(candidate.read(free, read, Ok(None)), News::Nothing);
}

#[test]
fn v10_a_create_of_ours_that_arrives_once_more_beside_one_who_made_it_meanwhile_is_not_ours_any_more()
 {
    let mut bench = Bench::new("baz");
    bench.settle(at_ms(0), None);
    let ours = bench.lease.clone().unwrap();
    // The Lease is deleted; another makes it and leads. The next own create conflicts with that
    // Lease, which is deleted too.
    let _ = bench.candidate.heard(at_ms(1000), deleted(&ours, 1000));
    bench.candidate.abdicate(at_ms(1000));
    conflict_on_create(&mut bench.candidate, at_ms(9000));
    let _ = read_absent(&mut bench.candidate, at_ms(9100));
    // A proxy had sent the first create twice, and the second copy arrives only now.
    let again = StoredLease { version: Version::new("again", "1002"), record: ours.record };
    let read = bench.candidate.begin_read(at_ms(9200));
    let _ = bench.candidate.read(at_ms(9200), read, Ok(Some(again)));
    let waits = at_ms(9200).after(config("baz").lease_duration());
    assert!(makes_it_at(&bench.candidate, at_ms(9200)) >= waits);
}
