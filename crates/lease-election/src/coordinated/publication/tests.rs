//! A LeaseCandidate's life, deed by deed: made, asked, renewed, mended, lost, refused, taken back.

use super::*;

const NOW: Moment = Moment::from_origin(Duration::from_secs(1000));

fn wall() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

fn ahead(seconds: i64) -> Timestamp {
    wall().checked_add(SignedDuration::from_secs(seconds)).unwrap()
}

fn ms(millis: u64) -> Moment {
    NOW.after(Duration::from_millis(millis))
}

fn wanted() -> Wanted {
    Wanted {
        lease: "lease".into(),
        binary_version: "1.4.0".into(),
        emulation_version: "1.3.0".into(),
        strategy: "OldestEmulationVersion".into(),
    }
}

fn seen(version: u64, ping: Option<Timestamp>, renew: Option<Timestamp>) -> Seen {
    Seen { uid: "u".into(), resource_version: version.to_string(), says: wanted(), ping, renew }
}

/// One that stands since `NOW`.
fn standing() -> Publication {
    let mut publication = Publication::new(wanted());
    assert_eq!(publication.next(NOW, wall()), Deed::Read);
    publication.done(NOW, NOW, &Deed::Read, Answer::Found(None));
    let create = publication.next(NOW, wall());
    assert_eq!(create, Deed::Create(wall()));
    publication.done(NOW, NOW, &create, Answer::Found(Some(seen(5, None, Some(wall())))));
    assert!(publication.stands());
    publication
}

fn failed(publication: &mut Publication, now: Moment, error: StoreError) -> Deed {
    let deed = publication.next(now, wall());
    publication.done(now, now, &deed, Answer::Failed(error));
    deed
}

#[test]
fn it_is_made_and_renewed_every_five_minutes() {
    let mut publication = standing();
    assert_eq!(publication.next(NOW, wall()), Deed::Wait(NOW.after(RENEWAL)));
    let later = NOW.after(RENEWAL);
    let renew = publication.next(later, ahead(300));
    assert_eq!(renew, Deed::Update(ahead(300)));
    publication.done(later, later, &renew, Answer::Found(Some(seen(6, None, Some(ahead(300))))));
    assert_eq!(publication.next(later, ahead(300)), Deed::Wait(later.after(RENEWAL)));
}

#[test]
fn a_question_is_answered_at_once_in_the_time_of_the_server_and_only_once() {
    for (skew, answer) in [(-7, wall()), (7, "2026-01-01T00:00:07.000001Z".parse().unwrap())] {
        let mut publication = standing();
        let ping = Some(ahead(skew));
        publication.changed(seen(6, ping, Some(ahead(-20))));
        assert_eq!(publication.next(ms(1), wall()), Deed::Update(answer), "server's clock {skew} s ahead");
        publication.done(
            ms(1),
            ms(2),
            &Deed::Update(answer),
            Answer::Found(Some(seen(7, ping, Some(answer)))),
        );
        assert_eq!(publication.next(ms(2), wall()), Deed::Wait(ms(1).after(RENEWAL)));
    }
    // The server counts an answer of the very time.
    let mut publication = standing();
    publication.changed(seen(6, Some(wall()), Some(wall())));
    assert!(matches!(publication.next(ms(1), wall()), Deed::Wait(_)));
}

#[test]
fn a_question_from_the_far_future_is_answered_once_and_not_followed() {
    let mut publication = standing();
    let ping = Some(ahead(10_000_000));
    publication.changed(seen(6, ping, Some(wall())));
    let answer = publication.next(ms(1), ahead(1));
    assert_eq!(answer, Deed::Update(ahead(1)));
    publication.done(ms(1), ms(2), &answer, Answer::Found(Some(seen(7, ping, Some(ahead(1))))));
    publication.changed(seen(7, ping, Some(ahead(1))));
    assert!(matches!(publication.next(ms(2), ahead(1)), Deed::Wait(_)), "no hot loop");
    publication.changed(seen(8, Some(Timestamp::MAX), None));
    assert!(
        matches!(publication.next(ms(3), Timestamp::MAX), Deed::Update(_)),
        "nor a panic at the end of time"
    );
}

#[test]
fn one_that_is_deleted_is_made_again_at_once_and_not_at_full_speed() {
    let mut publication = standing();
    publication.deleted(&seen(9, None, None));
    assert!(!publication.stands());
    assert_eq!(publication.next(ms(10), wall()), Deed::Wait(ms(1000)), "a second after it was made");
    let create = publication.next(ms(1000), wall());
    assert_eq!(create, Deed::Create(wall()));
    publication.done(ms(1000), ms(1001), &create, Answer::Found(Some(seen(12, None, Some(wall())))));
    publication.deleted(&seen(9, None, None));
    assert!(publication.stands(), "old news");
    publication.deleted(&seen(13, None, None));
    assert_eq!(publication.next(ms(9000), wall()), Deed::Create(wall()), "at once");
}

#[test]
fn what_an_earlier_life_left_is_mended_and_one_of_another_lease_is_made_anew() {
    let old = |change: fn(&mut Wanted)| {
        let mut left = seen(5, None, Some(wall()));
        change(&mut left.says);
        let mut publication = Publication::new(wanted());
        publication.done(NOW, NOW, &Deed::Read, Answer::Found(Some(left)));
        assert!(!publication.stands());
        publication.next(NOW, wall())
    };
    assert_eq!(old(|_| ()), Deed::Update(wall()), "renewed");
    assert_eq!(old(|says| says.binary_version = "1.0.0".into()), Deed::Update(wall()));
    assert_eq!(old(|says| says.lease = "another".into()), Deed::Delete("u".into()));
}

#[test]
fn failures_are_repeated_ever_more_slowly_and_as_the_server_asks() {
    let mut publication = Publication::new(wanted());
    let mut now = NOW;
    let mut pauses = Vec::new();
    for _ in 0..12 {
        assert_eq!(failed(&mut publication, now, StoreError::unknown("no")), Deed::Read);
        let Deed::Wait(until) = publication.next(now, wall()) else { panic!("a hot loop") };
        pauses.push(until.since(now).as_millis());
        now = until;
    }
    assert_eq!(pauses[..4], [100, 200, 400, 800]);
    assert_eq!(pauses.last(), Some(&30_000));
    let mut publication = Publication::new(wanted());
    let asked = StoreError::TooManyRequests { retry_after: Some(Duration::from_secs(7)) };
    failed(&mut publication, NOW, asked);
    assert_eq!(publication.next(NOW, wall()), Deed::Wait(ms(7000)));
}

#[test]
fn a_conflict_is_read_at_once_and_an_unanswered_write_is_read_back() {
    let mut publication = standing();
    publication.changed(seen(6, Some(ahead(1)), Some(wall())));
    assert!(matches!(failed(&mut publication, ms(1), StoreError::Conflict), Deed::Update(_)));
    assert_eq!(publication.next(ms(1), wall()), Deed::Read);
    let mut publication = standing();
    publication.changed(seen(6, Some(ahead(1)), Some(wall())));
    failed(&mut publication, ms(1), StoreError::unknown("no answer"));
    assert_eq!(publication.next(ms(101), wall()), Deed::Read);
}

#[test]
fn where_it_cannot_be_made_the_api_is_looked_for_and_looked_for_again_each_minute() {
    for refusal in [
        StoreError::NotFound,
        StoreError::Rejected { code: 403, message: "no".into() },
        StoreError::Rejected { code: 404, message: "no".into() },
    ] {
        let mut publication = Publication::new(wanted());
        publication.done(NOW, NOW, &Deed::Read, Answer::Found(None));
        assert!(matches!(failed(&mut publication, NOW, refusal.clone()), Deed::Create(_)));
        assert_eq!(publication.next(NOW, wall()), Deed::Probe, "{refusal}");
        publication.done(NOW, NOW, &Deed::Probe, Answer::Api(false));
        assert_eq!(publication.api(), ApiState::Absent);
        assert_eq!(publication.next(NOW, wall()), Deed::Wait(NOW.after(LOOK)));
        let later = NOW.after(LOOK);
        assert_eq!(publication.next(later, wall()), Deed::Probe);
        publication.done(later, later, &Deed::Probe, Answer::Api(true));
        assert_eq!(publication.next(later, wall()), Deed::Read);

        // The API is there: the permission or the namespace is what is missing.
        let mut publication = Publication::new(wanted());
        publication.done(NOW, NOW, &Deed::Read, Answer::Found(None));
        failed(&mut publication, NOW, refusal.clone());
        publication.done(NOW, NOW, &Deed::Probe, Answer::Api(true));
        failed(&mut publication, NOW, refusal);
        assert_eq!(publication.api(), ApiState::Present);
        assert!(matches!(publication.next(NOW, wall()), Deed::Wait(_)), "no hot loop");
    }
}

#[test]
fn it_is_taken_back_by_its_uid_and_what_is_unknown_is_read_first() {
    let mut publication = standing();
    publication.withdraw();
    let delete = publication.next(ms(1), wall());
    assert_eq!(delete, Deed::Delete("u".into()));
    publication.done(ms(1), ms(2), &delete, Answer::Deleted);
    assert_eq!(publication.next(ms(2), wall()), Deed::Done);

    let mut publication = standing();
    publication.distrust();
    publication.withdraw();
    assert_eq!(publication.next(ms(1), wall()), Deed::Read);
    publication.done(ms(1), ms(2), &Deed::Read, Answer::Found(None));
    assert_eq!(publication.next(ms(2), wall()), Deed::Done);

    let mut publication = standing();
    publication.withdraw();
    failed(&mut publication, ms(1), StoreError::NotFound);
    assert_eq!(publication.next(ms(2), wall()), Deed::Done, "gone already");
}
