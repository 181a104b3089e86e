//! Contract: the rules of every [`LeaseStore`], as a suite for your own.

use std::sync::Arc;
use std::time::Duration;

use crate::clock::TokioClock;
use crate::config::Config;
use crate::elector::LeaderElector;
use crate::error::StoreError;
use crate::record::{Record, StoredLease};
use crate::shared::Outcome;
use crate::store::LeaseStore;
use crate::version::Version;

mod place;
mod watches;
pub use place::Place;
use place::{TIMELY, is_later, must, record};
use watches::{
    a_watch_of_nothing_tells_the_creation, a_watch_tells_the_changes_after_a_version,
    a_watch_tells_the_end, a_watch_tells_the_state_and_the_changes, can_watch,
};

/// Checks a store against every rule that an election rests on. Calls `make` once for each rule,
/// for an empty place each time.
///
/// If every `watch` answers an error, only the other rules are checked. Runs under tokio's clock,
/// paused or not.
///
/// # Panics
/// At the first rule that is broken, with its name.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use lease_election::MemoryLeaseStore;
/// use lease_election::contract::{Place, check};
///
/// check(async || {
///     let store = MemoryLeaseStore::new();
///     let operator = store.clone();
///     Place::new(store.client("one"), store.client("other"), move || {
///         operator.delete();
///         Box::pin(async {})
///     })
/// })
/// .await;
/// # }
/// ```
pub async fn check(make: impl AsyncFn() -> Place) {
    nothing_is_there_until_it_is_created(make().await).await;
    what_is_read_is_what_was_written(make().await).await;
    a_successor_is_kept_on_a_lease_that_nobody_holds(make().await).await;
    a_second_create_is_refused(make().await).await;
    an_update_is_conditional_on_the_version(make().await).await;
    an_update_is_conditional_on_the_object(make().await).await;
    of_two_writers_one_succeeds(make().await).await;
    versions_rise(make().await).await;
    what_is_deleted_is_gone(make().await).await;
    versions_rise_over_deletions(make().await).await;
    a_dropped_call_does_no_harm(make().await).await;
    if can_watch(make().await).await {
        a_watch_tells_the_state_and_the_changes(make().await).await;
        a_watch_tells_the_changes_after_a_version(make().await).await;
        a_watch_of_nothing_tells_the_creation(make().await).await;
        a_watch_tells_the_end(make().await).await;
    }
    a_lease_is_handed_over(make().await).await;
}

async fn nothing_is_there_until_it_is_created(place: Place) {
    let rule = "nothing is there until it is created";
    assert_eq!(place.one.get().await, Ok(None), "{rule}");
    for version in [Version::new("nobody", "1"), Version::new("nobody+nothing", "1+1")] {
        let refused = place.one.update(&version, &record("a", 1)).await;
        let is_refused = matches!(refused, Err(StoreError::NotFound | StoreError::Conflict));
        assert!(is_refused, "{rule}: an update says {refused:?}");
    }
    assert_eq!(place.one.get().await, Ok(None), "{rule}: an update never makes a lease");
}

async fn what_is_read_is_what_was_written(place: Place) {
    let rule = "what is read is what was written";
    let (longest, odd) = ("x".repeat(1000), "<a> & \"b\" \\ \u{2028} \u{e9}\u{1f600}");
    let mut lease = must(rule, place.one.create(&record("a", 1)).await);
    assert_eq!(lease.record, record("a", 1), "{rule}: the answer to a create");
    for (write, holder) in (2..).zip(["", "b", &longest, odd]) {
        let record = Record { leader_transitions: i32::MAX, ..record(holder, write) };
        lease = must(rule, place.one.update(&lease.version, &record).await);
        assert_eq!(lease.record, record, "{rule}: the answer to an update");
        for store in [&place.one, &place.other] {
            assert_eq!(
                store.get().await,
                Ok(Some(lease.clone())),
                "{rule}: for everybody, at once"
            );
        }
    }
}

/// A store that drops the successor still hands over, without order: its elector counts each such
/// release as failed, because the record was altered.
async fn a_successor_is_kept_on_a_lease_that_nobody_holds(place: Place) {
    let rule = "a successor is kept on a lease that nobody holds";
    let made = must(rule, place.one.create(&record("a", 1)).await);
    let released = Record { successor: "b <c>".to_owned(), ..record("", 2) };
    let given = must(rule, place.one.update(&made.version, &released).await);
    assert_eq!(given.record, released, "{rule}: the answer to an update");
    assert_eq!(place.other.get().await, Ok(Some(given.clone())), "{rule}: for everybody");
    let taken = must(rule, place.other.update(&given.version, &record("b", 3)).await);
    assert_eq!(taken.record, record("b", 3), "{rule}: and no longer");
    assert_eq!(place.one.get().await, Ok(Some(taken)), "{rule}: and no longer");
}

async fn a_second_create_is_refused(place: Place) {
    let rule = "a second create is refused";
    let made = must(rule, place.one.create(&record("a", 1)).await);
    for store in [&place.one, &place.other] {
        assert_eq!(store.create(&record("b", 2)).await, Err(StoreError::Conflict), "{rule}");
    }
    assert_eq!(place.other.get().await, Ok(Some(made)), "{rule}, and changes nothing");
}

async fn an_update_is_conditional_on_the_version(place: Place) {
    let rule = "an update is conditional on the version";
    let made = must(rule, place.one.create(&record("a", 1)).await);
    let seen = must(rule, place.other.get().await).unwrap_or_else(|| panic!("{rule}: it is there"));
    assert_eq!(seen.version, made.version, "{rule}: one version for everybody");
    let changed = must(rule, place.other.update(&seen.version, &record("b", 2)).await);
    assert_eq!(changed.version.uid, made.version.uid, "{rule}: the object stays the same");
    for store in [&place.one, &place.other] {
        assert_eq!(
            store.update(&made.version, &record("c", 3)).await,
            Err(StoreError::Conflict),
            "{rule}"
        );
    }
    assert_eq!(place.one.get().await, Ok(Some(changed)), "{rule}, and changes nothing");
}

async fn an_update_is_conditional_on_the_object(place: Place) {
    let rule = "an update is conditional on the object";
    let made = must(rule, place.one.create(&record("a", 1)).await);
    let version =
        Version::new(format!("not-{}", made.version.uid), made.version.resource_version.clone());
    for store in [&place.one, &place.other] {
        assert_eq!(
            store.update(&version, &record("b", 2)).await,
            Err(StoreError::Conflict),
            "{rule}"
        );
    }
    assert_eq!(place.one.get().await, Ok(Some(made)), "{rule}, and changes nothing");
}

async fn of_two_writers_one_succeeds(place: Place) {
    let rule = "of two writers one succeeds";
    let (one, other) = futures::future::join(
        place.one.create(&record("a", 1)),
        place.other.create(&record("b", 1)),
    )
    .await;
    let mut lease = first_of(rule, one, other);
    for write in 2..12 {
        let (a, b) = (record("a", write), record("b", write));
        let (one, other) = futures::future::join(
            place.one.update(&lease.version, &a),
            place.other.update(&lease.version, &b),
        )
        .await;
        lease = first_of(rule, one, other);
        assert_eq!(
            place.one.get().await,
            Ok(Some(lease.clone())),
            "{rule}, and what it wrote is there"
        );
    }
}

#[track_caller]
fn first_of(
    rule: &str,
    one: Result<StoredLease, StoreError>,
    other: Result<StoredLease, StoreError>,
) -> StoredLease {
    match (one, other) {
        (Ok(lease), Err(StoreError::Conflict)) | (Err(StoreError::Conflict), Ok(lease)) => lease,
        both => panic!("{rule}: {both:?}"),
    }
}

async fn versions_rise(place: Place) {
    let rule = "versions rise";
    let mut lease = must(rule, place.one.create(&record("a", 1)).await);
    for write in 2..15 {
        let next = must(rule, place.one.update(&lease.version, &record("a", write)).await);
        assert!(
            is_later(&next.version, &lease.version),
            "{rule}: {:?}, then {:?}",
            lease.version,
            next.version
        );
        lease = next;
    }
}

/// Versions that are no numbers always count as later.
async fn what_is_deleted_is_gone(place: Place) {
    let rule = "what is deleted is gone";
    let made = must(rule, place.one.create(&record("a", 1)).await);
    (place.delete)().await;
    assert_eq!(place.one.get().await, Ok(None), "{rule}");
    let refused = place.one.update(&made.version, &record("a", 2)).await;
    let is_refused = matches!(refused, Err(StoreError::NotFound | StoreError::Conflict));
    assert!(is_refused, "{rule}: an update says {refused:?}");
    assert_eq!(place.one.get().await, Ok(None), "{rule}: an update never makes a lease");
    let again = must(rule, place.other.create(&record("b", 1)).await);
    assert_ne!(again.version.uid, made.version.uid, "{rule}: another object has another uid");
    assert!(
        is_later(&again.version, &made.version),
        "{rule}: {:?}, then {:?}",
        made.version,
        again.version
    );
    assert_eq!(
        place.one.update(&made.version, &record("a", 3)).await,
        Err(StoreError::Conflict),
        "{rule}"
    );
    assert_eq!(place.one.get().await, Ok(Some(again)), "{rule}: and is not overwritten");
}

async fn versions_rise_over_deletions(place: Place) {
    let rule = "versions rise over deletions";
    let mut last: Option<Version> = None;
    // Ever fewer writes to each object: a store that counts per object falls behind itself.
    for writes in [9, 5, 3, 1] {
        let mut lease = must(rule, place.one.create(&record("a", 1)).await);
        let is_next = last.as_ref().is_none_or(|last| is_later(&lease.version, last));
        assert!(is_next, "{rule}: {last:?}, then {:?}", lease.version);
        for write in 2..2 + writes {
            lease = must(rule, place.one.update(&lease.version, &record("a", write)).await);
        }
        last = Some(lease.version);
        (place.delete)().await;
    }
}

async fn a_dropped_call_does_no_harm(place: Place) {
    let rule = "a dropped call does no harm";
    let made = must(rule, place.one.create(&record("a", 1)).await);
    let late = record("a", 2);
    // Polled at most once, then dropped: the write may be carried out or not.
    let _ = futures::future::poll_immediate(place.one.update(&made.version, &late)).await;
    let _ = futures::future::poll_immediate(place.one.get()).await;
    let _ = futures::future::poll_immediate(place.one.watch(None)).await;
    let mut lease =
        must(rule, place.one.get().await).unwrap_or_else(|| panic!("{rule}: it is there"));
    for write in 3..8 {
        match place.one.update(&lease.version, &record("a", write)).await {
            Ok(written) => return assert_eq!(written.record, record("a", write), "{rule}"),
            // The dropped write came first after all.
            Err(StoreError::Conflict) => {
                lease = must(rule, place.one.get().await)
                    .unwrap_or_else(|| panic!("{rule}: it is there"));
            }
            Err(error) => panic!("{rule}: {error}"),
        }
    }
    panic!("{rule}: every update meets a conflict");
}

async fn a_lease_is_handed_over(place: Place) {
    let rule = "a lease is handed over";
    let elector = |store: Arc<dyn LeaseStore>, identity: &str, seed| {
        let config = Config::builder("default", "contract").fast().identity(identity).build();
        let config = config.unwrap_or_else(|error| panic!("{rule}: {error}"));
        LeaderElector::with_clock(store, config, TokioClock::new(), seed)
    };
    let first = elector(place.one, "first", 1);
    let second = elector(place.other, "second", 2);
    let (leading, led) = tokio::sync::oneshot::channel();
    let holding = tokio::spawn({
        let first = first.clone();
        async move {
            first
                .run(|leadership| async move {
                    let _ = leading.send(leadership.fence());
                    leadership.ending().await;
                    (leadership.fence(), leadership.is_valid())
                })
                .await
        }
    });
    let led = tokio::time::timeout(TIMELY, led).await;
    assert!(matches!(led, Ok(Ok(_))), "{rule}: the first never led: {:?}", first.status());
    let waiting = tokio::spawn({
        let second = second.clone();
        async move { second.run(|leadership| async move { leadership.fence() }).await }
    });
    // Long enough for renewals, and for a second leader to show.
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert!(
        first.is_leader() && !second.is_leader(),
        "{rule}: the first renews: {:?}",
        first.status()
    );
    assert_eq!(first.stats().terms, 1, "{rule}: in one term");
    first.stop_handle().stop();
    let first_ended = tokio::time::timeout(TIMELY, holding).await;
    let Ok(Ok(Outcome::Finished((first_fence, true)))) = first_ended else {
        panic!("{rule}: the first was to end within its term: {first_ended:?}")
    };
    let second_ended = tokio::time::timeout(TIMELY, waiting).await;
    let Ok(Ok(Outcome::Finished(second_fence))) = second_ended else {
        panic!("{rule}: the second was to lead: {second_ended:?}, {:?}", second.status())
    };
    assert!(first_fence < second_fence, "{rule}: {first_fence}, then {second_fence}");
}
