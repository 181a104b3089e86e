//! What is waited for when the Lease is gone, and what old or foreign news about it changes: nothing, or a longer wait.

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

/// The deletion of a lease, as the server tells it: with a version of its own.
fn deleted(lease: &StoredLease, version: u64) -> LeaseEvent {
    let version = Version::new(lease.version.uid.clone(), version.to_string());
    LeaseEvent::Deleted(Some(StoredLease { version, record: lease.record.clone() }))
}

/// When it makes the Lease if nothing more is heard, to the tenth of a second.
fn makes_it_at(candidate: &Candidate, from: Moment) -> Moment {
    (0..2000)
        .map(|tenth| from.after(Duration::from_millis(tenth * 100)))
        .find(|now| candidate.action(*now, true) == Action::Write(Purpose::Acquire))
        .expect("it makes it some time")
}

/// A candidate that saw another's lease at 0 s, and its deletion a second later.
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
            // A renewal; the same version; a lease that was given back; all of a former object's life.
            vec![changed(&lease(8, "bing", 5))],
            vec![changed(&lease(10, "bing", 5))],
            vec![changed(&lease(9, "", 1))],
            vec![changed(&lease(4, "", 1)), deleted(&lease(4, "", 1), 5), changed(&lease(7, "bing", 5))],
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
    // The deletion has version 12, and a label was changed before it.
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
    // Told again, or given back before it was deleted: no longer.
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
    // A candidate with leases of 5 s saw a lease that nobody held; another took it, unseen, and the Lease was deleted at 1 s.
    for (theirs, told, waits) in [(5, false, 5000), (15, false, 5000), (15, true, 15_000), (3, false, 5000)] {
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
