//! Tests of publication: a LeaseCandidate from its creation to its withdrawal, deed by deed.

use super::*;

const NOW: Moment = Moment::from_origin(Duration::from_secs(1000));
const POLL: Duration = Duration::from_secs(1);

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

fn new() -> Publication {
    Publication::new(wanted(), POLL, 1)
}

/// A publication that stands since `NOW` and has its watch open.
fn standing() -> Publication {
    let mut publication = new();
    assert_eq!(publication.next(NOW, wall()), Deed::Read);
    publication.done(NOW, NOW, &Deed::Read, Answer::Found(None));
    let create = publication.next(NOW, wall());
    assert_eq!(create, Deed::Create(wall()));
    publication.done(NOW, NOW, &create, Answer::Found(Some(seen(5, None, Some(wall())))));
    assert!(publication.stands());
    assert_eq!(publication.to_watch(NOW), Some("5"));
    publication.watching(NOW);
    publication
}

fn forbidden() -> StoreError {
    StoreError::Rejected { code: 403, message: "no".into() }
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
        assert_eq!(
            publication.next(ms(1), wall()),
            Deed::Update(answer),
            "server's clock {skew} s ahead"
        );
        publication.done(
            ms(1),
            ms(2),
            &Deed::Update(answer),
            Answer::Found(Some(seen(7, ping, Some(answer)))),
        );
        assert_eq!(publication.next(ms(2), wall()), Deed::Wait(ms(1).after(RENEWAL)));
    }
    // The server accepts an answer with the ping's own time.
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
    assert_eq!(
        publication.next(ms(10), wall()),
        Deed::Wait(ms(1000)),
        "a second after it was made"
    );
    let create = publication.next(ms(1000), wall());
    assert_eq!(create, Deed::Create(wall()));
    publication.done(
        ms(1000),
        ms(1001),
        &create,
        Answer::Found(Some(seen(12, None, Some(wall())))),
    );
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
        let mut publication = new();
        publication.done(NOW, NOW, &Deed::Read, Answer::Found(Some(left)));
        assert!(!publication.stands());
        publication.next(NOW, wall())
    };
    assert_eq!(old(|_| ()), Deed::Update(wall()), "renewed");
    assert_eq!(old(|says| says.binary_version = "1.0.0".into()), Deed::Update(wall()));
    assert_eq!(old(|says| says.lease = "another".into()), Deed::Delete("u".into()));
}

/// The pauses after failed reads in a row.
fn pauses(seed: u64, error: &StoreError) -> Vec<Duration> {
    let mut publication = Publication::new(wanted(), POLL, seed);
    publication.done(NOW, NOW, &Deed::Probe, Answer::Api(true));
    let mut now = NOW;
    let pause = |_| {
        // After each refusal the publication probes, and finds the API.
        if failed(&mut publication, now, error.clone()) == Deed::Read && publication.doubtful {
            publication.done(now, now, &Deed::Probe, Answer::Api(true));
        }
        let Deed::Wait(until) = publication.next(now, wall()) else { panic!("a hot loop") };
        let pause = until.since(now);
        now = until;
        pause
    };
    (0..12).map(pause).collect()
}

#[test]
fn a_lost_connection_is_tried_again_within_two_seconds_and_what_is_refused_ever_more_seldom() {
    let lost = StoreError::unknown("connection refused");
    for (error, longest) in [(lost.clone(), 2_000), (forbidden(), 30_000)] {
        let doubled = [100, 200, 400, 800].into_iter().chain([longest; 3]);
        let pauses = pauses(1, &error);
        for (pause, most) in pauses.iter().take(4).chain(pauses.iter().rev().take(3)).zip(doubled) {
            let millis = pause.as_millis();
            assert!(most * 3 / 4 <= millis && millis <= most, "{error}: {millis} ms, of {most}");
        }
    }
    assert_ne!(
        pauses(1, &lost),
        pauses(2, &lost),
        "many that lost it at once do not come back at once"
    );
}

#[test]
fn what_the_server_asks_for_is_kept_also_by_who_takes_it_back_and_by_who_watches() {
    let asks = StoreError::TooManyRequests { retry_after: Some(Duration::from_secs(7)) };
    let mut publication = new();
    failed(&mut publication, NOW, asks.clone());
    assert_eq!(publication.next(NOW, wall()), Deed::Wait(ms(7000)));
    publication.withdraw();
    assert_eq!(publication.next(NOW, wall()), Deed::Wait(ms(7000)));
    assert_eq!(publication.next(ms(7000), wall()), Deed::Read);
    // A withdrawal drops the other pauses.
    let mut publication = new();
    for _ in 0..5 {
        publication.done(NOW, NOW, &Deed::Read, Answer::Failed(StoreError::unknown("no")));
    }
    publication.withdraw();
    assert_eq!(publication.next(NOW, wall()), Deed::Read);

    let unsaid = StoreError::TooManyRequests { retry_after: None };
    for (error, seconds) in [(asks, 7), (unsaid, 1)] {
        let mut publication = standing();
        publication.unwatched(ms(10), Some(&error));
        publication.done(
            ms(10),
            ms(10),
            &Deed::Read,
            Answer::Found(Some(seen(5, None, Some(wall())))),
        );
        assert_eq!(publication.to_watch(ms(seconds * 1000 + 9)), None);
        assert_eq!(publication.to_watch(ms(seconds * 1000 + 10)), Some("5"));
    }
}

/// Counts the requests within ten seconds that fail with `error`, while reads succeed.
fn tries(publication: &mut Publication, is_one: fn(&Deed) -> bool, error: &StoreError) -> u32 {
    let (mut now, mut tries) = (ms(1), 0);
    for _ in 0..1000 {
        match publication.next(now, ahead(1)) {
            Deed::Wait(until) => now = until,
            Deed::Read => {
                let found = seen(6, Some(ahead(1)), Some(wall()));
                publication.done(now, now, &Deed::Read, Answer::Found(Some(found)));
            }
            deed => {
                assert!(is_one(&deed), "{deed:?}");
                tries += 1;
                publication.done(now, now, &deed, Answer::Failed(error.clone()));
            }
        }
        if now > ms(10_000) {
            return tries;
        }
    }
    panic!("a hot loop");
}

#[test]
fn writes_that_fail_again_and_again_are_no_hot_loop_because_what_is_read_in_between_is_there() {
    for error in [StoreError::Conflict, StoreError::unknown("no answer")] {
        let mut publication = standing();
        publication.changed(seen(6, Some(ahead(1)), Some(wall())));
        let renewals = tries(&mut publication, |deed| matches!(deed, Deed::Update(_)), &error);
        let mut publication = standing();
        publication.withdraw();
        let withdrawals = tries(&mut publication, |deed| matches!(deed, Deed::Delete(_)), &error);
        for tries in [renewals, withdrawals] {
            assert!((7..=13).contains(&tries), "{tries} tries in 10 s: {error}");
        }
    }
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
        forbidden(),
        StoreError::Rejected { code: 404, message: "no".into() },
    ] {
        let mut publication = new();
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

        // The API is there; the permission or the namespace is missing.
        let mut publication = new();
        publication.done(NOW, NOW, &Deed::Read, Answer::Found(None));
        failed(&mut publication, NOW, refusal.clone());
        publication.done(NOW, NOW, &Deed::Probe, Answer::Api(true));
        failed(&mut publication, NOW, refusal);
        assert_eq!(publication.api(), ApiState::Present);
        assert!(matches!(publication.next(NOW, wall()), Deed::Wait(_)), "no hot loop");
    }
}

/// Only the answer to the probe tells whether the API is there.
#[test]
fn where_it_may_not_be_asked_whether_there_is_such_an_api_it_is_not_absent_and_the_refusal_is_told()
{
    for code in [401, 403] {
        let refusal = StoreError::Rejected { code, message: "no".into() };
        let mut publication = new();
        publication.done(NOW, NOW, &Deed::Read, Answer::Found(None));
        let mut now = NOW;
        for _ in 0..10 {
            assert!(matches!(failed(&mut publication, now, forbidden()), Deed::Create(_)));
            assert_eq!(failed(&mut publication, now, refusal.clone()), Deed::Probe);
            assert!(!publication.is_in_doubt(), "it is to be told");
            assert_eq!(publication.api(), ApiState::Unknown);
            let Deed::Wait(until) = publication.next(now, wall()) else { panic!("a hot loop") };
            assert!(now < until && until <= now.after(Duration::from_secs(30)));
            now = until;
        }
        // The candidate now has the permission to publish, and none to probe.
        let create = publication.next(now, wall());
        publication.done(now, now, &create, Answer::Found(Some(seen(5, None, Some(wall())))));
        assert!(publication.stands());
    }
}

#[test]
fn where_it_may_not_be_watched_it_is_polled_and_the_watch_is_tried_ever_more_seldom() {
    let mut publication = standing();
    publication.unwatched(NOW.after(RENEWAL / 2), None);
    let (mut now, begun) = (NOW.after(RENEWAL / 2), NOW.after(RENEWAL / 2));
    let (mut reads, mut watches) = (0u32, 0u32);
    for step in 0.. {
        assert!(step < 1000, "a hot loop");
        if now.since(begun) >= Duration::from_secs(100) {
            break;
        }
        match publication.next(now, wall()) {
            Deed::Read => {
                reads += 1;
                publication.done(
                    now,
                    now,
                    &Deed::Read,
                    Answer::Found(Some(seen(5, None, Some(wall())))),
                );
                assert!(publication.stands());
            }
            Deed::Wait(until) if publication.to_watch(now).is_some() => {
                assert!(until > now);
                watches += 1;
                publication.unwatched(now, Some(&forbidden()));
            }
            Deed::Wait(until) => now = until,
            other => panic!("{other:?}"),
        }
    }
    assert!((100..=102).contains(&reads), "{reads}");
    // After 100 ms, 200 ms, 400 ms, ..., and then each 30 s.
    assert!((10..=12).contains(&watches), "{watches}");
    // The publication answers a ping that a read finds, and reads at the latest after 2 s.
    publication.changed(seen(6, Some(ahead(200)), Some(wall())));
    assert!(matches!(publication.next(now, wall()), Deed::Update(_)));
    let mut slow = Publication::new(wanted(), RENEWAL, 1);
    slow.done(NOW, NOW, &Deed::Read, Answer::Found(None));
    let create = slow.next(NOW, wall());
    slow.done(NOW, NOW, &create, Answer::Found(Some(seen(5, None, Some(wall())))));
    slow.unwatched(NOW, Some(&forbidden()));
    assert_eq!(slow.next(ms(2000), wall()), Deed::Read);
}

#[test]
fn a_watch_that_ends_as_soon_as_it_is_open_is_no_hot_loop_and_one_that_was_of_use_is_opened_at_once()
 {
    let mut publication = standing();
    publication.unwatched(ms(10), None);
    assert_eq!(publication.next(ms(10), wall()), Deed::Read, "what happened meanwhile");
    publication.done(ms(10), ms(11), &Deed::Read, Answer::Found(Some(seen(5, None, Some(wall())))));
    assert_eq!(publication.to_watch(ms(84)), None);
    let Deed::Wait(until) = publication.next(ms(11), wall()) else { panic!("a hot loop") };
    assert!(ms(85) <= until && until <= ms(110), "{until:?}");
    assert_eq!(publication.to_watch(ms(110)), Some("5"));
    publication.watching(ms(110));
    publication.unwatched(ms(2000), None);
    publication.done(
        ms(2000),
        ms(2000),
        &Deed::Read,
        Answer::Found(Some(seen(5, None, Some(wall())))),
    );
    assert_eq!(publication.to_watch(ms(2000)), Some("5"));
}

/// Two electors with one identity, for two Leases of one namespace, must not delete each other's
/// LeaseCandidate for ever.
#[test]
fn one_of_another_lease_that_comes_again_is_somebody_elses_and_is_left_alone() {
    let mut others = seen(5, None, Some(wall()));
    others.says.lease = "another".into();
    let mut publication = new();
    publication.done(NOW, NOW, &Deed::Read, Answer::Found(Some(others.clone())));
    assert_eq!(publication.taken_by(), None, "it may be an earlier life's");
    let delete = publication.next(NOW, wall());
    assert_eq!(delete, Deed::Delete("u".into()));
    publication.done(NOW, NOW, &delete, Answer::Deleted);
    let create = publication.next(NOW, wall());
    publication.done(NOW, NOW, &create, Answer::Failed(StoreError::Conflict));
    others.resource_version = "7".into();
    publication.done(ms(1), ms(1), &Deed::Read, Answer::Found(Some(others.clone())));
    assert_eq!(publication.taken_by(), Some("another"));
    assert!(!publication.stands());
    assert_eq!(publication.to_watch(ms(1)), Some("7"));
    publication.watching(ms(1));
    assert!(
        matches!(publication.next(ms(1_000_000), wall()), Deed::Wait(_)),
        "nor is it answered for"
    );
    // Once the other one is gone, this one stands.
    publication.deleted(&others);
    assert!(matches!(publication.next(ms(1_000_000), wall()), Deed::Create(_)));
    publication.changed(Seen { resource_version: "9".into(), ..others });
    publication.withdraw();
    assert_eq!(
        publication.next(ms(1_000_000), wall()),
        Deed::Done,
        "it is not this one's to take back"
    );
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
    publication.unwatched(ms(1), None);
    publication.withdraw();
    assert_eq!(publication.next(ms(1), wall()), Deed::Read);
    publication.done(ms(1), ms(2), &Deed::Read, Answer::Found(None));
    assert_eq!(publication.next(ms(2), wall()), Deed::Done);

    let mut publication = standing();
    publication.withdraw();
    failed(&mut publication, ms(1), StoreError::NotFound);
    assert_eq!(publication.next(ms(2), wall()), Deed::Done, "gone already");
}

#[test]
fn one_that_may_be_neither_read_nor_asked_for_is_taken_back_at_no_full_speed() {
    for refusal in [forbidden(), StoreError::Rejected { code: 404, message: "no".into() }] {
        let mut publication = new();
        assert_eq!(failed(&mut publication, NOW, refusal.clone()), Deed::Read);
        assert_eq!(failed(&mut publication, NOW, forbidden()), Deed::Probe);
        publication.withdraw();
        let mut now = NOW;
        for _ in 0..10 {
            assert_eq!(failed(&mut publication, now, refusal.clone()), Deed::Read);
            let Deed::Wait(until) = publication.next(now, wall()) else { panic!("a hot loop") };
            assert!(now < until && until <= now.after(Duration::from_secs(30)));
            now = until;
        }
        publication.done(now, now, &Deed::Read, Answer::Found(None));
        assert_eq!(publication.next(now, wall()), Deed::Done);
    }
}
